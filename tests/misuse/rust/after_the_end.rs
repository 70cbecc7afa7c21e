// There is no endpoint after the last message.
//~ error[E0599]: no method named `deposit` found for unit type `()` in the current scope
use protocols::bank;

fn goodbye(client: bank::client::Connected) -> Result<(), duologue::Closed> {
    client.quit()?.deposit(1.0)?;
    Ok(())
}

fn main() {}
