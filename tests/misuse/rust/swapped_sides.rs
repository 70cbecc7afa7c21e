// `init` returns the server's endpoint first. The error about the other one names its side.
//~ error[E0599]: no method named `login` found for struct `duologue_runtime::Receiver<bank::state::server_receives::Login>` in the current scope
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (client, server) = bank::init();
    let waiting = client.login("holk".to_owned(), "1234".to_owned())?;
    Ok(())
}
