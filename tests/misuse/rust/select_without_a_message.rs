// Every message of every endpoint must be handled.
//~ error[E0004]: non-exhaustive patterns: `Ok(bank::LoginResponse::Invalid(_))` not covered
use protocols::{bank, stream};

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    let (mut numbers, _numbers) = stream::init::<u8>();
    let mut answer = client.login("holk".to_owned(), "1234".to_owned())?;
    duologue::select! {
        answer => {
            bank::LoginResponse::Ok -> connected => drop(connected),
            closed => {}
        }
        numbers => {
            stream::Stream::Send(_) -> _ => {}
            closed => {}
        }
    }
    Ok(())
}
