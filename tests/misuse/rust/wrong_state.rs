// It is the other side's turn.
//~ error[E0599]: no method named `withdrawal` found for struct `duologue_runtime::Receiver<bank::state::client_receives::LoginResponse>` in the current scope
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    let waiting = client.login("holk".to_owned(), "1234".to_owned())?;
    waiting.withdrawal(50.0)?;
    Ok(())
}
