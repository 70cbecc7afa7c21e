// A task cannot await a message either when it is its turn to send.
//~ error[E0599]: it is the turn of `stream::client::Stream<u8>` to send, not to receive
use protocols::stream;

async fn wait(client: stream::client::Stream<u8>) -> Result<(), duologue::Closed> {
    client.recv_async().await?;
    Ok(())
}

fn main() {}
