//! The code in the READMEs of the crates `duologue-net` and `duologue-shm`. It is compiled, and not run: it serves until it is stopped.

use crate::protocols::bank;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

/// What the READMEs call, and leave to the reader.
fn teller(login: bank::server::Login) -> Result<(), duologue::Closed> {
    login.recv().map(drop)
}

/// The same for the client.
fn shop(login: bank::client::Login) {
    drop(login);
}

#[cfg(feature = "sockets")]
const _: fn() -> Outcome = || include!(concat!(env!("OUT_DIR"), "/readme_net.rs"));

#[cfg(feature = "shared-memory")]
const _: fn() -> Outcome = || include!(concat!(env!("OUT_DIR"), "/readme_shm.rs"));
