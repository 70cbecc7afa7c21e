//! Limits of protocols in shared memory.

#[path = "../limited/mod.rs"]
mod limited;

use duologue::Why;
use duologue_shm::Open;

/// A side in shared memory does not say why it leaves.
fn told(_why: Why) -> Why {
    Why::Left
}

/// Both endpoints of a session in a new region. A region needs no name.
fn pair<S: Open, C: Open>(_name: &str) -> (S, C) {
    conversations::regions::pair()
}
