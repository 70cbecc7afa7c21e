use conversations::Transcript;
use conversations::protocols::pingpong::{Pong, client};
use duologue::Closed;

pub fn run(mut endpoint: client::Ping, transcript: &Transcript) -> Result<(), Closed> {
    for _ in 0..3 {
        let Pong::Pong(next) = endpoint.ping()?.recv()?;
        transcript.line("client <- pong");
        endpoint = next;
    }
    Ok(())
}
