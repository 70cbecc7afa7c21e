// The case that the peer closes the session must be handled. The error is at the line of the `select!`.
//~ error: `self.numbers` has no `closed` arm: its peer may disconnect
//~ select_without_closed.rs:12:9
use protocols::stream;

struct Reader {
    numbers: stream::server::Stream<u8>,
}

impl Reader {
    fn read(mut self) {
        duologue::select! {
            self.numbers => {
                stream::Stream::Send(number) -> next => drop((number, next)),
            }
        }
    }
}

fn main() {}
