// A message carries the payload that the protocol declares.
//~ error[E0308]: mismatched types
//~ expected `String`, found integer
#![allow(dead_code, unused_variables)]
mod protocols {
    include!(env!("PROTOCOLS"));
}
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    let waiting = client.login("holk".to_owned(), 1234)?;
    Ok(())
}
