use conversations::Transcript;
use conversations::protocols::numbers::{Stream, server};
use duologue::Closed;

pub fn run(mut endpoint: server::Stream, transcript: &Transcript) -> Result<(), Closed> {
    for _ in 0..4 {
        let Stream::Send(number, next) = endpoint.recv()?;
        transcript.line(format_args!("server <- send({number})"));
        endpoint = next;
    }
    assert!(endpoint.recv().is_err());
    transcript.line("server <- closed");
    Ok(())
}
