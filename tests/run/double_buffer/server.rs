use conversations::protocols::double_buffer::{Acquire, Release, server};
use conversations::{Transcript, hex};
use duologue::Closed;

pub fn run(mut endpoint: server::Acquire, transcript: &Transcript) -> Result<(), Closed> {
    let (mut shown, mut hidden) = (vec![0; 2], vec![0; 2]);
    loop {
        match endpoint.recv()? {
            Acquire::Request(wait) => {
                transcript.line("server <- request");
                let Release::Release(buffer, acquire) = wait.give_buffer(hidden)?.recv()?;
                transcript.line(format_args!("server <- release({})", hex(&buffer)));
                (hidden, shown) = (shown, buffer);
                endpoint = acquire;
            }
            Acquire::Finish => {
                transcript.line("server <- finish");
                return Ok(());
            }
        }
    }
}
