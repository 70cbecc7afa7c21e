//! What could have been written at a position.

use super::tokens::TokenKind;

/// What can be expected, in the order in which reports list it.
const SIGNS: [&str; 31] = [
    "!", "\"", "#", "(", ")", "+", ",", "->", ".", ":", "::", ";", "<", "=", ">", "?", "[", "]",
    "bound", "drop", "enum", "extern", "from", "import", "package", "proto", "struct", "type", "{",
    "}", "~",
];

/// The bit of a name or a number, which comes after those of the signs.
const NAME: u64 = 1 << SIGNS.len();

/// For each ASCII character, the bit of the sign that consists of it.
const BITS: [u64; 128] = bits();

const fn bits() -> [u64; 128] {
    let mut bits = [0; 128];
    let mut at = 0;
    while at < SIGNS.len() {
        let sign = SIGNS[at].as_bytes();
        if sign.len() == 1 {
            bits[sign[0] as usize] = 1 << at;
        }
        at += 1;
    }
    bits
}

/// A set of signs, keywords, and names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected(u64);

impl Expected {
    pub fn add(&mut self, kind: TokenKind) {
        self.0 |= match kind {
            TokenKind::Sign(sign) => BITS[usize::from(sign) & 127],
            TokenKind::Arrow => bit("->"),
            TokenKind::Path => bit("::"),
            TokenKind::String => bit("\""),
            TokenKind::Word => NAME,
            TokenKind::Space
            | TokenKind::LineComment
            | TokenKind::BlockComment
            | TokenKind::Foreign
            | TokenKind::OpenString
            | TokenKind::OpenComment
            | TokenKind::DeepComment => 0,
        };
    }

    pub fn add_word(&mut self, keyword: &str) {
        self.0 |= bit(keyword);
    }

    /// Whether this sign or keyword could have been written.
    pub fn has(self, sign: &str) -> bool {
        self.0 & bit(sign) != 0
    }

    /// Whether a name or a number could have been written.
    pub fn has_name(self) -> bool {
        self.0 & NAME != 0
    }

    /// The signs and keywords, in the order of a report.
    pub fn signs(self) -> impl Iterator<Item = &'static str> {
        let signs = SIGNS.into_iter().enumerate();
        signs.filter_map(move |(at, sign)| (self.0 >> at & 1 == 1).then_some(sign))
    }
}

fn bit(sign: &str) -> u64 {
    let at = SIGNS.iter().position(|known| *known == sign);
    at.map_or(0, |at| 1 << at)
}
