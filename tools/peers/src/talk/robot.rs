//! A peer that plays on by itself.

use super::session::{Event, Talk};
use super::value::Value;
use duologue::protocol::{Builtin, Definition, Entry, Lengths, Next, StateId, Type};
use std::collections::BTreeMap;

/// How deeply the values of a robot are nested at most, where their type allows it to end.
const DEPTH: usize = 4;

/// How many items its lists have at most, and how many characters its texts.
const ITEMS: u64 = 3;

/// How many values it makes for a message at most, which is far more than any but a type without finite values needs.
const BUDGET: u32 = 10_000;

/// Chooses messages and values. The same seed makes the same choices.
#[derive(Debug)]
pub struct Robot {
    random: u64,
    /// How often it has seen each message.
    seen: BTreeMap<(StateId, usize), u32>,
    /// How many more values it makes for a message.
    budget: u32,
}

impl Robot {
    /// A robot whose choices follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Robot {
        Robot {
            random: seed,
            seen: BTreeMap::new(),
            budget: 0,
        }
    }

    /// Notes what happens in a session, so that the robot chooses what it has seen least.
    pub fn note(&mut self, event: &Event) {
        if let Event::Message {
            state, position, ..
        } = event
        {
            *self.seen.entry((*state, *position)).or_default() += 1;
        }
    }

    /// How many different messages it has seen, each counted once for each state.
    #[must_use]
    pub fn covered(&self) -> usize {
        self.seen.len()
    }

    /// Sends a message that may be sent: one of those seen least. `None` if the session is over, or no message has values that a
    /// robot can make.
    pub fn play<'t>(&mut self, talk: &'t mut Talk<'_>) -> Option<&'t Event> {
        let (state, messages) = (talk.state_id()?, talk.allowed());
        let counts: Vec<u32> = (0..messages.len())
            .map(|position| self.seen.get(&(state, position)).copied().unwrap_or(0))
            .collect();
        let mut order: Vec<usize> = (0..messages.len()).collect();
        let first = self.below(order.len() as u64);
        order.rotate_left(usize::try_from(first).unwrap_or(0));
        // Sessions go on until what they offer has been seen.
        order.sort_by_key(|position| {
            let is_end = matches!(messages[*position].next, Next::End);
            counts[*position] + if is_end { 2 } else { 0 }
        });
        let (position, values) = order.into_iter().find_map(|position| {
            self.budget = BUDGET;
            let values = self.entries(talk, &messages[position].entries, 0)?;
            Some((position, values))
        })?;
        Some(talk.take(position, values))
    }

    /// Values for the message at this position of those that may be sent; `None` if a robot can make none.
    pub fn values(&mut self, talk: &Talk<'_>, position: usize) -> Option<Vec<Value>> {
        self.budget = BUDGET;
        self.entries(talk, &talk.allowed().get(position)?.entries, 0)
    }

    /// SplitMix64, by Steele, Lea and Flood (2014).
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, and 0 if there is none.
    fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }

    fn entries(&mut self, talk: &Talk<'_>, entries: &[Entry], depth: usize) -> Option<Vec<Value>> {
        let mut values = entries.iter().map(|entry| {
            let ty = talk.concrete(&entry.ty);
            self.value(talk, &ty, &entry.lengths, depth)
        });
        values.by_ref().collect()
    }

    /// A value of a type; `None` if only the program knows how one is written, or it would be nested too deeply.
    fn value(
        &mut self,
        talk: &Talk<'_>,
        ty: &Type,
        lengths: &Lengths,
        depth: usize,
    ) -> Option<Value> {
        let is_deep = depth >= DEPTH;
        self.budget = self.budget.checked_sub(1)?;
        if depth > 8 * DEPTH {
            return None;
        }
        let most = lengths.most.map_or(ITEMS, |limit| limit.most.min(ITEMS));
        let length = if is_deep { 0 } else { self.below(most + 1) };
        Some(match ty {
            Type::Builtin(builtin) => self.builtin(*builtin, most),
            Type::List(item) => {
                let mut items =
                    (0..length).map(|_| self.value(talk, item, lengths.part(0), depth + 1));
                Value::List(items.by_ref().collect::<Option<_>>().unwrap_or_default())
            }
            Type::Option(_) if is_deep || self.below(3) == 0 => Value::Option(None),
            Type::Option(item) => {
                let value = self.value(talk, item, lengths.part(0), depth + 1);
                Value::Option(value.map(Box::new))
            }
            Type::Tuple(items) => {
                let parts = items.iter().enumerate();
                let mut values = parts
                    .map(|(index, item)| self.value(talk, item, lengths.part(index), depth + 1));
                Value::Tuple(values.by_ref().collect::<Option<_>>()?)
            }
            Type::Named(id) => {
                let declared = talk.program().ty(*id);
                match &declared.definition {
                    Definition::Alias(target) => {
                        return self.value(talk, target, &declared.lengths, depth + 1);
                    }
                    Definition::Struct(fields) => {
                        let mut values = fields.iter().map(|field| {
                            let value = self.value(talk, &field.ty, &field.lengths, depth + 1)?;
                            Some((field.name.text().into(), value))
                        });
                        Value::Struct(values.by_ref().collect::<Option<_>>()?)
                    }
                    Definition::Enum(variants) => {
                        let mut order: Vec<_> = variants.iter().collect();
                        let first = self.below(order.len() as u64);
                        order.rotate_left(usize::try_from(first).unwrap_or(0));
                        if is_deep {
                            order.sort_by_key(|variant| variant.entries.len());
                        }
                        return order.into_iter().find_map(|variant| {
                            let values = self.entries(talk, &variant.entries, depth + 1)?;
                            Some(Value::Variant(variant.name.text().into(), values))
                        });
                    }
                    Definition::Extern(..) | Definition::Undeclared => return None,
                }
            }
            Type::Endpoint(_) | Type::Parameter(_) | Type::Error => return None,
        })
    }

    fn builtin(&mut self, builtin: Builtin, most: u64) -> Value {
        let unsigned = |robot: &mut Robot, limit: u64| Value::Unsigned(robot.below(limit));
        let signed = |robot: &mut Robot, half: u64| {
            let value = robot.below(2 * half);
            Value::Signed(i64::try_from(value).unwrap_or(0) - i64::try_from(half).unwrap_or(0))
        };
        match builtin {
            Builtin::Bool => Value::Bool(self.below(2) == 1),
            Builtin::U8 => unsigned(self, 1 << 8),
            Builtin::U16 | Builtin::U32 | Builtin::U64 => unsigned(self, 1000),
            Builtin::I8 => signed(self, 1 << 7),
            Builtin::I16 | Builtin::I32 | Builtin::I64 => signed(self, 1000),
            Builtin::F32 | Builtin::F64 => {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "small numbers of quarters are exact"
                )]
                let quarters = self.below(4000) as f64;
                Value::Real(quarters / 4.0)
            }
            Builtin::Str => {
                let length = self.below(most + 1);
                let letters = (0..length).map(|_| char::from(b"abcdefghij"[self.digit()]));
                Value::Text(letters.collect())
            }
            Builtin::Bytes => {
                let length = self.below(most + 1);
                Value::Bytes((0..length).map(|_| self.next().to_le_bytes()[0]).collect())
            }
        }
    }

    fn digit(&mut self) -> usize {
        usize::try_from(self.below(10)).unwrap_or(0)
    }
}
