//! Syntax tree -> resolved program: names become ids. Reports names that are declared twice, or used and not declared; what a
//! protocol does is checked later.

mod body;
mod callees;
mod declare;
pub mod load;
mod types;

use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::protocol::{
    BoundId, FileId, InstanceId, Parameter, Program, ProtocolId, Referent, StateId, TypeId, Use,
    Uses,
};
use crate::source::Span;
use crate::syntax::ast;
use load::Loaded;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// Resolves all files of a run together. Everything that was parsed is in the program, with [`Type::Error`](crate::protocol::Type)
/// and [`Next::Error`](crate::protocol::Next) where an error was reported.
#[must_use]
pub fn resolve(files: Vec<Loaded>) -> (Program, Vec<Diagnostic>) {
    let mut resolver = Resolver::default();
    let items = declare::declare(&mut resolver, files);
    for (file, items) in items.into_iter().enumerate() {
        for (item, declared) in items {
            resolver.item(FileId::new(file), item, declared);
        }
    }
    resolver.forget_unresolved_instances();
    resolver.program.uses = Uses::new(resolver.uses);
    (resolver.program, resolver.diagnostics)
}

/// What an item was declared as.
#[derive(Clone, Copy, Debug)]
enum Declared {
    Type(TypeId),
    Bound(BoundId),
    Protocol(ProtocolId),
    Instance(InstanceId),
}

/// What the name in `name::client::state` or `proto! x = name<...>` can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Callee {
    Protocol(ProtocolId),
    Instance(InstanceId),
}

/// The names of one file.
#[derive(Debug, Default)]
struct FileNames {
    types: HashMap<Box<str>, TypeId>,
    bounds: HashMap<Box<str>, BoundId>,
    callees: HashMap<Box<str>, Callee>,
    imports: Vec<FileId>,
    package: String,
    broken_words: HashSet<Box<str>>,
    is_opaque: bool,
}

#[derive(Default)]
struct Resolver {
    program: Program,
    diagnostics: Vec<Diagnostic>,
    /// Every name that was seen so far, in any order.
    uses: Vec<Use>,
    /// How many unknown names have been compared with all known ones.
    compared: Cell<u32>,
    files: Vec<FileNames>,
    /// Protocols and instances by package.
    packages: HashMap<String, HashMap<Box<str>, Callee>>,
    /// Undeclared types by package.
    undeclared: HashMap<(String, Box<str>), TypeId>,
    /// The instances whose protocol and arguments are known.
    resolved_instances: HashSet<InstanceId>,
    /// For each protocol, its states by name.
    states: Vec<HashMap<Box<str>, usize>>,
    /// For names that are used as states but are not states, the state that has a message of this name.
    senders: HashMap<(ProtocolId, Box<str>), Name>,
    /// For each protocol and state, its name and the number of its parameters.
    parameters: Vec<Vec<StateHead>>,
}

/// Where a type is written: in a declaration, or in a state with its type parameters.
#[derive(Clone, Copy, Default)]
struct Context<'a> {
    parameters: &'a [Parameter],
    state: Option<(ProtocolId, StateId)>,
}

/// What other states need to know about a state before it is resolved.
#[derive(Debug)]
struct StateHead {
    name: Name,
    /// `None` if that is not known.
    parameters: Option<u32>,
}

/// The result of looking up a name: one declaration, several, or none.
enum Lookup<T> {
    One(T),
    Several(T, T),
    None,
}

impl Resolver {
    fn report(&mut self, error: Diagnostic) {
        self.diagnostics.push(error);
    }

    /// Records what a name that is used refers to.
    fn used(&mut self, span: Span, referent: Referent) {
        self.uses.push(Use {
            span,
            referent,
            is_declaration: false,
        });
    }

    /// Records what a name declares.
    fn declared(&mut self, span: Span, referent: Referent) {
        self.uses.push(Use {
            span,
            referent,
            is_declaration: true,
        });
    }

    /// Whether an unknown name is to be compared with all known ones to suggest one of them. Only the first twenty are, so
    /// that the time does not grow with the product of both numbers.
    fn may_propose(&self) -> bool {
        self.compared.set(self.compared.get().saturating_add(1));
        self.compared.get() <= 20
    }

    /// Whether something that could not be parsed or read may have declared `name`, so that nothing follows from its absence.
    fn may_be_declared(&self, file: FileId, name: &str) -> bool {
        let own = &self.files[file.index()];
        let seen = std::iter::once(own)
            .chain(own.imports.iter().map(|import| &self.files[import.index()]));
        let mut seen = seen.filter(|names| names.is_opaque || names.broken_words.contains(name));
        seen.next().is_some()
    }

    /// Looks up a name in a file and then in its imports.
    fn look_up<T: Copy + PartialEq>(
        &self,
        file: FileId,
        find: impl Fn(&FileNames) -> Option<T>,
    ) -> Lookup<T> {
        let own = &self.files[file.index()];
        if let Some(found) = find(own) {
            return Lookup::One(found);
        }
        let mut first = None;
        for import in &own.imports {
            match (first, find(&self.files[import.index()])) {
                (None, found) => first = found,
                (Some(first), Some(second)) if first != second => {
                    return Lookup::Several(first, second);
                }
                _ => {}
            }
        }
        first.map_or(Lookup::None, Lookup::One)
    }

    /// Removes the instances that could not be resolved: their errors have been reported, and nothing but their names refers to
    /// them.
    fn forget_unresolved_instances(&mut self) {
        let all = std::mem::take(&mut self.program.instances);
        let mut new_ids = HashMap::new();
        for (index, instance) in all.into_iter().enumerate() {
            let old = InstanceId::new(index);
            if self.resolved_instances.contains(&old) {
                new_ids.insert(old, InstanceId::new(self.program.instances.len()));
                self.program.instances.push(instance);
            }
        }
        for found in &mut self.uses {
            if let Referent::Instance(old) = found.referent {
                let new = new_ids.get(&old).copied();
                found.referent = new.map_or(Referent::Unknown, Referent::Instance);
            }
        }
        for file in &mut self.program.files {
            let known = file
                .instances
                .iter()
                .filter_map(|id| new_ids.get(id).copied());
            file.instances = known.collect();
        }
    }

    fn item(&mut self, file: FileId, item: ast::Item, declared: Declared) {
        match (item.kind, declared) {
            (ast::ItemKind::Protocol(protocol), Declared::Protocol(id)) => {
                self.protocol(file, protocol, id)
            }
            (ast::ItemKind::Instance(instance), Declared::Instance(id)) => {
                self.instance(file, &instance.protocol, &instance.arguments, id);
            }
            (ast::ItemKind::ExternBound(mappings), Declared::Bound(id)) => {
                let mappings = self.mappings(mappings);
                self.program.bounds[id.index()].mappings = mappings;
            }
            (kind, Declared::Type(id)) => {
                if let ast::ItemKind::Alias(ty) = &kind {
                    self.program.types[id.index()].lengths = types::lengths(ty);
                }
                let definition = self.definition(file, id, kind);
                self.program.types[id.index()].definition = definition;
            }
            _ => unreachable!("an item is declared as what it is"),
        }
    }
}

/// Reports names that occur twice in a list. Returns whether there are any.
fn duplicates<'a>(
    names: impl Iterator<Item = &'a Name>,
    what: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let mut seen: HashMap<&str, Span> = HashMap::new();
    let before = diagnostics.len();
    for name in names {
        match seen.get(name.text()) {
            Some(first) => {
                let text = format!("there are two {what} named `{name}`");
                let error = Diagnostic::error("duplicate-name", name.span, text)
                    .label("declared again here")
                    .related(*first, "first declared here");
                diagnostics.push(error.help("rename one of them"));
            }
            None => {
                seen.insert(name.text(), name.span);
            }
        }
    }
    diagnostics.len() > before
}
