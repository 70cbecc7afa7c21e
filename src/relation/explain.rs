//! Explanations of disagreements.

use super::{
    DialogueStep, Disagreement, Mismatch, Mixture, Origin, Position, View, difference, waits,
};
use crate::diagnostic::{Diagnostic, Label, counted};
use crate::protocol::text::type_text;
use crate::protocol::{Direction, Message, Program, Side, State};
use crate::source::Span;
use std::fmt::Write as _;

/// What is wrong, with a label on each side; the span of each label is in the sources of its own program.
#[derive(Debug)]
pub struct Explanation {
    /// One sentence without a final period.
    pub headline: String,
    /// The label for the left protocol.
    pub left: Label,
    /// The label for the right protocol.
    pub right: Label,
    /// The dialogue, or a note that they disagree at the start.
    pub note: Option<String>,
    /// The dialogue message by message, with the program in which each is written.
    pub steps: Vec<(Origin, Label)>,
    /// What to do about it; empty where that depends on more context.
    pub help: String,
}

impl Explanation {
    /// The explanation as a finding at `primary`, or without it, at the label of the side that `mainly` names. The spans of each
    /// side are mapped by that side's function.
    #[must_use]
    pub fn finding(
        self,
        rule: &'static str,
        primary: Option<Label>,
        mainly: Origin,
        left: &dyn Fn(Span) -> Span,
        right: &dyn Fn(Span) -> Span,
    ) -> Diagnostic {
        let moved = |origin: Origin, label: Label| {
            let span = match origin {
                Origin::Left => left(label.span),
                Origin::Right => right(label.span),
            };
            Label { span, ..label }
        };
        let mut places = vec![
            moved(Origin::Left, self.left),
            moved(Origin::Right, self.right),
        ];
        if mainly == Origin::Right {
            places.reverse();
        }
        places.splice(0..0, primary);
        let mut places = places.into_iter();
        let first = places.next().expect("there are at least two places");
        let mut finding = Diagnostic::error(rule, first.span, self.headline).label(first.text);
        finding.related = places.collect();
        finding.notes.extend(self.note);
        let steps = self.steps.into_iter();
        finding.dialogue = steps.map(|(origin, label)| moved(origin, label)).collect();
        if self.help.is_empty() {
            return finding;
        }
        finding.help(self.help)
    }
}

/// Why `ours` is not the dual of `theirs`; `None` if it is.
#[must_use]
pub fn not_dual(ours: View<'_>, theirs: View<'_>) -> Option<Explanation> {
    let (our, their) = (ours.description(), theirs.description());
    let headline = format!("`{}` is not the dual of `{}`", our.name, their.name);
    let counts = (our.start().parameters.len(), their.start().parameters.len());
    if counts.0 != counts.1 {
        let label = |state: &State| {
            Label::new(
                state.name.span,
                counted(state.parameters.len(), "type parameter"),
            )
        };
        return Some(Explanation {
            headline,
            left: label(our.start()),
            right: label(their.start()),
            note: None,
            steps: Vec::new(),
            help: "both have to start with the same type parameters".to_owned(),
        });
    }
    let found = difference(ours, theirs.turned())?;
    let (left, right, help) = match found.clash {
        Mismatch::Turn(Some(turn), Some(_)) => {
            let text = match turn.active_side() {
                Side::Client => "the client sends in this state",
                Side::Server => "the client receives in this state",
            };
            let help = "where the client of one sends, the client of the other has to receive";
            (text.to_owned(), text.to_owned(), help.to_owned())
        }
        Mismatch::Turn(left, right) => {
            let text = |turn: Option<Direction>| match turn {
                None => "the session is over here".to_owned(),
                Some(_) => "the session continues here".to_owned(),
            };
            let help = "both have to end here, or neither".to_owned();
            (text(left), text(right), help)
        }
        Mismatch::Left(message) => (
            format!("`{}` may be sent here", message.name),
            format!("there is no `{}`{}", message.name, inside(&found.right)),
            add(message, &found.right, &found.left),
        ),
        Mismatch::Right(message) => (
            format!("there is no `{}`{}", message.name, inside(&found.left)),
            format!("`{}` may be sent here", message.name),
            add(message, &found.left, &found.right),
        ),
        Mismatch::Payload(left, right) => {
            let [left, right] = payload_texts(&found, [ours, theirs], [left, right]);
            let help = "write the same type in both".to_owned();
            (left, right, help)
        }
        Mismatch::Limit(..) | Mismatch::Wait(..) | Mismatch::Place(..) => {
            (String::new(), String::new(), String::new())
        }
    };
    let note = match dialogue(&found.dialogue) {
        Some(text) => {
            format!(
                "they disagree after this dialogue, as written in `{}`:{text}",
                our.name
            )
        }
        None => "they disagree at the start".to_owned(),
    };
    Some(explained(headline, &found, (left, right), note, help))
}

/// Why a client and a server of two versions do not fit. The client is on the left.
#[must_use]
pub fn misfit(
    client: View<'_>,
    server: View<'_>,
    mixture: Mixture,
    found: &Disagreement<'_>,
) -> Explanation {
    let name = client.name();
    let (old, new) = match mixture {
        Mixture::OldClient => ("old", "new"),
        Mixture::OldServer => ("new", "old"),
    };
    let turn_text = |turn: Option<Direction>, version: &str, side: &str| match turn {
        None => format!("for the {version} {side} the session is over here"),
        Some(turn) => {
            let active = turn.active_side().word();
            format!("for the {version} {side} it is the {active}'s turn here")
        }
    };
    let (headline, left, right) = match found.clash {
        Mismatch::Left(message) => {
            let message = &message.name;
            (
                format!(
                    "{old} clients of `{name}` may send `{message}`, which {new} servers do not know"
                ),
                format!("the {old} client may send `{message}`"),
                format!("the {new} server does not know `{message}` here"),
            )
        }
        Mismatch::Right(message) => {
            let message = &message.name;
            (
                format!(
                    "{new} servers of `{name}` may send `{message}`, which {old} clients do not know"
                ),
                format!("the {old} client does not know `{message}` here"),
                format!("the {new} server may send `{message}`"),
            )
        }
        Mismatch::Payload(ours, theirs) => {
            let message = &ours.name;
            let what = match &found.part {
                Some(part) if !part.path.is_empty() => {
                    format!("`{}` of message `{message}`", part.path)
                }
                Some(_) | None => format!("what `{message}` carries"),
            };
            let headline =
                format!("{old} clients and {new} servers of `{name}` disagree about {what}");
            let [ours, theirs] = payload_texts(found, [client, server], [ours, theirs]);
            (headline, ours, theirs)
        }
        Mismatch::Limit(message, _) => {
            let is_clients = found.dialogue.last().map(|said| said.speaker) == Some(Side::Client);
            let (senders, receivers) = match is_clients {
                true => (format!("{old} clients"), format!("{new} servers")),
                false => (format!("{new} servers"), format!("{old} clients")),
            };
            let message = &message.name;
            let path = found.part.as_ref().map_or("", |part| &part.path);
            let what = match path {
                "" => format!("a larger `{message}`"),
                path => format!("a longer `{path}` in `{message}`"),
            };
            let headline = format!("{senders} of `{name}` may send {what} than {receivers} accept");
            let texts = found.part.as_ref();
            let texts = texts.map(|part| [part.left.text.clone(), part.right.text.clone()]);
            let [ours, theirs] = texts.unwrap_or_default();
            (headline, ours, theirs)
        }
        Mismatch::Wait(turn, ours, theirs) => {
            let (senders, receivers) = match turn.active_side() {
                Side::Client => (format!("{old} clients"), format!("{new} servers")),
                Side::Server => (format!("{new} servers"), format!("{old} clients")),
            };
            let headline = format!(
                "{senders} of `{name}` may take longer in state `{}` than {receivers} wait",
                ours.name
            );
            let left = waits::label(ours, Origin::Left, turn).text;
            let right = waits::label(theirs, Origin::Right, turn).text;
            (headline, left, right)
        }
        Mismatch::Place(ours, _) => (
            format!(
                "`{}` of `{name}` has different positions for {old} clients and for {new} servers",
                ours.name
            ),
            position(&found.left, ours),
            position(&found.right, ours),
        ),
        Mismatch::Turn(ours, theirs) => {
            let headline = match (ours, theirs) {
                (Some(Direction::Send), Some(_)) => {
                    format!("{old} clients and {new} servers of `{name}` send at the same time")
                }
                (Some(Direction::Recv), Some(_)) => {
                    format!("{old} clients and {new} servers of `{name}` wait for each other")
                }
                (None, _) => format!(
                    "a session of `{name}` is over for {old} clients while it continues for {new} servers"
                ),
                (Some(_), None) => format!(
                    "a session of `{name}` is over for {new} servers while it continues for {old} clients"
                ),
            };
            (
                headline,
                turn_text(ours, old, "client"),
                turn_text(theirs, new, "server"),
            )
        }
    };
    let note = match dialogue(&found.dialogue) {
        Some(text) => format!("the shortest dialogue that fails:{text}"),
        None => "it fails at the start".to_owned(),
    };
    explained(headline, found, (left, right), note, String::new())
}

fn explained(
    headline: String,
    found: &Disagreement<'_>,
    (left, right): (String, String),
    note: String,
    help: String,
) -> Explanation {
    let (ours, theirs) = match (found.clash, &found.part) {
        (Mismatch::Left(message), _) => (message.name.span, found.right.span()),
        (Mismatch::Right(message), _) => (found.left.span(), message.name.span),
        (Mismatch::Payload(..) | Mismatch::Limit(..), Some(part)) => {
            (part.left.span, part.right.span)
        }
        (
            Mismatch::Payload(left, right)
            | Mismatch::Limit(left, right)
            | Mismatch::Place(left, right),
            _,
        ) => (left.name.span, right.name.span),
        (Mismatch::Wait(turn, left, right), _) => (
            waits::label(left, Origin::Left, turn).span,
            waits::label(right, Origin::Right, turn).span,
        ),
        (Mismatch::Turn(..), _) => (found.left.span(), found.right.span()),
    };
    Explanation {
        headline,
        left: Label::new(ours, left),
        right: Label::new(theirs, right),
        note: Some(note),
        steps: found.dialogue.iter().map(step).collect(),
        help,
    }
}

fn step(said: &DialogueStep<'_>) -> (Origin, Label) {
    let label = Label::new(
        said.message.name.span,
        format!("{}: {}", said.speaker.word(), said.message.name),
    );
    (said.origin, label)
}

fn add(message: &Message, lacking: &Position<'_>, having: &Position<'_>) -> String {
    let state = |place: &Position<'_>| match place {
        Position::State(state) => state.name.text().to_owned(),
        Position::End(message) => message.name.text().to_owned(),
    };
    format!(
        "add `{}` to state `{}`, or remove it from `{}`",
        message.name,
        state(lacking),
        state(having)
    )
}

/// ` in state ...`
fn inside(place: &Position<'_>) -> String {
    match place {
        Position::State(state) => format!(" in state `{}`", state.name),
        Position::End(_) => String::new(),
    }
}

/// The position of a message in its state, where it is found by its name.
fn position(place: &Position<'_>, message: &Message) -> String {
    let Position::State(state) = place else {
        return String::new();
    };
    let name = message.name.text();
    let found = state
        .messages
        .iter()
        .position(|own| own.name.text() == name);
    let position = found.map_or_else(String::new, |at| format!(" at position {at}"));
    format!("`{name}` of state `{}` is{position} here", state.name)
}

/// What each side has as the payload: the part that differs, or the whole payload if no part shows the difference.
fn payload_texts(
    found: &Disagreement<'_>,
    views: [View<'_>; 2],
    messages: [&Message; 2],
) -> [String; 2] {
    if let Some(part) = &found.part {
        let texts = [&part.left.text, &part.right.text];
        if texts[0] != texts[1] {
            return texts.map(Clone::clone);
        }
    }
    let [left, right] = messages;
    [
        carries(views[0].program, &found.left, left),
        carries(views[1].program, &found.right, right),
    ]
}

fn carries(program: &Program, place: &Position<'_>, message: &Message) -> String {
    let parameters = match place {
        Position::State(state) => &state.parameters[..],
        Position::End(_) => &[],
    };
    let types = message.entries.iter();
    let types = types.map(|entry| type_text(program, parameters, &entry.ty));
    let types: Vec<String> = types.collect();
    if types.is_empty() {
        format!("`{}` carries nothing here", message.name)
    } else {
        format!("`{}` carries `{}` here", message.name, types.join("`, `"))
    }
}

/// A dialogue with one line for each message, each after a line break. The middle of a long dialogue is left out. `None` if no
/// message is sent.
#[must_use]
pub fn dialogue(said: &[DialogueStep<'_>]) -> Option<String> {
    const SHOWN: usize = 12;
    let left_out = said.len().saturating_sub(SHOWN);
    let mut text = String::new();
    for (position, said) in said.iter().enumerate() {
        if left_out > 0 && (SHOWN / 2..SHOWN / 2 + left_out).contains(&position) {
            if position == SHOWN / 2 {
                let _ = write!(text, "\n  ... {left_out} more messages ...");
            }
            continue;
        }
        let _ = write!(text, "\n  {}: {}", said.speaker.word(), said.message.name);
    }
    (!text.is_empty()).then_some(text)
}
