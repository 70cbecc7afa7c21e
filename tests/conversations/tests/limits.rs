//! Limits of protocols over sockets.

#[path = "limited/mod.rs"]
mod limited;

use conversations::sockets::pair;
use duologue::Why;

/// A side says why it ends a session.
fn told(why: Why) -> Why {
    why
}
