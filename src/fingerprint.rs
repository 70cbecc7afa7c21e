//! By what two processes know that they speak the same protocol.

use crate::relation::{Canonical, View, canonical};
use std::fmt;

/// The first 16 bytes of the BLAKE3 hash of a protocol's canonical text.
///
/// It depends on who speaks when, on the names of messages and their order within a state, and on what messages carry: structs by
/// the names and types of their fields and enums by their variants, in order. It does not depend on what protocols, states,
/// payload entries, aliases, structs and enums are called, on the order of declarations, on comments, or on how states are split;
/// and a protocol has the fingerprint of its dual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The fingerprint of a protocol without type parameters, or of an instance.
    #[must_use]
    pub fn of(view: View<'_>) -> Fingerprint {
        Fingerprint::of_text(&canonical(view))
    }

    /// The fingerprint of what was described before.
    #[must_use]
    pub fn of_text(canonical: &Canonical) -> Fingerprint {
        let hash = blake3::hash(canonical.text.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.as_bytes()[..16]);
        Fingerprint(bytes)
    }
}

impl fmt::Display for Fingerprint {
    /// As 32 hexadecimal digits.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(to, "{byte:02x}"))
    }
}
