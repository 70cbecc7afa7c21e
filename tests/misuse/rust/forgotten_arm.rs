// Every message must be handled.
//~ error[E0004]: non-exhaustive patterns: `bank::LoginResponse::Invalid(_)` not covered
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    match client.login("holk".to_owned(), "1234".to_owned())?.recv()? {
        bank::LoginResponse::Ok(connected) => drop(connected),
    }
    Ok(())
}
