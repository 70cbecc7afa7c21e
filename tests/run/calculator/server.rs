use conversations::Transcript;
use conversations::protocols::calculator::{Ready, server};
use conversations::protocols::{Failure, Operation};
use duologue::Closed;

pub fn run(mut endpoint: server::Ready, transcript: &Transcript) -> Result<(), Closed> {
    loop {
        endpoint = match endpoint.recv()? {
            Ready::Calculate(operation, left, right, answer) => {
                let (name, result) = match operation {
                    Operation::Add => ("add", left.checked_add(right)),
                    Operation::Subtract => ("subtract", left.checked_sub(right)),
                    Operation::Multiply => ("multiply", left.checked_mul(right)),
                    Operation::Divide => ("divide", left.checked_div(right)),
                };
                transcript.line(format_args!("server <- calculate({name}, {left}, {right})"));
                match result {
                    Some(result) => answer.result(result)?,
                    None if right == 0 && operation == Operation::Divide => {
                        answer.failed(Failure::DividedByZero)?
                    }
                    None => answer.failed(Failure::Overflow { of: operation })?,
                }
            }
            Ready::Negate(number, answer) => {
                transcript.line(format_args!("server <- negate({number})"));
                answer.result(-number)?
            }
            Ready::Quit => {
                transcript.line("server <- quit");
                return Ok(());
            }
        }
    }
}
