use conversations::protocols::buyer::{Ask, Consider, server};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(endpoint: server::Ask, transcript: &Transcript) -> Result<(), Closed> {
    let Ask::Ask {
        item,
        next: offered,
    } = endpoint.recv()?;
    transcript.line(format_args!("server <- ask({})", quoted(&item)));
    let mut consider = offered.offer(100)?;
    loop {
        match consider.recv()? {
            Consider::Accept => {
                transcript.line("server <- accept");
                return Ok(());
            }
            Consider::Counter(price, offered) => {
                transcript.line(format_args!("server <- counter({price})"));
                consider = offered.offer(price + 25)?;
            }
            Consider::WalkAway => {
                transcript.line("server <- walk_away");
                return Ok(());
            }
        }
    }
}
