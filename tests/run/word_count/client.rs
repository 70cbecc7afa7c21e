use conversations::protocols::word_count::{Totals, client};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(mut endpoint: client::Counting, transcript: &Transcript) -> Result<(), Closed> {
    for word in ["the", "cat", "and", "the", "hat"] {
        endpoint = endpoint.count(word.to_owned(), 1)?;
    }
    let mut totals = endpoint.done()?;
    while let Totals::Total(word, number, next) = totals.recv()? {
        transcript.line(format_args!("client <- total({}, {number})", quoted(&word)));
        totals = next;
    }
    transcript.line("client <- end");
    Ok(())
}
