//! Protocols and instances.

use super::{Context, Resolver, callees, duplicates};
use crate::diagnostic::Diagnostic;
use crate::name::Name;
use crate::protocol::{
    FileId, InstanceId, Message, Next, Parameter, ProtocolId, Referent, State, StateId,
};
use crate::syntax::ast;
use std::collections::{HashMap, HashSet};

impl Resolver {
    pub(super) fn protocol(&mut self, file: FileId, protocol: ast::Protocol, id: ProtocolId) {
        let name = self.program.protocol(id).name.clone();
        if protocol.states.is_empty() && !protocol.is_broken {
            let error = Diagnostic::error(
                "empty-protocol",
                name.span,
                format!("the protocol `{name}` has no states"),
            )
            .help("add a state: a session starts in the first one");
            self.report(error);
        }
        let mut has_duplicates = self.duplicate_states(&protocol.states);
        for state in &protocol.states {
            let parameters = state.parameters.iter().map(|parameter| &parameter.name);
            let what = "type parameters";
            has_duplicates |= duplicates(parameters, what, &mut self.diagnostics);
        }
        self.remember_senders(&protocol.states, id);
        let dual_of = protocol.dual_of.iter().filter_map(|name| {
            let dual = callees::protocol_named(self, file, name)?;
            Some((dual, name.span))
        });
        let dual_of = dual_of.collect();
        let states: Vec<State> = protocol
            .states
            .into_iter()
            .enumerate()
            .map(|(index, mut state)| {
                state.at_most = state.at_most.or(protocol.at_most);
                self.state(file, (id, StateId::new(index)), state)
            })
            .collect();
        let resolved = &mut self.program.protocols[id.index()];
        resolved.states = states;
        resolved.dual_of = dual_of;
        resolved.is_broken |= has_duplicates;
    }

    /// Reports states with the same name. If their directions differ, they describe one state in which both sides would send.
    /// Returns whether there are any.
    fn duplicate_states(&mut self, states: &[ast::State]) -> bool {
        let before = self.diagnostics.len();
        let mut seen: HashMap<&str, &ast::State> = HashMap::new();
        for state in states {
            let name = &state.name;
            let Some(first) = seen.get(name.text()) else {
                seen.insert(name.text(), state);
                continue;
            };
            if state.may_lack_parameters || first.may_lack_parameters {
                // The state did not parse, so its name may be something else.
                continue;
            }
            let text = format!("there are two states named `{name}`");
            let error = Diagnostic::error("duplicate-name", name.span, text)
                .label("declared again here")
                .related(first.name.span, "first declared here");
            let is_mixed = first.direction.is_some()
                && state.direction.is_some()
                && first.direction != state.direction;
            self.report(if is_mixed {
                error
                    .note("a state belongs to one side: if both could send at once, the two messages could cross")
                    .help(format!(
                        "rename this one, for example to `{name}_answer`, and let the messages of `{name}` that are answered lead to it"
                    ))
            } else {
                error.help("rename one of them")
            });
        }
        self.diagnostics.len() > before
    }

    /// For each name after an arrow that is not the name of a state, remembers the first state with a message of this name:
    /// beginners write the message that comes next.
    fn remember_senders(&mut self, states: &[ast::State], id: ProtocolId) {
        let known = &self.states[id.index()];
        let messages = || states.iter().flat_map(|state| &state.messages);
        let next = messages().filter_map(|message| message.next.as_ref());
        let unknown = next.filter(|(name, _)| !known.contains_key(name.text()));
        let unknown: HashSet<&str> = unknown.map(|(name, _)| name.text()).collect();
        if unknown.is_empty() {
            return;
        }
        for state in states {
            for message in &state.messages {
                if unknown.contains(message.name.text()) {
                    self.senders
                        .entry((id, message.name.text().into()))
                        .or_insert_with(|| state.name.clone());
                }
            }
        }
    }

    fn state(&mut self, file: FileId, id: (ProtocolId, StateId), state: ast::State) -> State {
        let messages = state.messages.iter().map(|message| &message.name);
        duplicates(messages, "messages", &mut self.diagnostics);
        let parameters = state.parameters.into_iter().map(|parameter| {
            let bounds = parameter
                .bounds
                .iter()
                .filter_map(|bound| self.bound(file, bound));
            Parameter {
                bounds: bounds.collect(),
                name: parameter.name,
            }
        });
        let parameters: Vec<Parameter> = parameters.collect();
        let context = Context {
            parameters: &parameters,
            state: Some(id),
        };
        let messages = (0..).zip(state.messages);
        let messages = messages
            .map(|(at, mut message)| {
                message.at_most = message.at_most.or(state.at_most);
                self.message(file, id, at, context, message)
            })
            .collect();
        State {
            name: state.name,
            docs: state.docs,
            direction: state.direction,
            direction_span: state.direction_span,
            within: state.within,
            parameters,
            messages,
            levels: state.levels,
            span: state.span,
        }
    }

    fn message(
        &mut self,
        file: FileId,
        (protocol, state): (ProtocolId, StateId),
        at: u32,
        context: Context<'_>,
        message: ast::Message,
    ) -> Message {
        let entries = self.entries(file, context, message.entries, |entry| {
            Referent::Entry(protocol, state, at, entry)
        });
        let next = match &message.next {
            None => Next::End,
            Some((state, arguments)) => self.next(
                file,
                protocol,
                context,
                (state, arguments),
                message.next_span,
            ),
        };
        Message {
            name: message.name,
            docs: message.docs,
            entries,
            at_most: message.at_most,
            next,
            next_span: message.next_span,
            levels: message.levels,
        }
    }

    fn next(
        &mut self,
        file: FileId,
        protocol: ProtocolId,
        context: Context<'_>,
        (name, arguments): (&Name, &[ast::Type]),
        next_span: crate::source::Span,
    ) -> Next {
        let arguments = self.arguments(file, context, arguments);
        let state = callees::state_named(self, protocol, name, name.span);
        let counted = state
            .filter(|state| callees::counts(self, protocol, *state, arguments.len(), next_span));
        counted.map_or(Next::Error, |state| Next::State { state, arguments })
    }

    pub(super) fn instance(
        &mut self,
        file: FileId,
        protocol: &Name,
        arguments: &[ast::Type],
        id: InstanceId,
    ) {
        let span = arguments
            .last()
            .map_or(protocol.span, |last| protocol.span.to(last.span));
        let arguments = self.arguments(file, Context::default(), arguments);
        let Some(generic) = callees::protocol_named(self, file, protocol) else {
            return;
        };
        if self.parameters[generic.index()].is_empty() {
            return;
        }
        if callees::counts(
            self,
            generic,
            StateId::new(0),
            arguments.len(),
            protocol.span,
        ) {
            self.resolved_instances.insert(id);
            let instance = &mut self.program.instances[id.index()];
            instance.protocol = generic;
            instance.span = span;
            instance.arguments = arguments;
        }
    }
}
