//! Two versions of a protocol: whether they can be deployed side by side, and which side goes first.

use super::walk::{Demand, Walk};
use super::{Disagreement, View, difference, misfit};
use crate::protocol::State;
use std::collections::HashSet;

/// In which order the two sides of a change can be deployed. From the mildest to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rollout {
    /// Nothing that travels and nothing that programs name has changed.
    Same,
    /// Nothing that travels has changed; programs may have to name things anew.
    AnyOrder,
    /// New servers understand old clients: servers go first.
    ServerFirst,
    /// New clients understand old servers: clients go first.
    ClientFirst,
    /// Neither mixture is sound.
    Incompatible,
}

impl Rollout {
    /// The verdict in the words that users read.
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

/// What there is to know about two versions of a protocol.
#[derive(Debug)]
pub struct Change<'a> {
    /// Where an old client and a new server part, if they do. Left is the client.
    pub old_client: Option<Disagreement<'a>>,
    /// Where a new client and an old server part, if they do. Left is the client.
    pub old_server: Option<Disagreement<'a>>,
    /// If both mixtures are sound: the first thing that has another name, old and new, as programs use it.
    pub renamed: Option<Renamed>,
}

/// Two versions that differ only in a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Of what, such as `state`.
    pub what: &'static str,
    /// As it was called; empty where there was none.
    pub old: String,
    /// As it is called; empty where there is none.
    pub new: String,
}

impl<'a> Change<'a> {
    /// Compares two versions.
    #[must_use]
    pub fn between(old: View<'a>, new: View<'a>) -> Change<'a> {
        // Equal versions fit, and it takes far fewer steps to see that they are equal.
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

/// The first name that programs use and that differs between two equal versions: of states, of payload entries, of parameters.
fn renaming(old: View<'_>, new: View<'_>) -> Option<Renamed> {
    let mut found: Option<Renamed> = None;
    let mut differ = |what, old: &str, new: &str| {
        if found.is_none() && old != new {
            let (old, new) = (old.to_owned(), new.to_owned());
            found = Some(Renamed { what, old, new });
        }
    };
    let walk = Walk::new(old, new, Demand::Equal);
    // The two are equal, so there is no disagreement to look at.
    let _ = walk.run(|old, new| {
        differ("state", old.name.text(), new.name.text());
        let count = |state: &State| format!("{} type parameters", state.parameters.len());
        differ("state", &count(old), &count(new));
        let Ok(matches) = super::shape::matches(old, new) else {
            return;
        };
        for (old_at, new_at) in matches {
            let entries = old.messages[old_at].entries.iter();
            for (old, new) in entries.zip(&new.messages[new_at].entries) {
                differ("payload entry", old.name.text(), new.name.text());
            }
        }
    });
    let (old_states, new_states) = (&old.description().states, &new.description().states);
    let lacking = |states: &[State], from: &'_ [State]| {
        let names: HashSet<&str> = states.iter().map(|state| state.name.text()).collect();
        let mut from = from.iter().map(|state| state.name.text());
        from.find(|name| !names.contains(name)).map(str::to_owned)
    };
    if found.is_none() {
        let what = "state";
        if let Some(new) = lacking(old_states, new_states) {
            let old = String::new();
            found = Some(Renamed { what, old, new });
        } else if let Some(old) = lacking(new_states, old_states) {
            let new = String::new();
            found = Some(Renamed { what, old, new });
        }
    }
    found
}
