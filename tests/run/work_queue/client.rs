use conversations::protocols::work_queue::{Popped, client};
use conversations::{Ticket, Transcript};
use duologue::Closed;

pub fn run(endpoint: client::Idle, transcript: &Transcript) -> Result<(), Closed> {
    let mut idle = endpoint.push(Ticket { id: 7 })?.push(Ticket { id: 8 })?;
    for _ in 0..3 {
        idle = match idle.pop()?.recv()? {
            Popped::Ticket(ticket, next) => {
                transcript.line(format_args!("client <- ticket(ticket {})", ticket.id));
                next
            }
            Popped::Empty(next) => {
                transcript.line("client <- empty");
                next
            }
        };
    }
    idle.close()?;
    Ok(())
}
