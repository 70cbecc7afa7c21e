use conversations::protocols::oneshot_bytes::{Oneshot, server};
use conversations::{Transcript, hex};
use duologue::Closed;

pub fn run(endpoint: server::Oneshot, transcript: &Transcript) -> Result<(), Closed> {
    let Oneshot::Send(bytes, _done) = endpoint.recv()?;
    transcript.line(format_args!("server <- send({})", hex(&bytes)));
    Ok(())
}
