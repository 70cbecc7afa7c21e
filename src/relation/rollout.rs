//! Two versions of a protocol: whether they can be deployed side by side, and which side goes first.

use super::rename::{Renamed, renaming};
use crate::relation::{Disagreement, View, difference, misfits};
use crate::sizes::Sizes;
use std::rc::Rc;

/// The order in which the two sides of a change can be deployed, from the mildest to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rollout {
    /// Nothing that is transmitted and nothing that programs name has changed.
    Same,
    /// Nothing that is transmitted has changed; programs may have to use new names.
    AnyOrder,
    /// New servers understand old clients: servers go first.
    ServerFirst,
    /// New clients understand old servers: clients go first.
    ClientFirst,
    /// Neither mixture is sound.
    Incompatible,
}

impl Rollout {
    /// The verdict in the words shown to users.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Rollout::Same => "same",
            Rollout::AnyOrder => "any order",
            Rollout::ServerFirst => "server first, then clients",
            Rollout::ClientFirst => "clients first, then server",
            Rollout::Incompatible => "incompatible",
        }
    }
}

/// A client of one version with a server of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixture {
    /// The client is old, the server new.
    OldClient,
    /// The client is new, the server old.
    OldServer,
}

/// The result of comparing two versions of a protocol.
#[derive(Debug)]
pub struct Change<'a> {
    /// Where an old client and a new server disagree, the shortest dialogues first. The client is on the left.
    pub old_client: Vec<Disagreement<'a>>,
    /// Where a new client and an old server disagree. The client is on the left.
    pub old_server: Vec<Disagreement<'a>>,
    /// If both mixtures are sound: the first change that programs can see, in a name or in what is required of them.
    pub renamed: Option<Renamed>,
}

impl<'a> Change<'a> {
    /// Compares two versions whose messages travel by their names, without their limits.
    #[must_use]
    pub fn between(old: View<'a>, new: View<'a>) -> Change<'a> {
        // Equal versions fit, and deciding equality takes far fewer steps.
        if difference(old, new).is_none() {
            return Change {
                old_client: Vec::new(),
                old_server: Vec::new(),
                renamed: renaming(old, new),
            };
        }
        Change::between_processes(old, new, false, None)
    }

    /// Compares two versions. Messages travel as their positions if `compares_positions`, otherwise by their names. With the sizes of
    /// the old and of the new program, a receiver has to accept whatever the sender's limits allow.
    #[must_use]
    pub fn between_processes(
        old: View<'a>,
        new: View<'a>,
        compares_positions: bool,
        sizes: Option<&[Rc<Sizes>; 2]>,
    ) -> Change<'a> {
        let turned = sizes.map(|[old, new]| [Rc::clone(new), Rc::clone(old)]);
        let old_client = misfits(old, new, compares_positions, sizes.cloned());
        let old_server = misfits(new, old, compares_positions, turned);
        let is_same = old_client.is_empty() && old_server.is_empty();
        Change {
            old_client,
            old_server,
            renamed: is_same.then(|| renaming(old, new)).flatten(),
        }
    }

    /// Which order is safe.
    #[must_use]
    pub fn rollout(&self) -> Rollout {
        match (self.old_client.is_empty(), self.old_server.is_empty()) {
            (true, true) if self.renamed.is_none() => Rollout::Same,
            (true, true) => Rollout::AnyOrder,
            (true, false) => Rollout::ServerFirst,
            (false, true) => Rollout::ClientFirst,
            (false, false) => Rollout::Incompatible,
        }
    }

    /// Where a mixture fails.
    #[must_use]
    pub fn failures(&self, mixture: Mixture) -> &[Disagreement<'a>] {
        match mixture {
            Mixture::OldClient => &self.old_client,
            Mixture::OldServer => &self.old_server,
        }
    }
}
