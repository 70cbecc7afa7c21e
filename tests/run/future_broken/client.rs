use conversations::Transcript;
use conversations::protocols::future_text::client;
use duologue::Closed;

pub fn run(endpoint: client::Waiting, transcript: &Transcript) -> Result<(), Closed> {
    assert!(endpoint.recv().is_err());
    transcript.line("client <- closed");
    Ok(())
}
