//! The names in generated code, target by target.

use duologue::languages::public_names::{MessageNames, ProtocolNames, PublicNames, StateNames};
use duologue::languages::{Options, Target, public_names};
use duologue::protocol::Program;
use serde::Serialize;
use std::collections::BTreeMap;

/// Something for each target, by its name.
pub type ByTarget<T> = BTreeMap<&'static str, T>;

/// The names in the generated code of every target.
pub struct AllNames(Vec<(Target, PublicNames)>);

/// The names of a protocol or an instance in the generated code of every target.
pub struct NamesOf<'a>(Vec<(Target, Option<&'a ProtocolNames>)>);

#[derive(Debug, Serialize)]
pub struct StateNamesModel {
    client: String,
    server: String,
    receive: Option<String>,
    received: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct MessageNamesModel {
    send: String,
    received: String,
    entries: Vec<String>,
}

impl AllNames {
    pub fn of(program: &Program, options: &Options) -> AllNames {
        let all = Target::ALL.into_iter();
        let names = all.map(|target| (target, public_names(program, target, options)));
        AllNames(names.collect())
    }

    pub fn of_type(&self, index: usize) -> ByTarget<Option<String>> {
        let names = self.0.iter();
        let names = names.map(|(target, names)| (target.name(), names.types[index].clone()));
        names.collect()
    }

    pub fn of_protocol(&self, index: usize) -> NamesOf<'_> {
        self.each(|names| names.protocols[index].as_ref())
    }

    pub fn of_instance(&self, index: usize) -> NamesOf<'_> {
        self.each(|names| names.instances[index].as_ref())
    }

    fn each<'a>(
        &'a self,
        of: impl Fn(&'a PublicNames) -> Option<&'a ProtocolNames>,
    ) -> NamesOf<'a> {
        let names = self.0.iter();
        NamesOf(names.map(|(target, names)| (*target, of(names))).collect())
    }
}

impl<'a> NamesOf<'a> {
    pub fn itself(&self) -> ByTarget<Option<String>> {
        self.each(|names| names.map(|names| names.name.clone()))
    }

    pub fn of_state(&self, state: usize) -> ByTarget<Option<StateNamesModel>> {
        self.each(|names| {
            let names = in_state(names, state)?;
            Some(StateNamesModel {
                client: names.client.clone(),
                server: names.server.clone(),
                receive: names.receive.clone(),
                received: names.received.clone(),
            })
        })
    }

    pub fn of_message(&self, state: usize, message: usize) -> ByTarget<Option<MessageNamesModel>> {
        self.each(|names| {
            let MessageNames {
                send,
                received,
                entries,
            } = &in_state(names, state)?.messages[message];
            Some(MessageNamesModel {
                send: send.clone(),
                received: received.clone(),
                entries: entries.clone(),
            })
        })
    }

    fn each<T>(&self, of: impl Fn(Option<&'a ProtocolNames>) -> T) -> ByTarget<T> {
        let names = self.0.iter();
        names
            .map(|(target, names)| (target.name(), of(*names)))
            .collect()
    }
}

fn in_state(names: Option<&ProtocolNames>, state: usize) -> Option<&StateNames> {
    names?.states[state].as_ref()
}
