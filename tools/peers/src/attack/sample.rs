//! Values for payloads in which something is changed.

use crate::talk::{Choices, Value};
use duologue::protocol::Builtin;

/// How many values a payload has at most.
pub const VALUES: usize = 4 << 10;

/// Chooses values that are not random.
pub struct Fixed {
    /// Which of the variants is chosen, of each enum.
    pub choice: usize,
    /// The most variants of an enum that was met.
    pub variants: usize,
}

impl Choices for Fixed {
    const DEPTH: usize = 6;
    const DEEPEST: usize = 40;

    fn items(&mut self, most: u64) -> u64 {
        most.min(1)
    }

    fn is_some(&mut self) -> bool {
        true
    }

    fn variant(&mut self, count: usize) -> usize {
        self.variants = self.variants.max(count);
        self.choice % count.max(1)
    }

    fn builtin(&mut self, builtin: Builtin, most: u64) -> Value {
        let text = &"abc"[..most.min(3) as usize];
        match builtin {
            Builtin::Bool => Value::Bool(true),
            Builtin::U8 | Builtin::U16 | Builtin::U32 | Builtin::U64 => {
                Value::Unsigned(u64::from_le_bytes([1; 8]))
            }
            Builtin::I8 | Builtin::I16 | Builtin::I32 | Builtin::I64 => {
                Value::Signed(i64::from_le_bytes([1; 8]))
            }
            Builtin::F32 | Builtin::F64 => Value::Real(0.0),
            Builtin::Str => Value::Text(text.to_owned()),
            Builtin::Bytes => Value::Bytes(text.into()),
        }
    }
}
