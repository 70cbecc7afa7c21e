//! Robots: for each unit that has them, the table by which the runtime plays a session, a codec of its values, and a typed function
//! for each side.

use super::ctype::{Bytes, CType};
use super::names::spelling;
use super::names::units::{UnitKind, canonical};
use super::scope::Scope;
use super::types::is_bare;
use super::types::layouts::Place;
use super::values::{Part, Purpose, Value, Values};
use super::view::{UnitView, role};
use crate::protocol::{Builtin, Definition, Side, Type, TypeId};
use crate::relation::View;
use crate::robots::{Absent, Makeable, Plan};
use crate::wire::BuiltinEncoding;
use askama::Template;
use std::collections::BTreeSet;

/// No robot makes a value with more parts than this, so larger bounds are not in the tables.
const MOST: u64 = 1 << 20;

#[derive(Template)]
#[template(path = "c/robots.h.jinja")]
struct HeaderView<'a> {
    unit: &'a UnitView<'a>,
    robots: &'a Robots,
}

#[derive(Template)]
#[template(path = "c/robots.c.jinja")]
struct SourceView<'a> {
    unit: &'a UnitView<'a>,
    robots: &'a Robots,
}

/// The robots of a unit.
pub struct Robots {
    name: String,
    fingerprint: String,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    rows: Vec<Row>,
    has_parts: bool,
    has_variants: bool,
    hosts: Vec<Host>,
    /// For each side, whether it makes values of host types, and whether it receives messages.
    makes: [bool; 2],
    receives: [bool; 2],
}

/// A state with its type arguments.
struct Node {
    name: String,
    sender: &'static str,
    /// The number of its first edge, and how many it has.
    first: usize,
    count: usize,
    /// The position of its state in the unit, and whether no node before has it.
    state: usize,
    is_first: bool,
}

struct Edge {
    name: String,
    next: Option<usize>,
    is_makeable: bool,
    is_coverable: bool,
    parts: Vec<Part>,
    part_count: usize,
    /// The position of the first part among all.
    first: usize,
}

/// How values of a type are made and shown.
struct Row {
    /// The end of the runtime's constant.
    kind: &'static str,
    is_makeable: bool,
    name: String,
    most: Option<u64>,
    parts: Vec<Part>,
    part_count: usize,
    first: usize,
    is_enum: bool,
    is_bare: bool,
    variants: Vec<Variant>,
    variant_count: usize,
    first_variant: usize,
    /// The variant with the smallest values.
    shallow: usize,
    /// How an endpoint is shown, or the name of a host type.
    text: Option<String>,
    /// The session that is begun to make an endpoint.
    open: Option<Open>,
    host: usize,
}

struct Variant {
    name: String,
    first: usize,
    count: usize,
    is_makeable: bool,
}

/// What an endpoint is made of: the unit, the state and the side.
struct Open {
    prefix: String,
    state: usize,
    side: &'static str,
}

/// A host type.
struct Host {
    /// The word in names of hooks.
    word: String,
    ty: String,
    /// Whether a message that the client sends has such values, and whether one of the server does.
    is_made: [bool; 2],
}

impl Robots {
    /// The robots of a unit.
    ///
    /// # Errors
    ///
    /// Why it has none.
    pub fn of(scope: &Scope, makeable: &Makeable) -> Result<Robots, Absent> {
        let program = scope.types.program;
        let whole = match scope.unit.kind {
            UnitKind::Mentioned => return Err(Absent::Nothing),
            UnitKind::Protocol => View::of(program, scope.unit.protocol),
            UnitKind::Instance(id) => View::instance(program, program.instance(id)),
        };
        let plan = Plan::of(whole, makeable)?;
        let mut values = Values::of(scope, Purpose::Robots);
        let mut robots = Robots {
            name: plan.name.clone(),
            fingerprint: plan.fingerprint.clone(),
            nodes: Vec::new(),
            edges: Vec::new(),
            rows: Vec::new(),
            has_parts: false,
            has_variants: false,
            hosts: Vec::new(),
            makes: [false; 2],
            receives: [Side::Server, Side::Client]
                .map(|peer| plan.nodes.iter().any(|node| node.sender == peer)),
        };
        let mut seen = BTreeSet::new();
        for node in &plan.nodes {
            let arguments = node.arguments.iter().map(|ty| canonical(program, ty));
            let arguments: Vec<Type> = arguments.collect();
            let state = scope.unit.position(node.state, &arguments);
            let state = state.expect("a unit has all states that its sessions reach");
            robots.nodes.push(Node {
                name: node.name.clone(),
                sender: role(node.sender),
                first: robots.edges.len(),
                count: node.edges.len(),
                state,
                is_first: seen.insert(state),
            });
            for (message, edge) in plan.messages(node) {
                let parts = values.message(state, message);
                robots.edges.push(Edge {
                    name: message.name.text().to_owned(),
                    next: edge.next,
                    is_makeable: edge.is_makeable,
                    is_coverable: edge.is_coverable,
                    part_count: parts.len(),
                    parts,
                    first: 0,
                });
            }
        }
        values.finish();
        let is_made = [Side::Client, Side::Server].map(|side| robots.made_by(side, &values.all));
        let mut hosts: Vec<TypeId> = Vec::new();
        for (at, value) in std::mem::take(&mut values.all).into_iter().enumerate() {
            let host = host(scope, &value).map(|id| {
                let number = hosts.iter().position(|known| *known == id);
                number.unwrap_or_else(|| {
                    hosts.push(id);
                    robots.hosts.push(Host {
                        word: scope.types.words(&value.stored, Some(scope.id)),
                        ty: value.name.clone(),
                        is_made: is_made.each_ref().map(|made| made.contains(&at)),
                    });
                    hosts.len() - 1
                })
            });
            let mut row = row(scope, makeable, value);
            row.host = host.unwrap_or_default();
            robots.rows.push(row);
        }
        robots.makes = [0, 1].map(|side| robots.hosts.iter().any(|host| host.is_made[side]));
        robots.number();
        Ok(robots)
    }

    /// The types in messages that a side sends.
    fn made_by(&self, side: Side, values: &[Value]) -> BTreeSet<usize> {
        let nodes = self.nodes.iter().filter(|node| node.sender == role(side));
        let edges = nodes.flat_map(|node| &self.edges[node.first..node.first + node.count]);
        let parts = edges.flat_map(|edge| &edge.parts);
        let mut open: Vec<usize> = parts.map(|part| part.value).collect();
        let mut made = BTreeSet::new();
        while let Some(at) = open.pop() {
            if made.insert(at) {
                open.extend(values[at].parts.iter().map(|part| part.value));
            }
        }
        made
    }

    /// Numbers parts and variants.
    fn number(&mut self) {
        let (mut parts, mut variants) = (0, 0);
        for edge in &mut self.edges {
            edge.first = parts;
            parts += edge.parts.len();
        }
        for row in &mut self.rows {
            row.first = parts;
            row.first_variant = variants;
            for (position, variant) in row.variants.iter_mut().enumerate() {
                variant.first = parts;
                let own = row.parts.iter();
                variant.count = own.filter(|part| part.variant == position + 1).count();
                parts += variant.count;
            }
            if !row.is_enum {
                parts += row.parts.len();
            }
            variants += row.variants.len();
        }
        self.has_parts = parts > 0;
        self.has_variants = variants > 0;
    }

    /// The text of the header.
    pub fn header(&self, unit: &UnitView) -> String {
        let robots = self;
        spelling::rendered(&HeaderView { unit, robots })
    }

    /// The text of the source.
    pub fn source(&self, unit: &UnitView) -> String {
        let robots = self;
        spelling::rendered(&SourceView { unit, robots })
    }
}

/// The type of the host program that this is.
fn host(scope: &Scope, value: &Value) -> Option<TypeId> {
    let Type::Named(id) = value.ty else {
        return None;
    };
    let definition = &scope.types.program.ty(id).definition;
    matches!(definition, Definition::Extern(..) | Definition::Undeclared).then_some(id)
}

fn row(scope: &Scope, makeable: &Makeable, value: Value) -> Row {
    let (types, program) = (scope.types, scope.types.program);
    let most = value.lengths.most.map(|limit| limit.most);
    let mut row = Row {
        kind: "STRUCT",
        is_makeable: makeable.is(&value.ty),
        name: value.name,
        most: most.filter(|most| *most <= MOST),
        part_count: value.parts.len(),
        parts: value.parts,
        first: 0,
        is_enum: false,
        is_bare: false,
        variants: Vec::new(),
        variant_count: 0,
        first_variant: 0,
        shallow: 0,
        text: None,
        open: None,
        host: 0,
    };
    row.kind = match (&value.ty, &value.stored) {
        (_, CType::Inline(Bytes::Text, _)) => "INLINE_TEXT",
        (_, CType::Inline(Bytes::Any, _)) => "INLINE_BYTES",
        (_, CType::Array(..)) => "INLINE_LIST",
        (Type::Builtin(builtin), _) => kind(*builtin),
        (Type::List(_), _) => "LIST",
        (Type::Option(_), _) => "OPTION",
        (Type::Tuple(_), _) => "TUPLE",
        (Type::Named(id), _) => match &program.ty(*id).definition {
            Definition::Struct(_) | Definition::Alias(_) => "STRUCT",
            Definition::Enum(variants) => {
                row.is_enum = true;
                row.is_bare = is_bare(variants);
                row.shallow = makeable.shallow(variants).unwrap_or(0);
                let variants = variants.iter().map(|variant| Variant {
                    name: variant.name.text().to_owned(),
                    first: 0,
                    count: 0,
                    is_makeable: makeable.has(variant),
                });
                row.variants = variants.collect();
                row.variant_count = row.variants.len();
                "ENUM"
            }
            Definition::Extern(..) | Definition::Undeclared => {
                row.text = Some(program.ty(*id).name.text().to_owned());
                "HOST"
            }
        },
        (Type::Endpoint(endpoint), _) => {
            let protocol = program.protocol(endpoint.protocol);
            let state = protocol.state(endpoint.state);
            let (name, side) = (&protocol.name, endpoint.side.word());
            row.text = Some(format!("<{name}.{side}.{}>", state.name));
            let found = types.unit_state(endpoint, Some(scope.id));
            let found = found.filter(|_| row.is_makeable && state.direction.is_some());
            row.open = found.map(|id| Open {
                prefix: types.units.at(id).0.prefix.clone(),
                state: id.state,
                side: role(endpoint.side),
            });
            "ENDPOINT"
        }
        (Type::Parameter(_) | Type::Error, _) => unreachable!("a checked program has arguments"),
    };
    row
}

/// The runtime's word for a built-in type.
fn kind(builtin: Builtin) -> &'static str {
    match BuiltinEncoding::of(builtin) {
        BuiltinEncoding::Bool => "BOOL",
        BuiltinEncoding::Text => "TEXT",
        BuiltinEncoding::Bytes => "BYTES",
        BuiltinEncoding::Number => match builtin {
            Builtin::I8 | Builtin::I16 | Builtin::I32 | Builtin::I64 => "SIGNED",
            Builtin::F32 | Builtin::F64 => "REAL",
            Builtin::Bool
            | Builtin::U8
            | Builtin::U16
            | Builtin::U32
            | Builtin::U64
            | Builtin::Str
            | Builtin::Bytes => "UNSIGNED",
        },
    }
}
