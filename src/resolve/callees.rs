//! Protocols, states and endpoints by name.

use super::{Callee, Context, Lookup, Resolver, declare};
use crate::diagnostic::{Diagnostic, quoted};
use crate::name::{Name, nearest, norm};
use crate::protocol::{Builtin, EndpointType, FileId, ProtocolId, Referent, Side, StateId, Type};
use crate::source::Span;
use crate::syntax::ast;
use std::collections::{HashMap, HashSet};

/// The maximum number of states that a diagnostic lists.
const LISTED: usize = 8;

/// What others call the end of a session, in lower case.
const OVER: &str = "end done stop finish finished close closed terminate exit quit fin bye halt nil none null void over final eof return";

/// A protocol or instance by name, from the package, the file or its imports.
pub(super) fn callee(resolver: &Resolver, file: FileId, name: &Name) -> Lookup<Callee> {
    // A package is known once it has a protocol.
    let package = resolver.packages.get(&resolver.files[file.index()].package);
    match package.and_then(|package| package.get(name.text())) {
        Some(callee) => Lookup::One(*callee),
        None => resolver.look_up(file, |names| names.callees.get(name.text()).copied()),
    }
}

/// The protocol that a name refers to. An instance is not a protocol: its states are those of its protocol.
pub(super) fn protocol_named(
    resolver: &mut Resolver,
    file: FileId,
    name: &Name,
) -> Option<ProtocolId> {
    let found = find_protocol(resolver, file, name);
    let referent = match (found, callee(resolver, file, name)) {
        (Some(id), _) => Referent::Protocol(id),
        (None, Lookup::One(Callee::Instance(id))) => Referent::Instance(id),
        _ => Referent::Unknown,
    };
    resolver.used(name.span, referent);
    found
}

fn find_protocol(resolver: &mut Resolver, file: FileId, name: &Name) -> Option<ProtocolId> {
    match callee(resolver, file, name) {
        Lookup::One(Callee::Protocol(id)) => Some(id),
        Lookup::One(Callee::Instance(id)) => {
            let declared = resolver.program.instance(id).name.span;
            let text = format!("`{name}` is an instance, not a protocol");
            let error = Diagnostic::error("unknown-protocol", name.span, text)
                .related(declared, "declared here");
            resolver.report(
                error.help("name the protocol it is an instance of, with the type arguments"),
            );
            None
        }
        Lookup::Several(one, other) => {
            let places = [one, other].map(|callee| declare::callee_name(resolver, callee).span);
            resolver.ambiguous(name, places);
            None
        }
        Lookup::None => {
            if !resolver.may_be_declared(file, name.text()) {
                let error = Diagnostic::error(
                    "unknown-protocol",
                    name.span,
                    format!("there is no protocol `{name}`"),
                );
                let visible = if resolver.may_propose() {
                    visible_callees(resolver, file)
                } else {
                    Vec::new()
                };
                let near = nearest(name.text(), visible.iter().map(String::as_str));
                let otherwise = "declare it, or import the file that declares it";
                resolver.report(error.did_you_mean(name.span, near, otherwise));
            }
            None
        }
    }
}

fn visible_callees(resolver: &Resolver, file: FileId) -> Vec<String> {
    let own = &resolver.files[file.index()];
    let package = resolver.packages.get(&own.package).into_iter();
    let imported = own
        .imports
        .iter()
        .map(|import| &resolver.files[import.index()].callees);
    let names = package.chain(imported).flat_map(HashMap::keys);
    let names: HashSet<String> = names.map(ToString::to_string).collect();
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort();
    names
}

pub(super) fn endpoint(
    resolver: &mut Resolver,
    file: FileId,
    context: Context<'_>,
    [protocol, side, state]: [&Name; 3],
    arguments: &[ast::Type],
    span: Span,
) -> Type {
    let arguments = resolver.arguments(file, context, arguments);
    let side_named = Side::named(side.text());
    if side_named.is_none() {
        let text = format!("a side is `client` or `server`, not `{side}`");
        let error = Diagnostic::error("unknown-side", side.span, text);
        let near = nearest(side.text(), ["client", "server"]);
        let otherwise =
            format!("write `{protocol}::client::{state}` or `{protocol}::server::{state}`");
        resolver.report(error.did_you_mean(side.span, near, otherwise));
    }
    let referent = side_named.map_or(Referent::Unknown, Referent::Side);
    resolver.used(side.span, referent);
    let (Some(id), Some(side)) = (protocol_named(resolver, file, protocol), side_named) else {
        resolver.unknown([state]);
        return Type::Error;
    };
    let Some(state) = state_named(resolver, id, state, state.span) else {
        return Type::Error;
    };
    if !counts(resolver, id, state, arguments.len(), span) {
        return Type::Error;
    }
    Type::Endpoint(Box::new(EndpointType {
        protocol: id,
        side,
        state,
        arguments,
    }))
}

/// A path of two parts: an endpoint without its side or its state, or a type of another language.
pub(super) fn incomplete_endpoint(
    resolver: &mut Resolver,
    file: FileId,
    protocol: &Name,
    second: &Name,
    span: Span,
) -> Type {
    let written = Builtin::named(second.text()).map(|_| second.text());
    let builtin = written.or_else(|| Builtin::of_another_language(second.text()));
    if let (Lookup::None, Some(word)) = (callee(resolver, file, protocol), builtin) {
        let text = format!("`{protocol}::{second}` is not a type in this language");
        let error = Diagnostic::error("unknown-protocol", span, text).fix(
            format!("did you mean `{word}`?"),
            span,
            word,
        );
        resolver.report(error);
        resolver.unknown([protocol, second]);
        return Type::Error;
    }
    resolver.unknown([second]);
    let Some(id) = protocol_named(resolver, file, protocol) else {
        return Type::Error;
    };
    let is_state = resolver.states[id.index()].contains_key(second.text());
    let is_side = matches!(second.text(), "client" | "server");
    let error = if is_side && !is_state {
        let text = format!("`{protocol}::{second}` does not name a state");
        let error = Diagnostic::error("unknown-state", span, text);
        let after = second.span.after();
        match states_in_order(resolver, id).as_slice() {
            [only] => error.fix(
                format!("the only state of `{protocol}` is `{only}`"),
                after,
                format!("::{only}"),
            ),
            states if (2..=LISTED).contains(&states.len()) => error.help(format!(
                "write `{protocol}::{second}::{}`; the states of `{protocol}` are {}",
                states[0],
                quoted(states)
            )),
            _ => error.help(format!("write `{protocol}::{second}::state`")),
        }
    } else {
        let text = format!("`{protocol}::{second}` does not name a side");
        let error = Diagnostic::error("unknown-side", span, text);
        let before = Span {
            end: second.span.start,
            ..second.span
        };
        let error = error.fix("for the client's endpoint", before, "client::");
        error.fix("for the server's endpoint", before, "server::")
    };
    let declared = resolver.program.protocol(id).name.span;
    resolver.report(error.related(declared, "the protocol is declared here"));
    Type::Error
}

/// The names of a protocol's states in the order they are declared, at most one more than can be listed.
fn states_in_order(resolver: &Resolver, protocol: ProtocolId) -> Vec<&str> {
    let heads = resolver.parameters[protocol.index()].iter();
    heads
        .map(|head| head.name.text())
        .take(LISTED + 1)
        .collect()
}

/// Whether a state has as many parameters as it is given arguments; reports an error if not, unless the state did not parse.
pub(super) fn counts(
    resolver: &mut Resolver,
    protocol: ProtocolId,
    state: StateId,
    given: usize,
    span: Span,
) -> bool {
    let head = &resolver.parameters[protocol.index()][state.index()];
    let Some(wanted) = head.parameters else {
        return false;
    };
    let wanted = wanted as usize;
    if wanted == given {
        return true;
    }
    let number = |count: usize| match count {
        1 => "1 type argument".to_owned(),
        count => format!("{count} type arguments"),
    };
    let text = format!(
        "state `{}` takes {}, but {given} {} given",
        head.name,
        number(wanted),
        if given == 1 { "is" } else { "are" }
    );
    let error = Diagnostic::error("type-argument-count", span, text)
        .related(head.name.span, "the state is declared here");
    let error = match (wanted, given) {
        (0, _) => error.help(format!(
            "remove them: `{}` has no type parameters",
            head.name
        )),
        (_, 0) => error
            .note("type parameters belong to states, and no argument is passed on implicitly")
            .help("write the arguments after the state, in `<` and `>`"),
        _ => error,
    };
    resolver.report(error);
    false
}

/// The state of a protocol whose name is closest to an unknown name.
fn similar_state<'a>(resolver: &'a Resolver, protocol: ProtocolId, name: &str) -> Option<&'a str> {
    if !resolver.may_propose() {
        return None;
    }
    let heads = resolver.parameters[protocol.index()].iter();
    nearest(name, heads.map(|head| head.name.text()))
}

/// The state of a protocol by name; reports an error if there is none.
pub(super) fn state_named(
    resolver: &mut Resolver,
    protocol: ProtocolId,
    name: &Name,
    span: Span,
) -> Option<StateId> {
    let found = find_state(resolver, protocol, name, span);
    let referent = found.map_or(Referent::Unknown, |state| Referent::State(protocol, state));
    resolver.used(name.span, referent);
    found
}

fn find_state(
    resolver: &mut Resolver,
    protocol: ProtocolId,
    name: &Name,
    span: Span,
) -> Option<StateId> {
    let states = &resolver.states[protocol.index()];
    if let Some(index) = states.get(name.text()) {
        return Some(StateId::new(*index));
    }
    let declared = &resolver.program.protocol(protocol).name;
    let owner = resolver.program.protocol(protocol).file;
    let broken = &resolver.files[owner.index()].broken_words;
    if !broken.contains(name.text()) {
        let text = format!("there is no state `{name}` in `{declared}`");
        let error = Diagnostic::error("unknown-state", span, text);
        let near = similar_state(resolver, protocol, name.text());
        let word = name.text().to_ascii_lowercase();
        let is_over = OVER.split(' ').any(|over| over == word);
        let same = near.filter(|near| norm(near) == norm(name.text()));
        let error = if let Some(near) = same.or(near.filter(|_| !is_over)) {
            let place = &resolver.parameters[protocol.index()][states[near]].name;
            error
                .related(place.span, "a state with a similar name is declared here")
                .fix(format!("did you mean `{near}`?"), span, near)
        } else if is_over {
            error.fix("to end the session, write `!`", span, "!")
        } else if let Some(owner) = resolver.senders.get(&(protocol, name.text().into())) {
            error
                .related(owner.span, format!("`{name}` is a message of this state"))
                .fix("an arrow leads to a state", span, owner.text())
        } else {
            match states_in_order(resolver, protocol).as_slice() {
                [only] => error.help(format!("the only state is `{only}`")),
                known if (2..=LISTED).contains(&known.len()) => {
                    error.help(format!("the states are {}", quoted(known)))
                }
                _ => error.help(format!("declare it: `{name}:send {{ ... }}`")),
            }
        };
        resolver.report(error);
    }
    None
}
