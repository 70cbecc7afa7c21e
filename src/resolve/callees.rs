//! Protocols, states and endpoints by name.

use super::types::UNKNOWN;
use super::{Callee, Lookup, Resolver, quoted};
use crate::diagnostic::Diagnostic;
use crate::name::{Name, nearest};
use crate::protocol::{EndpointType, FileId, Parameter, ProtocolId, Side, StateId, Type};
use crate::source::Span;
use crate::syntax::ast;
use std::collections::{HashMap, HashSet};

impl Resolver {
    /// A protocol or instance by name: of the file, of what it imports, of its package.
    pub(super) fn callee(&self, file: FileId, name: &Name) -> Lookup<Callee> {
        // A package is known once it has a protocol.
        let package = self.packages.get(&self.files[file.index()].package);
        match package.and_then(|package| package.get(name.text())) {
            Some(callee) => Lookup::One(*callee),
            None => self.look_up(file, |names| names.callees.get(name.text()).copied()),
        }
    }

    /// The protocol that a name means. An instance is none: its states are those of the protocol behind it.
    pub(super) fn protocol_named(&mut self, file: FileId, name: &Name) -> Option<ProtocolId> {
        match self.callee(file, name) {
            Lookup::One(Callee::Protocol(id)) => Some(id),
            Lookup::One(Callee::Instance(id)) => {
                let declared = self.program.instance(id).name.span;
                let text = format!("`{name}` is an instance, not a protocol");
                let error = Diagnostic::error("unknown-protocol", name.span, text)
                    .related(declared, "named here");
                self.report(error.help("name the protocol behind it, with the type arguments"));
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
                    let error = match near {
                        Some(near) => error.fix(format!("did you mean `{near}`?"), name.span, near, false),
                        None => error.help("declare it, import the file that does, or compile that file in the same call"),
                    };
                    self.report(error);
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
        parameters: &[Parameter],
        [protocol, side, state]: [&Name; 3],
        arguments: &[ast::Type],
        span: Span,
    ) -> Type {
        let arguments = self.types(file, parameters, arguments);
        let side_named = match side.text() {
            "client" => Some(Side::Client),
            "server" => Some(Side::Server),
            other => {
                let text = format!("a side is `client` or `server`, not `{other}`");
                let error = Diagnostic::error("syntax", side.span, text);
                let error = match nearest(other, ["client", "server"]) {
                    Some(near) => {
                        error.fix(format!("did you mean `{near}`?"), side.span, near, false)
                    }
                    None => error,
                };
                self.report(error);
                None
            }
        };
        let (Some(id), Some(side)) = (self.protocol_named(file, protocol), side_named) else {
            return UNKNOWN;
        };
        let Some(state) = self.state_named(id, state, state.span) else {
            return UNKNOWN;
        };
        if !self.counts(id, state, arguments.len(), span) {
            return UNKNOWN;
        }
        Type::Endpoint(Box::new(EndpointType {
            protocol: id,
            side,
            state,
            arguments,
        }))
    }

    /// Whether a state has as many parameters as it is given arguments; reports it if not.
    pub(super) fn counts(
        &mut self,
        protocol: ProtocolId,
        state: StateId,
        given: usize,
        span: Span,
    ) -> bool {
        let head = &self.parameters[protocol.index()][state.index()];
        let wanted = head.parameters as usize;
        if wanted == given {
            return true;
        }
        let number = |count: usize| match count {
            1 => "1 type argument".to_owned(),
            count => format!("{count} type arguments"),
        };
        let text = format!(
            "state `{}` takes {}, {given} {} given",
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
                .note("type parameters belong to states; none is handed on in silence")
                .help("write the arguments behind the state, in `<` and `>`"),
            _ => error,
        };
        self.report(error);
        false
    }

    /// The state of a protocol by name; reports it if there is none.
    pub(super) fn state_named(
        &mut self,
        protocol: ProtocolId,
        name: &Name,
        span: Span,
    ) -> Option<StateId> {
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
            let mut known: Vec<&str> = Vec::new();
            if self.may_propose() {
                known.extend(states.keys().map(AsRef::as_ref));
                known.sort_unstable();
            }
            let error = match nearest(name.text(), known.iter().copied()) {
                Some(near) => {
                    let place = &self.parameters[protocol.index()][states[near]].name;
                    error
                        .related(place.span, "a state with a similar name is declared here")
                        .fix(format!("did you mean `{near}`?"), span, near, false)
                }
                None if matches!(
                    name.text(),
                    "end" | "done" | "stop" | "finish" | "close" | "terminate"
                ) =>
                {
                    error.fix("if the session is over here, say so", span, "!", false)
                }
                None if known.len() <= 8 && !known.is_empty() => {
                    error.help(format!("the states are {}", quoted(&known)))
                }
                None => error.help(format!("declare it: `{name}:send {{ ... }}`")),
            };
            self.report(error);
        }
        None
    }
}
