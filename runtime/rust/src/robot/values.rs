//! Values that robots make from bytes. `tests/robots/README.md` in the repository has the format.

use super::choices::Choices;

/// How deeply values are nested at most, where their type allows it to end.
const DEPTH: u32 = 64;

/// After how many values, characters and bytes of a message others are as small as their types allow; and how many items, characters and
/// bytes its lists, texts and byte strings have together. Lists that began before still get their items.
const BUDGET: u64 = 65_536;

/// From where on only bytes that name a size or a variant exactly make values larger.
const TIRED_DEPTH: u32 = 4;
const TIRED_BUDGET: u64 = 64;

/// Integers at which something changes.
const BORDERS: [u64; 16] = [
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
    0x5555_5555_5555_5555,
];

const REALS: [f32; 8] = [
    -1.0,
    1000.0,
    -1000.0,
    1_000_000.0,
    0.5,
    -0.5,
    100.25,
    65_536.0,
];

const CHARACTERS: [char; 16] = [
    '"',
    '\\',
    '\n',
    '\t',
    '\'',
    '/',
    '%',
    '\u{e9}',
    '\u{20ac}',
    '\u{1f600}',
    '\u{fffd}',
    '\u{301}',
    '\u{202e}',
    '\u{7f}',
    '\u{feff}',
    '\u{1f}',
];

macro_rules! integers {
    ($($ty:ident)*) => {
        impl Values<'_> {$(
            /// A number.
            pub fn $ty(&mut self) -> $ty {
                self.integer(size_of::<$ty>(), $ty::MIN != 0) as $ty
            }
        )*}
    };
}

integers!(u8 u16 u32 u64 i8 i16 i32 i64);

/// Makes the values of a message from a robot's [`Choices`]. Programs use it to make values of their own types.
#[derive(Debug)]
pub struct Values<'c> {
    choices: &'c mut Choices,
    spent: u64,
    /// How many items, characters and bytes have been promised.
    reserved: u64,
    depth: u32,
}

impl<'c> Values<'c> {
    pub(crate) fn new(choices: &'c mut Choices) -> Values<'c> {
        Values {
            choices,
            spent: 0,
            reserved: 0,
            depth: 0,
        }
    }

    /// The next byte of the choices, or 0 if none are left.
    pub fn byte(&mut self) -> u8 {
        self.choices.byte()
    }

    fn is_minimal(&self) -> bool {
        self.depth >= DEPTH || self.spent >= BUDGET
    }

    fn is_tired(&self) -> bool {
        self.depth >= TIRED_DEPTH || self.spent > TIRED_BUDGET
    }

    /// Counts a value that has no bytes of its own: a tuple, a struct, an endpoint, or a value of the program's types.
    #[doc(hidden)]
    pub fn count_one(&mut self) {
        self.spent += 1;
    }

    /// Makes the parts of a value, which are one level deeper.
    #[doc(hidden)]
    pub fn inside<T>(&mut self, parts: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let value = parts(self);
        self.depth -= 1;
        value
    }

    /// A list of at most `most` items.
    #[doc(hidden)]
    pub fn list<T>(&mut self, most: u64, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.items(most);
        self.inside(|values| (0..count).map(|_| item(values)).collect())
    }

    /// An optional value.
    #[doc(hidden)]
    pub fn option<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.is_some().then(|| self.inside(value))
    }

    /// How many items a list of at most `most` items has, or how many characters a text and how many bytes a string.
    pub fn items(&mut self, most: u64) -> u64 {
        let is_minimal = self.is_minimal();
        self.spent += 1;
        if is_minimal {
            return 0;
        }
        let is_tired = self.is_tired();
        let count = match self.byte() {
            exact @ 0..=7 => u64::from(exact),
            255 => match self.byte() {
                255 => u64::from(u16::from_le_bytes([self.byte(), self.byte()])),
                exact => u64::from(exact),
            },
            _ if is_tired => 0,
            large @ 248..=254 => u64::from(large) - 240,
            other => u64::from(other % 4),
        };
        let left = BUDGET.saturating_sub(self.spent.max(self.reserved));
        let count = count.min(most).min(left);
        self.reserved += count;
        count
    }

    /// Whether an optional value is there.
    pub fn is_some(&mut self) -> bool {
        let is_minimal = self.is_minimal();
        self.spent += 1;
        if is_minimal {
            return false;
        }
        let is_tired = self.is_tired();
        match self.byte() {
            0 => false,
            1 => true,
            other => !is_tired && other % 2 == 1,
        }
    }

    /// One of `count` variants, of which the one at `shallow` has the least parts.
    pub fn variant(&mut self, count: usize, shallow: usize) -> usize {
        let is_minimal = self.is_minimal();
        self.spent += 1;
        if is_minimal {
            return shallow;
        }
        let is_tired = self.is_tired();
        if count <= 1 {
            return 0;
        }
        let mut at = usize::from(self.byte());
        if count > 128 {
            at |= usize::from(self.byte()) << 8;
        }
        match at {
            exact if exact < count => exact,
            _ if is_tired => shallow,
            other => other % count,
        }
    }

    /// `true` or `false`.
    pub fn bool(&mut self) -> bool {
        self.spent += 1;
        self.byte() % 2 == 1
    }

    /// The low `width` bytes of an integer.
    fn integer(&mut self, width: usize, is_signed: bool) -> u64 {
        self.spent += 1;
        match self.byte() {
            small @ 0..=127 => u64::from(small),
            low @ 128..=191 if is_signed => (u64::from(low) - 127).wrapping_neg(),
            high @ 128..=191 => u64::MAX - (u64::from(high) - 128),
            border @ 192..=239 => BORDERS[usize::from(border - 192) % 16],
            _ => self.exact(width),
        }
    }

    fn exact(&mut self, width: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..width].fill_with(|| self.choices.byte());
        u64::from_le_bytes(bytes)
    }

    /// A number that is not exact; `None` if the exact bits follow.
    fn real(&mut self) -> Option<f32> {
        self.spent += 1;
        match self.byte() {
            quarters @ 0..=127 => Some(f32::from(quarters) * 0.25),
            other @ 128..=223 => Some(REALS[usize::from(other % 8)]),
            _ => None,
        }
    }

    /// A number, perhaps infinite or no number.
    pub fn f32(&mut self) -> f32 {
        let near = self.real();
        near.unwrap_or_else(|| f32::from_bits(self.exact(4) as u32))
    }

    /// A number, perhaps infinite or no number.
    pub fn f64(&mut self) -> f64 {
        let near = self.real().map(f64::from);
        near.unwrap_or_else(|| f64::from_bits(self.exact(8)))
    }

    /// A text of at most `most` bytes.
    pub fn text(&mut self, most: u64) -> String {
        let count = self.items(most);
        let mut text = String::new();
        for _ in 0..count {
            self.spent += 1;
            let letter = self.letter();
            if (text.len() + letter.len_utf8()) as u64 > most {
                break;
            }
            text.push(letter);
        }
        text
    }

    fn letter(&mut self) -> char {
        let byte = self.byte();
        match byte {
            0..=25 => char::from(b'a' + byte),
            26..=51 => char::from(b'A' + byte - 26),
            52..=61 => char::from(b'0' + byte - 52),
            62 => ' ',
            63 => '_',
            64..=223 => char::from(b'a' + byte % 26),
            224..=239 => CHARACTERS[usize::from(byte - 224)],
            240..=255 => {
                let point = self.exact(3) as u32;
                char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
        }
    }

    /// A string of at most `most` bytes.
    pub fn bytes(&mut self, most: u64) -> Vec<u8> {
        let count = self.items(most);
        self.spent += count;
        (0..count).map(|_| self.byte()).collect()
    }
}
