//! Pseudo-random choices for tests that make their own inputs.

/// A source of choices; equal seeds make equal choices.
pub struct Choices(u64);

impl Choices {
    pub fn new(seed: u64) -> Choices {
        Choices(seed)
    }

    /// A number below `limit`, or 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = (mixed ^ (mixed >> 31)) % limit.max(1) as u64;
        usize::try_from(number).expect("it is below a usize")
    }

    /// True once in `many` times.
    pub fn once_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }

    /// What an edit of a protocol inserts.
    pub fn piece(&mut self) -> &'static str {
        match self.once_in(8) {
            true => self.one_of(LONG_PIECES),
            false => self.one_of(PIECES),
        }
    }
}

/// What random edits of protocols insert: everything that means something in the language, and what is no token of it.
const PIECES: &[&str] = &[
    "", " ", "\t", "\n", "\r\n", "\r", "\u{feff}", "\u{a0}", "\u{c}", "\0", "\u{f6}", "\u{2192}",
    "{", "}", "(", ")", "[", "]", "<", ">", ":", "::", "->", "!", ",", ";", "?", "~", "=", "+",
    "-", ".", "#", "#[", "\"", "//", "///", "//!", "// x\n", "/*", "*/", "0", "5", "5ms", "<5>",
    "; 7", "_", "a", "x", "T", "u8", "str", "send", "recv", "type", "type ", "struct", "enum",
    "extern", "bound", "import", "package", "client", "server", "proto", "proto! ", "x: :y",
];

/// Longer ones.
const LONG_PIECES: &[&str] = &[
    "extern bound b;",
    "extern type t: ;",
    "struct s {",
    "enum e {",
    "package a.b;",
    "from \"x\"",
    "\"x\\y\"",
    "/* /* */ */",
    "(u8, u16,)",
    "#[allow(a-b, c - d)]",
    "#[within(5 s)]",
    "<T: , U: A B + C>",
    "Done { }",
    "import \"",
    "\u{1f600}",
    "\u{1d54a}",
];
