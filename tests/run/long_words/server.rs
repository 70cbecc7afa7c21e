use super::client::word;
use conversations::Transcript;
use conversations::protocols::word_count::{Counting, server};
use duologue::Closed;

pub fn run(mut endpoint: server::Counting, transcript: &Transcript) -> Result<(), Closed> {
    let mut words = Vec::new();
    let mut totals = loop {
        match endpoint.recv()? {
            Counting::Count(got, n, next) => {
                assert!(got == word(got.len(), n), "another word");
                transcript.line(format_args!("server <- count({}, {n})", got.len()));
                words.push((got, n));
                endpoint = next;
            }
            Counting::Done(totals) => {
                transcript.line("server <- done");
                break totals;
            }
        }
    };
    for (word, n) in words {
        totals = totals.total(word, n)?;
    }
    totals.end()?;
    Ok(())
}
