use conversations::Transcript;
use conversations::protocols::future_text::server;
use duologue::Closed;

pub fn run(endpoint: server::Waiting, _: &Transcript) -> Result<(), Closed> {
    endpoint.completed("a \"quoted\" word,\na back\\slash".to_owned())?;
    Ok(())
}
