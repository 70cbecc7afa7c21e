//! Two versions of everything that some files declare.

use super::explain::misfit;
use super::{Change, Mixture, Origin, Rollout, View, difference};
use crate::diagnostic::{Diagnostic, Level};
use crate::name::Name;
use crate::protocol::{FileId, Program};
use crate::source::Moved;
use std::collections::BTreeMap;

/// A protocol, or an instance of one, in two versions.
#[derive(Debug)]
pub struct Versions<'a> {
    /// Its name with its package.
    pub name: String,
    /// What became of it.
    pub fate: Fate<'a>,
}

/// What became of a protocol.
#[derive(Debug)]
pub enum Fate<'a> {
    /// It is new.
    Added,
    /// It is gone; the name of one that came and is equal to it, if there is one.
    Removed(&'a Name, Option<String>),
    /// It is in both versions.
    Kept(View<'a>, View<'a>, Box<Change<'a>>),
}

/// What is demanded of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Require {
    /// That either side may be deployed first.
    AnyOrder,
    /// That there is an order.
    SomeOrder,
}

/// A protocol or an instance, by the name with which programs find it.
struct Declared<'a> {
    name: &'a Name,
    view: View<'a>,
    is_input: bool,
}

/// Compares whatever the input files of two programs declare, in the order of names.
#[must_use]
pub fn versions<'a>(old: &'a Program, new: &'a Program) -> Vec<Versions<'a>> {
    let (old, new) = (declared(old), declared(new));
    let mut found = Vec::new();
    for (name, before) in old.iter().filter(|(_, before)| before.is_input) {
        let fate = match new.get(name) {
            Some(after) => {
                let change = Change::between(before.view, after.view);
                Fate::Kept(before.view, after.view, Box::new(change))
            }
            None => {
                let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
                let mut equal =
                    added.filter(|(_, after)| difference(before.view, after.view).is_none());
                Fate::Removed(before.name, equal.next().map(|(name, _)| name.clone()))
            }
        };
        let name = name.clone();
        found.push(Versions { name, fate });
    }
    for (name, after) in &new {
        let name = name.clone();
        match old.get(&name) {
            None if after.is_input => {
                let fate = Fate::Added;
                found.push(Versions { name, fate });
            }
            Some(before) if after.is_input && !before.is_input => {
                let change = Box::new(Change::between(before.view, after.view));
                let fate = Fate::Kept(before.view, after.view, change);
                found.push(Versions { name, fate });
            }
            None | Some(_) => {}
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn declared(program: &Program) -> BTreeMap<String, Declared<'_>> {
    let mut found = BTreeMap::new();
    let mut add = |file: FileId, name, view| {
        let file = program.file(file);
        let parts = file.package.iter().chain([name]).map(Name::text);
        let is_input = file.is_input;
        let full = parts.collect::<Vec<_>>().join(".");
        found.entry(full).or_insert(Declared {
            name,
            view,
            is_input,
        });
    };
    for file in &program.files {
        for id in &file.protocols {
            let protocol = program.protocol(*id);
            add(protocol.file, &protocol.name, View::of(program, *id));
        }
        for id in &file.instances {
            let instance = program.instance(*id);
            add(
                instance.file,
                &instance.name,
                View::instance(program, instance),
            );
        }
    }
    found
}

impl Versions<'_> {
    /// What is to be reported, with all places of the old version moved.
    #[must_use]
    pub fn findings(&self, require: Require, old: Moved) -> Vec<Diagnostic> {
        match &self.fate {
            Fate::Added => Vec::new(),
            Fate::Removed(name, equal) => {
                let headline = format!("the protocol `{}` is not there any more", self.name);
                let error = Diagnostic::error("protocol-removed", old.span(name.span), headline)
                    .label("it was declared here")
                    .note("programs that speak it find no partner among new programs");
                vec![match equal {
                    Some(other) => error.help(format!(
                        "`{other}` is equal to it: keep the old name, or both"
                    )),
                    None => error.help("keep it until nobody speaks it any more"),
                }]
            }
            Fate::Kept(before, after, change) => {
                let rollout = change.rollout();
                let is_bad = rollout == Rollout::Incompatible || require == Require::AnyOrder;
                let level = if is_bad { Level::Deny } else { Level::Warn };
                let both = [Mixture::OldClient, Mixture::OldServer];
                let failures = both
                    .into_iter()
                    .filter_map(|mixture| Some((mixture, change.failure(mixture)?)));
                failures
                    .map(|(mixture, found)| {
                        let (client, server) = match mixture {
                            Mixture::OldClient => (*before, *after),
                            Mixture::OldServer => (*after, *before),
                        };
                        let told = misfit(client, server, mixture, found);
                        // What goes wrong is shown where the new version is written, and beside it what the old one says.
                        let (here, there) = (|span| span, |span| old.span(span));
                        let finding = match mixture {
                            Mixture::OldClient => {
                                let rule = "incompatible-with-old-client";
                                told.finding(rule, None, Origin::Right, &there, &here)
                            }
                            Mixture::OldServer => {
                                let rule = "incompatible-with-old-server";
                                told.finding(rule, None, Origin::Left, &here, &there)
                            }
                        };
                        let finding = finding.help(advice(rollout, require));
                        Diagnostic { level, ..finding }
                    })
                    .collect()
            }
        }
    }
}

fn advice(rollout: Rollout, require: Require) -> String {
    let order = match rollout {
        Rollout::ServerFirst => "deploy all servers before the first client",
        Rollout::ClientFirst => "deploy all clients before the first server",
        Rollout::Incompatible => {
            "no order is safe: first let listeners understand what is new, and let it be said in a later change"
        }
        Rollout::Same | Rollout::AnyOrder => "nothing is to be done",
    };
    match require {
        Require::AnyOrder if rollout < Rollout::Incompatible => {
            format!("{order}; or do without the change, since any order is required to be safe")
        }
        Require::AnyOrder | Require::SomeOrder => order.to_owned(),
    }
}
