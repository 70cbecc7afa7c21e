// On the receiving side, a stream of short-lived texts is not a stream of `'static` ones.
//~ error: lifetime may not live long enough
//~ is invariant over the parameter `S`
use protocols::stream;

fn keep<'a>(server: stream::server::Stream<&'a str>) -> stream::server::Stream<&'static str> {
    server
}

fn main() {}
