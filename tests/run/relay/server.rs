use conversations::protocols::relay_text::{Board, server};
use conversations::{Transcript, quoted};
use duologue::Closed;

pub fn run(mut endpoint: server::Board, transcript: &Transcript) -> Result<(), Closed> {
    while let Board::Post(text, next) = endpoint.recv()? {
        transcript.line(format_args!("server <- post({})", quoted(&text)));
        endpoint = next;
    }
    transcript.line("server <- close");
    Ok(())
}
