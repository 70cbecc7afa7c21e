// The next endpoint must not be forgotten.
//~ error: unused `bank::client::Connected` that must be used
//~ a dropped endpoint closes its session, and `let _ = ...` drops it
#![deny(unused_must_use)]
use protocols::bank;

fn pay(client: bank::client::Connected) -> Result<(), duologue::Closed> {
    client.deposit(1.0)?;
    Ok(())
}

fn main() {}
