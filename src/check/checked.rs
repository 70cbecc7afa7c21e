//! A program that has passed all rules, and the facts that the checks established about it.

use crate::graph::{Capacity, StateGraph};
use crate::protocol::{InstanceId, Program, Protocol, ProtocolId, StateId, Type};
use std::collections::HashSet;
use std::sync::Arc;

/// A program that follows all rules. Generating code from it cannot fail.
#[derive(Debug)]
pub struct CheckedProgram {
    program: Arc<Program>,
    facts: Vec<Facts>,
}

/// What the checks established about one protocol.
#[derive(Debug)]
pub(super) struct Facts {
    to_server: Capacity,
    to_client: Capacity,
    reachable: Vec<bool>,
}

impl Facts {
    pub(super) fn of(graph: &StateGraph, reachable: Vec<bool>) -> Facts {
        let (to_server, to_client) = graph.capacities();
        Facts {
            to_server,
            to_client,
            reachable,
        }
    }
}

/// One protocol of a [`CheckedProgram`].
#[derive(Clone, Copy, Debug)]
pub struct CheckedProtocol<'a> {
    checked: &'a CheckedProgram,
    id: ProtocolId,
}

impl CheckedProgram {
    /// Called only if every check has passed; `facts` has an entry for each protocol, in order.
    pub(super) fn new(program: Arc<Program>, facts: Vec<Facts>) -> CheckedProgram {
        CheckedProgram { program, facts }
    }

    /// The program that was checked.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// One protocol.
    #[must_use]
    pub fn protocol(&self, id: ProtocolId) -> CheckedProtocol<'_> {
        CheckedProtocol { checked: self, id }
    }

    /// All protocols, in the order of their files.
    pub fn protocols(&self) -> impl Iterator<Item = CheckedProtocol<'_>> {
        let ids = self.program.files.iter().flat_map(|file| &file.protocols);
        ids.map(|id| self.protocol(*id))
    }

    /// Each reachable state of an instance's protocol, with the arguments it is reached with; the start first.
    #[must_use]
    pub fn instantiations_of(&self, instance: InstanceId) -> Vec<(StateId, Vec<Type>)> {
        let instance = self.program.instance(instance);
        self.protocol(instance.protocol)
            .instantiations_from(StateId::new(0), instance.arguments.clone())
    }
}

impl<'a> CheckedProtocol<'a> {
    /// Its id.
    #[must_use]
    pub fn id(self) -> ProtocolId {
        self.id
    }

    /// The program it belongs to.
    #[must_use]
    pub fn checked(self) -> &'a CheckedProgram {
        self.checked
    }

    /// The program it belongs to.
    #[must_use]
    pub fn program(self) -> &'a Program {
        &self.checked.program
    }

    /// Its description.
    #[must_use]
    pub fn protocol(self) -> &'a Protocol {
        self.checked.program.protocol(self.id)
    }

    /// The maximum number of messages in flight towards the server.
    #[must_use]
    pub fn capacity_to_server(self) -> Capacity {
        self.facts().to_server
    }

    /// The maximum number of messages in flight towards the client.
    #[must_use]
    pub fn capacity_to_client(self) -> Capacity {
        self.facts().to_client
    }

    /// The maximum number of messages in flight in either direction: only one direction is in use at a time.
    #[must_use]
    pub fn capacity(self) -> Capacity {
        self.facts().to_server.max(self.facts().to_client)
    }

    /// Whether a session can reach a state.
    #[must_use]
    pub fn is_reachable(self, state: StateId) -> bool {
        self.facts().reachable[state.index()]
    }

    /// Each reachable state, with the arguments it is reached with in terms of the start's parameters. The start, with its own
    /// parameters, comes first.
    #[must_use]
    pub fn instantiations(self) -> Vec<(StateId, Vec<Type>)> {
        let own = self.protocol().start().own_arguments();
        self.instantiations_from(StateId::new(0), own)
    }

    /// Each state that can be reached from `state` with these arguments, with the arguments it is reached with; `state` first.
    #[must_use]
    pub fn instantiations_from(
        self,
        state: StateId,
        arguments: Vec<Type>,
    ) -> Vec<(StateId, Vec<Type>)> {
        instantiations(self.protocol(), (state, arguments), usize::MAX)
    }

    fn facts(self) -> &'a Facts {
        &self.checked.facts[self.id.index()]
    }
}

/// The states that can be reached from the first one, each with the arguments it is reached with, breadth first; not all of them if there
/// are more than `most`. Terminates because `expanding-recursion` has excluded arguments that grow along a cycle.
pub(crate) fn instantiations(
    protocol: &Protocol,
    first: (StateId, Vec<Type>),
    most: usize,
) -> Vec<(StateId, Vec<Type>)> {
    let mut seen = HashSet::from([first.clone()]);
    let mut found = vec![first];
    let mut at = 0;
    while at < found.len() && found.len() <= most {
        let (state, own) = found[at].clone();
        for message in &protocol.state(state).messages {
            if let Some(next) = message.next.with(&own)
                && !seen.contains(&next)
            {
                seen.insert(next.clone());
                found.push(next);
            }
        }
        at += 1;
    }
    found
}
