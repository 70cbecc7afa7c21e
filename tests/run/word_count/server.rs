use conversations::protocols::word_count::{Counting, server};
use conversations::{Transcript, quoted};
use duologue::Closed;
use std::collections::BTreeMap;

pub fn run(mut endpoint: server::Counting, transcript: &Transcript) -> Result<(), Closed> {
    let mut sums = BTreeMap::new();
    let mut totals = loop {
        match endpoint.recv()? {
            Counting::Count(word, number, next) => {
                transcript.line(format_args!("server <- count({}, {number})", quoted(&word)));
                *sums.entry(word).or_insert(0) += number;
                endpoint = next;
            }
            Counting::Done(totals) => {
                transcript.line("server <- done");
                break totals;
            }
        }
    };
    for (word, number) in sums {
        totals = totals.total(word, number)?;
    }
    totals.end()?;
    Ok(())
}
