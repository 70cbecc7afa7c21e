//! The module `robots` of a protocol or an instance: functions that play a side of it by themselves.

use super::fields;
use super::layout::Document;
use super::robot_values::{RobotTypes, pattern, role};
use super::spelling::{NameScope, type_name, value_name};
use super::states::used_parameters;
use crate::protocol::{Lengths, Message, Next, Side, Type};
use crate::relation::View;
use crate::robots::{Absent, MOST_NODES, Makeable, Node, Plan};
use std::fmt::Write as _;

/// The module's text, empty if there are no robots; and a note if that may be a surprise.
pub(super) fn module(
    view: View<'_>,
    makeable: &Makeable,
    scope: NameScope<'_>,
) -> (String, Option<String>) {
    let plan = match Plan::of(view, makeable) {
        Ok(plan) => plan,
        Err(Absent::Nothing) => return (String::new(), None),
        Err(Absent::TooLarge) => {
            let name = view.name();
            let note = format!("`{name}` has no robots: it has more than {MOST_NODES} states");
            return (String::new(), Some(note));
        }
    };
    let inner = scope.inside(1);
    let payloads = |node: &Node| payloads(&plan, node);
    let all = plan.nodes.iter().flat_map(&payloads);
    let types = RobotTypes::of(inner, makeable, all.map(|(ty, lengths, _)| (ty, lengths)));
    let robots = Robots {
        plan: &plan,
        types,
        protocol: inner.protocol(view.protocol),
    };
    (robots.text(), None)
}

/// The entries of a node's messages without type parameters, with whether the message can be made.
fn payloads<'p>(plan: &Plan<'p>, node: &Node) -> Vec<(Type, &'p Lengths, bool)> {
    let mut all = Vec::new();
    for (message, edge) in plan.messages(node) {
        let entries = entries(message, node).into_iter();
        all.extend(entries.map(|(ty, lengths)| (ty, lengths, edge.is_makeable)));
    }
    all
}

fn entries<'p>(message: &'p Message, node: &Node) -> Vec<(Type, &'p Lengths)> {
    let entries = message.entries.iter();
    entries
        .map(|entry| (entry.ty.substitute(&node.arguments), &entry.lengths))
        .collect()
}

struct Robots<'a> {
    plan: &'a Plan<'a>,
    types: RobotTypes<'a>,
    /// The path to the protocol's module.
    protocol: String,
}

impl Robots<'_> {
    fn text(&self) -> String {
        let mut text = "\n\n/// Peers that play a side by themselves, in tests.\n#[rustfmt::skip]\n\
             #[allow(non_snake_case, unused_variables, unused_mut, unused_parens, unreachable_code)]\n\
             pub mod robots {\n"
            .to_owned();
        text += &self.table();
        for side in [Side::Client, Side::Server] {
            text += &self.hooks(side);
            text += &self.function(side);
        }
        let sent = [Side::Client, Side::Server].map(|side| self.sent(side));
        text += &self.types.functions(sent);
        text + "}"
    }

    /// The payloads that a side's robot makes.
    fn sent(&self, side: Side) -> Vec<(Type, &Lengths)> {
        let nodes = self.plan.nodes.iter().filter(|node| node.sender == side);
        let all = nodes.flat_map(|node| payloads(self.plan, node));
        all.filter_map(|(ty, lengths, is_makeable)| is_makeable.then_some((ty, lengths)))
            .collect()
    }

    fn table(&self) -> String {
        let mut text = format!(
            "    /// The states and transitions, for the coverage.\n    \
             pub static TABLE: ::duologue::robots::Table = ::duologue::robots::Table {{\n        \
             protocol: \"{}\",\n        fingerprint: \"{}\",\n        nodes: &[\n",
            self.plan.name, self.plan.fingerprint
        );
        for node in &self.plan.nodes {
            let _ = writeln!(
                text,
                "            ::duologue::robots::Node {{ state: \"{}\", client_sends: {}, way_out: {}, edges: &[",
                node.name,
                node.sender == Side::Client,
                number(node.way_out)
            );
            for (message, edge) in self.plan.messages(node) {
                let _ = writeln!(
                    text,
                    "                ::duologue::robots::Edge {{ message: \"{}\", next: {}, is_makeable: {}, is_coverable: {} }},",
                    message.name,
                    number(edge.next),
                    edge.is_makeable,
                    edge.is_coverable
                );
            }
            text.push_str("            ] },\n");
        }
        text + "        ],\n    };\n"
    }

    /// The trait of a side. `()` implements it if it has no method that the program must supply.
    fn hooks(&self, side: Side) -> String {
        let (role, word) = (role(side), side.word());
        let mut text = format!(
            "\n    /// What the {word}'s robot asks the program for.\n    pub trait {role} {{\n"
        );
        let made = self.types.made_hosts(self.sent(side).into_iter());
        for id in self.types.hosts() {
            let (name, path) = (self.types.host_name(id), self.types.path(&Type::Named(id)));
            let written = &self.types.scope.program.ty(id).name;
            if made.contains(&id) {
                let _ = writeln!(
                    text,
                    "        /// Makes a value of this type from the robot's choices.\n        \
                     fn make_{name}(&mut self, values: &mut ::duologue::robots::Values<'_>) -> {path};"
                );
            }
            let _ = writeln!(
                text,
                "        /// Returns the text of a value for the transcript.\n        \
                 fn show_{name}(&mut self, value: &{path}) -> ::std::string::String {{ \"<{written}>\".into() }}"
            );
        }
        for (at, node) in self.plan.nodes.iter().enumerate() {
            if node.sender != side {
                let (name, path) = (self.property(at), self.message_path(node));
                let _ = writeln!(
                    text,
                    "        /// Checks a message that the robot has received. Fails with a text that says what is wrong.\n        \
                     fn {name}(&mut self, message: &{path}) -> ::std::result::Result<(), ::std::string::String> {{ ::std::result::Result::Ok(()) }}"
                );
            }
        }
        text.push_str("    }\n");
        if made.is_empty() {
            let _ = write!(text, "\n    impl {role} for () {{}}\n");
        }
        text
    }

    /// The method that checks the messages of a node.
    fn property(&self, at: usize) -> String {
        let node = &self.plan.nodes[at];
        let name = value_name(&self.plan.state(node).name);
        let name = name.trim_start_matches("r#");
        let same = |other: &&Node| other.state == node.state;
        let nodes = &self.plan.nodes;
        match nodes.iter().filter(same).count() {
            1 => format!("on_{name}"),
            _ => format!("on_{name}__{}", nodes[..=at].iter().filter(same).count()),
        }
    }

    fn message_path(&self, node: &Node) -> String {
        let state = self.plan.state(node);
        let used: Vec<Type> = used_parameters(state)
            .map(|at| node.arguments[at].clone())
            .collect();
        let path = format!("{}{}", self.protocol, type_name(&state.name));
        Document::angle(path, self.types.scope.types(&used, &[])).flat()
    }

    fn endpoint_path(&self, node: &Node, side: Side) -> String {
        let name = type_name(&self.plan.state(node).name);
        let path = format!("{}{}::{name}", self.protocol, side.word());
        Document::angle(path, self.types.scope.types(&node.arguments, &[])).flat()
    }

    /// The function that plays a side.
    fn function(&self, side: Side) -> String {
        let (role, word) = (role(side), side.word());
        let start = self.endpoint_path(&self.plan.nodes[0], side);
        let mut text = format!(
            "\n    /// Plays the {word} until the session ends.\n    \
             pub fn {word}<H: {role} + ?Sized>(endpoint: {start}, play: &mut ::duologue::robots::Play, hooks: &mut H) -> ::duologue::robots::Ending {{\n        \
             enum At {{\n"
        );
        for (at, node) in self.plan.nodes.iter().enumerate() {
            let _ = writeln!(
                text,
                "            S{at}({}),",
                self.endpoint_path(node, side)
            );
        }
        let _ = write!(
            text,
            "        }}\n        \
             let endpoint = match play.begin(&TABLE, {}, endpoint) {{\n            \
             ::std::result::Result::Ok(endpoint) => endpoint,\n            \
             ::std::result::Result::Err(ending) => return ending,\n        }};\n        \
             let mut at = At::S0(endpoint);\n        loop {{\n            at = match at {{\n",
            side == Side::Client
        );
        for (at, node) in self.plan.nodes.iter().enumerate() {
            text += &match node.sender == side {
                true => self.turn(at, node, side),
                false => self.wait(at, node, side),
            };
        }
        text + "            };\n        }\n    }\n"
    }

    fn turn(&self, at: usize, node: &Node, side: Side) -> String {
        let mut text = format!("                At::S{at}(endpoint) => match play.turn({at}) {{\n");
        let endpoint = self.endpoint_path(node, side);
        for (index, (message, edge)) in self.plan.messages(node).enumerate() {
            if !edge.is_makeable {
                continue;
            }
            let entries = entries(message, node);
            let _ = writeln!(
                text,
                "                    ::std::option::Option::Some({index}) => {{"
            );
            if !entries.is_empty() {
                let line = "                        let values = &mut play.values();\n";
                text.push_str(line);
            }
            for (position, (ty, lengths)) in entries.iter().enumerate() {
                let make = self.types.make(ty, lengths, Some(side));
                let _ = writeln!(text, "                        let v{position} = {make};");
            }
            let _ = writeln!(
                text,
                "                        let out = play.line({at}, {index}, false);"
            );
            for position in 0..entries.len() {
                let _ = writeln!(
                    text,
                    "                        let a{position} = &v{position};"
                );
            }
            let shown = self.types.show_payload(&entries, Some(side));
            let method = value_name(&message.name);
            let values = (0..entries.len()).map(|position| format!(", v{position}"));
            let values = values.collect::<String>();
            let next = match edge.next {
                Some(next) => format!("(next) => At::S{next}(next)"),
                None => "(_) => return ::duologue::robots::Ending::Finished".to_owned(),
            };
            let _ = write!(
                text,
                "                        {shown} out.raw(\"\\n\");\n                        \
                 match <{endpoint}>::{method}(endpoint{values}) {{\n                            \
                 ::std::result::Result::Ok{next},\n                            \
                 ::std::result::Result::Err(error) => return play.gone(error),\n                        }}\n                    }}\n"
            );
        }
        let _ = write!(
            text,
            "                    _ => return play.left({at}),\n                }},\n"
        );
        text
    }

    fn wait(&self, at: usize, node: &Node, side: Side) -> String {
        let mut text = format!(
            "                At::S{at}(endpoint) => match endpoint.recv() {{\n                    \
             ::std::result::Result::Err(closed) => return play.gone(closed),\n                    \
             ::std::result::Result::Ok(message) => {{\n"
        );
        let state = self.plan.state(node);
        let path = format!("{}{}", self.protocol, type_name(&state.name));
        let (mut shown, mut taken) = (String::new(), String::new());
        for (index, (message, edge)) in self.plan.messages(node).enumerate() {
            let entries = entries(message, node);
            let names = fields::of_message(&message.entries);
            let has_end = !matches!(message.next, Next::End | Next::Error);
            let head = format!("{path}::{}", type_name(&message.name));
            let rest = if has_end || !entries.is_empty() {
                ".."
            } else {
                ""
            };
            let seen = pattern(&head, names.clone(), entries.len(), rest);
            let show = self.types.show_payload(&entries, Some(side));
            let _ = writeln!(
                shown,
                "                            {seen} => {{ let out = play.line({at}, {index}, true); {show} out.raw(\"\\n\"); }}"
            );
            let next = match edge.next {
                Some(next) => format!("At::S{next}(next)"),
                None => "return ::duologue::robots::Ending::Finished".to_owned(),
            };
            let rest = match (edge.next, &names) {
                (Some(_), Some(_)) => "next, ..",
                (Some(_), None) => ".., next",
                (None, _) => rest,
            };
            let whole = pattern(&head, names, 0, rest);
            let _ = writeln!(taken, "                            {whole} => {next},");
        }
        if !shown.is_empty() {
            let _ = write!(
                text,
                "                        match &message {{\n{shown}                        }}\n                        \
                 if let ::std::result::Result::Err(text) = hooks.{}(&message) {{ return play.failed(text); }}\n",
                self.property(at)
            );
        }
        let _ = write!(
            text,
            "                        match message {{\n{taken}                        }}\n                    }}\n                }},\n"
        );
        text
    }
}

/// A position, or -1.
fn number(position: Option<usize>) -> String {
    position.map_or_else(|| "-1".to_owned(), |position| position.to_string())
}
