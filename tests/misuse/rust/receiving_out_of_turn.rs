// Nothing can be received when it is this side's turn to send.
//~ error[E0599]: it is the turn of `bank::client::Login` to send, not to receive
//~ send a message first: that returns the endpoint that receives
//~ // Sends `login`.
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    client.recv()?;
    Ok(())
}
