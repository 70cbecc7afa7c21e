//! The object `robots` of a protocol or an instance: methods that play a side of it by themselves.

mod lines;
mod values;

use super::object_scope::{ObjectScope, type_arguments};
use super::spelling;
use super::whole::{Whole, robots_object};
use crate::protocol::{Lengths, Message, Next, Side, State, Type};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Node, Plan};
use std::fmt::Write as _;
use values::{INT, RobotTypes, STRING, UNIT, VALUES};

/// The package of the runtime that robots use.
const ROBOTS: &str = "_root_.duologue.robots";

/// The text of the object.
pub fn object(view: View<'_>, whole: &Whole, makeable: &Makeable) -> Result<String, Absent> {
    let plan = Plan::of(view, makeable)?;
    let mut scope = ObjectScope::of_protocol(whole, plan.protocol);
    let protocol_file = scope.file;
    if let Some(instance) = view.instance {
        scope.file = instance.file;
    }
    let scope = scope.distant();
    let name = spelling::object_name(view.name().text());
    let own = scope.object(scope.file, &name);
    let robots = Robots {
        protocol: scope.object(
            protocol_file,
            &spelling::object_name(plan.protocol.name.text()),
        ),
        table: format!("{own}.{}.table", robots_object(plan.protocol)),
        sides: [Side::Client, Side::Server].map(|side| whole.side_object(view.protocol, side)),
        types: RobotTypes::of(scope, makeable, payloads(&plan, |_| true).into_iter()),
        plan: &plan,
    };
    Ok(robots.text())
}

/// The values of the messages of some nodes without type parameters, and whether the message can be made.
fn payloads<'p>(
    plan: &Plan<'p>,
    is_wanted: impl Fn(&Node) -> bool,
) -> Vec<(Type, &'p Lengths, bool)> {
    let mut all = Vec::new();
    for node in plan.nodes.iter().filter(|node| is_wanted(node)) {
        for (message, edge) in plan.messages(node) {
            let entries = message.entries.iter();
            all.extend(entries.map(|entry| {
                let ty = entry.ty.substitute(&node.arguments);
                (ty, &entry.lengths, edge.is_makeable)
            }));
        }
    }
    all
}

struct Robots<'a> {
    plan: &'a Plan<'a>,
    types: RobotTypes<'a>,
    /// The path to the protocol's object.
    protocol: String,
    /// The path to the table.
    table: String,
    /// The objects with the endpoints of the client and the server.
    sides: [&'static str; 2],
}

impl Robots<'_> {
    fn text(&self) -> String {
        let mut text = format!(
            "\n  /** Peers that play a side by themselves, in tests. */\n  object {} {{\n",
            robots_object(self.plan.protocol)
        );
        self.write_table(&mut text);
        for side in [Side::Client, Side::Server] {
            self.write_hooks(&mut text, side);
            self.write_method(&mut text, side);
        }
        let _ = write!(
            text,
            "\n    private abstract class Both($play: {ROBOTS}.Play, $isClient: _root_.scala.Boolean)\n        \
             extends {ROBOTS}.Robot({}, $play, $isClient) {{\n",
            self.table
        );
        text += &self.types.methods(&self.sent());
        text.push_str("    }\n");
        for side in [Side::Client, Side::Server] {
            self.write_robot(&mut text, side);
        }
        text + "  }\n"
    }

    /// What some robot makes.
    fn sent(&self) -> Vec<(Type, &Lengths)> {
        made(payloads(self.plan, |_| true))
    }

    fn sent_by(&self, side: Side) -> Vec<(Type, &Lengths)> {
        made(payloads(self.plan, |node| node.sender == side))
    }

    fn state(&self, node: &Node) -> &State {
        self.plan.state(node)
    }

    fn write_table(&self, text: &mut String) {
        let _ = write!(
            text,
            "\n    /** The states and transitions, for the coverage. */\n    \
             val table: {ROBOTS}.Table = new {ROBOTS}.Table(\n      {},\n      {},\n      _root_.scala.Vector(",
            spelling::literal(&self.plan.name),
            spelling::literal(&self.plan.fingerprint)
        );
        for (at, node) in self.plan.nodes.iter().enumerate() {
            let edges = self.plan.messages(node).map(|(message, edge)| {
                let next = number(edge.next);
                let kind = match (edge.is_makeable, edge.is_coverable) {
                    (false, _) => 0,
                    (true, false) => 1,
                    (true, true) => 2,
                };
                format!("{}/{next}/{kind}", message.name)
            });
            let edges: Vec<String> = edges.collect();
            // A class file has no longer text than 65,535 bytes, and a name has at most 100.
            let edges = edges.chunks(500).map(|edges| edges.join(" "));
            let edges = edges.map(|edges| format!(", {}", spelling::literal(&edges)));
            let _ = write!(
                text,
                "{}\n        new {ROBOTS}.Node({}, \"{}\", {}{})",
                if at == 0 { "" } else { "," },
                spelling::literal(&node.name),
                node.sender.word(),
                number(node.way_out),
                edges.collect::<String>()
            );
        }
        text.push_str("\n      )\n    )\n");
    }

    /// The trait of a side.
    fn write_hooks(&self, text: &mut String, side: Side) {
        let (role, word) = (role(side), side.word());
        let _ = writeln!(
            text,
            "\n    /** What the {word}'s robot asks the program for. */\n    trait {role} {{"
        );
        let made = self.types.made_hosts(&self.sent_by(side));
        for host in self.types.hosts() {
            let (name, path) = (&host.name, &host.path);
            if made.contains(&host.at) {
                let _ = writeln!(
                    text,
                    "\n      /** Makes a value of this type from the robot's choices. */\n      \
                     def make{name}(values: {VALUES}): {path}"
                );
            }
            let _ = writeln!(
                text,
                "\n      /** The text of a value in the transcript. */\n      \
                 def show{name}(value: {path}): {STRING} = {{\n        val _ = value\n        \"<{}>\"\n      }}",
                host.written
            );
        }
        for (at, node) in self.plan.nodes.iter().enumerate() {
            if node.sender != side && !node.edges.is_empty() {
                let _ = writeln!(
                    text,
                    "\n      /** Looks at a message that the robot has received. If this throws, the session has failed. */\n      \
                     def {}(message: {}): {UNIT} = {{\n        val _ = message\n      }}",
                    self.property(at),
                    self.received(node)
                );
            }
        }
        text.push_str("    }\n");
    }

    /// The method that looks at the messages of a node.
    fn property(&self, at: usize) -> String {
        let nodes = &self.plan.nodes;
        let name = spelling::type_name(self.state(&nodes[at]).name.text());
        let same = |other: &&Node| other.state == nodes[at].state;
        match nodes.iter().filter(same).count() {
            1 => format!("on{name}"),
            _ => format!("on{name}__{}", nodes[..=at].iter().filter(same).count()),
        }
    }

    /// Whether the robot of a side calls the program.
    fn has_hooks(&self, side: Side) -> bool {
        let is_receiving = |node: &Node| node.sender != side && !node.edges.is_empty();
        self.types.hosts().next().is_some() || self.plan.nodes.iter().any(is_receiving)
    }

    /// The method that plays a side.
    fn write_method(&self, text: &mut String, side: Side) {
        let (role, word) = (role(side), side.word());
        let has_hooks = self.has_hooks(side);
        let unused = if has_hooks {
            ""
        } else {
            "@_root_.scala.annotation.unused "
        };
        let default = if self.types.made_hosts(&self.sent_by(side)).is_empty() {
            format!(" = new {role} {{}}")
        } else {
            String::new()
        };
        let hooks = if has_hooks { ", hooks" } else { "" };
        let start = self.endpoint(&self.plan.nodes[0], side);
        let _ = write!(
            text,
            "\n    /** Plays the {word} until the session ends. */\n    \
             def {word}(\n        endpoint: {start},\n        play: {ROBOTS}.Play,\n        \
             {unused}hooks: {role}{default}\n    ): {ROBOTS}.Ending = new As{role}(play{hooks}).run(endpoint)\n"
        );
    }

    /// The class whose objects play a side.
    fn write_robot(&self, text: &mut String, side: Side) {
        let role = role(side);
        let has_hooks = self.has_hooks(side);
        let hooks = if has_hooks {
            format!(", hooks: {role}")
        } else {
            String::new()
        };
        let _ = write!(
            text,
            "\n    private final class As{role}($play: {ROBOTS}.Play{hooks}) extends Both($play, $isClient = {}) {{\n",
            side == Side::Client
        );
        text.push_str(&self.types.host_methods(&self.sent(), &self.sent_by(side)));
        let _ = writeln!(
            text,
            "\n      protected def $step(node: {INT}, endpoint: _root_.duologue.Endpoint): {UNIT} = node match {{"
        );
        for (at, node) in self.plan.nodes.iter().enumerate() {
            let endpoint = format!("endpoint.asInstanceOf[{}]", self.endpoint(node, side));
            let has_makeable = node.edges.iter().any(|edge| edge.is_makeable);
            let call = match (node.sender == side, has_makeable) {
                (true, false) => format!("($turn(): {UNIT})"),
                (false, _) if node.edges.is_empty() => format!("$over({endpoint}.recv())"),
                _ => format!("$node{at}({endpoint})"),
            };
            let _ = writeln!(text, "        case {at} => {call}");
        }
        text.push_str("        case _ => _root_.duologue.generated.unknown(node)\n      }\n");
        for (at, node) in self.plan.nodes.iter().enumerate() {
            if node.sender == side {
                self.write_sending(text, at, node, side);
            } else {
                self.write_receiving(text, at, node, side);
            }
        }
        text.push_str("    }\n");
    }

    fn write_sending(&self, text: &mut String, at: usize, node: &Node, side: Side) {
        if !node.edges.iter().any(|edge| edge.is_makeable) {
            return;
        }
        let endpoint = self.endpoint(node, side);
        let _ = writeln!(
            text,
            "\n      private def $node{at}(endpoint: {endpoint}): {UNIT} = $turn() match {{"
        );
        let messages = || self.plan.messages(node).enumerate();
        let messages = || messages().filter(|(_, (_, edge))| edge.is_makeable);
        for (index, _) in messages() {
            let _ = writeln!(text, "        case {index} => $node{at}_{index}(endpoint)");
        }
        text.push_str("        case _ => ()\n      }\n");
        for (index, (message, edge)) in messages() {
            let mut lines = Vec::new();
            let entries = message.entries.iter().enumerate();
            let entries = entries.map(|(position, entry)| {
                let ty = entry.ty.substitute(&node.arguments);
                (ty, &entry.lengths, format!("v{position}"))
            });
            let entries: Vec<_> = entries.collect();
            for (ty, lengths, value) in &entries {
                lines.push(format!("val {value} = {}", self.types.make(ty, lengths)));
            }
            lines.push(format!("$sends({index})"));
            lines.extend(self.types.show_payload(&entries));
            let values: Vec<&str> = entries.iter().map(|(_, _, value)| value.as_str()).collect();
            let method = spelling::method_name(message.name.text());
            let send = format!("endpoint.{method}({})", values.join(", "));
            lines.push(match edge.next {
                Some(next) => format!("$go({next}, {send})"),
                None => format!("$over({send})"),
            });
            write_method(
                text,
                &format!("$node{at}_{index}(endpoint: {endpoint})"),
                &lines,
            );
        }
    }

    fn write_receiving(&self, text: &mut String, at: usize, node: &Node, side: Side) {
        let endpoint = self.endpoint(node, side);
        let head = format!("private def $node{at}(endpoint: {endpoint}): {UNIT} =");
        match self.state(node).messages.as_slice() {
            [] => return,
            [_] => {
                let _ = write!(text, "\n      {head} $node{at}_0(endpoint.recv())\n");
            }
            all => {
                let _ = writeln!(text, "\n      {head} endpoint.recv() match {{");
                for (index, message) in all.iter().enumerate() {
                    let class = self.class(node, message);
                    let _ = writeln!(text, "        case it: {class} => $node{at}_{index}(it)");
                }
                text.push_str("      }\n");
            }
        }
        let property = self.property(at);
        for (index, (message, edge)) in self.plan.messages(node).enumerate() {
            let mut lines = vec![format!("$receives({index})")];
            let entries = message.entries.iter().map(|entry| {
                let ty = entry.ty.substitute(&node.arguments);
                let field = spelling::entry_name(entry.name.text());
                (ty, &entry.lengths, format!("it.{field}"))
            });
            let entries: Vec<_> = entries.collect();
            lines.extend(self.types.show_payload(&entries));
            lines.push(format!("$check(hooks.{property}(it))"));
            for (ty, _, value) in &entries {
                if self.types.scope.whole.holds_endpoints(ty) {
                    lines.push(format!("$close({value})"));
                }
            }
            lines.push(match edge.next {
                Some(next) => format!("$go({next}, it.next)"),
                None => "$over(it)".to_owned(),
            });
            let class = self.class(node, message);
            write_method(text, &format!("$node{at}_{index}(it: {class})"), &lines);
        }
    }

    /// The type arguments of a node.
    fn arguments(&self, node: &Node) -> String {
        let arguments = node.arguments.iter();
        let arguments = arguments.map(|ty| self.types.scope.payload_type(ty));
        type_arguments(&arguments.collect::<Vec<String>>())
    }

    fn endpoint(&self, node: &Node, side: Side) -> String {
        let object = self.sides[usize::from(side == Side::Server)];
        let name = spelling::type_name(self.state(node).name.text());
        format!("{}.{object}.{name}{}", self.protocol, self.arguments(node))
    }

    /// The type of a message.
    fn class(&self, node: &Node, message: &Message) -> String {
        let state = spelling::type_name(self.state(node).name.text());
        let name = spelling::type_name(message.name.text());
        let is_object =
            node.arguments.is_empty() && message.entries.is_empty() && message.next == Next::End;
        let rest = if is_object {
            ".type".to_owned()
        } else {
            self.arguments(node)
        };
        format!("{}.{state}.{name}{rest}", self.protocol)
    }

    /// The type of what is received in a state.
    fn received(&self, node: &Node) -> String {
        if let [only] = self.state(node).messages.as_slice() {
            return self.class(node, only);
        }
        let state = spelling::type_name(self.state(node).name.text());
        format!("{}.{state}{}", self.protocol, self.arguments(node))
    }
}

/// The types among these that are made.
fn made(payloads: Vec<(Type, &Lengths, bool)>) -> Vec<(Type, &Lengths)> {
    let made = payloads.into_iter().filter(|(_, _, is_made)| *is_made);
    made.map(|(ty, lengths, _)| (ty, lengths)).collect()
}

/// The trait with which a program supplies what a side's robot cannot know.
fn role(side: Side) -> &'static str {
    match side {
        Side::Client => "Client",
        Side::Server => "Server",
    }
}

/// A method of a robot that returns nothing.
fn write_method(text: &mut String, head: &str, lines: &[String]) {
    let _ = writeln!(text, "\n      private def {head}: {UNIT} = {{");
    for line in lines {
        let _ = writeln!(text, "        {line}");
    }
    text.push_str("      }\n");
}

/// A position, or -1.
fn number(position: Option<usize>) -> String {
    position.map_or_else(|| "-1".to_owned(), |position| position.to_string())
}
