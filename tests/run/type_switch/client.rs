use conversations::protocols::type_switch::{Wait, client};
use conversations::{Transcript, list, option, quoted};
use duologue::Closed;

pub fn run(endpoint: client::Start, transcript: &Transcript) -> Result<(), Closed> {
    let thing = |value: String| transcript.line(format_args!("client <- thing({value})"));
    let Wait::Thing(number, start) = endpoint.get_int()?.recv()?;
    thing(number.to_string());
    let Wait::Thing(text, start) = start.get_text()?.recv()?;
    thing(quoted(&text));
    let Wait::Thing(maybe, start) = start.get_maybe()?.recv()?;
    thing(option(maybe.map(|value| value.to_string())));
    let Wait::Thing(maybe, start) = start.get_maybe()?.recv()?;
    thing(option(maybe.map(|value| value.to_string())));
    let Wait::Thing(pairs, start) = start.get_list()?.recv()?;
    thing(list(
        pairs
            .iter()
            .map(|(number, flag)| format!("({number}, {flag})")),
    ));
    start.stop()?;
    Ok(())
}
