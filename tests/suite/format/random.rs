//! Random protocol files: any tokens that the grammar allows, with any whitespace and comments between them.

use crate::support::choices::Choices;

/// Each rule with its alternatives. Words that begin with upper case are rules: `Rule*3` fewer than 3 times, `Rule?3` once in 3 times,
/// `Rule~3` again and again as long as that is so, and `Rule,3` at least 3 times with commas between them and perhaps behind them.
const GRAMMAR: &str = "
File = Package?3 Import*3 Item*5
Package = package Name . b ;
Import = import String ;
Item = type Name = Type ; | struct Name { Field,0 } | enum Name { Variant,1 } | Extern | proto ! Name = Name Arguments ; | \
       Protocol | Protocol | Protocol | Protocol
Field = Name : Type
Variant = Name Payload
Extern = extern type Name Bounds?2 Mapping | extern bound Name Mapping
Mapping = ; | { Rust?2 C?2 Scala?2 }
Rust = rust = String ;
C = c = String From?2 Drop?2 ;
From = from String
Drop = drop String
Scala = scala = String ;
Attribute = # [ Level ( Rule,1 ) ]
Level = allow | warn | deny
Rule = cannot-finish | stuck-state | a-b-c
Protocol = Attribute~6 proto ! Name { State*5 } End?4 | Attribute~6 proto ! Name ( State*5 ) End?4
End = ;
State = Attribute~6 Name Direction Parameters?3 { Message,0 }
Direction = : send | : send | : recv | : recv |
Parameters = < Parameter,1 >
Parameter = Name Bounds?2
Bounds = : | : Bound More*3
More = Bound | + Bound
Bound = send | copy | a | _1
Message = Attribute~6 Name Payload -> Next
Next = ! | Name | Name Arguments?2
Payload = | ( Entry,0 ) | ( Entry,0 )
Entry = Type | Name : Type
Arguments = < Type,1 >
Type = Tilde~6 Plain Question~6
Tilde = ~
Question = ?
Plain = [ Type ] | ( Type,2 ) | ( u8 ) | Name :: client :: Name Arguments?2 | Name | Name | Name | Name | Name | Name
";

const NAMES: &[&str] = &[
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
const STRINGS: &[&str] = &["\"\"", "\"a b\"", "\"// no comment\"", "\"gr\u{fc}n/*\""];

/// Writes tokens.
pub struct Writer {
    pub choices: Choices,
    pub words: Vec<String>,
}

impl Writer {
    pub fn new(seed: u64) -> Writer {
        Writer {
            choices: Choices::new(seed),
            words: Vec::new(),
        }
    }

    pub fn file(&mut self) {
        self.rule("File");
    }

    fn rule(&mut self, rule: &str) {
        let words = match rule {
            "Name" => Some(NAMES),
            "String" => Some(STRINGS),
            _ => None,
        };
        if let Some(words) = words {
            return self.words.push(self.choices.one_of(words).to_owned());
        }
        let mut lines = GRAMMAR.lines();
        let found = lines.find_map(|line| line.strip_prefix(rule)?.strip_prefix(" ="));
        let alternatives: Vec<&str> = found.expect("it has a rule").split('|').collect();
        for part in self.choices.one_of(&alternatives).split_whitespace() {
            if part.starts_with(|letter: char| letter.is_ascii_uppercase()) {
                self.part(part);
            } else {
                self.words.push(part.to_owned());
            }
        }
    }

    fn part(&mut self, part: &str) {
        let Some((name, number)) = part.split_once(['*', '?', '~', ',']) else {
            return self.rule(part);
        };
        let count: usize = number.parse().expect("a number");
        match part.as_bytes()[name.len()] {
            b'*' => (0..self.choices.below(count)).for_each(|_| self.rule(name)),
            b'~' => {
                while self.choices.once_in(count) {
                    self.rule(name);
                }
            }
            b'?' if self.choices.once_in(count) => self.rule(name),
            b'?' => {}
            _ => {
                let most = if self.choices.once_in(8) { 12 } else { 4 };
                let count = count + self.choices.below(most);
                for index in 0..count {
                    self.rule(name);
                    if index + 1 < count || self.choices.once_in(3) {
                        self.words.push(",".to_owned());
                    }
                }
            }
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
