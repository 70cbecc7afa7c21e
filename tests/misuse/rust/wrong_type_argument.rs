// The argument of the next state depends on the message.
//~ error[E0308]: mismatched types
//~ expected `String`, found `i64`
use protocols::type_switch;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = type_switch::init();
    let type_switch::Wait::Thing(value, next) = client.get_int()?.recv()?;
    let text: String = value;
    Ok(())
}
