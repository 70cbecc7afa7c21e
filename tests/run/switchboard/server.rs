use conversations::Transcript;
use conversations::protocols::calculator::Ready;
use conversations::protocols::switchboard::{Open, server};
use duologue::Closed;

pub fn run(mut endpoint: server::Open, transcript: &Transcript) -> Result<(), Closed> {
    while let Open::Connect { session, next } = endpoint.recv()? {
        transcript.line("server <- connect(<calculator.server.ready>)");
        endpoint = next;
        let question = session.recv()?;
        let Ready::Negate(number, answer) = question else {
            panic!("unexpected: {question:?}")
        };
        transcript.line(format_args!("server <- negate({number})"));
        let last = answer.result(-number)?.recv()?;
        let Ready::Quit = last else {
            panic!("unexpected: {last:?}")
        };
        transcript.line("server <- quit");
    }
    transcript.line("server <- shut");
    Ok(())
}
