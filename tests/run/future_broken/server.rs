use conversations::Transcript;
use conversations::protocols::future_text::server;
use duologue::Closed;

pub fn run(endpoint: server::Waiting, _: &Transcript) -> Result<(), Closed> {
    drop(endpoint);
    Ok(())
}
