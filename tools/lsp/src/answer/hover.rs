//! What is known about a name, as Markdown.

use super::Snapshot;
use super::names::name_at;
use duologue::check;
use duologue::endpoint::{Endpoint, next};
use duologue::graph::diagram::message_text;
use duologue::graph::{StateGraph, Step};
use duologue::languages::public_names::PublicNames;
use duologue::languages::{Options, Target, public_names};
use duologue::protocol::text::bounded_type_text;
use duologue::protocol::{
    Definition, Docs, Next, Protocol, ProtocolId, Referent, Side, StateId, TypeId,
};
use duologue::source::Span;
use std::fmt::Write as _;

/// What is shown about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The name.
    pub span: Span,
    /// Markdown.
    pub text: String,
}

/// The most steps of a dialogue that are shown.
const STEPS: usize = 12;
/// The most messages, fields or variants that are shown.
const PARTS: usize = 24;

/// What is known about the name at a position.
#[must_use]
pub fn hover(snapshot: &Snapshot, offset: usize, options: &Options) -> Option<Hover> {
    let found = name_at(snapshot, offset)?;
    let about = About { snapshot, options };
    let text = about.referent(found.referent, found.span)?;
    Some(Hover {
        span: found.span,
        text: text.trim_end().to_owned(),
    })
}

struct About<'a> {
    snapshot: &'a Snapshot,
    options: &'a Options,
}

fn code(text: &str) -> String {
    format!("```duologue\n{text}\n```\n")
}

fn with_docs(mut text: String, docs: &Docs) -> String {
    if !docs.is_empty() {
        let _ = write!(text, "\n{}\n", docs.join("\n"));
    }
    text
}

impl About<'_> {
    fn referent(&self, referent: Referent, span: Span) -> Option<String> {
        let program = self.snapshot.program();
        let written = || self.snapshot.compilation.sources.slice(span);
        Some(match referent {
            Referent::Protocol(id) => self.protocol(id, None),
            Referent::Instance(id) => {
                let instance = program.instance(id);
                let head = format!(
                    "proto! {} = {}",
                    instance.name,
                    self.snapshot.written(instance.span)
                );
                with_docs(code(&head), &instance.docs)
                    + "\n"
                    + &self.protocol(instance.protocol, Some(id.index()))
            }
            Referent::State(protocol, state) => self.state(protocol, state),
            Referent::Message(protocol, state, at) => self.message(protocol, state, at as usize),
            Referent::Entry(protocol, state, message, at) => {
                let state = program.protocol(protocol).state(state);
                let message = &state.messages[message as usize];
                let entry = &message.entries[at as usize];
                let ty = bounded_type_text(program, &state.parameters, &entry.ty, &entry.lengths);
                code(&format!("{}: {ty}", entry.name))
                    + &format!(
                        "\nA value of message `{}` in state `{}`\n",
                        message.name, state.name
                    )
            }
            Referent::Parameter(protocol, state, at) => {
                let state = program.protocol(protocol).state(state);
                let parameter = &state.parameters[at as usize];
                format!(
                    "`{}` is a type parameter of state `{}`\n",
                    parameter.name, state.name
                )
            }
            Referent::Type(id) => self.ty(id),
            Referent::Field(ty, at) => {
                let declared = program.ty(ty);
                let Definition::Struct(fields) = &declared.definition else {
                    return None;
                };
                let field = &fields[at as usize];
                let ty = bounded_type_text(program, &[], &field.ty, &field.lengths);
                let head = code(&format!("{}: {ty}", field.name));
                with_docs(head, &field.docs) + &format!("\nA field of `{}`\n", declared.name)
            }
            Referent::Variant(ty, at) => {
                let declared = program.ty(ty);
                let Definition::Enum(variants) = &declared.definition else {
                    return None;
                };
                let variant = &variants[at as usize];
                let head = format!("`{}` is a variant of `{}`\n", variant.name, declared.name);
                with_docs(head, &variant.docs)
            }
            Referent::Value(ty, variant, at) => {
                let Definition::Enum(variants) = &program.ty(ty).definition else {
                    return None;
                };
                let entry = &variants[variant as usize].entries[at as usize];
                let ty = bounded_type_text(program, &[], &entry.ty, &entry.lengths);
                code(&format!("{}: {ty}", entry.name))
            }
            Referent::Bound(id) => {
                let bound = program.bound(id);
                let mut text = code(&format!("extern bound {}", bound.name));
                for (language, mapping) in bound.mappings.iter() {
                    let _ = write!(text, "\nin {}: `{}`\n", language.title, mapping.name);
                }
                with_docs(text, &bound.docs)
            }
            Referent::Builtin(_) => format!("`{}` is a built-in type\n", written()),
            Referent::BuiltinBound(_) => format!("`{}` is a built-in bound\n", written()),
            Referent::Rule => {
                let rule = check::rule(written())?;
                let level = match rule.default {
                    None => "an error",
                    Some(duologue::diagnostic::Level::Allow) => "allowed by default",
                    Some(duologue::diagnostic::Level::Warn) => "a warning by default",
                    Some(duologue::diagnostic::Level::Deny) => "denied by default",
                };
                format!("**{}**, {level}\n\n{}\n", rule.name, rule.summary)
            }
            Referent::Direction(direction) => format!(
                "`{}`: the {} sends in this state\n",
                direction.word(),
                direction.active_side().word()
            ),
            Referent::Side(side) => format!("the endpoint of the {}\n", side.word()),
            Referent::Acceptor(side) => {
                format!("the {} also accepts the older version\n", side.word())
            }
            Referent::Import(file) => {
                let source = program.file(file?).source;
                let name = self.snapshot.compilation.sources.get(source).name();
                with_docs(format!("`{name}`\n"), &program.file(file?).docs)
            }
            Referent::Attribute => attribute(written())?.to_owned(),
            Referent::Package
            | Referent::Language(_)
            | Referent::Fingerprint
            | Referent::Unit
            | Referent::Unknown => return None,
        })
    }

    fn protocol(&self, id: ProtocolId, instance: Option<usize>) -> String {
        let protocol = self.snapshot.program().protocol(id);
        let mut text = with_docs(code(&format!("proto! {}", protocol.name)), &protocol.docs);
        if protocol.states.is_empty() {
            return text;
        }
        if let Some(first) = protocol.start().active_side() {
            let _ = write!(
                text,
                "\n{} states; the {} sends first\n",
                protocol.states.len(),
                first.word()
            );
        }
        text += &capacity(protocol);
        text += &self.generated("", |target, names| {
            let found = match instance {
                Some(at) => names.instances.get(at),
                None => names.protocols.get(id.index()),
            };
            let name = &found?.as_ref()?.name;
            Some(format!("- {}: `{name}`\n", target.name()))
        });
        text
    }

    fn state(&self, id: ProtocolId, at: StateId) -> String {
        let protocol = self.snapshot.program().protocol(id);
        let state = protocol.state(at);
        let sources = &self.snapshot.compilation.sources;
        let direction = state
            .direction
            .map_or(String::new(), |direction| format!(": {}", direction.word()));
        let mut text = code(&format!("{}{direction}", state.name));
        text = with_docs(text, &state.docs);
        text += &match state.active_side() {
            Some(side) => format!("\nThe **{}** sends:\n\n", side.word()),
            None => "\nThe session is over.\n".to_owned(),
        };
        for message in state.messages.iter().take(PARTS) {
            let next = next(protocol, &message.next);
            let next = next.map_or("!", |state| state.name.text());
            let _ = writeln!(text, "- `{} -> {next}`", message_text(message, sources));
        }
        if state.messages.len() > PARTS {
            let _ = writeln!(text, "- and {} more", state.messages.len() - PARTS);
        }
        let graph = StateGraph::of(protocol);
        text += &match graph.shortest_dialogue(at) {
            None => "\nNo session reaches this state.\n".to_owned(),
            Some(steps) if steps.is_empty() => "\nSessions start here.\n".to_owned(),
            Some(steps) => {
                let earlier = steps.len().saturating_sub(STEPS);
                let after = match earlier {
                    0 => String::new(),
                    1 => "after 1 earlier message, ".to_owned(),
                    earlier => format!("after {earlier} earlier messages, "),
                };
                let last = self.dialogue(protocol, &steps[earlier..]);
                format!("\nShortest way here: {after}{last}\n")
            }
        };
        text += &match graph.dialogue_out(at) {
            None => "\nNo session ends from here.\n".to_owned(),
            Some(steps) if steps.is_empty() => String::new(),
            Some(steps) => format!("\nShortest way out: {}\n", self.dialogue(protocol, &steps)),
        };
        text += &capacity(protocol);
        text += &self.operations(id, protocol, at);
        text
    }

    fn dialogue(&self, protocol: &Protocol, steps: &[Step]) -> String {
        let sources = &self.snapshot.compilation.sources;
        let shown = steps.iter().take(STEPS).map(|step| {
            let state = protocol.state(step.state);
            let side = state.active_side().map_or("", Side::word);
            let message = message_text(&state.messages[step.message], sources);
            format!("{side} `{message}`")
        });
        let mut shown: Vec<String> = shown.collect();
        if steps.len() > STEPS {
            shown.push(format!("and {} more", steps.len() - STEPS));
        }
        shown.join(", ")
    }

    /// What the two sides call in a state, target by target. The names are known only if the program has no errors.
    fn operations(&self, id: ProtocolId, protocol: &Protocol, at: StateId) -> String {
        self.generated("In generated code:\n\n", |target, names| {
            let names = names.state(id, at)?;
            let lines = Side::BOTH.map(|side| {
                let calls = names.calls(Endpoint::of(protocol, side).activity(at));
                let calls = calls.iter().take(PARTS).map(|call| format!("`{call}`"));
                let calls: Vec<String> = calls.collect();
                let separator = if calls.is_empty() { "" } else { ": " };
                let (target, endpoint) = (target.name(), names.endpoint(side));
                let (side, calls) = (side.word(), calls.join(", "));
                format!("- {target}, {side}: `{endpoint}`{separator}{calls}\n")
            });
            Some(lines.concat())
        })
    }

    /// What code generated from a program without errors has, after a heading.
    fn generated(
        &self,
        heading: &str,
        line: impl Fn(Target, &PublicNames) -> Option<String>,
    ) -> String {
        if self.snapshot.compilation.checked.is_none() {
            return String::new();
        }
        let program = self.snapshot.program();
        let lines = Target::ALL.into_iter().filter_map(|target| {
            let names = public_names(program, target, self.options);
            line(target, &names)
        });
        match lines.collect::<String>() {
            lines if lines.is_empty() => lines,
            lines => format!("\n{heading}{lines}"),
        }
    }

    fn message(&self, id: ProtocolId, at: StateId, position: usize) -> String {
        let state = self.snapshot.program().protocol(id).state(at);
        let message = &state.messages[position];
        let head = message_text(message, &self.snapshot.compilation.sources);
        let next = match &message.next {
            Next::Error => "_".to_owned(),
            Next::End => "!".to_owned(),
            Next::State { .. } => self.snapshot.written(message.next_span),
        };
        let mut text = with_docs(code(&format!("{head} -> {next}")), &message.docs);
        if let Some(side) = state.active_side() {
            let (from, to) = (side.word(), side.dual().word());
            let _ = write!(
                text,
                "\nThe **{from}** sends it to the {to} in state `{}`.\n",
                state.name
            );
        }
        text += &self.generated("In generated code:\n\n", |target, names| {
            let names = names.state(id, at)?.messages.get(position)?;
            let (target, send, received) = (target.name(), &names.send, &names.received);
            Some(format!(
                "- {target}: `{send}` sends it, `{received}` is received\n"
            ))
        });
        text
    }

    fn ty(&self, id: TypeId) -> String {
        let program = self.snapshot.program();
        let declared = program.ty(id);
        let name = &declared.name;
        let mut text = match &declared.definition {
            Definition::Alias(ty) => {
                let ty = bounded_type_text(program, &[], ty, &declared.lengths);
                code(&format!("type {name} = {ty}"))
            }
            Definition::Struct(fields) => {
                let shown = fields.iter().take(PARTS).map(|field| {
                    let ty = bounded_type_text(program, &[], &field.ty, &field.lengths);
                    format!("    {}: {ty},\n", field.name)
                });
                code(&format!(
                    "struct {name} {{\n{}}}",
                    shown.collect::<String>()
                ))
            }
            Definition::Enum(variants) => {
                let shown = variants.iter().take(PARTS);
                let shown: Vec<&str> = shown.map(|variant| variant.name.text()).collect();
                code(&format!("enum {name} {{ {} }}", shown.join(", ")))
            }
            Definition::Extern(..) if !declared.is_declared => {
                format!("The host program supplies the type `{name}`.\n")
            }
            Definition::Extern(mappings, _) => {
                let mut text = code(&format!("extern type {name}"));
                for (language, mapping) in mappings.iter() {
                    let _ = write!(text, "\nin {}: `{}`\n", language.title, mapping.name);
                }
                text
            }
        };
        text = with_docs(text, &declared.docs);
        text += &self.generated("", |target, names| {
            let found = names.types.get(id.index())?.as_ref()?;
            Some(format!("- {}: `{found}`\n", target.name()))
        });
        text
    }
}

fn capacity(protocol: &Protocol) -> String {
    if protocol.states.is_empty() {
        return String::new();
    }
    let (to_server, to_client) = StateGraph::of(protocol).capacities();
    format!(
        "\nIn flight: {} to the server, {} to the client\n",
        to_server.words(),
        to_client.words()
    )
}

/// What an attribute is for.
pub(super) fn attribute(name: &str) -> Option<&'static str> {
    Some(match name {
        "allow" => "does not report these rules here",
        "warn" => "reports these rules here as warnings",
        "deny" => "reports these rules here as errors",
        "dual_of" => "this protocol must be the dual of another",
        "accepts" => {
            "between processes, a side also accepts an older version with this fingerprint"
        }
        "at_most" => "the largest payload, in bytes",
        "within" => "how long the receiving side waits in this state, between processes",
        _ => return None,
    })
}
