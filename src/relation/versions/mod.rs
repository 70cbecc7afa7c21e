//! Two versions of everything that some files declare.

pub mod verdict;
pub mod wire;

use super::explain::misfit;
use super::limits::has_limits;
use super::waits::has_waits;
use super::{
    Change, Disagreement, MOST_MISFITS, Mismatch, Mixture, Origin, Rollout, View, canonical,
    difference,
};
use crate::diagnostic::{Diagnostic, Level};
use crate::name::Name;
use crate::protocol::{FileId, Message, Program, State};
use crate::sizes::Sizes;
use crate::source::Moved;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

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
    /// It was removed; with the name of an added one that is equal to it, if there is one.
    Removed(&'a Name, Option<String>),
    /// It is in both versions.
    Kept(View<'a>, View<'a>, Box<Change<'a>>),
}

/// What is required of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Require {
    /// That either side may be deployed first.
    AnyOrder,
    /// That there is a safe order.
    SomeOrder,
}

/// How messages travel between the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    /// Within a process: by their names, in the form that the target language gives them.
    Names,
    /// Between processes: as their positions in their states. Protocols that cannot leave their process are compared by names.
    Positions,
}

/// A protocol or an instance, by the name with which programs find it.
struct NamedProtocol<'a> {
    name: &'a Name,
    view: View<'a>,
    is_input: bool,
}

/// Compares everything that the input files of two programs declare, in the order of names.
#[must_use]
pub fn versions<'a>(old: &'a Program, new: &'a Program, travel: Travel) -> Vec<Versions<'a>> {
    let sizes = [old, new].map(|program| Rc::new(Sizes::of(program)));
    let is_limited = [old, new]
        .into_iter()
        .zip(&sizes)
        .any(|(program, sizes)| has_limits(program, sizes) || has_waits(program));
    let between = |old: View<'a>, new: View<'a>| {
        let both_leave = |leaves: fn(View<'_>) -> bool| leaves(old) && leaves(new);
        let by_position = travel == Travel::Positions && both_leave(can_leave);
        // Within a process, limits are not checked.
        let sizes = (is_limited && both_leave(may_leave)).then_some(&sizes);
        match by_position || sizes.is_some() {
            true => Change::between_processes(old, new, by_position, sizes),
            false => Change::between(old, new),
        }
    };
    let (old, new) = (declared(old), declared(new));
    let mut found = Vec::new();
    for (name, before) in old.iter().filter(|(_, before)| before.is_input) {
        let fate = match new.get(name) {
            Some(after) => {
                let change = between(before.view, after.view);
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
                let change = Box::new(between(before.view, after.view));
                let fate = Fate::Kept(before.view, after.view, change);
                found.push(Versions { name, fate });
            }
            None | Some(_) => {}
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Whether sessions of a protocol can run between processes: it has no type parameters, and nothing in it is confined to its
/// process.
#[must_use]
pub fn can_leave(view: View<'_>) -> bool {
    let is_generic = view.description().is_generic() && view.instance.is_none();
    !is_generic && canonical(view).obstacle.is_none()
}

/// Whether sessions of a protocol can run between processes, with some arguments if it is generic.
fn may_leave(view: View<'_>) -> bool {
    canonical(view).lasting_obstacle.is_none()
}

fn declared(program: &Program) -> BTreeMap<String, NamedProtocol<'_>> {
    let mut found = BTreeMap::new();
    let mut add = |file: FileId, name, view| {
        let file = program.file(file);
        let parts = file.package.iter().chain([name]).map(Name::text);
        let is_input = file.is_input;
        let full = parts.collect::<Vec<_>>().join(".");
        found.entry(full).or_insert(NamedProtocol {
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
    /// The findings to report, with all spans of the old version moved.
    #[must_use]
    pub fn findings(&self, require: Require, old: Moved) -> Vec<Diagnostic> {
        match &self.fate {
            Fate::Added => Vec::new(),
            Fate::Removed(name, equal) => {
                let headline = format!("the protocol `{}` has been removed", self.name);
                let error = Diagnostic::error("protocol-removed", old.span(name.span), headline)
                    .label("it was declared here")
                    .note("old programs that use it cannot talk to any new program");
                vec![match equal {
                    Some(other) => error.help(format!(
                        "`{other}` is the same protocol: keep the old name, or both"
                    )),
                    None => error.help("keep it until no program uses it anymore"),
                }]
            }
            Fate::Kept(before, after, change) => {
                let rollout = change.rollout();
                let is_bad = rollout == Rollout::Incompatible || require == Require::AnyOrder;
                let level = if is_bad { Level::Deny } else { Level::Warn };
                let mut findings = Vec::new();
                for mixture in [Mixture::OldClient, Mixture::OldServer] {
                    let failures = change.failures(mixture);
                    // What several messages carry is declared, and reported, in one place.
                    let mut places = HashSet::new();
                    for found in failures {
                        let finding = finding(*before, *after, mixture, found, old);
                        if !places.insert((finding.primary.span, finding.related[0].span)) {
                            continue;
                        }
                        let finding = finding.help(advice(rollout, require, mixture, found));
                        findings.push(Diagnostic { level, ..finding });
                    }
                    if failures.len() == MOST_MISFITS
                        && let Some(last) = findings.last_mut()
                    {
                        let text = format!("only the first {MOST_MISFITS} are reported");
                        last.notes.push(text);
                    }
                }
                findings
            }
        }
    }
}

/// Reports a disagreement in the new version, with a related label in the old one.
fn finding(
    before: View<'_>,
    after: View<'_>,
    mixture: Mixture,
    found: &Disagreement<'_>,
    old: Moved,
) -> Diagnostic {
    let (here, there) = (|span| span, |span| old.span(span));
    match mixture {
        Mixture::OldClient => {
            let rule = "incompatible-with-old-client";
            let explanation = misfit(before, after, mixture, found);
            explanation.finding(rule, None, Origin::Right, &there, &here)
        }
        Mixture::OldServer => {
            let rule = "incompatible-with-old-server";
            let explanation = misfit(after, before, mixture, found);
            explanation.finding(rule, None, Origin::Left, &here, &there)
        }
    }
}

fn advice(
    rollout: Rollout,
    require: Require,
    mixture: Mixture,
    found: &Disagreement<'_>,
) -> String {
    let order = match rollout {
        Rollout::ServerFirst => "deploy all servers before the first client",
        Rollout::ClientFirst => "deploy all clients before the first server",
        Rollout::Incompatible => {
            return format!("no rollout order is safe: {}", way_out(mixture, found));
        }
        Rollout::Same | Rollout::AnyOrder => "nothing has to be done",
    };
    match require {
        Require::AnyOrder => format!(
            "{order}, or leave the change out: `--require any-order` rejects changes that need an order"
        ),
        Require::SomeOrder => order.to_owned(),
    }
}

/// What to do about a change that is not safe in either order.
fn way_out(mixture: Mixture, found: &Disagreement<'_>) -> String {
    let (message, senders, receivers, is_sender_new) = match found.clash {
        Mismatch::Left(message) => (message, "client", "server", mixture == Mixture::OldServer),
        Mismatch::Right(message) => (message, "server", "client", mixture == Mixture::OldClient),
        Mismatch::Payload(message, _) => {
            return format!(
                "leave `{}` as it was and add a message with the new type after the old messages, or give the new \
                 protocol a new name",
                message.name
            );
        }
        Mismatch::Limit(Message { name, .. }, _) | Mismatch::Wait(_, State { name, .. }, _) => {
            let first = match mixture {
                Mixture::OldClient => "clients",
                Mixture::OldServer => "servers",
            };
            return format!(
                "change this limit of `{name}` in a separate release, which {first} get first"
            );
        }
        Mismatch::Turn(..) => {
            return "give the new protocol a new name, and keep the old one until no program uses it anymore"
                .to_owned();
        }
        Mismatch::Place(message, _) => {
            return format!(
                "leave `{}` at its old position, and add new messages after the old ones",
                message.name
            );
        }
    };
    let message = &message.name;
    if is_sender_new {
        format!(
            "first release {receivers}s that accept `{message}`, and {senders}s that send it in a later release"
        )
    } else {
        format!("keep `{message}` until no old {senders} sends it anymore")
    }
}
