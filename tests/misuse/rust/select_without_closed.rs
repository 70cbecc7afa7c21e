// The case that the peer closes the session must be handled.
//~ error[E0004]: non-exhaustive patterns: `Err(_)` not covered
#![allow(dead_code, unused_variables)]
mod protocols {
    include!(env!("PROTOCOLS"));
}
use protocols::stream;

fn main() {
    let (mut numbers, _numbers) = stream::init::<u8>();
    duologue::select! {
        numbers => {
            stream::Stream::Send(number) -> next => drop((number, next)),
        }
    }
}
