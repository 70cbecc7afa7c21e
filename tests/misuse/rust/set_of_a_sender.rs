// A set waits for messages, and this side speaks first.
//~ error[E0277]: `bank::client::Login` does not receive
//~ not an endpoint that waits for a message
//~ the endpoint that receives is what that gives
#![allow(dead_code, unused_variables)]
mod protocols {
    include!(env!("PROTOCOLS"));
}
use protocols::bank;

fn wait(port: impl duologue::Receive) {}

fn main() {
    let (server, client) = bank::init();
    wait(client);
}
