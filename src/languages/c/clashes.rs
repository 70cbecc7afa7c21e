//! The names of generated C that could clash, for the `clashing-names` rule. C has one scope for all of them.
//!
//! Names of one unit are kept distinct when they are created. Names of two units, or of a unit and a type, can only be equal if
//! the prefix of one begins with that of the other, up to a `_`. Without such a pair nothing can clash, and the names of states
//! and messages are not passed on. So the rule is cheap even for very large protocols.

use super::ctype::{Bytes, CType};
use super::names::units::{Unit, UnitKind, Units, declared_word};
use super::names::{self, Extras, HEADERS};
use super::types::header;
use super::types::{Types, types_file};
use crate::check::{Scope, Spelled, spelled};
use crate::languages::Options;
use crate::protocol::{Definition, Program, Type, TypeId};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Passes on the names that could clash, scope by scope.
pub fn spellings(program: &Program, options: &Options, hand_over: &mut dyn FnMut(Scope)) {
    let prefix = options.c.prefix.as_deref().unwrap_or_default();
    let units = Units::of(program, prefix);
    let types = Types::of(program, &units, prefix, options.c.inline_bounds);
    let extras = Extras {
        shm: options.c.shm,
        net: options.remote,
        events: options.c.events,
        robots: options.robots,
    };
    hand_over(files(program, &types, extras));
    let mut record = Record {
        types: &types,
        shared: BTreeMap::new(),
        names: Vec::new(),
    };
    for index in 0..program.types.len() {
        record.declared(TypeId::new(index));
    }
    for (id, unit) in units.units.iter().enumerate() {
        record.payloads(id, unit);
        let title = title(program, unit);
        for (name, what) in names::of_unit(unit, extras) {
            record.add(name, title_span(program, unit), what.replace("{}", &title));
        }
    }
    let heads: BTreeSet<String> = {
        let declared = program.types.iter();
        let declared = declared.map(|declared| declared_word(program, prefix, declared));
        let units = units.units.iter().map(|unit| unit.prefix.clone());
        declared.chain(units).collect()
    };
    let Record { shared, names, .. } = record;
    let shared = shared.into_iter();
    let shared = shared.map(|(name, (span, what))| spelled(name, span, what));
    hand_over(scope(PROGRAM, names.into_iter().chain(shared).collect()));
    for unit in &units.units {
        if may_meet(&unit.prefix, &heads) || extras.leaves() && names_a_limit(program, unit) {
            hand_over(scope(PROGRAM, unit_names(program, unit, extras)));
        }
    }
}

const PROGRAM: &str = "the global scope of the C program";

fn scope(place: &str, names: Vec<Spelled>) -> Scope {
    Scope::new("C", place, names)
}

fn files(program: &Program, types: &Types, extras: Extras) -> Scope {
    let mut names = Vec::new();
    for unit in &types.units.units {
        let headers = [
            ("the header", true),
            ("the wire format header", extras.leaves()),
            ("the shared-memory header", extras.shm),
            ("the sockets header", extras.net),
            ("the header of callbacks", extras.events),
            ("the header of robots", extras.robots),
        ];
        let headers = HEADERS.iter().zip(headers);
        for (header, (what, _)) in headers.filter(|(_, (_, is_written))| *is_written) {
            let what = format!("{what} of {}", title(program, unit));
            let name = format!("{}.h", unit.file(header));
            names.push(spelled(name, title_span(program, unit), what));
        }
    }
    for file in &program.files {
        if header::has_types(types, file) {
            let id = program.ty(file.types[0]);
            let header = types_file(program, id.file);
            let what = format!("the header with the types of `{}`", file.path);
            names.push(spelled(format!("{header}.h"), id.name.span, what));
        }
    }
    Scope {
        ignores_case: true,
        ..scope("the folder of generated files", names)
    }
}

fn title_span(program: &Program, unit: &Unit) -> Span {
    match unit.kind {
        UnitKind::Instance(id) => program.instance(id).name.span,
        UnitKind::Protocol | UnitKind::Mentioned => program.protocol(unit.protocol).name.span,
    }
}

struct Record<'a> {
    types: &'a Types<'a>,
    /// The names of structs for lists, options and tuples, and of host types, each with the first location that needs it. Equal
    /// types share a name; a name that two different types share is in `names` too.
    shared: BTreeMap<String, (Span, String)>,
    names: Vec<Spelled>,
}

impl Record<'_> {
    fn add(&mut self, spelling: String, origin: Span, what: String) {
        self.names.push(spelled(spelling, origin, what));
    }

    fn declared(&mut self, id: TypeId) {
        let (types, program) = (self.types, self.types.program);
        let declared = program.ty(id);
        let (name, span) = (&declared.name, declared.name.span);
        for part in types.parts(id) {
            self.structural(&types.canonical(&part), None, span);
        }
        if declared.is_host(super::WORD) {
            let host = types.declared_name(id);
            self.share(host, span, format!("the type `{name}` of the program"));
            return;
        }
        let word = types.declared_word(id);
        let mut add = |end: &str, what: &str| {
            self.add(format!("{word}_{end}"), span, format!("{what} `{name}`"));
        };
        add("t", "the type");
        if types.drop_of(id).is_some() {
            add("take", "the function that takes a");
        }
        add("copy", "the function that copies a");
        if let Definition::Enum(variants) = &declared.definition {
            if !super::types::is_bare(variants) {
                add("tag_t", "the tag type of the enum");
            }
            add("text", "a function of the enum");
            for variant in variants {
                let constant = types.variant(id, variant.name.text());
                let what = format!("the constant of the variant `{}`", variant.name);
                self.add(constant, variant.name.span, what);
            }
        }
    }

    fn payloads(&mut self, id: usize, unit: &Unit) {
        let program = self.types.program;
        let protocol = program.protocol(unit.protocol);
        for state in &unit.states {
            for message in &protocol.state(state.state).messages {
                for entry in &message.entries {
                    let types = self.types;
                    let is_simple = entry.lengths.is_none()
                        && matches!(entry.ty, Type::Builtin(_) | Type::Named(_));
                    if !is_simple {
                        let ty = entry.ty.substitute(&state.arguments);
                        let ty = types.canonical(&types.stored(&ty, &entry.lengths));
                        self.structural(&ty, Some(id), entry.ty_span);
                    }
                }
            }
        }
    }

    fn structural(&mut self, ty: &CType, by: Option<usize>, span: Span) {
        let inner: &[CType] = match ty {
            CType::List(item) | CType::Array(item, _) | CType::Option(item) => {
                std::slice::from_ref(item)
            }
            CType::Tuple(items) => items,
            CType::Inline(..) => &[],
            CType::Builtin(_) | CType::Named(_) | CType::Parameter(_) | CType::Endpoint(_) => {
                return;
            }
        };
        let name = self.types.name(ty, by);
        let what = format!("the C type of {}", shown(self.types, ty, by));
        if ty.is_inline() {
            for function in
                ["set", "view"].map(|verb| format!("duo_{}_{verb}", self.types.words(ty, by)))
            {
                self.share(function, span, format!("a function of {what}"));
            }
        }
        if !matches!(ty, CType::Inline(..)) {
            let copy = format!("duo_{}_copy", self.types.words(ty, by));
            self.share(copy, span, format!("the function that copies {what}"));
        }
        self.share(name, span, what);
        for item in inner {
            self.structural(item, by, span);
        }
    }

    fn share(&mut self, name: String, span: Span, what: String) {
        match self.shared.get(&name) {
            None => drop(self.shared.insert(name, (span, what))),
            Some((_, other)) if *other != what => self.add(name, span, what),
            Some(_) => {}
        }
    }
}

/// A type in the syntax of protocols, with the C names of declared types. Two types with the same text are the same type.
fn shown(types: &Types, ty: &CType, by: Option<usize>) -> String {
    match ty {
        CType::Inline(Bytes::Text, most) => format!("str<{most}>"),
        CType::Inline(Bytes::Any, most) => format!("bytes<{most}>"),
        CType::List(item) => format!("[{}]", shown(types, item, by)),
        CType::Array(item, most) => format!("[{}; {most}]", shown(types, item, by)),
        CType::Option(item) => format!("{}?", shown(types, item, by)),
        CType::Tuple(items) => {
            let items: Vec<String> = items.iter().map(|item| shown(types, item, by)).collect();
            format!("({})", items.join(", "))
        }
        CType::Builtin(_) | CType::Named(_) | CType::Parameter(_) | CType::Endpoint(_) => {
            types.name(ty, by)
        }
    }
}

/// Whether this prefix, followed by `_`, begins the prefix of another protocol or type, or vice versa.
fn may_meet(prefix: &str, heads: &BTreeSet<String>) -> bool {
    let ends = prefix.match_indices('_').map(|(at, _)| &prefix[..at]);
    let from = format!("{prefix}_");
    let mut longer = heads.range(from.clone()..);
    ends.into_iter().any(|head| heads.contains(head))
        || longer.next().is_some_and(|head| head.starts_with(&from))
}

/// Whether a message may produce the same name as the function that sends another one within a time limit.
fn names_a_limit(program: &Program, unit: &Unit) -> bool {
    let protocol = program.protocol(unit.protocol);
    let mut messages = protocol.messages();
    messages.any(|message| message.name.text().ends_with("_within"))
}

/// The names of a unit's states and messages, including the extras.
fn unit_names(program: &Program, unit: &Unit, extras: Extras) -> Vec<Spelled> {
    let protocol = program.protocol(unit.protocol);
    let mut names = Vec::new();
    for state in &unit.states {
        let declared = &protocol.state(state.state).name;
        let all = names::of_state(protocol, unit, state, &state.name, state.travels, extras);
        names.extend(all.into_iter().map(|it| {
            let (origin, of) = match it.message {
                Some(message) => (message.name.span, format!("message `{}`", message.name)),
                None => (declared.span, format!("state `{declared}`")),
            };
            spelled(it.name, origin, format!("{} of the {of}", it.what))
        }));
    }
    names
}

/// A description of a unit for diagnostics.
pub fn title(program: &Program, unit: &Unit) -> String {
    match unit.kind {
        UnitKind::Instance(id) => format!("the instance `{}`", program.instance(id).name),
        UnitKind::Protocol | UnitKind::Mentioned => {
            format!("the protocol `{}`", program.protocol(unit.protocol).name)
        }
    }
}
