use conversations::protocols::feed::{Idle, server};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(mut endpoint: server::Idle, transcript: &Transcript) -> Result<(), Closed> {
    loop {
        match endpoint.recv()? {
            Idle::Subscribe {
                topic,
                mut to,
                next: answer,
            } => {
                let quoted = quoted(&topic);
                transcript.line(format_args!(
                    "server <- subscribe({quoted}, <stream.client.Stream>)"
                ));
                if topic != "primes" {
                    endpoint = answer.unknown_topic(to)?;
                    continue;
                }
                endpoint = answer.subscribed()?;
                for prime in [2, 3, 5] {
                    to = to.send(prime)?;
                }
            }
            Idle::Leave => {
                transcript.line("server <- leave");
                return Ok(());
            }
        }
    }
}
