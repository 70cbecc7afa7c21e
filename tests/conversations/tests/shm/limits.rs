//! Limits of protocols in shared memory.

#[path = "../limited/mod.rs"]
mod limited;

use duologue_shm::Open;

/// Both endpoints of a session in a new region. A region needs no name.
fn pair<S: Open, C: Open>(_name: &str) -> (S, C) {
    conversations::regions::pair()
}
