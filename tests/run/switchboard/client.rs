use conversations::Transcript;
use conversations::protocols::calculator::{self, Answer};
use conversations::protocols::switchboard::client;
use duologue::Closed;

pub fn run(mut endpoint: client::Open, transcript: &Transcript) -> Result<(), Closed> {
    for number in [1, 2] {
        let (theirs, sums) = calculator::init();
        endpoint = endpoint.connect(theirs)?;
        let answer = sums.negate(number)?.recv()?;
        let Answer::Result(negated, sums) = answer else {
            panic!("unexpected: {answer:?}")
        };
        transcript.line(format_args!("client <- result({negated})"));
        sums.quit()?;
    }
    endpoint.shut()?;
    Ok(())
}
