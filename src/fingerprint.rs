//! Fingerprints, by which two processes check that they use the same protocol.

use crate::diagnostic::Diagnostic;
use crate::protocol::{Accepted, Side};
use crate::relation::{Canonical, View, can_leave, canonical, refusal, tag_mismatch};
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

/// Which side of a new version may accept the fingerprint of an old one between processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// The two versions have the same fingerprint.
    Same,
    /// This side may, and the other may not.
    By(Side),
    /// Neither side may, for this reason.
    Neither(String),
}

impl Acceptance {
    /// Compares two versions of a protocol without type parameters, or of an instance.
    #[must_use]
    pub fn between(old: View<'_>, new: View<'_>) -> Acceptance {
        // A protocol and its dual have the same fingerprint, so equal fingerprints do not imply that the sides are the same.
        if let Some(reason) = refusal(old, new) {
            Acceptance::Neither(reason)
        } else if Fingerprint::of(old) == Fingerprint::of(new) {
            Acceptance::Same
        } else if tag_mismatch(old, new).is_none() {
            Acceptance::By(Side::Server)
        } else {
            Acceptance::By(Side::Client)
        }
    }

    /// The side that may accept the old version, if both can be used between processes and the new one does not say so.
    #[must_use]
    pub fn unwritten(&self, old: View<'_>, new: View<'_>) -> Option<Side> {
        let Acceptance::By(side) = *self else {
            return None;
        };
        let print = Fingerprint::of(old).0;
        let mut written = accepts(new).iter();
        let is_written = written.any(|own| own.side == side && own.fingerprint == print);
        (!is_written && can_leave(old) && can_leave(new)).then_some(side)
    }

    /// Findings about each `#[accepts(...)]` of the new version that accepts the old one on a side that may not.
    #[must_use]
    pub fn unsound(&self, old: View<'_>, new: View<'_>) -> Vec<Diagnostic> {
        let print = Fingerprint::of(old);
        let claims = accepts(new).iter();
        let claims = claims.filter(|claim| claim.fingerprint == print.0);
        let name = new.name();
        let found = claims.filter_map(|claim| {
            let side = claim.side.word();
            let text = format!(
                "{side}s of `{name}` cannot talk to the old version, whose fingerprint this is"
            );
            let error = Diagnostic::error("unsound-acceptance", claim.span, text);
            match self {
                Acceptance::By(other) if *other != claim.side => {
                    let attribute = attribute(*other, print);
                    let words = format!("only {}s can talk to it", other.word());
                    Some(
                        error
                            .note(words)
                            .fix("write this instead", claim.span, attribute),
                    )
                }
                Acceptance::Neither(reason) => {
                    Some(error.note(reason.clone()).help("remove the attribute"))
                }
                Acceptance::Same | Acceptance::By(_) => None,
            }
        });
        found.collect()
    }
}

/// The `#[accepts(...)]` of a protocol or an instance.
#[must_use]
pub fn accepts(view: View<'_>) -> &[Accepted] {
    match view.instance {
        Some(instance) => &instance.accepts,
        None => &view.description().accepts,
    }
}

/// The attribute with which a side accepts an older fingerprint.
#[must_use]
pub fn attribute(side: Side, older: Fingerprint) -> String {
    format!("#[accepts({}, {older})]", side.word())
}
