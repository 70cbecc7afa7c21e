// The state has other messages.
//~ error[E0599]: no method named `deposit` found for struct `bank::client::Login` in the current scope
//~ // Sends `login`.
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    client.deposit(100.0)?;
    Ok(())
}
