//! The states and transitions as the runtime sees them, for the template of a protocol's module.

use super::fields;
use super::layout::{Document, definition, implementation};
use super::remote;
use super::spelling::type_name;
use super::states::{States, payload, slot_of, words};
use crate::endpoint::{self, Activity, Edge, Endpoint};
use crate::languages::layout::{WIDTH, spaces};
use crate::protocol::{Message, Next, Side, State, StateId, Type};

/// A state and its messages as the runtime sees them.
pub(super) struct StateView {
    /// Its declaration, unless that is in the module of the states in which one side receives.
    pub(super) declaration: Option<String>,
    pub(super) is_terminal: bool,
    pub(super) head: String,
    pub(super) message: String,
    pub(super) name: String,
    pub(super) sender: String,
    /// Whether a message may be followed by another in the same direction.
    pub(super) stays: bool,
    /// What its sessions start with, if that is always the same.
    pub(super) session: Option<String>,
    /// The head of its implementation of `Remote`, if it can leave the process.
    pub(super) remote: Option<String>,
    /// The arguments of the macro that makes it a series of payloads, if it is one.
    pub(super) series: Option<String>,
    /// How long it may last between processes, in milliseconds.
    pub(super) within: Option<u64>,
    pub(super) arms: Vec<ArmView>,
    /// Whether each index that a byte can hold is that of a message.
    pub(super) is_full: bool,
}

/// The declarations of the states in which one side receives.
pub(super) struct ReceivingView {
    pub(super) side: &'static str,
    pub(super) module: String,
    pub(super) declarations: Vec<String>,
}

pub(super) struct ArmView {
    pub(super) index: usize,
    pub(super) names: String,
    pub(super) value: String,
    pub(super) head: String,
    pub(super) payload: String,
    pub(super) next: String,
    pub(super) name: String,
    /// The constructor of its row in the table of a far end.
    pub(super) row: String,
}

/// The module of the states in which a side receives.
pub(super) fn receiving_module(side: Side) -> String {
    format!("{}_receives", side.word())
}

impl States<'_> {
    pub(super) fn table(
        self,
        id: StateId,
        starts: Option<Vec<usize>>,
        carried: &[bool],
    ) -> StateView {
        let state = self.protocol().state(id);
        let scope = self.scope.inside(1);
        let (names, bounds) = (self.parameters(state), self.bounds(state, scope));
        let own = type_name(&state.name);
        let ty = Document::angle(own.as_str(), words(&names)).flat();
        let is_terminal = state.active_side().is_none();
        let all = Document::angle("impl", words(&names)).flat();
        let head = |of: &str| {
            implementation(
                4,
                &format!("{all} ::duologue::generated::{of}"),
                &ty,
                &bounds,
            )
        };
        let arm = |(index, message): (usize, &Message)| {
            let head = head(&format!("Transition<{index}>"));
            let encodings = self.sizes.map(|sizes| sizes.messages(state, &[]));
            let encoding = encodings.and_then(|mut encodings| encodings.nth(index));
            let row = remote::row(self.scope.program, self.sizes, message, encoding, index);
            self.arm(index, message, state, &names, (head, row))
        };
        let sender = state.active_side().map_or("", Side::word);
        let message = Document::word(format!("super::{}", self.enum_name(state, &names)));
        let session = starts.map(|starts| {
            let starts: Vec<String> = starts.into_iter().map(|at| names[at].clone()).collect();
            let is_first = state.active_side() == self.protocol().start().active_side();
            let values = vec![
                Document::word(slot_of("slot", &starts).flat() + "()"),
                Document::word("super::CAPACITY"),
                Document::word(is_first.to_string()),
            ];
            let value = Document::call("::duologue::generated::Session::of", values);
            definition(8, "const SESSION: ::duologue::generated::Session", &value)
        });
        StateView {
            declaration: is_terminal.then(|| self.declaration(state, 4)),
            is_terminal,
            head: head("State"),
            remote: self.leaves(id).then(|| {
                let bounds = self.bounds_of_wire(state, carried, scope);
                let of = format!("{all} ::duologue::generated::Remote");
                implementation(4, &of, &ty, &bounds)
            }),
            series: endpoint::series(self.protocol(), id).map(|series| {
                let end = series
                    .end
                    .map_or_else(String::new, |end| format!(", {end}"));
                format!("{ty}, {}{end}", series.item)
            }),
            within: state.within.map(|limit| limit.most),
            message: definition(8, "type Message", &message),
            name: definition(
                8,
                "const NAME: &'static str",
                &Document::word(self.path(state)),
            ),
            sender: format!("const SENDER: &'static str = \"{sender}\";"),
            stays: endpoint::may_stay(self.protocol(), state),
            session,
            arms: state.messages.iter().enumerate().map(arm).collect(),
            is_full: state.messages.len() == 256,
        }
    }

    /// The package, protocol and state, as a literal.
    pub(super) fn path(self, state: &State) -> String {
        let file = self.scope.program.file(self.protocol().file);
        let path = file.package.iter().map(|segment| segment.text());
        let path = path.chain([self.protocol().name.text(), state.name.text()]);
        format!("\"{}\"", path.collect::<Vec<_>>().join("."))
    }

    /// The type that stands for a state.
    fn declaration(self, state: &State, indent: usize) -> String {
        let names = self.parameters(state);
        let own = type_name(&state.name);
        if names.is_empty() {
            return format!("pub enum {own} {{}}");
        }
        let ty = Document::angle(own, words(&names)).flat();
        let all = payload(words(&names)).flat();
        let mut marker = format!("fn({all}) -> {all}");
        // Where this does not fit into a line of its own, with a comma.
        let inside = indent + 8;
        if inside + marker.len() >= WIDTH {
            let (more, less) = (spaces(inside + 4), spaces(inside));
            marker = format!("fn(\n{more}{all},\n{less}) -> {all}");
        }
        let marker = Document::angle("::std::marker::PhantomData", vec![Document::word(marker)]);
        let whole = Document::round(format!("pub struct {ty}"), vec![marker]);
        whole.laid_out(indent, indent, 1) + ";"
    }

    /// The declarations of the states in which a side receives, in a module of their own, so that the compiler's errors about a
    /// receiver name the side; `None` if there are none.
    pub(super) fn receiving(self, side: Side) -> Option<ReceivingView> {
        let states = self.protocol().states.iter();
        let states = states.filter(|state| state.active_side() == Some(side.dual()));
        let declarations: Vec<_> = states.map(|state| self.declaration(state, 8)).collect();
        (!declarations.is_empty()).then(|| ReceivingView {
            side: side.word(),
            module: receiving_module(side),
            declarations,
        })
    }

    /// For each state, the positions of the start state's parameters among the state's own. `None` if the state does not have all
    /// of them with at least the bounds of the start: then it cannot name the arguments with which its sessions started. Also
    /// `None` for a state that no session reaches.
    pub(super) fn starts(self) -> Vec<Option<Vec<usize>>> {
        let mut reached = vec![Vec::new(); self.protocol().states.len()];
        for (state, arguments) in self.checked.instantiations() {
            reached[state.index()].push(arguments);
        }
        let start = &self.protocol().start().parameters;
        let place = |state: &State, all: &[Vec<Type>], parameter: usize| {
            let is_it = |ty: &Type| matches!(ty, Type::Parameter(it) if *it as usize == parameter);
            let at = all.first()?.iter().position(is_it)?;
            let is_always = all.iter().all(|arguments| is_it(&arguments[at]));
            let known = &state.parameters[at].bounds;
            let mut bounds = start[parameter].bounds.iter();
            (is_always && bounds.all(|bound| known.contains(bound))).then_some(at)
        };
        let places = |(state, all): (&State, Vec<Vec<Type>>)| {
            let is_reached = !all.is_empty();
            let all = || (0..start.len()).map(|it| place(state, &all, it)).collect();
            is_reached.then(all)?
        };
        let states = self.protocol().states.iter();
        states.zip(reached).map(places).collect()
    }

    fn arm(
        self,
        index: usize,
        message: &Message,
        state: &State,
        names: &[String],
        (head, row): (String, String),
    ) -> ArmView {
        let scope = self.scope.inside(1);
        let receiver = endpoint::receiver(state);
        let payloads = self.entries(message, names, scope);
        let mut values: Vec<Document> = match payloads.len() {
            0 => Vec::new(),
            1 => vec![Document::word("with")],
            count => (0..count)
                .map(|at| Document::word(format!("with.{at}")))
                .collect(),
        };
        let with = if values.is_empty() { "()" } else { "with" };
        let (next, follows) = match &message.next {
            Next::End | Next::Error => ("()", Document::word("::duologue::generated::End")),
            Next::State {
                state: id,
                arguments,
            } => {
                let to = self.protocol().state(*id);
                let kind = match Edge::of(state, Some(to)) {
                    Edge::End => "Finish",
                    Edge::Stay => "Stay",
                    Edge::Turn => "Turn",
                };
                let endpoint = Endpoint::of(self.protocol(), receiver);
                values.push(match endpoint.activity(*id) {
                    Activity::Sends => {
                        let wrap = format!("super::{}::{}", receiver.word(), type_name(&to.name));
                        Document::call(wrap, vec![Document::word("next")])
                    }
                    Activity::Receives | Activity::Over => Document::word("next"),
                });
                let to = Document::angle(type_name(&to.name), scope.types(arguments, names));
                (
                    "next",
                    Document::angle(format!("::duologue::generated::{kind}"), vec![to]),
                )
            }
        };
        let variant = format!(
            "super::{}::{}",
            type_name(&state.name),
            type_name(&message.name)
        );
        let names = fields::of_message(&message.entries);
        ArmView {
            index,
            names: format!("({with}, {next})"),
            value: Document::value(variant, names, values).laid_out(20, 20, 0),
            head,
            payload: definition(8, "type Payload", &payload(payloads)),
            next: definition(8, "type Next", &follows),
            name: definition(
                8,
                "const MESSAGE: &'static str",
                &Document::word(format!("\"{}\"", message.name.text())),
            ),
            row,
        }
    }
}
