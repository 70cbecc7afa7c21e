//! Scripts as the bytes that make a robot play them.

use super::session::{Event, Talk};
use super::value::Value;
use duologue::protocol::{Builtin, Definition, Lengths, Program, Side, Type};
use duologue::robots::{Makeable, Plan};

/// What robots make at most, by `tests/robots/README.md`.
const DEPTH: u32 = 64;
const BUDGET: u64 = 65_536;

const TOO_LARGE: &str =
    "a robot makes at most 65,536 values and characters in a message, nested at most 64 deep";

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
    let mut bytes = Vec::new();
    let mut at = Some(0);
    for (number, event) in talk.events().enumerate() {
        let position = match event {
            Event::Left(left) if *left == side => {
                bytes.push(255);
                break;
            }
            Event::Left(_) => break,
            Event::Message { position, .. } => *position,
        };
        let Some(node) = at.and_then(|at| plan.nodes.get(at)) else {
            break;
        };
        if let Event::Message { from, values, .. } = event
            && *from == side
        {
            let fault = |why| (number, why);
            if !node.edges[position].is_makeable {
                return Err(fault("robots cannot make its values"));
            }
            let all = node.edges.iter().enumerate();
            let made: Vec<usize> = all
                .filter_map(|(at, edge)| edge.is_makeable.then_some(at))
                .collect();
            let index = made.iter().position(|at| *at == position).unwrap_or(0);
            bytes.push(96 + (index % 152) as u8);
            if made.len() > 152 {
                bytes.push((index / 152) as u8);
            }
            let mut writer = Writer {
                program: talk.program(),
                makeable,
                out: &mut bytes,
                spent: 0,
                reserved: 0,
                depth: 0,
            };
            let entries = &plan.state(node).messages[position].entries;
            for (entry, value) in entries.iter().zip(values) {
                let ty = entry.ty.substitute(&node.arguments);
                writer.value(&ty, &entry.lengths, value).map_err(fault)?;
            }
        }
        at = node.edges[position].next;
    }
    Ok(bytes)
}

struct Writer<'a> {
    program: &'a Program,
    makeable: &'a Makeable,
    out: &'a mut Vec<u8>,
    spent: u64,
    reserved: u64,
    depth: u32,
}

impl Writer<'_> {
    /// Counts a value of which a robot chooses the size.
    fn spend(&mut self) -> Result<(), &'static str> {
        if self.depth >= DEPTH || self.spent >= BUDGET {
            return Err(TOO_LARGE);
        }
        self.spent += 1;
        Ok(())
    }

    fn count(&mut self, count: usize) -> Result<(), &'static str> {
        self.spend()?;
        let used = self.spent.max(self.reserved);
        if used.saturating_add(count as u64) > BUDGET {
            return Err(TOO_LARGE);
        }
        self.reserved += count as u64;
        match u16::try_from(count).map_err(|_| TOO_LARGE)? {
            small @ 0..=7 => self.out.push(small as u8),
            exact @ 8..=254 => self.out.extend([255, exact as u8]),
            large => {
                self.out.extend([255, 255]);
                self.out.extend(large.to_le_bytes());
            }
        }
        Ok(())
    }

    fn value(&mut self, ty: &Type, lengths: &Lengths, value: &Value) -> Result<(), &'static str> {
        const FOREIGN: &str = "a value of a type of the host program is made by the program";
        let (ty, lengths) = self.program.unaliased(ty, lengths);
        match (ty, value) {
            (Type::Builtin(builtin), value) => self.builtin(*builtin, value),
            (Type::List(item), Value::List(items)) => {
                if !self.makeable.is(item) {
                    self.spent += 1;
                    return items.is_empty().then_some(()).ok_or(FOREIGN);
                }
                self.count(items.len())?;
                self.parts(items.iter().map(|value| (&**item, lengths.part(0), value)))
            }
            (Type::Option(item), Value::Option(inner)) => {
                if !self.makeable.is(item) {
                    self.spent += 1;
                    return inner.is_none().then_some(()).ok_or(FOREIGN);
                }
                self.spend()?;
                self.out.push(u8::from(inner.is_some()));
                let inner = inner.iter();
                self.parts(inner.map(|value| (&**item, lengths.part(0), &**value)))
            }
            (Type::Tuple(items), Value::Tuple(values)) => {
                self.spent += 1;
                let parts = items.iter().zip(values).enumerate();
                self.parts(parts.map(|(at, (ty, value))| (ty, lengths.part(at), value)))
            }
            (Type::Named(id), value) => match (&self.program.ty(*id).definition, value) {
                (Definition::Struct(fields), Value::Struct(values)) => {
                    self.spent += 1;
                    let parts = fields.iter().zip(values);
                    self.parts(parts.map(|(field, (_, value))| (&field.ty, &field.lengths, value)))
                }
                (Definition::Enum(variants), Value::Variant(name, values)) => {
                    self.spend()?;
                    let made = variants.iter().filter(|variant| self.makeable.has(variant));
                    let made: Vec<_> = made.collect();
                    let mut names = made.iter().map(|variant| variant.name.text());
                    let index = names.position(|known| known == &**name).ok_or(FOREIGN)?;
                    if made.len() > 1 {
                        self.out.push(index as u8);
                    }
                    if made.len() > 128 {
                        self.out.push((index >> 8) as u8);
                    }
                    let parts = made[index].entries.iter().zip(values);
                    self.parts(parts.map(|(entry, value)| (&entry.ty, &entry.lengths, value)))
                }
                _ => Err(FOREIGN),
            },
            (Type::Endpoint(_), Value::Opaque(_)) => {
                self.spent += 1;
                Ok(())
            }
            _ => Err(FOREIGN),
        }
    }

    fn parts<'v>(
        &mut self,
        parts: impl Iterator<Item = (&'v Type, &'v Lengths, &'v Value)>,
    ) -> Result<(), &'static str> {
        self.depth += 1;
        for (ty, lengths, value) in parts {
            self.value(ty, lengths, value)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn builtin(&mut self, builtin: Builtin, value: &Value) -> Result<(), &'static str> {
        let width = match builtin {
            Builtin::U8 | Builtin::I8 => 1,
            Builtin::U16 | Builtin::I16 => 2,
            Builtin::U32 | Builtin::I32 | Builtin::F32 => 4,
            Builtin::U64 | Builtin::I64 | Builtin::F64 => 8,
            Builtin::Bool | Builtin::Str | Builtin::Bytes => 0,
        };
        match value {
            Value::Bool(value) => self.leaf(u8::from(*value), &[]),
            Value::Unsigned(small @ 0..=127) => self.leaf(*small as u8, &[]),
            Value::Unsigned(exact) => self.leaf(255, &exact.to_le_bytes()[..width]),
            Value::Signed(small @ 0..=127) => self.leaf(*small as u8, &[]),
            Value::Signed(small @ -64..=-1) => self.leaf((127 - small) as u8, &[]),
            Value::Signed(exact) => self.leaf(255, &exact.to_le_bytes()[..width]),
            Value::Real(value) => {
                let quarters = (0..=127_u8)
                    .find(|quarters| (f64::from(*quarters) * 0.25).to_bits() == value.to_bits());
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "it was read as a number of 32 bits"
                )]
                match quarters {
                    Some(quarters) => self.leaf(quarters, &[]),
                    None if width == 4 => self.leaf(255, &(*value as f32).to_le_bytes()),
                    None => self.leaf(255, &value.to_le_bytes()),
                }
            }
            Value::Text(text) => {
                self.count(text.chars().count())?;
                for letter in text.chars() {
                    match letter {
                        'a'..='z' => self.leaf(letter as u8 - b'a', &[]),
                        'A'..='Z' => self.leaf(letter as u8 - b'A' + 26, &[]),
                        '0'..='9' => self.leaf(letter as u8 - b'0' + 52, &[]),
                        ' ' => self.leaf(62, &[]),
                        '_' => self.leaf(63, &[]),
                        other => self.leaf(255, &u32::from(other).to_le_bytes()[..3]),
                    }?;
                }
                Ok(())
            }
            Value::Bytes(bytes) => {
                self.count(bytes.len())?;
                self.spent += bytes.len() as u64;
                self.out.extend(bytes);
                Ok(())
            }
            Value::List(_)
            | Value::Option(_)
            | Value::Tuple(_)
            | Value::Struct(_)
            | Value::Variant(..)
            | Value::Opaque(_) => Err("the value does not have its type"),
        }
    }

    /// A value that a byte stands for, or that follows one exactly.
    fn leaf(&mut self, byte: u8, exact: &[u8]) -> Result<(), &'static str> {
        self.spent += 1;
        self.out.push(byte);
        self.out.extend(exact);
        Ok(())
    }
}
