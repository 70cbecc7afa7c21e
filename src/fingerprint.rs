//! Fingerprints, by which two processes check that they use the same protocol.

use crate::relation::{Canonical, View, canonical};
use std::fmt;

/// The first 16 bytes of the BLAKE3 hash of a protocol's canonical text.
///
/// It depends on which side sends when, on the names of messages and their order within a state, and on what messages carry:
/// structs by the names and types of their fields and enums by their variants, in order. It does not depend on the names of
/// protocols, states, payload entries, aliases, structs and enums, on the order of declarations, on comments, or on how states are
/// split. A protocol and its dual have the same fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The fingerprint of a protocol without type parameters, or of an instance.
    #[must_use]
    pub fn of(view: View<'_>) -> Fingerprint {
        Fingerprint::of_text(&canonical(view))
    }

    /// The fingerprint of a protocol with this canonical text.
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
