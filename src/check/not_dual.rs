//! `#[dual_of(other)]`: one protocol is the other, seen from the opposite side.
//!
//! Two states agree if the client of one sends where the client of the other receives, the messages have the same names in any
//! order, and their payloads the same types in the same order; what states and payload entries are called does not matter, because
//! neither travels. The walk over pairs of states unites what must agree, so that there are no more steps than states on both
//! sides; and because it goes breadth first, the first disagreement it meets is one that needs the fewest messages.

use super::Rule;
use super::findings::{Findings, Subject};
use super::same_type::SameType;
use super::words::{speaker, type_text};
use crate::diagnostic::{Diagnostic, counted};
use crate::protocol::{
    Direction, Message, Next, Program, Protocol, ProtocolId, State, StateId, Type,
};
use crate::source::Span;
use std::collections::HashMap;

pub const RULE: Rule = Rule {
    name: "not-dual",
    summary: "a protocol is not the dual of the one it says it is",
    default: None,
    page: include_str!("../../docs/rules/not-dual.md"),
    find: Some(find),
};

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    let is_endless = findings.has_any(&["expanding-recursion"]);
    for case in subject.cases() {
        for (other, at) in &case.protocol.dual_of {
            let is_sound = |id: ProtocolId| {
                let protocol = subject.program.protocol(id);
                let mut states = protocol.states.iter();
                subject.shapes[id.index()].is_some()
                    && states.all(|state| state.direction.is_some() || state.messages.is_empty())
            };
            if !is_sound(case.id) || !is_sound(*other) || is_endless {
                continue;
            }
            let other = subject.program.protocol(*other);
            if let Some(error) = compare(subject.program, case.protocol, other, *at) {
                findings.error(error);
            }
        }
    }
}

/// A state with the arguments it is reached with; `None` where the session is over.
type Version = Option<(StateId, Vec<Type>)>;

/// Two versions that a session has reached, by which message of which earlier pair.
struct Pair<'a> {
    own: Version,
    other: Version,
    came_by: Option<(usize, &'a Message)>,
}

/// Where two states disagree: a label for each side, and the message it is about.
struct Disagreement<'a> {
    own: (Span, String),
    other: (Span, String),
    message: Option<&'a Message>,
    help: String,
}

fn compare(
    program: &Program,
    protocol: &Protocol,
    other: &Protocol,
    at: Span,
) -> Option<Diagnostic> {
    let (start, other_start) = (protocol.start(), other.start());
    let parameters = start.parameters.len();
    let headline = format!("`{}` is not the dual of `{}`", protocol.name, other.name);
    if parameters != other_start.parameters.len() {
        let count = |state: &State| counted(state.parameters.len(), "type parameter");
        return Some(
            Diagnostic::error(RULE.name, at, headline)
                .related(start.name.span, count(start))
                .related(other_start.name.span, count(other_start))
                .help("both have to start with the same type parameters"),
        );
    }
    let own = (0..parameters).map(|index| Type::Parameter(u32::try_from(index).unwrap_or(0)));
    let first: Version = Some((StateId::new(0), own.collect()));
    let mut walk = Walk {
        program,
        protocol,
        other,
        same: SameType::new(program),
        classes: Classes::default(),
        pairs: Vec::new(),
    };
    walk.meet(first.clone(), first, None);
    let mut at_pair = 0;
    while at_pair < walk.pairs.len() {
        if let Some(found) = walk.step(at_pair) {
            let mut error = Diagnostic::error(RULE.name, at, headline).label("claimed here");
            error = error.related(found.own.0, found.own.1);
            error = error.related(found.other.0, found.other.1);
            let error = error.note(walk.dialogue(at_pair, found.message));
            return Some(error.help(found.help));
        }
        at_pair += 1;
    }
    None
}

struct Walk<'a> {
    program: &'a Program,
    protocol: &'a Protocol,
    other: &'a Protocol,
    same: SameType<'a>,
    classes: Classes,
    pairs: Vec<Pair<'a>>,
}

impl<'a> Walk<'a> {
    fn meet(&mut self, own: Version, other: Version, came_by: Option<(usize, &'a Message)>) {
        if self
            .classes
            .unite((false, own.clone()), (true, other.clone()))
        {
            self.pairs.push(Pair {
                own,
                other,
                came_by,
            });
        }
    }

    /// Compares the states of a pair and meets the pairs behind it.
    fn step(&mut self, index: usize) -> Option<Disagreement<'a>> {
        let pair = &self.pairs[index];
        let (own, other) = (pair.own.clone(), pair.other.clone());
        let over = |version: &Version, protocol: &Protocol| match version {
            None => true,
            Some((id, _)) => protocol.state(*id).direction.is_none(),
        };
        match (over(&own, self.protocol), over(&other, self.other)) {
            (true, true) => return None,
            (false, false) => {}
            (is_own_over, _) => return Some(self.one_is_over(index, is_own_over)),
        }
        let ((id, arguments), (other_id, other_arguments)) = (own?, other?);
        let (protocol, other_protocol) = (self.protocol, self.other);
        let (state, other_state) = (protocol.state(id), other_protocol.state(other_id));
        let (direction, other_direction) = (state.direction?, other_state.direction?);
        if direction == other_direction {
            let text = || match direction {
                Direction::Send => "the client sends in this state".to_owned(),
                Direction::Recv => "the client receives in this state".to_owned(),
            };
            return Some(Disagreement {
                own: (state.name.span, text()),
                other: (other_state.name.span, text()),
                message: None,
                help: "where the client of one sends, the client of the other has to receive"
                    .to_owned(),
            });
        }
        let names = other_state.messages.iter();
        let mut others: HashMap<&str, &'a Message> = names
            .map(|message| (message.name.text(), message))
            .collect();
        for message in &state.messages {
            let name = &message.name;
            let Some(answer) = others.remove(name.text()) else {
                return Some(Disagreement {
                    own: (name.span, format!("`{name}` may be said here")),
                    other: (
                        other_state.name.span,
                        format!("there is no `{name}` in state `{}`", other_state.name),
                    ),
                    message: Some(message),
                    help: format!(
                        "add `{name}` to state `{}`, or remove it from `{}`",
                        other_state.name, state.name
                    ),
                });
            };
            if let Some(found) = self.payloads(
                (message, &arguments, state),
                (answer, &other_arguments, other_state),
            ) {
                return Some(found);
            }
            let next = after(message, &arguments);
            let answer = after(answer, &other_arguments);
            self.meet(next, answer, Some((index, message)));
        }
        let surplus = other_state.messages.iter();
        let mut surplus = surplus.filter(|message| others.contains_key(message.name.text()));
        let message = surplus.next()?;
        let name = &message.name;
        Some(Disagreement {
            own: (
                state.name.span,
                format!("there is no `{name}` in state `{}`", state.name),
            ),
            other: (name.span, format!("`{name}` may be said here")),
            message: Some(message),
            help: format!(
                "add `{name}` to state `{}`, or remove it from `{}`",
                state.name, other_state.name
            ),
        })
    }

    fn one_is_over(&self, index: usize, is_own_over: bool) -> Disagreement<'a> {
        let Pair {
            own,
            other,
            came_by,
        } = &self.pairs[index];
        let end = |version: &Version, protocol: &Protocol, message: Option<&Message>| {
            let state = version
                .as_ref()
                .map(|(id, _)| protocol.state(*id).name.span);
            state.or(message.map(|message| message.next_span))
        };
        let came_by = came_by.map(|(before, message)| (&self.pairs[before], message));
        let answer = came_by.and_then(|(before, message)| {
            let (id, _) = before.other.as_ref()?;
            let mut messages = self.other.state(*id).messages.iter();
            messages.find(|answer| answer.name.text() == message.name.text())
        });
        let own_at = end(own, self.protocol, came_by.map(|(_, message)| message));
        let other_at = end(other, self.other, answer);
        let text = |is_over: bool| {
            let text = if is_over {
                "the session is over here"
            } else {
                "here it goes on"
            };
            text.to_owned()
        };
        Disagreement {
            own: (own_at.unwrap_or(self.protocol.name.span), text(is_own_over)),
            other: (other_at.unwrap_or(self.other.name.span), text(!is_own_over)),
            message: None,
            help: "both have to end here, or both to go on".to_owned(),
        }
    }

    fn payloads(
        &mut self,
        (message, arguments, state): (&'a Message, &[Type], &'a State),
        (answer, other_arguments, other_state): (&'a Message, &[Type], &'a State),
    ) -> Option<Disagreement<'a>> {
        let (entries, others) = (&message.entries, &answer.entries);
        let is_same = entries.len() == others.len()
            && entries.iter().zip(others).all(|(entry, other)| {
                let (ty, other) = (
                    entry.ty.substitute(arguments),
                    other.ty.substitute(other_arguments),
                );
                self.same.are_same(&ty, &other)
            });
        let text = |message: &Message, state: &State| {
            let types = message.entries.iter();
            let types = types.map(|entry| type_text(self.program, &state.parameters, &entry.ty));
            let types: Vec<String> = types.collect();
            if types.is_empty() {
                format!("`{}` carries nothing here", message.name)
            } else {
                format!("`{}` carries `{}` here", message.name, types.join("`, `"))
            }
        };
        (!is_same).then(|| Disagreement {
            own: (message.name.span, text(message, state)),
            other: (answer.name.span, text(answer, other_state)),
            message: Some(message),
            help: format!("let `{}` carry the same types in both", message.name),
        })
    }

    /// The messages that lead to a pair, and the one they disagree about.
    fn dialogue(&self, index: usize, last: Option<&Message>) -> String {
        const SHOWN: usize = 12;
        let mut said: Vec<(Option<Direction>, &str)> = Vec::new();
        let speaks = |index: usize| {
            let (id, _) = self.pairs[index].own.as_ref()?;
            self.protocol.state(*id).direction
        };
        if let Some(message) = last {
            said.push((speaks(index), message.name.text()));
        }
        let mut at = index;
        while let Some((before, message)) = self.pairs[at].came_by {
            said.push((speaks(before), message.name.text()));
            at = before;
        }
        said.reverse();
        if said.is_empty() {
            return "they disagree from the start on".to_owned();
        }
        let name = &self.protocol.name;
        let mut text = format!("they disagree on this dialogue, told as in `{name}`:");
        let left_out = said.len().saturating_sub(SHOWN);
        for (position, (direction, message)) in said.iter().enumerate() {
            if left_out > 0 && (SHOWN / 2..SHOWN / 2 + left_out).contains(&position) {
                if position == SHOWN / 2 {
                    text.push_str(&format!("\n  ... {left_out} more messages ..."));
                }
                continue;
            }
            let speaker = direction.map_or("", speaker);
            text.push_str(&format!("\n  {speaker}: {message}"));
        }
        text
    }
}

/// What a version becomes by a message.
fn after(message: &Message, own: &[Type]) -> Version {
    match &message.next {
        Next::End => None,
        Next::State { state, arguments } => {
            let arguments = arguments.iter().map(|ty| ty.substitute(own));
            Some((*state, arguments.collect()))
        }
    }
}

/// Versions of both protocols, grouped by what must agree.
#[derive(Default)]
struct Classes {
    ids: HashMap<(bool, Version), usize>,
    parents: Vec<usize>,
}

impl Classes {
    /// Unites two versions; whether they were not united before.
    fn unite(&mut self, one: (bool, Version), other: (bool, Version)) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one] = other;
        one != other
    }

    fn root(&mut self, version: (bool, Version)) -> usize {
        let fresh = self.parents.len();
        let mut at = *self.ids.entry(version).or_insert(fresh);
        if at == fresh {
            self.parents.push(fresh);
        }
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }
}
