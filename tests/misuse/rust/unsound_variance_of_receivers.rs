// Nor is it one for the side that receives.
//~ error: lifetime may not live long enough
//~ is invariant over the parameter `S`
#![allow(dead_code, unused_variables)]
mod protocols {
    include!(env!("PROTOCOLS"));
}
use protocols::stream;

fn keep<'a>(server: stream::server::Stream<&'a str>) -> stream::server::Stream<&'static str> {
    server
}

fn main() {}
