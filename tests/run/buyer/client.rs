use conversations::Transcript;
use conversations::protocols::buyer::{Offered, client};
use duologue::Closed;

pub fn run(endpoint: client::Ask, transcript: &Transcript) -> Result<(), Closed> {
    let mut offered = endpoint.ask("lamp".to_owned())?;
    loop {
        let answer = offered.recv()?;
        let Offered::Offer(price, consider) = answer else {
            panic!("unexpected: {answer:?}")
        };
        transcript.line(format_args!("client <- offer({price})"));
        if price <= 80 {
            consider.accept()?;
            return Ok(());
        }
        offered = consider.counter(price / 2)?;
    }
}
