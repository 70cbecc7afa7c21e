use conversations::Transcript;
use conversations::protocols::simple_proto::{SayHello, server};
use duologue::Closed;

pub fn run(mut endpoint: server::SayHello, transcript: &Transcript) -> Result<(), Closed> {
    while let SayHello::SayHello(next) = endpoint.recv()? {
        transcript.line("server <- SayHello");
        endpoint = next;
    }
    transcript.line("server <- GoodBye");
    Ok(())
}
