//! Protocols, states and endpoints by name.

use super::{Callee, Context, Lookup, Resolver, quoted};
use crate::diagnostic::Diagnostic;
use crate::name::{Name, nearest, norm};
use crate::protocol::{Builtin, EndpointType, FileId, ProtocolId, Referent, Side, StateId, Type};
use crate::source::Span;
use crate::syntax::ast;
use std::collections::{HashMap, HashSet};

/// The maximum number of states that a diagnostic lists.
const LISTED: usize = 8;

impl Resolver {
    /// A protocol or instance by name, from the package, the file or its imports.
    pub(super) fn callee(&self, file: FileId, name: &Name) -> Lookup<Callee> {
        // A package is known once it has a protocol.
        let package = self.packages.get(&self.files[file.index()].package);
        match package.and_then(|package| package.get(name.text())) {
            Some(callee) => Lookup::One(*callee),
            None => self.look_up(file, |names| names.callees.get(name.text()).copied()),
        }
    }

    /// The protocol that a name refers to. An instance is not a protocol: its states are those of its protocol.
    pub(super) fn protocol_named(&mut self, file: FileId, name: &Name) -> Option<ProtocolId> {
        let found = self.find_protocol(file, name);
        let referent = match (found, self.callee(file, name)) {
            (Some(id), _) => Referent::Protocol(id),
            (None, Lookup::One(Callee::Instance(id))) => Referent::Instance(id),
            _ => Referent::Unknown,
        };
        self.used(name.span, referent);
        found
    }

    fn find_protocol(&mut self, file: FileId, name: &Name) -> Option<ProtocolId> {
        match self.callee(file, name) {
            Lookup::One(Callee::Protocol(id)) => Some(id),
            Lookup::One(Callee::Instance(id)) => {
                let declared = self.program.instance(id).name.span;
                let text = format!("`{name}` is an instance, not a protocol");
                let error = Diagnostic::error("unknown-protocol", name.span, text)
                    .related(declared, "declared here");
                self.report(
                    error.help("name the protocol it is an instance of, with the type arguments"),
                );
                None
            }
            Lookup::Several(one, other) => {
                let places = [one, other].map(|callee| self.callee_name(callee).span);
                self.ambiguous(name, places);
                None
            }
            Lookup::None => {
                if !self.may_be_declared(file, name.text()) {
                    let error = Diagnostic::error(
                        "unknown-protocol",
                        name.span,
                        format!("there is no protocol `{name}`"),
                    );
                    let visible = if self.may_propose() {
                        self.visible_callees(file)
                    } else {
                        Vec::new()
                    };
                    let near = nearest(name.text(), visible.iter().map(String::as_str));
                    let otherwise = "declare it, or import the file that declares it";
                    self.report(error.did_you_mean(name.span, near, otherwise));
                }
                None
            }
        }
    }

    fn visible_callees(&self, file: FileId) -> Vec<String> {
        let own = &self.files[file.index()];
        let package = self.packages.get(&own.package).into_iter();
        let imported = own
            .imports
            .iter()
            .map(|import| &self.files[import.index()].callees);
        let names = package.chain(imported).flat_map(HashMap::keys);
        let names: HashSet<String> = names.map(ToString::to_string).collect();
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort();
        names
    }

    pub(super) fn endpoint(
        &mut self,
        file: FileId,
        context: Context<'_>,
        [protocol, side, state]: [&Name; 3],
        arguments: &[ast::Type],
        span: Span,
    ) -> Type {
        let arguments = self.arguments(file, context, arguments);
        let side_named = match side.text() {
            "client" => Some(Side::Client),
            "server" => Some(Side::Server),
            other => {
                let text = format!("a side is `client` or `server`, not `{other}`");
                let error = Diagnostic::error("unknown-side", side.span, text);
                let near = nearest(other, ["client", "server"]);
                let otherwise =
                    format!("write `{protocol}::client::{state}` or `{protocol}::server::{state}`");
                self.report(error.did_you_mean(side.span, near, otherwise));
                None
            }
        };
        let referent = side_named.map_or(Referent::Unknown, Referent::Side);
        self.used(side.span, referent);
        let (Some(id), Some(side)) = (self.protocol_named(file, protocol), side_named) else {
            self.unknown([state]);
            return Type::Error;
        };
        let Some(state) = self.state_named(id, state, state.span) else {
            return Type::Error;
        };
        if !self.counts(id, state, arguments.len(), span) {
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
        &mut self,
        file: FileId,
        protocol: &Name,
        second: &Name,
        span: Span,
    ) -> Type {
        let written = Builtin::named(second.text()).map(|_| second.text());
        let builtin = written.or_else(|| Builtin::of_another_language(second.text()));
        if let (Lookup::None, Some(word)) = (self.callee(file, protocol), builtin) {
            let text = format!("`{protocol}::{second}` is not a type in this language");
            let error = Diagnostic::error("unknown-protocol", span, text).fix(
                format!("did you mean `{word}`?"),
                span,
                word,
                false,
            );
            self.report(error);
            self.unknown([protocol, second]);
            return Type::Error;
        }
        self.unknown([second]);
        let Some(id) = self.protocol_named(file, protocol) else {
            return Type::Error;
        };
        let is_state = self.states[id.index()].contains_key(second.text());
        let is_side = matches!(second.text(), "client" | "server");
        let error = if is_side && !is_state {
            let text = format!("`{protocol}::{second}` does not name a state");
            let error = Diagnostic::error("unknown-state", span, text);
            let after = second.span.after();
            match self.states_in_order(id).as_slice() {
                [only] => error.fix(
                    format!("the only state of `{protocol}` is `{only}`"),
                    after,
                    format!("::{only}"),
                    false,
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
            let error = error.fix("for the client's endpoint", before, "client::", false);
            error.fix("for the server's endpoint", before, "server::", false)
        };
        let declared = self.program.protocol(id).name.span;
        self.report(error.related(declared, "the protocol is declared here"));
        Type::Error
    }

    /// The names of a protocol's states in the order they are declared, at most one more than can be listed.
    fn states_in_order(&self, protocol: ProtocolId) -> Vec<&str> {
        let heads = self.parameters[protocol.index()].iter();
        heads
            .map(|head| head.name.text())
            .take(LISTED + 1)
            .collect()
    }

    /// Whether a state has as many parameters as it is given arguments; reports an error if not, unless the state did not parse.
    pub(super) fn counts(
        &mut self,
        protocol: ProtocolId,
        state: StateId,
        given: usize,
        span: Span,
    ) -> bool {
        let head = &self.parameters[protocol.index()][state.index()];
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
        self.report(error);
        false
    }

    /// The state of a protocol whose name is closest to an unknown name.
    fn similar_state(&self, protocol: ProtocolId, name: &str) -> Option<&str> {
        if !self.may_propose() {
            return None;
        }
        let heads = self.parameters[protocol.index()].iter();
        nearest(name, heads.map(|head| head.name.text()))
    }

    /// The state of a protocol by name; reports an error if there is none.
    pub(super) fn state_named(
        &mut self,
        protocol: ProtocolId,
        name: &Name,
        span: Span,
    ) -> Option<StateId> {
        let found = self.find_state(protocol, name, span);
        let referent = found.map_or(Referent::Unknown, |state| Referent::State(protocol, state));
        self.used(name.span, referent);
        found
    }

    fn find_state(&mut self, protocol: ProtocolId, name: &Name, span: Span) -> Option<StateId> {
        let states = &self.states[protocol.index()];
        if let Some(index) = states.get(name.text()) {
            return Some(StateId::new(*index));
        }
        let declared = &self.program.protocol(protocol).name;
        let owner = self.program.protocol(protocol).file;
        let broken = &self.files[owner.index()].broken_words;
        if !broken.contains(name.text()) {
            let text = format!("there is no state `{name}` in `{declared}`");
            let error = Diagnostic::error("unknown-state", span, text);
            let near = self.similar_state(protocol, name.text());
            let is_over = matches!(
                name.text().to_ascii_lowercase().as_str(),
                "end"
                    | "done"
                    | "stop"
                    | "finish"
                    | "finished"
                    | "close"
                    | "closed"
                    | "terminate"
                    | "exit"
                    | "quit"
                    | "fin"
                    | "bye"
                    | "halt"
                    | "nil"
                    | "none"
                    | "null"
                    | "void"
                    | "over"
                    | "final"
                    | "eof"
                    | "return"
            );
            let same = near.filter(|near| norm(near) == norm(name.text()));
            let error = if let Some(near) = same.or(near.filter(|_| !is_over)) {
                let place = &self.parameters[protocol.index()][states[near]].name;
                error
                    .related(place.span, "a state with a similar name is declared here")
                    .fix(format!("did you mean `{near}`?"), span, near, false)
            } else if is_over {
                error.fix("to end the session, write `!`", span, "!", false)
            } else if let Some(owner) = self.senders.get(&(protocol, name.text().into())) {
                error
                    .related(owner.span, format!("`{name}` is a message of this state"))
                    .fix("an arrow leads to a state", span, owner.text(), false)
            } else {
                match self.states_in_order(protocol).as_slice() {
                    [only] => error.help(format!("the only state is `{only}`")),
                    known if (2..=LISTED).contains(&known.len()) => {
                        error.help(format!("the states are {}", quoted(known)))
                    }
                    _ => error.help(format!("declare it: `{name}:send {{ ... }}`")),
                }
            };
            self.report(error);
        }
        None
    }
}
