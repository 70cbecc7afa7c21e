//! Random protocol files: any tokens that the grammar allows, with any whitespace and comments between them.

use crate::support::choices::Choices;

/// Writes tokens.
pub struct Writer {
    pub choices: Choices,
    pub words: Vec<String>,
}

const NAMES: [&str; 12] = [
    "a",
    "login",
    "type",
    "proto",
    "send",
    "extern",
    "_1",
    "import",
    "struct",
    "money",
    "a_long_name_that_makes_lines_long",
    "package",
];
const RULES: [&str; 3] = ["cannot-finish", "stuck-state", "a-b-c"];
const STRINGS: [&str; 4] = ["\"\"", "\"a b\"", "\"// no comment\"", "\"gr\u{fc}n/*\""];

impl Writer {
    pub fn new(seed: u64) -> Writer {
        Writer {
            choices: Choices::new(seed),
            words: Vec::new(),
        }
    }

    fn put(&mut self, words: &str) {
        self.words.extend(words.split(' ').map(str::to_owned));
    }

    fn name(&mut self) {
        let name = self.choices.one_of(&NAMES);
        self.put(name);
    }

    fn string(&mut self) {
        let string = self.choices.one_of(&STRINGS);
        self.words.push(string.to_owned());
    }

    /// Between `least` and a few items, separated by commas and, if `may_trail`, sometimes followed by one.
    fn list(&mut self, least: usize, may_trail: bool, thing: fn(&mut Writer)) {
        let many = if self.choices.once_in(8) { 12 } else { 4 };
        let many = least + self.choices.below(many);
        for index in 0..many {
            if index > 0 {
                self.put(",");
            }
            thing(self);
        }
        if many > 0 && may_trail && self.choices.once_in(3) {
            self.put(",");
        }
    }

    pub fn file(&mut self) {
        if self.choices.once_in(3) {
            self.put("package");
            self.name();
            self.put(". b ;");
        }
        for _ in 0..self.choices.below(3) {
            self.put("import");
            self.string();
            self.put(";");
        }
        for _ in 0..self.choices.below(5) {
            self.item();
        }
    }

    fn item(&mut self) {
        match self.choices.below(9) {
            0 => {
                self.put("type");
                self.name();
                self.put("=");
                self.ty();
                self.put(";");
            }
            1 => {
                self.put("struct");
                self.name();
                self.put("{");
                self.list(0, true, |writer| {
                    writer.name();
                    writer.put(":");
                    writer.ty();
                });
                self.put("}");
            }
            2 => {
                self.put("enum");
                self.name();
                self.put("{");
                self.list(1, true, |writer| {
                    writer.name();
                    writer.payload();
                });
                self.put("}");
            }
            3 => self.external(),
            4 => {
                self.put("proto !");
                self.name();
                self.put("=");
                self.name();
                self.arguments();
                self.put(";");
            }
            _ => self.protocol(),
        }
    }

    fn external(&mut self) {
        let what = self.choices.one_of(&["extern type", "extern bound"]);
        self.put(what);
        self.name();
        if what == "extern type" && self.choices.once_in(2) {
            self.put(":");
            self.bounds();
        }
        if self.choices.once_in(2) {
            self.put(";");
            return;
        }
        self.put("{");
        for target in ["rust", "c", "scala"] {
            if self.choices.once_in(2) {
                self.put(target);
                self.put("=");
                self.string();
                let is_c = target == "c";
                if is_c && self.choices.once_in(2) {
                    self.put("from");
                    self.string();
                }
                if is_c && self.choices.once_in(2) {
                    self.put("drop");
                    self.string();
                }
                self.put(";");
            }
        }
        self.put("}");
    }

    fn attributes(&mut self) {
        while self.choices.once_in(6) {
            let level = self.choices.one_of(&["allow", "warn", "deny"]);
            self.put("# [");
            self.put(level);
            self.put("(");
            self.list(1, true, |writer| {
                let rule = writer.choices.one_of(&RULES);
                writer.put(rule);
            });
            self.put(") ]");
        }
    }

    fn protocol(&mut self) {
        self.attributes();
        self.put("proto !");
        self.name();
        let (open, close) = [("{", "}"), ("(", ")")][self.choices.below(2)];
        self.put(open);
        for _ in 0..self.choices.below(5) {
            self.state();
        }
        self.put(close);
        if self.choices.once_in(4) {
            self.put(";");
        }
    }

    fn state(&mut self) {
        self.attributes();
        self.name();
        if !self.choices.once_in(5) {
            self.put(":");
            let direction = self.choices.one_of(&["send", "recv"]);
            self.put(direction);
        }
        if self.choices.once_in(3) {
            self.put("<");
            self.list(1, true, |writer| {
                writer.name();
                if writer.choices.once_in(2) {
                    writer.put(":");
                    writer.bounds();
                }
            });
            self.put(">");
        }
        self.put("{");
        self.list(0, true, |writer| {
            writer.attributes();
            writer.name();
            writer.payload();
            writer.put("->");
            if writer.choices.once_in(3) {
                writer.put("!");
            } else {
                writer.name();
                if writer.choices.once_in(3) {
                    writer.arguments();
                }
            }
        });
        self.put("}");
    }

    fn bounds(&mut self) {
        for index in 0..self.choices.below(4) {
            if index > 0 && self.choices.once_in(2) {
                self.put("+");
            }
            let bound = self.choices.one_of(&["send", "copy", "a", "_1"]);
            self.put(bound);
        }
    }

    fn payload(&mut self) {
        if self.choices.once_in(3) {
            return;
        }
        self.put("(");
        self.list(0, true, |writer| {
            if writer.choices.once_in(2) {
                writer.name();
                writer.put(":");
            }
            writer.ty();
        });
        self.put(")");
    }

    fn arguments(&mut self) {
        self.put("<");
        self.list(1, true, Writer::ty);
        self.put(">");
    }

    fn ty(&mut self) {
        while self.choices.once_in(6) {
            self.put("~");
        }
        match self.choices.below(10) {
            0 => {
                self.put("[");
                self.ty();
                self.put("]");
            }
            1 => {
                self.put("(");
                self.list(2, true, Writer::ty);
                self.put(")");
            }
            2 => {
                self.put("( u8 )");
            }
            3 => {
                self.name();
                self.put(":: client ::");
                self.name();
                if self.choices.once_in(2) {
                    self.arguments();
                }
            }
            _ => self.name(),
        }
        while self.choices.once_in(6) {
            self.put("?");
        }
    }
}

/// How tokens are joined.
#[derive(Clone, Copy, PartialEq)]
pub enum Gaps {
    /// Whitespace where two tokens would become one, and nowhere else.
    Tight,
    /// Spaces and line breaks anywhere.
    Blanks,
    /// Comments of all kinds as well.
    Comments,
}

const BLANKS: [&str; 12] = [
    "", "", "", " ", " ", " ", "  ", "\t", "\n", "\n    ", "\n\n\n\n", " \r\n ",
];
const COMMENTS: [&str; 16] = [
    "// line\n",
    "//\n",
    "// trailing spaces \t \n",
    "//// four\n",
    "// caf\u{e9} \u{1f980}\n",
    "/* block */",
    "/**/",
    "/* /* nested */ */",
    "/** old documentation */",
    "/* two\n   lines */",
    "/*\n * a tower\n *\n\t* of lines  \n */",
    "/* a\ttab */",
    "/* a rather long comment that takes so much of the line that the code that follows cannot stay */",
    "/// documentation\n",
    "///\n",
    "//! documentation of the file\n",
];

/// The text of the tokens.
pub fn joined(words: &[String], gaps: Gaps, choices: &mut Choices) -> String {
    let mut text = String::new();
    // How often a gap has a comment; some files have many, most have few.
    let every = [2, 8, 30, 100][choices.below(4)];
    for word in words.iter().map(String::as_str).chain([""]) {
        let before = text.len();
        if gaps != Gaps::Tight {
            text += choices.one_of(&BLANKS);
        }
        while gaps == Gaps::Comments && choices.once_in(every) {
            text += choices.one_of(&COMMENTS);
            text += choices.one_of(&BLANKS);
        }
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let touches = text.len() == before && text.ends_with(is_word) && word.starts_with(is_word);
        text += if touches { " " } else { "" };
        text += word;
    }
    if choices.once_in(5) {
        text.insert(0, '\u{feff}');
    }
    if choices.once_in(5) {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    text
}
