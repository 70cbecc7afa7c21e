// Nothing can be received when it is this side's turn to send.
//~ error[E0599]: no method named `recv` found for struct `bank::client::Login` in the current scope
#![allow(dead_code, unused_variables)]
mod protocols {
    include!(env!("PROTOCOLS"));
}
use protocols::bank;

fn main() -> Result<(), duologue::Closed> {
    let (server, client) = bank::init();
    client.recv()?;
    Ok(())
}
