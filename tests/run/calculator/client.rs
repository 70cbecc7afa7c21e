use conversations::Transcript;
use conversations::protocols::calculator::{Answer, client};
use conversations::protocols::{Failure, Operation};
use duologue::Closed;

pub fn run(endpoint: client::Ready, transcript: &Transcript) -> Result<(), Closed> {
    let hear = |answer: client::Answer| {
        Ok::<_, Closed>(match answer.recv()? {
            Answer::Result(number, ready) => {
                transcript.line(format_args!("client <- result({number})"));
                ready
            }
            Answer::Failed(why, ready) => {
                transcript.line(format_args!("client <- failed({})", failure(&why)));
                ready
            }
        })
    };
    let ready = hear(endpoint.calculate(Operation::Add, 40, 2)?)?;
    let ready = hear(ready.calculate(Operation::Divide, -7, 2)?)?;
    let ready = hear(ready.calculate(Operation::Divide, 1, 0)?)?;
    let ready = hear(ready.calculate(Operation::Multiply, i64::MAX, 2)?)?;
    let ready = hear(ready.negate(42)?)?;
    ready.quit()?;
    Ok(())
}

fn failure(failure: &Failure) -> String {
    match failure {
        Failure::DividedByZero => "divided_by_zero".to_owned(),
        Failure::Overflow { of: operation } => format!("overflow({})", name(operation)),
    }
}

fn name(operation: &Operation) -> &'static str {
    match operation {
        Operation::Add => "add",
        Operation::Subtract => "subtract",
        Operation::Multiply => "multiply",
        Operation::Divide => "divide",
    }
}
