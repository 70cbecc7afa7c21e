//! Every name that generated C declares, for the `clashing-names` rule. C has one scope for all of them.
//!
//! Joined names are not unique: the message `open_ok` of the state `file` and the message `ok` of the state `file_open` share a
//! constant. That takes two states, or two protocols, of which one begins as the other does, up to a `_`; where there is no such
//! pair, nothing can clash, and nothing but the types is handed over. So the rule costs little in very large protocols.

use super::declared;
use super::functions::Sending;
use super::types::{Types, types_file};
use super::units::{Kind, Unit, Units, canonical, parts_of};
use super::{shared, spelling};
use crate::check::{Scope, Spelled};
use crate::protocol::{Definition, Direction, Program, Side, State, StateId, Type};
use crate::source::Span;
use crate::target::Options;
use std::collections::{BTreeMap, BTreeSet};

/// Hands over every name that will be declared, scope by scope.
pub fn spellings(program: &Program, options: &Options, hand_over: &mut dyn FnMut(Scope)) {
    let prefix = options.c_prefix.as_deref().unwrap_or_default();
    let units = Units::of(program, prefix);
    let types = Types::of(program, &units, prefix);
    hand_over(files(program, &types, options.c_shm));
    let mut structural = BTreeMap::new();
    let mut names = declared_names(program, &types, &mut structural);
    for (id, unit) in units.units.iter().enumerate() {
        unit_types(program, &types, id, unit, &mut structural, &mut names);
        if unit.kind != Kind::Mentioned {
            let what = format!("the function that starts {}", title(program, unit));
            for ending in ["init", "init_in", "session_memory_t"] {
                let name = format!("{}_{ending}", unit.prefix);
                names.push(spelled(name, title_span(program, unit), what.clone()));
            }
        }
        if options.c_shm && unit.kind != Kind::Mentioned {
            let upper = unit.prefix.to_ascii_uppercase();
            let prefix = &unit.prefix;
            for (name, what) in [
                (
                    format!("{prefix}_client_attach"),
                    "the function that attaches",
                ),
                (
                    format!("{prefix}_server_attach"),
                    "the function that attaches",
                ),
                (format!("{upper}_FINGERPRINT"), "the fingerprint of"),
            ] {
                let what = format!("{what} {}", title(program, unit));
                names.push(spelled(name, title_span(program, unit), what));
            }
        }
        let capacity = format!("{}_CAPACITY", unit.prefix.to_ascii_uppercase());
        let what = format!("the capacity of {}", title(program, unit));
        names.push(spelled(capacity, title_span(program, unit), what));
    }
    let written = structural
        .into_iter()
        .map(|(name, (span, what))| spelled(name, span, what));
    names.extend(written);
    let heads: BTreeSet<String> = {
        let declared = program
            .types
            .iter()
            .map(|declared| super::units::declared_word(program, prefix, declared));
        let units = units.units.iter().map(|unit| unit.prefix.clone());
        declared.chain(units).chain(["duo".to_owned()]).collect()
    };
    hand_over(scope(names));
    for unit in &units.units {
        let names = unit_names(program, unit, &heads, options.c_shm);
        if !names.is_empty() {
            hand_over(scope(names));
        }
    }
}

fn scope(names: Vec<Spelled>) -> Scope {
    Scope {
        target: "C",
        place: "the names of the C program".to_owned(),
        ignores_case: false,
        names,
    }
}

fn spelled(spelling: String, origin: Option<Span>, what: String) -> Spelled {
    Spelled {
        spelling,
        origin,
        what,
    }
}

fn files(program: &Program, types: &Types, shm: bool) -> Scope {
    let mut names = Vec::new();
    for unit in &types.units.units {
        let what = format!("the header of {}", title(program, unit));
        names.push(spelled(
            format!("{}.h", unit.file_name),
            title_span(program, unit),
            what,
        ));
        if shm {
            let what = format!("the header for processes of {}", title(program, unit));
            let name = format!("{}_shm.h", unit.file_name);
            names.push(spelled(name, title_span(program, unit), what));
        }
    }
    for file in &program.files {
        if declared::has_types(types, file) {
            let id = program.ty(file.types[0]);
            let header = types_file(program, id.file);
            let what = format!("the header with the types of `{}`", file.path);
            names.push(spelled(format!("{header}.h"), Some(id.name.span), what));
        }
    }
    Scope {
        target: "C",
        place: "the folder of generated files".to_owned(),
        ignores_case: true,
        names,
    }
}

fn title(program: &Program, unit: &Unit) -> String {
    match unit.kind {
        Kind::Instance(id) => format!("the instance `{}`", program.instance(id).name),
        Kind::Protocol | Kind::Mentioned => {
            format!("the protocol `{}`", program.protocol(unit.protocol).name)
        }
    }
}

fn title_span(program: &Program, unit: &Unit) -> Option<Span> {
    Some(match unit.kind {
        Kind::Instance(id) => program.instance(id).name.span,
        Kind::Protocol | Kind::Mentioned => program.protocol(unit.protocol).name.span,
    })
}

/// Names of structs for lists, options and tuples, each with the first place that needs it. Equal types share a name; a name that
/// two types share is kept twice.
type Structural = BTreeMap<String, (Option<Span>, String)>;

fn declared_names(program: &Program, types: &Types, structural: &mut Structural) -> Vec<Spelled> {
    let mut names = Vec::new();
    for (index, declared) in program.types.iter().enumerate() {
        let id = crate::protocol::TypeId::new(index);
        let span = Some(declared.name.span);
        for part in parts_of(&declared.definition) {
            add_structural(
                types,
                &canonical(program, part),
                None,
                span,
                structural,
                &mut names,
            );
        }
        let word = types.declared_word(id);
        let is_host = super::types::is_host(declared);
        if !is_host {
            names.push(spelled(
                format!("{word}_t"),
                span,
                format!("the type `{}`", declared.name),
            ));
        }
        if types.drop_of(id).is_some() {
            names.push(spelled(
                format!("{word}_take"),
                span,
                format!("the function that takes a `{}`", declared.name),
            ));
        }
        if let Definition::Enum(variants) = &declared.definition {
            if !super::types::is_bare(variants) {
                names.push(spelled(
                    format!("{word}_tag_t"),
                    span,
                    format!("the tags of the enum `{}`", declared.name),
                ));
            }
            for variant in variants {
                let what = format!("the constant of the variant `{}`", variant.name);
                names.push(spelled(
                    spelling::variant(&word, variant.name.text()),
                    Some(variant.name.span),
                    what,
                ));
            }
        }
    }
    names
}

fn unit_types(
    program: &Program,
    types: &Types,
    id: usize,
    unit: &Unit,
    structural: &mut Structural,
    names: &mut Vec<Spelled>,
) {
    let protocol = program.protocol(unit.protocol);
    for state in &unit.states {
        for message in &protocol.state(state.state).messages {
            for entry in &message.entries {
                if !matches!(entry.ty, Type::Builtin(_) | Type::Named(_)) {
                    let ty = canonical(program, &entry.ty).substitute(&state.arguments);
                    add_structural(types, &ty, Some(id), Some(entry.ty_span), structural, names);
                }
            }
        }
    }
}

fn add_structural(
    types: &Types,
    ty: &Type,
    by: Option<usize>,
    span: Option<Span>,
    structural: &mut Structural,
    clashing: &mut Vec<Spelled>,
) {
    let inner: &[Type] = match ty {
        Type::List(item) | Type::Option(item) => std::slice::from_ref(item),
        Type::Tuple(items) => items,
        Type::Builtin(_) | Type::Named(_) | Type::Parameter(_) | Type::Endpoint(_) => return,
    };
    let name = types.name(ty, by);
    let what = format!("the C type of {}", shown(types, ty, by));
    match structural.get(&name) {
        None => drop(structural.insert(name, (span, what))),
        Some((_, other)) if *other != what => clashing.push(spelled(name, span, what)),
        Some(_) => {}
    }
    for item in inner {
        add_structural(types, item, by, span, structural, clashing);
    }
}

/// A type as it would be written, with C names for what is declared: two types that look alike are alike.
fn shown(types: &Types, ty: &Type, by: Option<usize>) -> String {
    match ty {
        Type::List(item) => format!("[{}]", shown(types, item, by)),
        Type::Option(item) => format!("{}?", shown(types, item, by)),
        Type::Tuple(items) => {
            let items: Vec<String> = items.iter().map(|item| shown(types, item, by)).collect();
            format!("({})", items.join(", "))
        }
        Type::Builtin(_) | Type::Named(_) | Type::Parameter(_) | Type::Endpoint(_) => {
            types.name(ty, by)
        }
    }
}

/// The names of a unit's states and messages, as far as anything can clash with them.
fn unit_names(program: &Program, unit: &Unit, heads: &BTreeSet<String>, shm: bool) -> Vec<Spelled> {
    let own_states: BTreeMap<&str, usize> = unit
        .states
        .iter()
        .enumerate()
        .map(|(index, state)| (state.name.as_str(), index))
        .collect();
    let begins = |head: &str, name: &str| {
        name.strip_prefix(head)
            .is_some_and(|rest| rest.starts_with('_'))
    };
    // Another protocol's or type's names may go on where this one's end, or the other way round.
    let of_this: &str = &unit.prefix;
    let shorter = beginnings(of_this).any(|head| heads.contains(head));
    let from = format!("{of_this}_");
    let longer = heads
        .range(from..)
        .next()
        .is_some_and(|head| begins(of_this, head));
    let mut is_risky = vec![shorter || longer; unit.states.len()];
    for (index, state) in unit.states.iter().enumerate() {
        let side = state
            .name
            .strip_prefix("client_")
            .or(state.name.strip_prefix("server_"));
        let mut others: Vec<usize> = beginnings(&state.name)
            .filter_map(|head| own_states.get(head).copied())
            .collect();
        others.extend(side.and_then(|rest| own_states.get(rest).copied()));
        if shm && names_a_limit(program.protocol(unit.protocol).state(state.state)) {
            is_risky[index] = true;
        }
        if unit.states.len() > own_states.len() || !others.is_empty() {
            is_risky[index] = true;
        }
        others.into_iter().for_each(|other| is_risky[other] = true);
    }
    let mut names = Vec::new();
    for (index, state) in unit.states.iter().enumerate() {
        if is_risky[index] {
            state_names(
                program,
                unit,
                state.state,
                &state.name,
                state.travels,
                shm,
                &mut names,
            );
        }
    }
    names
}

/// Whether a message may be called as the function is that sends another one within a time limit.
fn names_a_limit(state: &State) -> bool {
    let mut messages = state.messages.iter();
    messages.any(|message| spelling::word(message.name.text()).ends_with("_within"))
}

/// The parts of a name before each of its underscores.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('_').map(|(at, _)| &name[..at])
}

/// The names that a sending endpoint has besides, if it can be shared.
fn shared_names(state: &State, endpoint: &str, names: &mut Vec<Spelled>) {
    let span = Some(state.name.span);
    let own = |what: &str| format!("{what} of the state `{}`", state.name);
    names.push(spelled(
        format!("{endpoint}_shared_t"),
        span,
        own("the shared endpoint type"),
    ));
    for function in shared::FUNCTIONS {
        names.push(spelled(
            format!("{endpoint}_{function}"),
            span,
            own("a function"),
        ));
    }
    for message in &state.messages {
        let what = format!("a function of the message `{}`", message.name);
        let word = spelling::word(message.name.text());
        for verb in ["send", "try_send"] {
            let name = format!("{endpoint}_shared_{verb}_{word}");
            names.push(spelled(name, Some(message.name.span), what.clone()));
        }
    }
}

fn state_names(
    program: &Program,
    unit: &Unit,
    id: StateId,
    name: &str,
    travels: bool,
    shm: bool,
    names: &mut Vec<Spelled>,
) {
    let state = program.protocol(unit.protocol).state(id);
    let span = Some(state.name.span);
    let prefix = &unit.prefix;
    let own = |what: &str| format!("{what} of the state `{}`", state.name);
    for side in [Side::Client, Side::Server] {
        let endpoint = format!("{prefix}_{}_{name}", side.word());
        let sends = match (state.direction, side) {
            (None, _) => None,
            (Some(Direction::Send), Side::Client) | (Some(Direction::Recv), Side::Server) => {
                Some(true)
            }
            (Some(Direction::Send), Side::Server) | (Some(Direction::Recv), Side::Client) => {
                Some(false)
            }
        };
        names.push(spelled(
            format!("{endpoint}_t"),
            span,
            own("an endpoint type"),
        ));
        names.push(spelled(
            format!("{endpoint}_close"),
            span,
            own("a function"),
        ));
        if travels {
            names.push(spelled(format!("{endpoint}_take"), span, own("a function")));
        }
        match sends {
            None => {}
            Some(false) => {
                for verb in ["recv", "try_recv", "recv_within"] {
                    names.push(spelled(
                        format!("{endpoint}_{verb}"),
                        span,
                        own("a function"),
                    ));
                }
            }
            Some(true) => {
                for message in &state.messages {
                    let what = format!("a function of the message `{}`", message.name);
                    let word = spelling::word(message.name.text());
                    for sending in [Sending::Forever, Sending::Within, Sending::AtOnce] {
                        if shm || sending != Sending::Within {
                            let name = sending.name(&endpoint, &word);
                            names.push(spelled(name, Some(message.name.span), what.clone()));
                        }
                    }
                }
                if program.protocol(unit.protocol).always_returns(id) {
                    shared_names(state, &endpoint, names);
                }
            }
        }
    }
    if state.direction.is_none() {
        return;
    }
    let loud = format!("{prefix}_{name}").to_ascii_uppercase();
    names.push(spelled(
        format!("{prefix}_{name}_t"),
        span,
        own("the message type"),
    ));
    names.push(spelled(
        format!("{prefix}_{name}_tag_t"),
        span,
        own("the tags"),
    ));
    names.push(spelled(
        format!("{prefix}_{name}_free"),
        span,
        own("a function"),
    ));
    if state.messages.is_empty() {
        names.push(spelled(
            format!("{loud}_NOTHING"),
            span,
            own("the constant"),
        ));
    }
    for message in &state.messages {
        let constant = format!("{loud}_{}", spelling::loud(message.name.text()));
        let what = format!("the constant of the message `{}`", message.name);
        names.push(spelled(constant, Some(message.name.span), what));
    }
}
