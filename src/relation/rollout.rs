//! Two versions of a protocol: whether they can be deployed side by side, and which side goes first.

use super::rename::{Renamed, renaming};
use super::{Disagreement, View, difference, exceeding, misfit, tag_mismatch};
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
    /// Where an old client and a new server disagree, if they do. The client is on the left.
    pub old_client: Option<Disagreement<'a>>,
    /// Where a new client and an old server disagree, if they do. The client is on the left.
    pub old_server: Option<Disagreement<'a>>,
    /// If both mixtures are sound: the first change that programs can see, in a name or in what is required of them.
    pub renamed: Option<Renamed>,
}

impl<'a> Change<'a> {
    /// Compares two versions.
    #[must_use]
    pub fn between(old: View<'a>, new: View<'a>) -> Change<'a> {
        // Equal versions fit, and deciding equality takes far fewer steps.
        if difference(old, new).is_none() {
            return Change {
                old_client: None,
                old_server: None,
                renamed: renaming(old, new),
            };
        }
        Change {
            old_client: misfit(old, new),
            old_server: misfit(new, old),
            renamed: None,
        }
    }

    /// Compares two versions as processes do, where a message travels as its position in its state.
    #[must_use]
    pub fn between_processes(old: View<'a>, new: View<'a>) -> Change<'a> {
        let (old_client, old_server) = (tag_mismatch(old, new), tag_mismatch(new, old));
        let is_same = old_client.is_none() && old_server.is_none();
        Change {
            old_client,
            old_server,
            renamed: is_same.then(|| renaming(old, new)).flatten(),
        }
    }

    /// The same with limits: a receiver has to accept whatever the sender's limits allow. Messages travel as their positions if
    /// `compares_positions`, otherwise by their names. `sizes` are those of the old and of the new program.
    #[must_use]
    pub fn with_limits(
        old: View<'a>,
        new: View<'a>,
        compares_positions: bool,
        sizes: &[Rc<Sizes>; 2],
    ) -> Change<'a> {
        let [of_old, of_new] = sizes;
        let old_client = exceeding(old, new, compares_positions, [of_old, of_new]);
        let old_server = exceeding(new, old, compares_positions, [of_new, of_old]);
        let is_same = old_client.is_none() && old_server.is_none();
        Change {
            old_client,
            old_server,
            renamed: is_same.then(|| renaming(old, new)).flatten(),
        }
    }

    /// Which order is safe.
    #[must_use]
    pub fn rollout(&self) -> Rollout {
        match (&self.old_client, &self.old_server) {
            (None, None) if self.renamed.is_none() => Rollout::Same,
            (None, None) => Rollout::AnyOrder,
            (None, Some(_)) => Rollout::ServerFirst,
            (Some(_), None) => Rollout::ClientFirst,
            (Some(_), Some(_)) => Rollout::Incompatible,
        }
    }

    /// Where a mixture fails, if it does.
    #[must_use]
    pub fn failure(&self, mixture: Mixture) -> Option<&Disagreement<'a>> {
        match mixture {
            Mixture::OldClient => self.old_client.as_ref(),
            Mixture::OldServer => self.old_server.as_ref(),
        }
    }
}
