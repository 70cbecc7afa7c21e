//! The words for where a part differs and what it is called.

use super::{Here, SIDES, Search, Step};
use crate::diagnostic::{Label, counted};
use crate::name::Name;
use crate::protocol::text::builtin_word;
use crate::protocol::{Definition, Direction, Entry, Side, State, TypeDeclaration};
use crate::relation::Origin;
use crate::relation::shape::{Node, Shape};
use crate::source::Span;
use std::fmt::Write as _;

impl<'a> Search<'a, '_> {
    /// The labels for two declarations that have different fields or variants, or the same ones in a different order.
    pub(super) fn names_differ(
        &self,
        at: usize,
        declared: [&TypeDeclaration; 2],
        names: &[Vec<&Name>; 2],
        what: &str,
    ) -> Option<[Label; 2]> {
        let lacks =
            |names: &[&Name], name: &Name| names.iter().all(|own| own.text() != name.text());
        let only = |side: usize| {
            let mut own = names[side].iter();
            own.find(|name| lacks(&names[1 - side], name))
        };
        let path = SIDES.map(|origin| self.label_path(at, origin));
        let labels = match [only(0), only(1)] {
            [Some(left), Some(right)] => [left, right]
                .map(|name| Label::new(name.span, format!("has the {what} `{name}` here"))),
            [Some(name), None] | [None, Some(name)] => {
                let is_left = only(0).is_some();
                let having = Label::new(name.span, format!("has the {what} `{name}` here"));
                let lacking = Label::new(
                    declared[usize::from(is_left)].name.span,
                    format!("has no {what} `{name}` here"),
                );
                if is_left {
                    [having, lacking]
                } else {
                    [lacking, having]
                }
            }
            [None, None] => {
                let mut places = names[0].iter().zip(&names[1]).enumerate();
                let (at, (left, right)) =
                    places.find(|(_, (left, right))| left.text() != right.text())?;
                let words = |name| format!("has `{name}` as {what} {} here", at + 1);
                [left, right].map(|name| Label::new(name.span, words(name)))
            }
        };
        let mut path = path.into_iter();
        Some(labels.map(|label| {
            let path = path.next().unwrap_or_default();
            let text = format!("`{path}` {}", label.text);
            Label { text, ..label }
        }))
    }

    /// The labels for two types that differ as a whole, each where it is written, or where it is declared if both are written alike.
    pub(super) fn types_differ(&mut self, at: usize) -> [Label; 2] {
        let mut sides = self.pairs[at].sides;
        let steps = self.steps(at);
        let mut is_whole = false;
        if let Some(Step::Entry(our, their)) = steps.first() {
            let is_inside = |step: &Step<'_>| {
                matches!(step, Step::Field(_) | Step::Variant(..) | Step::Message(..))
            };
            self.is_nameless = our.is_derived && their.is_derived && !steps.iter().any(is_inside);
            is_whole =
                self.is_nameless && !steps.iter().any(|step| matches!(step, Step::Meaning(_)));
        }
        if is_whole {
            sides = self.root(at);
        }
        let mut texts = sides.map(|here| format!("`{}`", self.text(here.node)));
        let mut spans = sides.map(|here| here.span);
        let mut names = match is_whole {
            true => [0, 1].map(|_| format!("`{}` carries", self.message)),
            false => SIDES.map(|origin| format!("`{}` is", self.label_path(at, origin))),
        };
        if texts[0] == texts[1] {
            let inner = self.pairs[at].sides;
            for (side, here) in inner.into_iter().enumerate() {
                let Shape::Declared(origin, id) = *self.shapes.shape(here.node) else {
                    texts[side] = "a type of the host program".to_owned();
                    continue;
                };
                let declared = self.shapes.program(origin).ty(id);
                spans[side] = declared.name.span;
                names[side] = format!("`{}` is", declared.name);
                texts[side] = match &declared.definition {
                    Definition::Struct(_) => "a struct".to_owned(),
                    Definition::Enum(_) => "an enum".to_owned(),
                    Definition::Alias(_) | Definition::Extern(..) => {
                        let meaning = self.shapes.meaning(here.node);
                        format!("`{}`", self.text(meaning))
                    }
                };
            }
        }
        [0, 1].map(|side: usize| {
            Label::new(spans[side], format!("{} {} here", names[side], texts[side]))
        })
    }

    /// The value of the message that a pair is a part of.
    fn root(&self, at: usize) -> [Here<'a>; 2] {
        let mut at = at;
        while let Some(within) = self.pairs[at].within {
            at = within;
        }
        self.pairs[at].sides
    }

    /// The path from the message to a pair.
    pub(super) fn path(&self, at: usize, origin: Origin) -> String {
        let steps = self.steps(at);
        steps
            .iter()
            .fold(String::new(), |path, step| step.after(path, origin))
    }

    /// The same for a label. If the label is where an alias or a type parameter gets its meaning, the path starts with that name.
    fn label_path(&self, at: usize, origin: Origin) -> String {
        let steps = self.steps(at);
        let last = steps.iter().rposition(|step| {
            matches!(
                step,
                Step::Meaning(_)
                    | Step::Entry(..)
                    | Step::Field(_)
                    | Step::Variant(..)
                    | Step::Message(..)
            )
        });
        match last.map(|last| (steps[last], &steps[last + 1..])) {
            Some((Step::Meaning(name), rest)) => {
                let name = name.to_owned();
                rest.iter()
                    .fold(name, |path, step| step.after(path, origin))
            }
            _ => self.path(at, origin),
        }
    }

    /// The steps that lead to a pair, in order.
    fn steps(&self, at: usize) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let mut at = Some(at);
        while let Some(index) = at {
            steps.push(self.pairs[index].step);
            at = self.pairs[index].within;
        }
        steps.reverse();
        steps
    }

    /// A type in the syntax of the language, with arguments in place of type parameters. Long types end in `...`.
    pub(super) fn text(&self, node: Node) -> String {
        let mut text = String::new();
        self.write(&mut text, node);
        text
    }

    fn write(&self, text: &mut String, node: Node) {
        const LONG: usize = 200;
        if text.len() > LONG {
            if !text.ends_with("...") {
                text.push_str("...");
            }
            return;
        }
        let list = |text: &mut String, nodes: &[Node]| {
            for (index, node) in nodes.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                self.write(text, *node);
            }
        };
        match self.shapes.shape(node) {
            Shape::Over => text.push('!'),
            Shape::Builtin(builtin) => text.push_str(builtin_word(*builtin)),
            Shape::Parameter(index) => {
                let start = self.bindings.last().map(|sides| sides[0].parameters);
                let parameter = start.and_then(|own| own.get(*index as usize));
                text.push_str(parameter.map_or("_", |parameter| parameter.name.text()));
            }
            Shape::Host(name) => text.push_str(name),
            Shape::List(item) => {
                text.push('[');
                self.write(text, *item);
                text.push(']');
            }
            Shape::Option(item) => {
                self.write(text, *item);
                text.push('?');
            }
            Shape::Tuple(items) => {
                text.push('(');
                list(text, items);
                text.push(')');
            }
            Shape::Declared(origin, id) => {
                text.push_str(self.shapes.program(*origin).ty(*id).name.text());
            }
            Shape::State(stand) => {
                let protocol = self.shapes.program(stand.origin).protocol(stand.protocol);
                let side = match stand.is_turned {
                    true => Side::Server,
                    false => Side::Client,
                };
                let state = self
                    .shapes
                    .state(node)
                    .map_or("_", |state| state.name.text());
                let _ = write!(text, "{}::{}::{state}", protocol.name, side.word());
                if !stand.arguments.is_empty() {
                    text.push('<');
                    list(text, &stand.arguments);
                    text.push('>');
                }
            }
        }
    }
}

impl Step<'_> {
    /// A path with this step added.
    fn after(&self, mut path: String, origin: Origin) -> String {
        let side = origin as usize;
        let dot = if path.is_empty() { "" } else { "." };
        let _ = match self {
            Step::Entry(our, their) => write!(path, "{dot}{}", [our, their][side].name),
            Step::Field(name) => write!(path, "{dot}{name}"),
            Step::Variant(variant, our, their) | Step::Message(variant, our, their) => {
                write!(path, "{dot}{variant}.{}", [our, their][side])
            }
            Step::Item => write!(path, "[]"),
            Step::Position(position) => write!(path, "{dot}{position}"),
            Step::Next | Step::Meaning(_) | Step::Value => Ok(()),
        };
        path
    }
}

/// Whose turn it is in a state, or that the session is over there.
pub(super) fn turn_label(state: Option<&State>, span: Span) -> Label {
    let (span, text) = match state.map(|state| (state.name.span, state.direction)) {
        Some((span, Some(Direction::Send))) => (span, "the client sends in this state"),
        Some((span, Some(Direction::Recv))) => (span, "the client receives in this state"),
        Some((span, None)) => (span, "the session is over in this state"),
        None => (span, "the session is over here"),
    };
    let text = text.to_owned();
    Label::new(span, text)
}

/// How many values a message or a variant has.
pub(super) fn values(name: &Name, entries: &[Entry]) -> Label {
    let count = match entries.len() {
        0 => "no values".to_owned(),
        many => counted(many, "value"),
    };
    Label::new(name.span, format!("`{name}` has {count} here"))
}
