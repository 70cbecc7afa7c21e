use conversations::protocols::seller::{Asked, Considered, client};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(endpoint: client::Asked, transcript: &Transcript) -> Result<(), Closed> {
    let Asked::Ask {
        item,
        next: offering,
    } = endpoint.recv()?;
    transcript.line(format_args!("client <- ask({})", quoted(&item)));
    match offering.offer(100)?.recv()? {
        Considered::Accept => transcript.line("client <- accept"),
        Considered::Counter(price, offering) => {
            transcript.line(format_args!("client <- counter({price})"));
            offering.sold_out()?;
        }
        Considered::WalkAway => transcript.line("client <- walk_away"),
    }
    Ok(())
}
