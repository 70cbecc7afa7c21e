//! The verdict on a change to a protocol, in a few words.

use crate::relation::{Change, Fate, Mixture, Renamed, Rollout, Versions, can_leave, refusal};

/// The verdict on a change to a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The protocol's name with its package.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, in a few words; may be empty.
    pub reason: String,
    /// Why neither side may accept the other version between processes, where a message travels as its position, although the
    /// versions understand each other by names.
    pub wire: Option<String>,
}

/// What became of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is new.
    Added,
    /// It was removed.
    Removed,
    /// It is in both versions.
    Kept {
        /// In which order the sides can be deployed.
        rollout: Rollout,
        /// Whether an old client can talk to a new server.
        old_client: bool,
        /// Whether a new client can talk to an old server.
        new_client: bool,
    },
}

impl Verdict {
    /// The verdict on one protocol.
    #[must_use]
    pub fn on(versions: &Versions<'_>) -> Verdict {
        let (outcome, reason, wire) = match &versions.fate {
            Fate::Added => (Outcome::Added, String::new(), None),
            Fate::Removed(..) => (Outcome::Removed, String::new(), None),
            Fate::Kept(old, new, change) => {
                let is_sound = |mixture| change.failures(mixture).is_empty();
                let outcome = Outcome::Kept {
                    rollout: change.rollout(),
                    old_client: is_sound(Mixture::OldClient),
                    new_client: is_sound(Mixture::OldServer),
                };
                let is_sound = change.rollout() != Rollout::Incompatible;
                let wire = is_sound.then(|| refusal(*old, *new)).flatten();
                let wire = wire.filter(|_| can_leave(*old) && can_leave(*new));
                (outcome, reason(change), wire)
            }
        };
        Verdict {
            name: versions.name.clone(),
            outcome,
            reason,
            wire,
        }
    }
}

impl Outcome {
    /// One word, for programs to read.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Added => "added",
            Outcome::Removed => "removed",
            Outcome::Kept { rollout, .. } => match rollout {
                Rollout::Same => "same",
                Rollout::AnyOrder => "any-order",
                Rollout::ServerFirst => "server-first",
                Rollout::ClientFirst => "client-first",
                Rollout::Incompatible => "incompatible",
            },
        }
    }

    /// The words shown to users.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Added => "added",
            Outcome::Removed => "incompatible: removed",
            Outcome::Kept { rollout, .. } => rollout.words(),
        }
    }
}

fn reason(change: &Change<'_>) -> String {
    match (change.rollout(), &change.renamed) {
        (Rollout::AnyOrder, Some(Renamed { what, old, new })) => {
            let change = match (old.as_str(), new.as_str()) {
                ("", new) => format!("{what} `{new}` is new"),
                (old, "") => format!("{what} `{old}` was removed"),
                (old, new) => format!("{what} `{old}` became `{new}`"),
            };
            format!("{change}; messages are the same")
        }
        (Rollout::ServerFirst, _) => "new servers understand old clients".to_owned(),
        (Rollout::ClientFirst, _) => "new clients understand old servers".to_owned(),
        (Rollout::Incompatible, _) => "neither version understands the other".to_owned(),
        (Rollout::Same | Rollout::AnyOrder, _) => String::new(),
    }
}
