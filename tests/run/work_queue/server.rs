use conversations::Transcript;
use conversations::protocols::work_queue::{Idle, server};
use duologue::Closed;
use std::collections::VecDeque;

pub fn run(mut endpoint: server::Idle, transcript: &Transcript) -> Result<(), Closed> {
    let mut queue = VecDeque::new();
    loop {
        endpoint = match endpoint.recv()? {
            Idle::Push(ticket, next) => {
                transcript.line(format_args!("server <- push(ticket {})", ticket.id));
                queue.push_back(ticket);
                next
            }
            Idle::Pop(popped) => {
                transcript.line("server <- pop");
                match queue.pop_front() {
                    Some(ticket) => popped.ticket(ticket)?,
                    None => popped.empty()?,
                }
            }
            Idle::Close => {
                transcript.line("server <- close");
                return Ok(());
            }
        }
    }
}
