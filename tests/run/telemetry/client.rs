use conversations::protocols::telemetry::{Echo, client};
use conversations::{Transcript, option};
use duologue::Closed;

pub fn run(endpoint: client::Report, transcript: &Transcript) -> Result<(), Closed> {
    let report = endpoint.unsigned(u8::MAX, u16::MAX, u32::MAX, u64::MAX)?;
    let report = report.signed(i8::MIN, i16::MIN, i32::MIN, i64::MIN)?;
    let report = received(report.flush()?.recv()?, transcript);
    let report = report
        .real(-0.25, 1024.5)?
        .old(-1, 1, 0.75, "1812".to_owned())?;
    let report = report.raw(true, "Zürich".to_owned(), vec![0xde, 0xad])?;
    let report = received(report.flush()?.recv()?, transcript);
    let answer = report.flush()?.recv()?;
    let Echo::Enough = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line("client <- enough");
    Ok(())
}

fn received(answer: Echo, transcript: &Transcript) -> client::Report {
    let Echo::Received {
        count,
        last,
        next: report,
    } = answer
    else {
        panic!("unexpected: {answer:?}")
    };
    let last = option(last.map(|(sign, value)| format!("({sign}, {value:.2})")));
    transcript.line(format_args!("client <- received({count}, {last})"));
    report
}
