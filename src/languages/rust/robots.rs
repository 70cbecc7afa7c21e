//! The module `robots` of a protocol or an instance, as the templates see it: a table of the protocol, and functions that play one
//! state and that make and show values. The runtime plays sessions with them.

use super::names::fields;
use super::names::spelling::{NameScope, generics, turbofish, type_name, value_name};
use super::states::used_parameters;
use crate::name::Name;
use crate::protocol::{Builtin, Definition, Entry, Lengths, Message, Side, Type, TypeId, Variant};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Node, PayloadType, PayloadTypes, Plan, builtin_word};
use askama::Template;
use std::collections::BTreeSet;

/// The robots of a protocol.
#[derive(Template)]
#[template(path = "rust/robots.rs.jinja")]
pub struct RobotsView {
    name: String,
    fingerprint: String,
    roles: [RoleView; 2],
}

/// A side and its trait.
struct RoleView {
    side: &'static str,
    name: &'static str,
    is_client: bool,
    hosts: Vec<HostView>,
    /// Whether the program has to implement the trait, because the robot makes values of its types.
    needs_program: bool,
    nodes: Vec<NodeView>,
    /// The types of the payloads that are not built in, with their parts.
    types: Vec<TypeView>,
}

/// A type of the program: its name in the protocol, the suffix of its methods, and its path.
struct HostView {
    written: String,
    name: String,
    path: String,
    is_made: bool,
}

/// A state with type arguments, from the position of a side.
struct NodeView {
    text: String,
    sends: bool,
    endpoint: String,
    /// The enum of its messages, without and with type arguments, and the method that checks them.
    messages: String,
    messages_type: String,
    property: String,
    edges: Vec<EdgeView>,
}

struct EdgeView {
    text: String,
    variant: String,
    method: String,
    /// The next node, or -1, and before the field with its endpoint the position of that, unless it has a name.
    next: i64,
    has_next: bool,
    position: String,
    is_makeable: bool,
    is_coverable: bool,
    payload: Vec<PartView>,
}

/// A part of a payload or of a type: its name in the protocol, and its field.
struct PartView {
    text: String,
    field: String,
    value: Value,
}

/// How a value is made and shown.
enum Value {
    /// By the runtime's method for a built-in type, with its argument.
    Builtin(&'static str, String),
    /// By the functions for the type at this position.
    Type(usize),
}

struct TypeView {
    path: String,
    is_made: bool,
    shape: Shape,
}

enum Shape {
    /// The most items, and whether they can be made.
    List(u64, Value, bool),
    Option(Value, bool),
    Tuple(Vec<PartView>),
    Struct(Vec<PartView>),
    /// How many variants can be made, which of these has the smallest values, and all variants.
    Enum(usize, usize, Vec<VariantView>),
    /// The function that begins its session, its side, the other one, and a name for people.
    Endpoint(String, &'static str, &'static str, String),
    /// A type of the program, with the suffix of its methods.
    Host(String),
}

struct VariantView {
    text: String,
    name: String,
    /// The position among those that can be made.
    made: Option<usize>,
    parts: Vec<PartView>,
}

struct Robots<'a> {
    plan: Plan<'a>,
    makeable: &'a Makeable,
    /// The module `robots`.
    scope: NameScope<'a>,
    types: PayloadTypes<'a>,
    /// The path to the protocol's module.
    protocol: String,
}

impl RobotsView {
    /// The robots of a protocol or an instance, whose module is `scope`.
    ///
    /// # Errors
    /// Why there are none.
    pub fn of(
        view: View<'_>,
        makeable: &Makeable,
        scope: NameScope<'_>,
    ) -> Result<RobotsView, Absent> {
        let plan = Plan::of(view, makeable)?;
        let scope = scope.inside(1);
        let payloads = plan.nodes.iter();
        let payloads = payloads.flat_map(|node| payloads_of(&plan, node, |_| true));
        let robots = Robots {
            types: PayloadTypes::of(scope.program, makeable, payloads),
            protocol: scope.protocol(view.protocol),
            plan,
            makeable,
            scope,
        };
        Ok(RobotsView {
            roles: [(Side::Client, "Client"), (Side::Server, "Server")]
                .map(|(side, name)| robots.role(side, name)),
            name: robots.plan.name,
            fingerprint: robots.plan.fingerprint,
        })
    }
}

impl Robots<'_> {
    fn role(&self, side: Side, name: &'static str) -> RoleView {
        let nodes = || self.plan.nodes.iter();
        let sent = nodes().filter(|node| node.sender == side);
        let sent = sent.flat_map(|node| payloads_of(&self.plan, node, |is_made| is_made));
        let made = self.types.made(sent);
        let made_hosts = made
            .iter()
            .map(|at| self.types.host(&self.types.all[*at].ty));
        let made_hosts: BTreeSet<TypeId> = made_hosts.flatten().collect();
        let hosts = self.hosts().into_iter().map(|id| HostView {
            written: self.scope.program.ty(id).name.text().to_owned(),
            name: self.host(id),
            path: self.scope.ty(&Type::Named(id), &[]),
            is_made: made_hosts.contains(&id),
        });
        let types = self.types.all.iter().enumerate();
        let types = types.map(|(at, own)| TypeView {
            path: self.scope.ty(&own.ty, &[]),
            is_made: made.contains(&at),
            shape: self.shape(own),
        });
        RoleView {
            side: side.word(),
            name,
            is_client: side == Side::Client,
            hosts: hosts.collect(),
            needs_program: !made_hosts.is_empty(),
            nodes: nodes().map(|node| self.node(node, side)).collect(),
            types: types.collect(),
        }
    }

    /// All types of the host program, in the order in which they are needed.
    fn hosts(&self) -> Vec<TypeId> {
        let mut seen = BTreeSet::new();
        let all = self.types.all.iter();
        let hosts = all.filter_map(|own| self.types.host(&own.ty));
        hosts.filter(|id| seen.insert(*id)).collect()
    }

    fn host(&self, id: TypeId) -> String {
        let name = |id: TypeId| bare_name(&self.scope.program.ty(id).name);
        let hosts = self.hosts().into_iter();
        let before = hosts.take_while(|other| *other != id);
        match before.filter(|other| name(*other) == name(id)).count() {
            0 => name(id),
            count => format!("{}__{}", name(id), count + 1),
        }
    }

    fn node(&self, node: &Node, side: Side) -> NodeView {
        let state = self.plan.state(node);
        let name = type_name(&state.name);
        let arguments = self.scope.types(&node.arguments, &[]);
        let used: Vec<String> = used_parameters(state)
            .map(|at| arguments[at].clone())
            .collect();
        let (protocol, word) = (&self.protocol, side.word());
        let same = self
            .plan
            .nodes
            .iter()
            .filter(|other| other.state == node.state);
        let same: Vec<&Node> = same.collect();
        let number = same.iter().position(|other| std::ptr::eq(*other, node));
        let property = format!("on_{}", bare_name(&state.name));
        let edges = self.plan.messages(node).map(|(message, edge)| EdgeView {
            text: message.name.text().to_owned(),
            variant: type_name(&message.name),
            method: value_name(&message.name),
            next: position(edge.next),
            has_next: edge.next.is_some(),
            position: match Entry::are_named(&message.entries) {
                true => String::new(),
                false => format!("{}: ", message.entries.len()),
            },
            is_makeable: edge.is_makeable,
            is_coverable: edge.is_coverable,
            payload: self.payload(message, node),
        });
        NodeView {
            text: node.name.clone(),
            sends: node.sender == side,
            endpoint: format!("{protocol}{word}::{name}{}", generics(&arguments)),
            messages: format!("{protocol}{name}"),
            messages_type: format!("{protocol}{name}{}", generics(&used)),
            property: match number {
                Some(at) if same.len() > 1 => format!("{property}__{}", at + 1),
                _ => property,
            },
            edges: edges.collect(),
        }
    }

    fn payload(&self, message: &Message, node: &Node) -> Vec<PartView> {
        let is_named = Entry::are_named(&message.entries);
        let entries = message.entries.iter().enumerate();
        let part = |(at, entry): (usize, &Entry)| {
            let field = if is_named {
                fields::of_entry(entry)
            } else {
                at.to_string()
            };
            self.part(
                &entry.name,
                field,
                &entry.ty.substitute(&node.arguments),
                &entry.lengths,
            )
        };
        entries.map(part).collect()
    }

    fn part(&self, name: &Name, field: String, ty: &Type, lengths: &Lengths) -> PartView {
        PartView {
            text: name.text().to_owned(),
            field,
            value: self.value(ty, lengths),
        }
    }

    fn value(&self, ty: &Type, lengths: &Lengths) -> Value {
        let (ty, lengths) = self.types.key(ty, lengths);
        let Type::Builtin(builtin) = ty else {
            return Value::Type(self.types.position(&ty, &lengths).unwrap_or_default());
        };
        let has_length = matches!(builtin, Builtin::Str | Builtin::Bytes);
        let most = has_length.then(|| most(&lengths).to_string());
        Value::Builtin(builtin_word(builtin), most.unwrap_or_default())
    }

    fn shape(&self, own: &PayloadType) -> Shape {
        let value = |at: usize, ty: &Type| self.value(ty, own.lengths.part(at));
        match &own.ty {
            Type::List(item) => {
                Shape::List(most(&own.lengths), value(0, item), self.makeable.is(item))
            }
            Type::Option(item) => Shape::Option(value(0, item), self.makeable.is(item)),
            Type::Tuple(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, ty)| PartView {
                    text: String::new(),
                    field: at.to_string(),
                    value: value(at, ty),
                });
                Shape::Tuple(items.collect())
            }
            Type::Named(id) => match &self.scope.program.ty(*id).definition {
                Definition::Struct(fields) => {
                    let fields = fields.iter().map(|field| {
                        let name = value_name(&field.name);
                        self.part(&field.name, name, &field.ty, &field.lengths)
                    });
                    Shape::Struct(fields.collect())
                }
                Definition::Enum(variants) => self.of_enum(variants),
                Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => {
                    Shape::Host(self.host(*id))
                }
            },
            Type::Endpoint(endpoint) => {
                let protocol = self.scope.program.protocol(endpoint.protocol);
                let state = &protocol.state(endpoint.state).name;
                let arguments = turbofish(&self.scope.types(&endpoint.arguments, &[]));
                let init = format!("{}init{arguments}", self.scope.protocol(endpoint.protocol));
                let (side, dual) = (endpoint.side.word(), endpoint.side.dual().word());
                Shape::Endpoint(
                    init,
                    side,
                    dual,
                    format!("{}.{side}.{state}", protocol.name),
                )
            }
            Type::Builtin(_) | Type::Parameter(_) | Type::Error => Shape::Tuple(Vec::new()),
        }
    }

    fn of_enum(&self, variants: &[Variant]) -> Shape {
        let count = |variants: &[Variant]| {
            let made = variants.iter().filter(|variant| self.makeable.has(variant));
            made.count()
        };
        let view = |(at, variant): (usize, &Variant)| {
            let names = fields::of_variant(&variant.entries);
            let parts = variant.entries.iter().enumerate().map(|(at, entry)| {
                let field = names
                    .as_ref()
                    .map_or(at.to_string(), |names| names[at].clone());
                self.part(&entry.name, field, &entry.ty, &entry.lengths)
            });
            VariantView {
                text: variant.name.text().to_owned(),
                name: type_name(&variant.name),
                made: self.makeable.has(variant).then(|| count(&variants[..at])),
                parts: parts.collect(),
            }
        };
        let smallest = self.makeable.shallow(variants).unwrap_or(0);
        let views = variants.iter().enumerate().map(view).collect();
        Shape::Enum(count(variants), count(&variants[..smallest]), views)
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

/// A position, or -1.
fn position(at: Option<usize>) -> i64 {
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

/// The most items, or a number that no list has.
fn most(lengths: &Lengths) -> u64 {
    lengths.most.map_or(u64::MAX, |limit| limit.most)
}
