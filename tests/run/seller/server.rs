use conversations::Transcript;
use conversations::protocols::seller::{Offering, server};
use duologue::Closed;

pub fn run(endpoint: server::Asked, transcript: &Transcript) -> Result<(), Closed> {
    let answer = endpoint.ask("lamp".to_owned())?.recv()?;
    let Offering::Offer(price, considered) = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line(format_args!("server <- offer({price})"));
    let answer = considered.counter(1)?.recv()?;
    let Offering::SoldOut = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line("server <- sold_out");
    Ok(())
}
