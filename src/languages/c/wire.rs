//! What a protocol needs between processes: how its payloads are encoded, its fingerprint, and the headers by which a session begins
//! in memory that two processes share, and over byte streams.

use super::ctype::{Bytes, CType};
use super::names::spelling;
use super::scope::Scope;
use super::types::is_bare;
use super::types::layouts::Place;
use super::values::{Part, Value, Values, is_byte, is_checked};
use super::view::{UnitView, role};
use crate::endpoint::Edge;
use crate::fingerprint::Fingerprint;
use crate::protocol::{Definition, Message, Side, Type};
use crate::relation::Obstacle;
use crate::wire::{BuiltinEncoding, Encoding, Plan, Sizes, accepted};
use askama::Template;

#[derive(Template)]
#[template(path = "c/wire.h.jinja")]
struct HeaderView<'a> {
    unit: &'a UnitView<'a>,
    fingerprint_name: String,
    fingerprint: Vec<String>,
}

#[derive(Template)]
#[template(path = "c/shm.h.jinja")]
struct ShmView<'a> {
    unit: &'a UnitView<'a>,
}

#[derive(Template)]
#[template(path = "c/net.h.jinja")]
struct NetView<'a> {
    unit: &'a UnitView<'a>,
}

#[derive(Template)]
#[template(path = "c/wire.c.jinja")]
struct SourceView<'a> {
    unit: &'a UnitView<'a>,
    fingerprint_name: String,
    /// The name of the protocol without its package.
    protocol: &'a str,
    /// The side that sends first.
    first: &'static str,
    /// Whether there are names of states and messages, for sessions over byte streams.
    has_names: bool,
    has_parts: bool,
    rows: Vec<Row>,
    messages: Vec<MessageRow>,
    /// For each state, how many messages it has and how long its receiver waits.
    counts: Vec<usize>,
    within: Option<Vec<u64>>,
    /// The older fingerprints that the client accepts, followed by those that the server does.
    accepts: Vec<Vec<String>>,
    client_accepts: usize,
    server_accepts: usize,
}

/// How values of a type are encoded.
struct Row {
    /// The end of the runtime's constant.
    kind: &'static str,
    /// The C type; `None` for the entries of a message.
    name: Option<String>,
    least: u64,
    parts: Vec<Part>,
    /// The position of the first part among all.
    first: usize,
    count: u64,
    /// For an enum, how many variants it has, and whether it is its own tag.
    variants: Option<usize>,
    is_bare: bool,
}

/// How a message is encoded.
struct MessageRow {
    /// The row of its entries.
    row: Option<usize>,
    flat: Option<Flat>,
    /// How many cells of a line the largest message takes that may follow.
    follow: u64,
    least: u64,
    most: Option<u64>,
}

/// A payload with the same layout in memory and on the wire, unless there are gaps before the last entry.
struct Flat {
    last: Place,
    /// The size of the last entry.
    size: u64,
}

/// What is needed to use a protocol between processes.
pub struct Wire {
    fingerprint: Fingerprint,
    first: Side,
    accepts: [Vec<Fingerprint>; 2],
}

impl Wire {
    /// What the protocol needs between processes: `None` if no session of this unit has messages, or the obstacle if it cannot be
    /// used between processes.
    pub fn of(scope: &Scope<'_>) -> Result<Option<Wire>, Obstacle> {
        let Some(whole) = scope.whole() else {
            return Ok(None);
        };
        let plan = Plan::of(whole)?;
        let parts = plan.fingerprint.zip(plan.first);
        Ok(parts.map(|(fingerprint, first)| Wire {
            fingerprint,
            first,
            accepts: Side::BOTH.map(|side| accepted(whole, side)),
        }))
    }

    /// The text of the header.
    pub fn header(&self, scope: &Scope, unit: &UnitView) -> String {
        spelling::rendered(&HeaderView {
            unit,
            fingerprint_name: spelling::constant(&scope.unit.prefix, "FINGERPRINT"),
            fingerprint: bytes(&self.fingerprint),
        })
    }

    /// The text of the source: tables, with the names of states and messages if sessions over byte streams use them.
    pub fn source(&self, scope: &Scope, unit: &UnitView, sizes: &Sizes, has_names: bool) -> String {
        let mut tables = Tables {
            scope,
            sizes,
            values: Values::of(scope),
            messages: Vec::new(),
            later: Vec::new(),
        };
        for index in 0..scope.unit.states.len() {
            let encodings = sizes.messages(scope.state(index), &scope.unit.states[index].arguments);
            for (message, encoding) in scope.state(index).messages.iter().zip(encodings) {
                tables.message(index, message, encoding);
            }
        }
        let (rows, messages) = tables.finish();
        let states = (0..scope.unit.states.len()).map(|index| scope.state(index));
        let within = states
            .clone()
            .map(|state| state.within.map_or(0, |limit| limit.most));
        let within = Some(within.collect::<Vec<_>>());
        let [client, server] = &self.accepts;
        spelling::rendered(&SourceView {
            unit,
            fingerprint_name: spelling::constant(&scope.unit.prefix, "FINGERPRINT"),
            protocol: scope.protocol_name(),
            first: role(self.first),
            has_names,
            has_parts: rows.iter().any(|row| !row.parts.is_empty()),
            rows,
            messages,
            counts: states.map(|state| state.messages.len()).collect(),
            within: within.filter(|within| within.iter().any(|limit| *limit > 0)),
            accepts: client.iter().chain(server).map(bytes).collect(),
            client_accepts: client.len(),
            server_accepts: server.len(),
        })
    }
}

/// The text of the header of sessions in memory that two processes share.
pub fn shm_header(unit: &UnitView) -> String {
    spelling::rendered(&ShmView { unit })
}

/// The text of the header of sessions over byte streams.
pub fn net_header(unit: &UnitView) -> String {
    spelling::rendered(&NetView { unit })
}

fn bytes(fingerprint: &Fingerprint) -> Vec<String> {
    let bytes = fingerprint.0.iter();
    bytes.map(|byte| format!("0x{byte:02x}")).collect()
}

/// The tables under construction.
struct Tables<'a> {
    scope: &'a Scope<'a>,
    sizes: &'a Sizes,
    values: Values<'a>,
    messages: Vec<MessageRow>,
    /// For each message with entries, its position, they, and what limits its payload.
    later: Vec<(usize, Vec<Part>, u64, Option<u64>)>,
}

impl Tables<'_> {
    fn message(&mut self, index: usize, message: &Message, encoding: Encoding) {
        let mut row = MessageRow {
            row: None,
            flat: None,
            follow: 0,
            least: 0,
            most: Some(0),
        };
        // No session reaches a state that nothing leads to, so its messages have no encoding and need none.
        if self.scope.begun[index] {
            let next = self.scope.next(index, message);
            let next = next.filter(|_| self.scope.edge(index, message) == Edge::Stay);
            row.follow = next.map_or(0, |next| self.cells(next));
            let parts = self.values.message(index, message);
            if let Some(last) = message.entries.last() {
                // Bounds limit a payload as `at_most` does: a receiver refuses what is larger before it has arrived.
                let limit = encoding.limit.filter(|most| is_checked(*most));
                row.least = encoding.size.least;
                row.most = encoding.size.most;
                // Numbers that are copied as they are would not be checked against their limit.
                if encoding.is_numbers && limit.is_none() {
                    let ty = last.ty.substitute(&self.scope.unit.states[index].arguments);
                    row.flat = Some(Flat {
                        last: parts[parts.len() - 1].place.clone(),
                        size: self.sizes.of_type(&ty).least,
                    });
                }
                self.later
                    .push((self.messages.len(), parts, row.least, limit));
            }
        }
        self.messages.push(row);
    }

    /// How many cells of a line the largest message of a state takes.
    fn cells(&self, index: usize) -> u64 {
        let arguments = &self.scope.unit.states[index].arguments;
        let encodings = self.sizes.messages(self.scope.state(index), arguments);
        let cells = encodings.map(|encoding| encoding.size.cells());
        cells.max().unwrap_or(0)
    }

    /// The rows of all types, followed by those of messages, and the messages.
    fn finish(mut self) -> (Vec<Row>, Vec<MessageRow>) {
        self.values.finish();
        let values = std::mem::take(&mut self.values.all);
        let mut rows: Vec<Row> = values.into_iter().map(|value| self.row(value)).collect();
        for (message, parts, least, limit) in self.later {
            let row = |kind, parts: Vec<Part>, count| Row {
                kind,
                name: None,
                least,
                parts,
                first: 0,
                count,
                variants: None,
                is_bare: false,
            };
            let count = parts.len() as u64;
            rows.push(row("STRUCT", parts, count));
            if let Some(most) = limit {
                let whole = Part {
                    value: rows.len() - 1,
                    place: Place::Whole,
                    variant: 0,
                };
                rows.push(row("LIMIT", vec![whole], most));
            }
            self.messages[message].row = Some(rows.len() - 1);
        }
        let mut first = 0;
        for row in &mut rows {
            row.first = first;
            first += row.parts.len();
        }
        (rows, self.messages)
    }

    fn row(&self, value: Value) -> Row {
        let is_bound = self.values.is_bound(&value);
        let mut row = Row {
            kind: "STRUCT",
            least: self.sizes.of_type(&value.ty).least,
            first: 0,
            count: value.parts.len() as u64,
            variants: None,
            is_bare: false,
            name: Some(value.name),
            parts: value.parts,
        };
        match (&value.ty, &value.stored) {
            (_, CType::Inline(bytes, most)) => {
                row.kind = match bytes {
                    Bytes::Text => "INLINE_TEXT",
                    Bytes::Any => "INLINE_BYTES",
                };
                row.count = u64::from(*most);
            }
            (Type::List(item), CType::Array(_, most)) => {
                row.kind = match is_byte(self.scope.types.program, item) {
                    true => "INLINE_BYTES",
                    false => "INLINE_LIST",
                };
                row.count = u64::from(*most);
            }
            _ if is_bound => {
                row.kind = "LENGTH";
                row.count = value.lengths.most.map_or(0, |limit| limit.most);
            }
            (Type::Builtin(builtin), _) => {
                row.kind = match BuiltinEncoding::of(*builtin) {
                    BuiltinEncoding::Bool => "BOOL",
                    BuiltinEncoding::Number => "NUMBER",
                    BuiltinEncoding::Text => "TEXT",
                    BuiltinEncoding::Bytes => "BYTES",
                };
            }
            (Type::List(_), _) if row.parts.is_empty() => row.kind = "BYTES",
            (Type::List(_), _) => row.kind = "LIST",
            (Type::Option(_), _) => row.kind = "OPTION",
            (Type::Named(id), _) => {
                if let Definition::Enum(variants) = &self.scope.types.program.ty(*id).definition {
                    row.kind = "ENUM";
                    row.variants = Some(variants.len());
                    row.is_bare = is_bare(variants);
                }
            }
            (Type::Tuple(_) | Type::Parameter(_) | Type::Endpoint(_) | Type::Error, _) => {}
        }
        row
    }
}
