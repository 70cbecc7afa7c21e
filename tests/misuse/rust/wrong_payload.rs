// A message carries the payload that the protocol declares.
//~ error[E0308]: mismatched types
//~ expected `String`, found integer
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    let waiting = client.login("holk".to_owned(), 1234)?;
    Ok(())
}
