//! The module `robots` of a protocol or an instance: a table of the protocol, and functions that play one state and that make and show
//! values. The runtime plays sessions with them.

use super::fields;
use super::spelling::{NameScope, generics, turbofish, type_name, value_name};
use super::states::used_parameters;
use crate::name::Name;
use crate::protocol::{
    Builtin, Definition, EndpointType, Entry, Lengths, Message, Side, State, Type, TypeId, Variant,
};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Node, PayloadTypes, Plan, builtin_word};
use askama::Template;
use std::collections::BTreeSet;

/// The robots of a protocol.
#[derive(Template)]
#[template(path = "rust/robots.rs.jinja")]
pub struct Robots<'a> {
    plan: Plan<'a>,
    makeable: &'a Makeable,
    /// The module `robots`.
    scope: NameScope<'a>,
    types: PayloadTypes<'a>,
    /// The path to the protocol's module.
    protocol: String,
}

/// A side, with its trait and the types that its robot makes.
struct Role {
    side: Side,
    name: &'static str,
    made: BTreeSet<usize>,
}

/// How a value is made and shown.
enum Value {
    /// By the runtime's method for a built-in type, with its argument.
    Builtin(&'static str, String),
    /// By the functions for the type at this position.
    Type(usize),
}

impl<'a> Robots<'a> {
    /// The robots of a protocol or an instance, whose module is `scope`.
    ///
    /// # Errors
    /// Why there are none.
    pub fn of(
        view: View<'a>,
        makeable: &'a Makeable,
        scope: NameScope<'a>,
    ) -> Result<Robots<'a>, Absent> {
        let plan = Plan::of(view, makeable)?;
        let scope = scope.inside(1);
        let payloads = plan.nodes.iter();
        let payloads = payloads.flat_map(|node| payloads_of(&plan, node, |_| true));
        Ok(Robots {
            types: PayloadTypes::of(scope.program, makeable, payloads),
            protocol: scope.protocol(view.protocol),
            plan,
            makeable,
            scope,
        })
    }

    fn roles(&self) -> [Role; 2] {
        [(Side::Client, "Client"), (Side::Server, "Server")].map(|(side, name)| {
            let nodes = self.plan.nodes.iter().filter(|node| node.sender == side);
            let sent = nodes.flat_map(|node| payloads_of(&self.plan, node, |is_made| is_made));
            let made = self.types.made(sent);
            Role { side, name, made }
        })
    }

    /// All types of the host program, in the order in which they are needed.
    fn hosts(&self) -> Vec<TypeId> {
        let mut seen = BTreeSet::new();
        let all = self.types.all.iter();
        let hosts = all.filter_map(|own| self.types.host(&own.ty));
        hosts.filter(|id| seen.insert(*id)).collect()
    }

    /// Whether the robot of a side makes values of a type of the host program.
    fn makes(&self, role: &Role, host: &TypeId) -> bool {
        let mut made = role.made.iter();
        made.any(|at| self.types.host(&self.types.all[*at].ty) == Some(*host))
    }

    /// Whether the host program has to implement the trait of a side.
    fn needs_program(&self, role: &Role) -> bool {
        self.hosts().iter().any(|host| self.makes(role, host))
    }

    /// The suffix of the methods for a type of the host program.
    fn host(&self, id: &TypeId) -> String {
        let name = |id: &TypeId| bare_name(&self.scope.program.ty(*id).name);
        let own = name(id);
        let hosts = self.hosts();
        let before = hosts.iter().take_while(|other| *other != id);
        match before.filter(|other| name(other) == own).count() {
            0 => own,
            count => format!("{own}__{}", count + 1),
        }
    }

    fn host_path(&self, id: &TypeId) -> String {
        self.ty(&Type::Named(*id))
    }

    /// The name of a type of the host program in the protocol.
    fn written(&self, id: &TypeId) -> &Name {
        &self.scope.program.ty(*id).name
    }

    fn ty(&self, ty: &Type) -> String {
        self.scope.ty(ty, &[])
    }

    /// The method that checks the messages of a node.
    fn property(&self, node: &Node) -> String {
        let name = bare_name(&self.plan.state(node).name);
        let nodes = self.plan.nodes.iter();
        let same: Vec<&Node> = nodes.filter(|other| other.state == node.state).collect();
        match same.iter().position(|other| std::ptr::eq(*other, node)) {
            Some(at) if same.len() > 1 => format!("on_{name}__{}", at + 1),
            _ => format!("on_{name}"),
        }
    }

    /// The endpoint of a side in a node.
    fn endpoint(&self, node: &Node, role: &Role) -> String {
        let name = type_name(&self.plan.state(node).name);
        let arguments = generics(&self.scope.types(&node.arguments, &[]));
        format!("{}{}::{name}{arguments}", self.protocol, role.side.word())
    }

    /// The enum of the messages of a node, without and with type arguments.
    fn messages(&self, node: &Node) -> String {
        self.protocol.clone() + &type_name(&self.plan.state(node).name)
    }

    fn messages_type(&self, node: &Node) -> String {
        let state: &State = self.plan.state(node);
        let used = used_parameters(state).map(|at| self.ty(&node.arguments[at]));
        self.messages(node) + &generics(&used.collect::<Vec<_>>())
    }

    /// The values of a message, each with the field of its variant.
    fn payload(&self, message: &Message, node: &Node) -> Vec<(String, Value)> {
        let is_named = Entry::are_named(&message.entries);
        let entries = message.entries.iter().enumerate();
        let entries = entries.map(|(at, entry)| {
            let field = if is_named {
                fields::of_entry(entry)
            } else {
                at.to_string()
            };
            (
                field,
                self.value(&entry.ty.substitute(&node.arguments), &entry.lengths),
            )
        });
        entries.collect()
    }

    /// The values of an enum's variant, each with its field.
    fn fields(&self, variant: &Variant) -> Vec<(String, Value)> {
        let names = fields::of_variant(&variant.entries);
        let entries = variant.entries.iter().enumerate();
        let entries = entries.map(|(at, entry)| {
            let field = names
                .as_ref()
                .map_or(at.to_string(), |names| names[at].clone());
            (field, self.value(&entry.ty, &entry.lengths))
        });
        entries.collect()
    }

    /// The items of a tuple.
    fn items(&self, types: &[Type], lengths: &Lengths) -> Vec<Value> {
        let types = types.iter().enumerate();
        let items = types.map(|(at, ty)| self.value(ty, lengths.part(at)));
        items.collect()
    }

    fn value(&self, ty: &Type, lengths: &Lengths) -> Value {
        let (ty, lengths) = self.types.key(ty, lengths);
        match &ty {
            Type::Builtin(builtin @ (Builtin::Str | Builtin::Bytes)) => {
                Value::Builtin(builtin_word(*builtin), most(&lengths).to_string())
            }
            Type::Builtin(builtin) => Value::Builtin(builtin_word(*builtin), String::new()),
            _ => Value::Type(self.types.position(&ty, &lengths).unwrap_or_default()),
        }
    }

    fn definition(&self, id: &TypeId) -> &Definition {
        &self.scope.program.ty(*id).definition
    }

    /// The variants that can be made, and the position of the smallest one among these.
    fn made<'v>(&self, variants: &'v [Variant]) -> Vec<&'v Variant> {
        let all = variants.iter();
        all.filter(|variant| self.makeable.has(variant)).collect()
    }

    fn smallest(&self, variants: &[Variant]) -> usize {
        let smallest = self.makeable.shallow(variants).unwrap_or(0);
        self.made(&variants[..smallest]).len()
    }

    /// The function that begins a session with an endpoint, and the name of the endpoint for people.
    fn init(&self, endpoint: &EndpointType) -> String {
        let arguments = self.scope.types(&endpoint.arguments, &[]);
        self.scope.protocol(endpoint.protocol) + "init" + &turbofish(&arguments)
    }

    fn title(&self, endpoint: &EndpointType) -> String {
        let protocol = self.scope.program.protocol(endpoint.protocol);
        let state = &protocol.state(endpoint.state).name;
        format!("{}.{}.{state}", protocol.name, endpoint.side.word())
    }
}

/// The entries without type parameters of those messages of a node for which `takes` is true, given whether they can be made.
fn payloads_of<'p>(
    plan: &Plan<'p>,
    node: &Node,
    takes: impl Fn(bool) -> bool,
) -> Vec<(Type, &'p Lengths)> {
    let messages = plan.messages(node);
    let messages = messages.filter(|(_, edge)| takes(edge.is_makeable));
    let entries = messages.flat_map(|(message, _)| &message.entries);
    let entries = entries.map(|entry| (entry.ty.substitute(&node.arguments), &entry.lengths));
    entries.collect()
}

/// A name as the suffix of a method.
fn bare_name(name: &Name) -> String {
    value_name(name).trim_start_matches("r#").to_owned()
}

/// The most items, or a number that no list has.
fn most(lengths: &Lengths) -> u64 {
    lengths.most.map_or(u64::MAX, |limit| limit.most)
}
