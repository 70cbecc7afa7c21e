use conversations::Transcript;
use conversations::protocols::pingpong::{Ping, server};
use duologue::Closed;

pub fn run(mut endpoint: server::Ping, transcript: &Transcript) -> Result<(), Closed> {
    for _ in 0..3 {
        let Ping::Ping(answer) = endpoint.recv()?;
        transcript.line("server <- ping");
        endpoint = answer.pong()?;
    }
    assert!(endpoint.recv().is_err());
    transcript.line("server <- closed");
    Ok(())
}
