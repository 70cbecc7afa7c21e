// The next endpoint is in the `Result` of a send. The compiler's advice to ignore it would close the session.
//~ error: unused `Result` that must be used
//~ a dropped endpoint closes its session, and `let _ = ...` drops it
#![deny(unused_must_use)]
#![allow(dead_code, unused_variables)]
mod protocols {
    include!(env!("PROTOCOLS"));
}
use protocols::bank;

fn pay(client: bank::client::Connected) {
    client.deposit(1.0);
}

fn main() {}
