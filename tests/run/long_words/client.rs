use conversations::Transcript;
use conversations::protocols::word_count::{Totals, client};
use duologue::Closed;

const M: usize = 1_000_000;

pub fn word(size: usize, n: u64) -> String {
    let letter = |i: usize| char::from(b'a' + ((7 * i as u64 + n) % 26) as u8);
    (0..size).map(letter).collect()
}

pub fn run(mut endpoint: client::Counting, transcript: &Transcript) -> Result<(), Closed> {
    for (n, size) in (0..).zip([10_000, 20_000, 70_000, 500_000, M, M, M, M]) {
        endpoint = endpoint.count(word(size, n), n)?;
    }
    let mut totals = endpoint.done()?;
    while let Totals::Total(got, n, next) = totals.recv()? {
        assert!(got == word(got.len(), n), "another word");
        transcript.line(format_args!("client <- total({}, {n})", got.len()));
        totals = next;
    }
    transcript.line("client <- end");
    Ok(())
}
