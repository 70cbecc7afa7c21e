//! Scripts as the bytes that make a robot play them.

use super::codec::encode_builtin;
use super::session::{Event, Talk};
use super::value::Value;
use duologue::protocol::{Entry, Lengths, Part, Program, Shape, Side, Type};
use duologue::robots::{Makeable, Node, Plan};

/// What robots make at most, by `tests/robots/README.md`.
const DEPTH: u32 = 64;
const BUDGET: usize = 65_536;

const TOO_LARGE: &str =
    "a robot makes at most 65,536 values and characters in a message, nested at most 64 deep";

/// The characters that a byte stands for.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _";

/// The bytes with which the robot of a side sends what the session has from it.
///
/// # Errors
/// The position among the session's events of a message that a robot cannot send, and why.
pub fn bytes_of(
    talk: &Talk<'_>,
    plan: &Plan<'_>,
    makeable: &Makeable,
    side: Side,
) -> Result<Vec<u8>, (usize, &'static str)> {
    let mut writer = Writer {
        program: talk.program(),
        makeable,
        out: Vec::new(),
        spent: 0,
        depth: 0,
    };
    let mut at = Some(0);
    for (number, event) in talk.events().enumerate() {
        let node = at.map(|at| &plan.nodes[at]);
        match (event, node) {
            (Event::Left(left), _) if *left == side => writer.out.push(255),
            (
                Event::Message {
                    position, values, ..
                },
                Some(node),
            ) => {
                let entries = &plan.state(node).messages[*position].entries;
                if node.sender == side {
                    let written = writer.message(node, *position, entries, values);
                    written.map_err(|why| (number, why))?;
                }
                at = node.edges[*position].next;
            }
            (Event::Left(_) | Event::Message { .. }, _) => {}
        }
    }
    Ok(writer.out)
}

struct Writer<'a> {
    program: &'a Program,
    makeable: &'a Makeable,
    out: Vec<u8>,
    /// How many values and characters the message has, and how deep the current value is.
    spent: usize,
    depth: u32,
}

impl Writer<'_> {
    fn message(
        &mut self,
        node: &Node,
        position: usize,
        entries: &[Entry],
        values: &[Value],
    ) -> Result<(), &'static str> {
        if !node.edges[position].is_makeable {
            return Err("robots cannot make its values");
        }
        let made = |count| {
            node.edges[..count]
                .iter()
                .filter(|edge| edge.is_makeable)
                .count()
        };
        let index = made(position);
        self.out.push(96 + (index % 152) as u8);
        if made(node.edges.len()) > 152 {
            self.out.push((index / 152) as u8);
        }
        self.spent = 0;
        for (entry, value) in entries.iter().zip(values) {
            self.value(&entry.ty.substitute(&node.arguments), &entry.lengths, value)?;
        }
        Ok(())
    }

    fn spend(&mut self, count: usize) -> Result<(), &'static str> {
        self.spent = self.spent.saturating_add(count);
        let is_large = self.spent > BUDGET || self.depth >= DEPTH;
        if is_large { Err(TOO_LARGE) } else { Ok(()) }
    }

    fn count(&mut self, count: usize) {
        match count {
            0..=7 => self.out.push(count as u8),
            8..=254 => self.out.extend([255, count as u8]),
            large => self.out.extend([255, 255, large as u8, (large >> 8) as u8]),
        }
    }

    fn value(&mut self, ty: &Type, lengths: &Lengths, value: &Value) -> Result<(), &'static str> {
        const FOREIGN: &str = "a value of a type of the host program is made by the program";
        self.spend(1)?;
        match (self.program.shape(ty, lengths).0, value) {
            (Shape::Builtin(_), Value::Text(text)) => {
                let count = text.chars().count();
                self.count(count);
                for letter in text.chars() {
                    let short = LETTERS.find(letter).map(|at| at as u8);
                    self.leaf(short, &u32::from(letter).to_le_bytes()[..3]);
                }
                self.spend(count)
            }
            (Shape::Builtin(_), Value::Bytes(bytes)) => {
                self.count(bytes.len());
                self.out.extend(bytes);
                self.spend(bytes.len())
            }
            (Shape::Builtin(builtin), value) => {
                let mut exact = Vec::new();
                encode_builtin(builtin, value, &mut exact)?;
                self.leaf(short(value), &exact);
                Ok(())
            }
            (Shape::List(item), Value::List(items)) if self.makeable.is(item.ty) => {
                self.count(items.len());
                self.parts(items.iter().map(|value| (item, value)))
            }
            (Shape::Option(item), Value::Option(inner)) if self.makeable.is(item.ty) => {
                self.out.push(u8::from(inner.is_some()));
                self.parts(inner.iter().map(|value| (item, &**value)))
            }
            (Shape::Tuple(items), Value::Tuple(values)) => {
                self.parts(items.into_iter().zip(values))
            }
            (Shape::Struct(fields), Value::Struct(values)) => {
                let values = values.iter().map(|(_, value)| value);
                self.parts(fields.iter().map(Part::from).zip(values))
            }
            (Shape::Enum(variants), Value::Variant(name, values)) => {
                let made = variants.iter().filter(|variant| self.makeable.has(variant));
                let made: Vec<_> = made.collect();
                let index = made
                    .iter()
                    .position(|variant| variant.name.text() == &**name);
                let index = index.ok_or(FOREIGN)?;
                let width = usize::from(made.len() > 1) + usize::from(made.len() > 128);
                self.out.extend(&index.to_le_bytes()[..width]);
                self.parts(made[index].entries.iter().map(Part::from).zip(values))
            }
            // Robots make them without a choice.
            (Shape::Option(_), Value::Option(None)) => Ok(()),
            (Shape::List(_), Value::List(items)) if items.is_empty() => Ok(()),
            (Shape::Endpoint(_), Value::Opaque(_)) => Ok(()),
            _ => Err(FOREIGN),
        }
    }

    fn parts<'v>(
        &mut self,
        parts: impl Iterator<Item = (Part<'v>, &'v Value)>,
    ) -> Result<(), &'static str> {
        self.depth += 1;
        for (part, value) in parts {
            self.value(part.ty, part.lengths, value)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// A value that a byte stands for, or that follows one exactly.
    fn leaf(&mut self, short: Option<u8>, exact: &[u8]) {
        self.out.push(short.unwrap_or(255));
        if short.is_none() {
            self.out.extend(exact);
        }
    }
}

/// The byte that stands for a value of fixed size.
fn short(value: &Value) -> Option<u8> {
    if let Value::Bool(value) = value {
        Some(u8::from(*value))
    } else if let Value::Unsigned(small @ 0..=127) = value {
        Some(*small as u8)
    } else if let Value::Signed(small @ 0..=127) = value {
        Some(*small as u8)
    } else if let Value::Signed(small @ -64..=-1) = value {
        Some((127 - small) as u8)
    } else if let Value::Real(value) = value {
        let is_same = |quarters: &u8| (f64::from(*quarters) / 4.0).to_bits() == value.to_bits();
        (0..=127).find(is_same)
    } else {
        None
    }
}
