// A method with `&mut self` cannot use an endpoint that is a field.
//~ error[E0507]: cannot move out of `self.numbers` which is behind a mutable reference
//~ self, // An endpoint in a field: see `duologue::Held`.
use protocols::stream;

struct Reader {
    numbers: stream::server::Stream<u8>,
}

impl Reader {
    fn read(&mut self) -> Result<(), duologue::Closed> {
        let stream::Stream::Send(number, next) = self.numbers.recv()?;
        self.numbers = next;
        Ok(())
    }
}

fn main() {}
