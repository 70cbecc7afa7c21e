// If either of two messages can arrive, both must be handled.
//~ error[E0005]: refutable pattern in local binding
//~ pattern `bank::LoginResponse::Invalid(_)` not covered
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    let waiting = client.login("holk".to_owned(), "1234".to_owned())?;
    let bank::LoginResponse::Ok(connected) = waiting.recv()?;
    Ok(())
}
