//! Every name that generated C declares, for the `clashing-names` rule. C has one scope for all of them.
//!
//! Names of one unit are kept distinct when they are created. Names of two units, or of a unit and a type, can only be equal if
//! the prefix of one begins with that of the other, up to a `_`. Without such a pair nothing can clash, and the names of states
//! and messages are not passed on. So the rule is cheap even for very large protocols.

use super::ctype::{Bytes, CType};
use super::names::units::{Unit, UnitKind, Units, declared_word};
use super::names::{self, Extras, HEADERS, OfState, OfType, OfUnit, SHAPE, of};
use super::types::header;
use super::types::{Types, types_file};
use crate::check::{Scope, Spelled, spelled};
use crate::languages::{Names, Options};
use crate::protocol::{Definition, Program, State, Type, TypeId};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Passes on every name that will be declared, or only those that could clash, scope by scope.
pub fn spellings(
    program: &Program,
    options: &Options,
    names: Names,
    hand_over: &mut dyn FnMut(Scope),
) {
    let all = names == Names::All;
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
    if all {
        hand_over(scope(
            "the macros of the C program",
            guards(program, &types),
        ));
    }
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
        for what in names::of_unit(unit, extras) {
            let name = unit.own(what);
            let spellings = if what == OfUnit::Own("shape") {
                SHAPE.map(|ending| format!("{name}_{ending}")).to_vec()
            } else {
                vec![name]
            };
            for spelling in spellings {
                record.add(spelling, title_span(program, unit), what.title(&title));
            }
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
        if all || may_meet(&unit.prefix, &heads) || extras.leaves() && names_a_limit(program, unit)
        {
            hand_over(scope(PROGRAM, unit_names(program, unit, extras)));
        }
        if all {
            hand_over(scope(
                "the tables of one source",
                said_tables(program, unit),
            ));
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
            names.push(spelled(format!("{header}.h"), Some(id.name.span), what));
        }
    }
    Scope {
        ignores_case: true,
        ..scope("the folder of generated files", names)
    }
}

/// The macros by which headers recognize each other. Two of them are equal only if the names of the headers are.
fn guards(program: &Program, types: &Types) -> Vec<Spelled> {
    let units = types.units.units.iter();
    let of_units = units.flat_map(|unit| {
        let guards = HEADERS.map(|header| unit.guard(header));
        let owner = unit.owner(&types.owner_of(unit.file));
        std::iter::once(owner).chain(guards)
    });
    let files = program.files.iter().filter(|file| !file.types.is_empty());
    let of_files = files.map(|file| {
        let id = program.ty(file.types[0]).file;
        names::types_guard(&types_file(program, id))
    });
    let all = of_units.chain(of_files);
    all.map(|name| spelled(name, None, "a guard".to_owned()))
        .collect()
}

fn title_span(program: &Program, unit: &Unit) -> Option<Span> {
    Some(match unit.kind {
        UnitKind::Instance(id) => program.instance(id).name.span,
        UnitKind::Protocol | UnitKind::Mentioned => program.protocol(unit.protocol).name.span,
    })
}

struct Record<'a> {
    types: &'a Types<'a>,
    /// The names of structs for lists, options and tuples, and of host types, each with the first location that needs it. Equal
    /// types share a name; a name that two different types share is in `names` too.
    shared: BTreeMap<String, (Option<Span>, String)>,
    names: Vec<Spelled>,
}

impl Record<'_> {
    fn add(&mut self, spelling: String, origin: Option<Span>, what: String) {
        self.names.push(spelled(spelling, origin, what));
    }

    fn declared(&mut self, id: TypeId) {
        let (types, program) = (self.types, self.types.program);
        let declared = program.ty(id);
        let (name, span) = (&declared.name, Some(declared.name.span));
        for part in types.parts(id) {
            self.structural(&types.canonical(&part), None, span);
        }
        if declared.is_host(super::WORD) {
            let host = types.declared_name(id);
            self.share(host, span, format!("the type `{name}` of the program"));
            return;
        }
        self.add(
            types.of_type(id, OfType::Type),
            span,
            format!("the type `{name}`"),
        );
        if types.drop_of(id).is_some() {
            let take = types.of_type(id, OfType::Take);
            self.add(take, span, format!("the function that takes a `{name}`"));
            let drop = types.of_type(id, OfType::Drop);
            self.add(drop, span, format!("the function that destroys a `{name}`"));
        }
        let copy = types.of_type(id, OfType::Copy);
        self.add(copy, span, format!("the function that copies a `{name}`"));
        for table in [OfType::Layout, OfType::Fields] {
            let table = types.of_type(id, table);
            self.add(table, span, format!("a table of the type `{name}`"));
        }
        if let Definition::Enum(variants) = &declared.definition {
            if !super::types::is_bare(variants) {
                let tag = types.of_type(id, OfType::Tag);
                self.add(tag, span, format!("the tag type of the enum `{name}`"));
            }
            let text = types.of_type(id, OfType::Text);
            self.add(text, span, format!("a function of the enum `{name}`"));
            for variant in variants {
                let constant = types.of_type(id, OfType::Variant(variant.name.text()));
                let what = format!("the constant of the variant `{}`", variant.name);
                self.add(constant, Some(variant.name.span), what);
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
                        self.structural(&ty, Some(id), Some(entry.ty_span));
                    }
                }
            }
        }
    }

    fn structural(&mut self, ty: &CType, by: Option<usize>, span: Option<Span>) {
        let inner: &[CType] = match ty {
            CType::List(item) | CType::Array(item, _) | CType::Option(item) => {
                std::slice::from_ref(item)
            }
            CType::Tuple(items) => items,
            CType::Inline(..) => &[],
            CType::Endpoint(_) => {
                let layout = of("inner_layout", &self.types.words(ty, by));
                return self.share(layout, span, "a table".to_owned());
            }
            CType::Builtin(_) | CType::Named(_) | CType::Parameter(_) => return,
        };
        let name = self.types.name(ty, by);
        let what = format!("the C type of {}", shown(self.types, ty, by));
        if matches!(ty, CType::Inline(..) | CType::Array(..)) {
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
        for table in ["inner_layout", "inner_fields"] {
            let table = of(table, &self.types.words(ty, by));
            self.share(table, span, "a table".to_owned());
        }
        for item in inner {
            self.structural(item, by, span);
        }
    }

    fn share(&mut self, name: String, span: Option<Span>, what: String) {
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
    for (index, state) in unit.states.iter().enumerate() {
        let declared = protocol.state(state.state);
        for what in names::of_state(protocol, state, state.travels, extras) {
            let origin = match what {
                OfState::Constant(message)
                | OfState::As(message)
                | OfState::Send(_, _, message) => message.name.span,
                OfState::Received
                | OfState::Tag
                | OfState::TagText
                | OfState::Free
                | OfState::Checked
                | OfState::Nothing
                | OfState::Endpoint(_)
                | OfState::Function(..)
                | OfState::Shared(_)
                | OfState::InState(_) => declared.name.span,
            };
            let spelling = unit.of_state(index, what);
            names.push(spelled(spelling, Some(origin), what.title(declared)));
        }
    }
    names
}

/// The numbered tables that describe the payloads of messages.
fn said_tables(program: &Program, unit: &Unit) -> Vec<Spelled> {
    let protocol = program.protocol(unit.protocol);
    let states = unit.states.iter();
    let messages = states.map(|state| protocol.state(state.state).messages.len());
    let names = (0..messages.sum())
        .flat_map(|number| ["said_layout", "said_fields"].map(|table| unit.said(table, number)));
    names
        .map(|name| spelled(name, None, "a table".to_owned()))
        .collect()
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

impl OfUnit {
    /// A description for diagnostics.
    pub fn title(self, unit: &str) -> String {
        match self {
            OfUnit::Init | OfUnit::InitIn => format!("the function that starts {unit}"),
            OfUnit::MemoryTag | OfUnit::Memory => format!("the memory of a session of {unit}"),
            OfUnit::Attach(_) => format!("the function that attaches {unit}"),
            OfUnit::Begin(..) => format!("a function that begins {unit} over a byte stream"),
            OfUnit::Call(_) => format!("an internal function of {unit}"),
            OfUnit::Any(..) | OfUnit::Ended(_) => {
                format!("a declaration for endpoints of {unit} in any state")
            }
            OfUnit::RobotTable => format!("the table of the robots of {unit}"),
            OfUnit::Robot(_) | OfUnit::RobotHooks(_) => {
                format!("a declaration for a robot of {unit}")
            }
            OfUnit::Name => format!("the name of {unit}"),
            OfUnit::Capacity => format!("the capacity of {unit}"),
            OfUnit::Fingerprint => format!("the fingerprint of {unit}"),
            OfUnit::Own(_) => format!("a table of {unit}"),
        }
    }
}

impl OfState<'_> {
    /// A description for diagnostics.
    pub fn title(self, state: &State) -> String {
        let (what, message) = match self {
            OfState::Received => ("the message type", None),
            OfState::Tag => ("the tag type", None),
            OfState::Nothing => ("the constant", None),
            OfState::Free | OfState::TagText | OfState::Checked | OfState::Function(..) => {
                ("a function", None)
            }
            OfState::As(message) => ("a macro", Some(message)),
            OfState::Endpoint(_) => ("an endpoint type", None),
            OfState::Shared(_) => ("the shared endpoint type", None),
            OfState::InState(_) => ("the tag of an endpoint", None),
            OfState::Constant(message) => ("the constant", Some(message)),
            OfState::Send(_, _, message) => ("a function", Some(message)),
        };
        match message {
            Some(message) => format!("{what} of the message `{}`", message.name),
            None => format!("{what} of the state `{}`", state.name),
        }
    }
}
