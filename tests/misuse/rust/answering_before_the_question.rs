// The error about a receiver names protocol, side and state, and the type arguments of a generic protocol.
//~ error[E0599]: no method named `thing` found for struct `duologue_runtime::Receiver<type_switch::state::client_receives::Wait<i64>>` in the current scope
use protocols::type_switch;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = type_switch::init();
    let waiting = client.get_int()?;
    waiting.thing(7)?;
    Ok(())
}
