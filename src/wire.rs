//! What travels between processes, as far as it follows from the protocol: the fingerprint, the tags of messages and the sizes of
//! their payloads. All targets read it here. The format itself is specified in `docs/wire.md`.
//!
//! [`Sizes`] answers for every type of a program, and for messages whose state has type parameters. [`Plan`] is what a protocol or
//! an instance needs in addition.

use crate::fingerprint::{Fingerprint, accepts};
use crate::protocol::{Direction, Side};
use crate::relation::{Obstacle, View, canonical};

pub use crate::sizes::{BuiltinEncoding, Encoding, Size, Sizes};

/// What a protocol or an instance needs between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The fingerprint. `None` for a protocol with type parameters: each instance has its own.
    pub fingerprint: Option<Fingerprint>,
    /// The side that sends first; `None` if the session is over at once.
    pub first: Option<Side>,
}

/// The fingerprints of older versions that a side of a protocol or an instance accepts, in the order written.
#[must_use]
pub fn accepted(view: View<'_>, side: Side) -> Vec<Fingerprint> {
    let own = accepts(view)
        .iter()
        .filter(|accepted| accepted.side == side);
    own.map(|accepted| Fingerprint(accepted.fingerprint))
        .collect()
}

impl Plan {
    /// The plan of a protocol or an instance of a checked program.
    ///
    /// # Errors
    ///
    /// The payload by which the protocol is confined to one process, whatever arguments its type parameters get.
    pub fn of(view: View<'_>) -> Result<Plan, Obstacle> {
        let text = canonical(view);
        let first = view.description().start().direction;
        let first = first.map(Direction::active_side);
        if let Some(obstacle) = text.lasting_obstacle {
            return Err(obstacle);
        }
        let is_open = view.instance.is_none() && !view.description().start().parameters.is_empty();
        Ok(Plan {
            fingerprint: (!is_open).then(|| Fingerprint::of_text(&text)),
            first: first.map(|side| if view.is_turned { side.dual() } else { side }),
        })
    }
}
