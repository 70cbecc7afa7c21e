use conversations::Transcript;
use conversations::protocols::relay_text::client;
use duologue::Closed;

pub fn run(endpoint: client::Board, _: &Transcript) -> Result<(), Closed> {
    endpoint
        .post("line one\nline two".to_owned())?
        .post(String::new())?
        .close()?;
    Ok(())
}
