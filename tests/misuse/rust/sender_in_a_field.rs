// A method with `&mut self` cannot send with an endpoint that is a field.
//~ error[E0507]: cannot move out of `self.numbers` which is behind a mutable reference
//~ // An endpoint in a field: see `duologue::Held`.
#![allow(dead_code, unused_variables)]
use protocols::stream;

struct Writer {
    numbers: stream::client::Stream<u8>,
}

impl Writer {
    fn write(&mut self) -> Result<(), duologue::Closed> {
        self.numbers = self.numbers.send(1)?;
        Ok(())
    }
}

fn main() {}
