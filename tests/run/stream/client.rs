use conversations::Transcript;
use conversations::protocols::numbers::client;
use duologue::Closed;

pub fn run(mut endpoint: client::Stream, _: &Transcript) -> Result<(), Closed> {
    for number in [1, 2, 3, u64::MAX] {
        endpoint = endpoint.send(number)?;
    }
    Ok(())
}
