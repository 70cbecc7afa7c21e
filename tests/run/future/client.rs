use conversations::protocols::future_text::{Waiting, client};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(endpoint: client::Waiting, transcript: &Transcript) -> Result<(), Closed> {
    let Waiting::Completed(text) = endpoint.recv()?;
    transcript.line(format_args!("client <- completed({})", quoted(&text)));
    Ok(())
}
