//! A peer that plays on by itself.

use super::made::{Choices, Maker};
use super::session::{Event, Talk};
use super::value::Value;
use duologue::protocol::{Builtin, Next, StateId};
use std::collections::BTreeMap;

/// How many items its lists have at most, and how many characters its texts.
const ITEMS: u64 = 3;

/// How many values it makes for a message at most, which is far more than any but a type without finite values needs.
const BUDGET: usize = 10_000;

/// Chooses messages and values. The same seed makes the same choices.
#[derive(Debug)]
pub struct Robot {
    random: u64,
    /// How often it has seen each message.
    seen: BTreeMap<(StateId, usize), u32>,
}

impl Robot {
    /// A robot whose choices follow from the seed.
    #[must_use]
    pub fn new(seed: u64) -> Robot {
        Robot {
            random: seed,
            seen: BTreeMap::new(),
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
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.rotate_left(self.below(messages.len() as u64) as usize);
        // Sessions go on until what they offer has been seen.
        order.sort_by_key(|position| {
            let count = self.seen.get(&(state, *position)).copied();
            let is_end = matches!(messages[*position].next, Next::End);
            count.unwrap_or(0) + if is_end { 2 } else { 0 }
        });
        let mut made = order.into_iter();
        let made = made.find_map(|position| Some((position, self.values(talk, position)?)));
        made.map(|(position, values)| talk.take(position, values))
    }

    /// Values for the message at this position of those that may be sent; `None` if a robot can make none.
    pub fn values(&mut self, talk: &Talk<'_>, position: usize) -> Option<Vec<Value>> {
        let entries = &talk.allowed().get(position)?.entries;
        let mut maker = Maker {
            program: talk.program(),
            choices: self,
            left: BUDGET,
        };
        maker.payload(entries, talk.arguments())
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
}

impl Choices for Robot {
    const DEPTH: usize = 4;
    const DEEPEST: usize = 8 * Robot::DEPTH;

    fn items(&mut self, most: u64) -> u64 {
        self.below(most.min(ITEMS) + 1)
    }

    fn is_some(&mut self) -> bool {
        self.below(3) != 0
    }

    fn variant(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    fn builtin(&mut self, builtin: Builtin, most: u64) -> Value {
        match builtin {
            Builtin::Bool => Value::Bool(self.below(2) == 1),
            Builtin::U8 => Value::Unsigned(self.below(1 << 8)),
            Builtin::U16 | Builtin::U32 | Builtin::U64 => Value::Unsigned(self.below(1000)),
            Builtin::I8 => Value::Signed(self.below(1 << 8) as i64 - (1 << 7)),
            Builtin::I16 | Builtin::I32 | Builtin::I64 => {
                Value::Signed(self.below(2000) as i64 - 1000)
            }
            // Quarters are exact.
            Builtin::F32 | Builtin::F64 => Value::Real(self.below(4000) as f64 / 4.0),
            Builtin::Str => {
                let length = self.items(most);
                let letters = (0..length).map(|_| char::from(b'a' + self.below(10) as u8));
                Value::Text(letters.collect())
            }
            Builtin::Bytes => {
                let length = self.items(most);
                Value::Bytes((0..length).map(|_| self.next() as u8).collect())
            }
        }
    }
}
