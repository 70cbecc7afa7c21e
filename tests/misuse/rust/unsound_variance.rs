// A stream of `'static` texts is not a stream of shorter-lived ones: the server would read a text that is gone.
//~ error: lifetime may not live long enough
//~ is invariant over the parameter `T`
use protocols::stream;

fn lend<'a>(client: stream::client::Stream<&'static str>, text: &'a str) {
    let client: stream::client::Stream<&'a str> = client;
    drop(client.send(text));
}

fn main() {}
