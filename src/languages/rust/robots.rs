//! The module `robots` of a protocol or an instance, as the templates see it: a table of the protocol, and functions that play one
//! state and that make and show values. The runtime plays sessions with them.

use super::fields;
use super::spelling::{NameScope, generics, turbofish, type_name, value_name};
use super::states::used_parameters;
use crate::protocol::{
    Builtin, Definition, EndpointType, Entry, Lengths, Message, Side, Type, TypeId,
};
use crate::relation::View;
use crate::robots::{Makeable, Node, PayloadType, PayloadTypes, Plan, builtin_word};
use std::collections::BTreeSet;

/// The robots of a protocol.
pub struct RobotsView {
    /// The name with its package.
    pub(super) name: String,
    pub(super) fingerprint: String,
    pub(super) sides: [SideView; 2],
    pub(super) nodes: Vec<NodeView>,
    /// The types of the payloads that are not built in, with their parts.
    pub(super) types: Vec<TypeView>,
}

/// A side, its trait, and which of the types its robot makes.
pub(super) struct SideView {
    pub(super) name: &'static str,
    pub(super) role: &'static str,
    pub(super) hosts: Vec<HostView>,
    made: BTreeSet<usize>,
}

impl SideView {
    pub(super) fn makes(&self, ty: &TypeView) -> bool {
        self.made.contains(&ty.index)
    }

    /// Whether the program has to implement the trait.
    pub(super) fn needs_program(&self) -> bool {
        self.hosts.iter().any(|host| host.is_made)
    }
}

/// A type of the program.
pub(super) struct HostView {
    /// The name in the protocol, and the suffix of the methods for it.
    pub(super) text: String,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) is_made: bool,
}

/// A state with type arguments.
pub(super) struct NodeView {
    pub(super) text: String,
    pub(super) sender: &'static str,
    /// The first edge of a shortest way to the end, or -1.
    pub(super) way_out: i64,
    /// The endpoints of both sides, in the order of the sides.
    endpoints: [String; 2],
    /// The enum of its messages, with and without type arguments.
    pub(super) message: String,
    pub(super) path: String,
    /// The method that checks its messages.
    pub(super) property: String,
    pub(super) edges: Vec<EdgeView>,
}

impl NodeView {
    pub(super) fn endpoint(&self, side: &SideView) -> &str {
        &self.endpoints[usize::from(side.name == Side::Server.word())]
    }
}

/// A message of a node.
pub(super) struct EdgeView {
    pub(super) index: usize,
    pub(super) text: String,
    pub(super) variant: String,
    pub(super) method: String,
    /// The node that follows, or -1.
    pub(super) next: i64,
    /// Whether the fields of the variant have names.
    pub(super) is_named: bool,
    pub(super) is_makeable: bool,
    pub(super) is_coverable: bool,
    pub(super) entries: Vec<PartView>,
}

/// A part of a payload or of a type.
pub(super) struct PartView {
    /// The field, or the position.
    pub(super) field: String,
    pub(super) text: String,
    pub(super) value: ValueView,
}

/// How a value is made and shown.
pub(super) enum ValueView {
    /// By the runtime's method for a built-in type, with its argument.
    Builtin(&'static str, String),
    /// By the functions for the type at this position.
    Type(usize),
}

pub(super) struct TypeView {
    pub(super) index: usize,
    pub(super) path: String,
    pub(super) shape: Shape,
}

pub(super) enum Shape {
    /// At most how many items, and whether they can be made.
    List(u64, ValueView, bool),
    Option(ValueView, bool),
    Tuple(Vec<PartView>),
    Struct(Vec<PartView>),
    Enum(EnumView),
    Endpoint(EndpointView),
    /// A type of the program, with the suffix of its methods.
    Host(String),
}

pub(super) struct EnumView {
    pub(super) variants: Vec<VariantView>,
    /// How many variants can be made, and which of these has the smallest values.
    pub(super) count: usize,
    pub(super) shallow: usize,
}

pub(super) struct VariantView {
    pub(super) text: String,
    pub(super) name: String,
    /// The position among those that can be made.
    pub(super) made: Option<usize>,
    pub(super) parts: Vec<PartView>,
}

/// An endpoint of another protocol, whose peer is closed.
pub(super) struct EndpointView {
    /// The protocol's module, and the type arguments in a call of `init`.
    pub(super) module: String,
    pub(super) turbofish: String,
    pub(super) side: &'static str,
    pub(super) dual: &'static str,
    /// The protocol, side and state.
    pub(super) text: String,
}

impl RobotsView {
    /// The robots of a plan; `scope` is the module of the protocol or instance.
    pub(super) fn of(
        view: View<'_>,
        plan: &Plan<'_>,
        makeable: &Makeable,
        scope: NameScope<'_>,
    ) -> RobotsView {
        let scope = scope.inside(1);
        let payloads = plan
            .nodes
            .iter()
            .flat_map(|node| payloads(plan, node, false));
        let robots = Robots {
            plan,
            makeable,
            scope,
            types: PayloadTypes::of(scope.program, makeable, payloads),
            protocol: scope.protocol(view.protocol),
        };
        let nodes = plan.nodes.iter().enumerate();
        let types = robots.types.all.iter().enumerate();
        RobotsView {
            name: plan.name.clone(),
            fingerprint: plan.fingerprint.clone(),
            sides: [Side::Client, Side::Server].map(|side| robots.side(side)),
            nodes: nodes.map(|(at, node)| robots.node(at, node)).collect(),
            types: types.map(|own| robots.ty(own)).collect(),
        }
    }
}

/// The entries of a node's messages without type parameters: of all, or of those that can be made.
fn payloads<'p>(plan: &Plan<'p>, node: &Node, is_made: bool) -> Vec<(Type, &'p Lengths)> {
    let messages = plan.messages(node);
    let messages = messages.filter(|(_, edge)| edge.is_makeable || !is_made);
    let entries = messages.flat_map(|(message, _)| &message.entries);
    entries
        .map(|entry| (entry.ty.substitute(&node.arguments), &entry.lengths))
        .collect()
}

struct Robots<'a> {
    plan: &'a Plan<'a>,
    makeable: &'a Makeable,
    /// The module `robots`.
    scope: NameScope<'a>,
    types: PayloadTypes<'a>,
    /// The path to the protocol's module.
    protocol: String,
}

impl Robots<'_> {
    fn side(&self, side: Side) -> SideView {
        let nodes = self.plan.nodes.iter().filter(|node| node.sender == side);
        let sent = nodes.flat_map(|node| payloads(self.plan, node, true));
        let made = self.types.made(sent);
        let is_made = |id: TypeId| {
            let mut made = made.iter();
            made.any(|at| self.types.host(&self.types.all[*at].ty) == Some(id))
        };
        let hosts = self.hosts().into_iter().map(|id| HostView {
            text: self.scope.program.ty(id).name.text().to_owned(),
            name: self.host_name(id),
            path: self.scope.ty(&Type::Named(id), &[]),
            is_made: is_made(id),
        });
        SideView {
            name: side.word(),
            role: match side {
                Side::Client => "Client",
                Side::Server => "Server",
            },
            hosts: hosts.collect(),
            made,
        }
    }

    /// All types of the host program, in the order in which they are needed.
    fn hosts(&self) -> Vec<TypeId> {
        let mut seen = BTreeSet::new();
        let all = self.types.all.iter();
        let hosts = all.filter_map(|own| self.types.host(&own.ty));
        hosts.filter(|id| seen.insert(*id)).collect()
    }

    fn host_name(&self, id: TypeId) -> String {
        let name = |id: TypeId| {
            let name = value_name(&self.scope.program.ty(id).name);
            name.trim_start_matches("r#").to_owned()
        };
        let own = name(id);
        let hosts = self.hosts().into_iter();
        let before = hosts.take_while(|other| *other != id);
        match before.filter(|other| name(*other) == own).count() {
            0 => own,
            count => format!("{own}__{}", count + 1),
        }
    }

    fn node(&self, at: usize, node: &Node) -> NodeView {
        let state = self.plan.state(node);
        let name = type_name(&state.name);
        let used = used_parameters(state).map(|at| node.arguments[at].clone());
        let used = generics(&self.scope.types(&used.collect::<Vec<_>>(), &[]));
        let arguments = generics(&self.scope.types(&node.arguments, &[]));
        let endpoint = |side: Side| format!("{}{}::{name}{arguments}", self.protocol, side.word());
        let path = format!("{}{name}", self.protocol);
        let edges = self.plan.messages(node).enumerate();
        let edges = edges.map(|(index, (message, edge))| EdgeView {
            index,
            text: message.name.text().to_owned(),
            variant: type_name(&message.name),
            method: value_name(&message.name),
            next: position(edge.next),
            is_named: Entry::are_named(&message.entries),
            is_makeable: edge.is_makeable,
            is_coverable: edge.is_coverable,
            entries: self.entries(message, node),
        });
        NodeView {
            text: node.name.clone(),
            sender: node.sender.word(),
            way_out: position(node.way_out),
            endpoints: [Side::Client, Side::Server].map(endpoint),
            message: path.clone() + &used,
            path,
            property: self.property(at),
            edges: edges.collect(),
        }
    }

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

    fn entries(&self, message: &Message, node: &Node) -> Vec<PartView> {
        let is_named = Entry::are_named(&message.entries);
        let entries = message.entries.iter().enumerate();
        let part = |(at, entry): (usize, &Entry)| PartView {
            field: if is_named {
                fields::of_entry(entry)
            } else {
                at.to_string()
            },
            text: entry.name.text().to_owned(),
            value: self.value(&entry.ty.substitute(&node.arguments), &entry.lengths),
        };
        entries.map(part).collect()
    }

    fn value(&self, ty: &Type, lengths: &Lengths) -> ValueView {
        let (ty, lengths) = self.types.key(ty, lengths);
        match &ty {
            Type::Builtin(builtin) => {
                let has_length = matches!(builtin, Builtin::Str | Builtin::Bytes);
                let most = has_length.then(|| most(&lengths).to_string());
                ValueView::Builtin(builtin_word(*builtin), most.unwrap_or_default())
            }
            _ => ValueView::Type(self.types.position(&ty, &lengths).unwrap_or_default()),
        }
    }

    fn ty(&self, (index, own): (usize, &PayloadType)) -> TypeView {
        TypeView {
            index,
            path: self.scope.ty(&own.ty, &[]),
            shape: self.shape(own),
        }
    }

    fn shape(&self, own: &PayloadType) -> Shape {
        let part = |at: usize, field: String, text: &str, ty: &Type| PartView {
            field,
            text: text.to_owned(),
            value: self.value(ty, own.lengths.part(at)),
        };
        match &own.ty {
            Type::List(item) => {
                let value = self.value(item, own.lengths.part(0));
                Shape::List(most(&own.lengths), value, self.makeable.is(item))
            }
            Type::Option(item) => {
                let value = self.value(item, own.lengths.part(0));
                Shape::Option(value, self.makeable.is(item))
            }
            Type::Tuple(items) => {
                let items = items.iter().enumerate();
                Shape::Tuple(
                    items
                        .map(|(at, ty)| part(at, at.to_string(), "", ty))
                        .collect(),
                )
            }
            Type::Named(id) => self.named(*id),
            Type::Endpoint(endpoint) => Shape::Endpoint(self.endpoint(endpoint)),
            Type::Builtin(_) | Type::Parameter(_) | Type::Error => Shape::Tuple(Vec::new()),
        }
    }

    fn named(&self, id: TypeId) -> Shape {
        let declared = self.scope.program.ty(id);
        match &declared.definition {
            Definition::Struct(all) => {
                let fields = all.iter().map(|field| PartView {
                    field: value_name(&field.name),
                    text: field.name.text().to_owned(),
                    value: self.value(&field.ty, &field.lengths),
                });
                Shape::Struct(fields.collect())
            }
            Definition::Enum(all) => {
                let mut count = 0;
                let mut shallow = 0;
                let least = self.makeable.shallow(all);
                let variants = all.iter().enumerate().map(|(at, variant)| {
                    let made = self.makeable.has(variant).then_some(count);
                    if least == Some(at) {
                        shallow = count;
                    }
                    count += usize::from(made.is_some());
                    let names = fields::of_variant(&variant.entries);
                    let entries = variant.entries.iter().enumerate();
                    let parts = entries.map(|(at, entry)| PartView {
                        field: names
                            .as_ref()
                            .map_or(at.to_string(), |names| names[at].clone()),
                        text: String::new(),
                        value: self.value(&entry.ty, &entry.lengths),
                    });
                    VariantView {
                        text: variant.name.text().to_owned(),
                        name: type_name(&variant.name),
                        made,
                        parts: parts.collect(),
                    }
                });
                let variants = variants.collect();
                Shape::Enum(EnumView {
                    variants,
                    count,
                    shallow,
                })
            }
            Definition::Extern(..) | Definition::Undeclared | Definition::Alias(_) => {
                Shape::Host(self.host_name(id))
            }
        }
    }

    fn endpoint(&self, endpoint: &EndpointType) -> EndpointView {
        let protocol = self.scope.program.protocol(endpoint.protocol);
        let state = &protocol.state(endpoint.state).name;
        let side = endpoint.side.word();
        EndpointView {
            module: self.scope.protocol(endpoint.protocol),
            turbofish: turbofish(&self.scope.types(&endpoint.arguments, &[])),
            side,
            dual: endpoint.side.dual().word(),
            text: format!("{}.{side}.{state}", protocol.name),
        }
    }
}

/// A position, or -1.
fn position(at: Option<usize>) -> i64 {
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

/// The most items, or a number that no list has.
fn most(lengths: &Lengths) -> u64 {
    lengths.most.map_or(u64::MAX, |limit| limit.most)
}
