//! The object `robots` of a protocol or an instance: the table of its states, and how its values are made and shown.

use super::names::object_scope::{ObjectScope, nested};
use super::names::spelling::{Spell, entry_name, field_name, method_name, object_name, type_name};
use super::names::whole::{Whole, robots_object};
use super::payload::is_object;
use super::wire::{Matching, most, parts};
use crate::protocol::{Builtin, Definition, Entry, Lengths, Side, Type, Variant};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Node, PayloadTypes, Plan, builtin_word};
use askama::Template;
use std::collections::{BTreeMap, BTreeSet};

pub struct RobotsView {
    pub object: &'static str,
    /// The package and the object of the generic protocol.
    pub package: String,
    pub protocol: String,
    /// With its package.
    pub name: String,
    pub fingerprint: String,
    pub sides: [RobotView; 2],
    /// The types that values are made and shown of by methods.
    pub types: Vec<TypeView>,
}

/// The robot of a side.
pub struct RobotView {
    pub word: &'static str,
    pub is_client: bool,
    /// The name of the trait with which the program supplies what the robot cannot know.
    pub role: &'static str,
    pub hosts: Vec<HostView>,
    /// Whether the robot calls the program, and cannot do without what that makes.
    pub has_hooks: bool,
    pub needs_hooks: bool,
    pub nodes: Vec<StepView>,
}

/// A type of the program that uses the generated code.
pub struct HostView {
    /// The number of its methods.
    pub at: usize,
    /// How the names of its hooks end.
    pub name: String,
    pub path: String,
    /// Its name in the protocol file.
    pub written: String,
    /// Whether this side makes it.
    pub is_made: bool,
}

/// What a robot does in a state.
pub struct StepView {
    pub at: usize,
    /// The name of the state, with its arguments, and of the side that sends.
    pub name: String,
    pub sender: &'static str,
    pub is_sending: bool,
    /// Whether the robot sends, and can make a message.
    pub can_send: bool,
    /// The type of the endpoint, after the protocol's object.
    pub endpoint: String,
    /// The method that looks at messages, and the type of these.
    pub property: String,
    pub received: String,
    pub messages: Vec<PlayView>,
}

pub struct PlayView {
    pub name: String,
    pub class: String,
    pub method: String,
    pub is_makeable: bool,
    /// Whether robots can also get to it.
    pub is_coverable: bool,
    /// The position of the next node; `None` if the session is over.
    pub next: Option<usize>,
    pub parts: Vec<PartView>,
}

/// An entry of a message, a field of a struct or a value of a variant.
pub struct PartView {
    /// As it is written.
    pub name: String,
    pub field: String,
    pub codec: Codec,
    pub holds_endpoints: bool,
}

/// The methods for values of a type.
pub struct TypeView {
    pub at: usize,
    pub path: String,
    pub is_made: bool,
    pub body: TypeBody,
}

pub enum TypeBody {
    Host,
    Struct(Vec<PartView>),
    Enum {
        /// The number of variants that can be made, and the position of the one with the smallest values.
        count: usize,
        shallow: usize,
        /// Whether making is split into several parts.
        is_split: bool,
        made: Vec<Vec<VariantView>>,
        matching: Matching,
        shown: Vec<Vec<VariantView>>,
    },
}

pub struct VariantView {
    pub number: usize,
    /// As it is written.
    pub name: String,
    pub class: String,
    pub parts: Vec<PartView>,
}

/// How values of a type are made and shown.
pub enum Codec {
    Builtin {
        method: &'static str,
        most: Option<i64>,
        /// The other name that the type has, if that is a type of its own.
        distinct: Option<String>,
    },
    List {
        most: Option<i64>,
        /// Whether items can be made.
        is_made: bool,
        item: Box<Codec>,
    },
    Option {
        is_made: bool,
        item: Box<Codec>,
    },
    Tuple {
        items: Vec<Codec>,
        /// Whether it is a part of a tuple that is too long for Scala.
        is_group: bool,
    },
    Methods(usize),
    /// A session of its own, whose other side is closed.
    Endpoint {
        /// The protocol, the side and the state, as they are written.
        name: String,
        object: String,
        arguments: String,
        side: &'static str,
    },
}

#[derive(Template)]
#[template(path = "scala/made.scala.jinja")]
pub struct Made<'c> {
    codec: &'c Codec,
}

#[derive(Template)]
#[template(path = "scala/shown.scala.jinja")]
pub struct Shown<'c> {
    codec: &'c Codec,
    value: String,
}

impl Codec {
    pub fn made(&self) -> Made<'_> {
        Made { codec: self }
    }

    pub fn shown(&self, value: impl ToString) -> Shown<'_> {
        let value = value.to_string();
        Shown { codec: self, value }
    }
}

impl RobotsView {
    pub fn of(view: View, whole: &Whole, makeable: &Makeable) -> Result<RobotsView, Absent> {
        let plan = Plan::of(view, makeable)?;
        let mut scope = ObjectScope::of_protocol(whole, plan.protocol);
        let package = scope.package_of(plan.protocol.file).join(".");
        if let Some(instance) = view.instance {
            scope.file = instance.file;
        }
        let payloads = payloads(&plan, |_| true).into_iter();
        let payloads = payloads.map(|(ty, lengths, _)| (ty, lengths));
        let writer = Writer {
            types: PayloadTypes::of(whole.program, makeable, payloads),
            scope: scope.distant(),
            plan: &plan,
            makeable,
            endpoints: whole.side_objects(view.protocol),
        };
        Ok(RobotsView {
            object: robots_object(plan.protocol),
            package,
            protocol: object_name(plan.protocol.name.text()),
            sides: [(Side::Client, "Client"), (Side::Server, "Server")]
                .map(|(side, role)| writer.robot(side, role)),
            types: writer.types(),
            name: plan.name.clone(),
            fingerprint: plan.fingerprint.clone(),
        })
    }
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
            let ty = |entry: &Entry| entry.ty.substitute(&node.arguments);
            all.extend(entries.map(|entry| (ty(entry), &entry.lengths, edge.is_makeable)));
        }
    }
    all
}

struct Writer<'a> {
    plan: &'a Plan<'a>,
    types: PayloadTypes<'a>,
    makeable: &'a Makeable,
    scope: ObjectScope<'a>,
    /// The objects with the endpoints of the client and the server.
    endpoints: [&'static str; 2],
}

impl Writer<'_> {
    fn robot(&self, side: Side, role: &'static str) -> RobotView {
        let sent = payloads(self.plan, |node| node.sender == side).into_iter();
        let sent = sent.filter(|(_, _, is_made)| *is_made);
        let made = self.types.made(sent.map(|(ty, lengths, _)| (ty, lengths)));
        let hosts = self.hosts(&made);
        let is_receiving = |node: &Node| node.sender != side && !node.edges.is_empty();
        let nodes = self.plan.nodes.iter().enumerate();
        RobotView {
            word: side.word(),
            is_client: side == Side::Client,
            role,
            has_hooks: !hosts.is_empty() || self.plan.nodes.iter().any(is_receiving),
            needs_hooks: hosts.iter().any(|host| host.is_made),
            hosts,
            nodes: nodes.map(|(at, node)| self.step(at, node, side)).collect(),
        }
    }

    /// All types of the host program, in the order in which they are needed.
    fn hosts(&self, made: &BTreeSet<usize>) -> Vec<HostView> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let all = self.types.all.iter().enumerate();
        let hosts = all.filter_map(|(at, own)| {
            let ty = self.scope.whole.program.ty(self.types.host(&own.ty)?);
            let name = type_name(ty.name.text());
            let count = seen.entry(name.clone()).or_insert(0);
            *count += 1;
            Some(HostView {
                at,
                name: match *count {
                    1 => name,
                    count => format!("{name}__{count}"),
                },
                path: self.scope.payload_type(&own.ty),
                written: ty.name.to_string(),
                is_made: made.contains(&at),
            })
        });
        hosts.collect()
    }

    fn step(&self, at: usize, node: &Node, side: Side) -> StepView {
        let state = type_name(self.plan.state(node).name.text());
        let arguments = self.scope.arguments(&node.arguments);
        let messages = self.plan.messages(node).map(|(message, edge)| PlayView {
            class: match is_object(message, !arguments.is_empty()) {
                true => format!("{state}.{}.type", type_name(message.name.text())),
                false => format!("{state}.{}{arguments}", type_name(message.name.text())),
            },
            name: message.name.to_string(),
            method: method_name(message.name.text()),
            is_makeable: edge.is_makeable,
            is_coverable: edge.is_coverable,
            next: edge.next,
            parts: self.entries(&message.entries, &node.arguments, entry_name),
        });
        let messages: Vec<PlayView> = messages.collect();
        let same = |other: &&Node| other.state == node.state;
        let number = self.plan.nodes[..=at].iter().filter(same).count();
        StepView {
            at,
            name: node.name.clone(),
            sender: node.sender.word(),
            is_sending: node.sender == side,
            can_send: node.sender == side && messages.iter().any(|it| it.is_makeable),
            endpoint: format!(
                "{}.{state}{arguments}",
                self.endpoints[usize::from(side == Side::Server)]
            ),
            property: match self.plan.nodes.iter().filter(same).count() {
                1 => format!("on{state}"),
                _ => format!("on{state}__{number}"),
            },
            received: match messages.as_slice() {
                [only] => only.class.clone(),
                _ => state + &arguments,
            },
            messages,
        }
    }

    fn entries(&self, entries: &[Entry], arguments: &[Type], spell: Spell) -> Vec<PartView> {
        let parts = entries.iter().map(|entry| {
            let ty = entry.ty.substitute(arguments);
            self.part(entry.name.text(), spell, &ty, &entry.lengths)
        });
        parts.collect()
    }

    fn part(&self, name: &str, spell: Spell, ty: &Type, lengths: &Lengths) -> PartView {
        PartView {
            name: name.to_owned(),
            field: spell(name),
            codec: self.codec(ty, lengths),
            holds_endpoints: self.scope.whole.holds_endpoints(ty),
        }
    }

    fn types(&self) -> Vec<TypeView> {
        let all = self.types.all.iter().enumerate();
        let types = all.filter_map(|(at, own)| {
            let Type::Named(id) = &own.ty else {
                return None;
            };
            let body = match &self.scope.whole.program.ty(*id).definition {
                Definition::Struct(fields) => {
                    let fields = fields.iter();
                    let parts =
                        fields.map(|it| self.part(it.name.text(), field_name, &it.ty, &it.lengths));
                    TypeBody::Struct(parts.collect())
                }
                Definition::Enum(variants) => self.variants(variants),
                Definition::Alias(_) | Definition::Extern(..) | Definition::Undeclared => {
                    TypeBody::Host
                }
            };
            Some(TypeView {
                at,
                path: self.scope.payload_type(&own.ty),
                is_made: self.makeable.is(&own.ty),
                body,
            })
        });
        types.collect()
    }

    fn variants(&self, variants: &[Variant]) -> TypeBody {
        let made = variants.iter().filter(|it| self.makeable.has(it));
        let made: Vec<&Variant> = made.collect();
        let shallow = self.makeable.shallow(variants).map(|at| &variants[at]);
        let is_shallow = |it: &&Variant| shallow.is_some_and(|one| std::ptr::eq(*it, one));
        let split = |variants: Vec<&Variant>| {
            let field = self.scope.whole.variant_field();
            let views = (variants.iter().enumerate()).map(|(number, variant)| VariantView {
                number,
                name: variant.name.to_string(),
                class: type_name(variant.name.text()),
                parts: self.entries(&variant.entries, &[], field),
            });
            parts(views.collect(), |view| view.parts.len())
        };
        let (count, shallow) = (made.len(), made.iter().position(is_shallow));
        let made = split(made);
        TypeBody::Enum {
            count,
            shallow: shallow.unwrap_or(0),
            is_split: made.len() > 1,
            made,
            matching: Matching::of(self.scope.whole, variants),
            shown: split(variants.iter().collect()),
        }
    }

    fn codec(&self, ty: &Type, lengths: &Lengths) -> Codec {
        let (plain, own) = self.types.key(ty, lengths);
        let item = |item| {
            (
                self.makeable.is(item),
                Box::new(self.codec(item, own.part(0))),
            )
        };
        match &plain {
            Type::Builtin(builtin) => Codec::Builtin {
                method: builtin_word(*builtin),
                most: most(&own).filter(|_| matches!(builtin, Builtin::Str | Builtin::Bytes)),
                distinct: self.scope.distinct(ty),
            },
            Type::List(of) => {
                let (is_made, item) = item(of);
                let most = most(&own);
                Codec::List {
                    most,
                    is_made,
                    item,
                }
            }
            Type::Option(of) => {
                let (is_made, item) = item(of);
                Codec::Option { is_made, item }
            }
            Type::Tuple(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(at, item)| self.codec(item, own.part(at)));
                let group = |items| Codec::Tuple {
                    items,
                    is_group: true,
                };
                let mut tuple = nested(items.collect(), &group);
                if let Codec::Tuple { is_group, .. } = &mut tuple {
                    *is_group = false;
                }
                tuple
            }
            Type::Endpoint(endpoint) => {
                let protocol = self.scope.whole.program.protocol(endpoint.protocol);
                let (name, side) = (&protocol.name, endpoint.side.word());
                let state = &protocol.state(endpoint.state).name;
                Codec::Endpoint {
                    name: format!("{name}.{side}.{state}"),
                    object: self.scope.object(protocol.file, &object_name(name.text())),
                    arguments: self.scope.arguments(&endpoint.arguments),
                    side,
                }
            }
            Type::Named(_) | Type::Parameter(_) | Type::Error => {
                Codec::Methods(self.types.position(ty, lengths).unwrap_or_default())
            }
        }
    }
}
