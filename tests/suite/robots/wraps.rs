//! Mutants in C and Scala. All mutants of a server are in one text: each change asks when the program runs whether its number is the one
//! in effect, so that the text is compiled once.

use super::source::Source;
use std::ops::Range;

/// What a change is put around: the text there stays, so changes may be inside each other.
struct Wrap {
    name: String,
    range: Range<usize>,
    before: String,
    after: String,
}

/// A language whose servers are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    C,
    Scala,
}

/// Operators between two words, and what a mutant has instead.
const OPERATORS: [(&str, &str); 8] = [
    (" <= ", " < "),
    (" < ", " <= "),
    (" >= ", " > "),
    (" > ", " >= "),
    (" + ", " - "),
    (" - ", " + "),
    (" / ", " * "),
    (" * ", " / "),
];

/// Functions, and what a mutant calls instead.
const FUNCTIONS: [(&str, &str); 6] = [
    ("__builtin_add_overflow", "__builtin_sub_overflow"),
    ("__builtin_sub_overflow", "__builtin_add_overflow"),
    ("__builtin_mul_overflow", "__builtin_add_overflow"),
    ("Math.addExact", "Math.subtractExact"),
    ("Math.subtractExact", "Math.addExact"),
    ("Math.multiplyExact", "Math.addExact"),
];

/// Texts in Scala that are only printed, or name a format.
const PRINTED: [&str; 4] = ["read", "append(", ")", "UTF-8"];

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '.'
}

/// The changes of one server.
pub struct Wraps<'s> {
    pub source: &'s Source<'s>,
    language: Language,
    /// The number of the first one.
    first: usize,
    list: Vec<Wrap>,
}

impl<'s> Wraps<'s> {
    pub fn new(source: &'s Source<'s>, language: Language, first: usize) -> Wraps<'s> {
        Wraps {
            source,
            language,
            first,
            list: Vec::new(),
        }
    }

    /// Adds a change, whose text before and after what is there depends on its number.
    pub fn add(
        &mut self,
        what: &str,
        range: Range<usize>,
        around: impl FnOnce(usize) -> [String; 2],
    ) {
        let name = format!("{}: {what}", self.source.line(range.start));
        let [before, after] = around(self.first + self.list.len());
        self.list.push(Wrap {
            name,
            range,
            before,
            after,
        });
    }

    /// Adds a change that has another expression instead.
    pub fn choose(&mut self, what: &str, range: Range<usize>, new: &str) {
        let language = self.language;
        self.add(what, range, |number| match language {
            Language::C => [format!("(mutant_is({number}) ? {new} : "), ")".to_owned()],
            Language::Scala => [
                format!("(if (Mutants.is({number})) {new} else "),
                ")".to_owned(),
            ],
        });
    }

    /// The numbers and names of all changes.
    pub fn names(&self) -> Vec<(usize, String)> {
        let names = self.list.iter().map(|wrap| wrap.name.clone());
        (self.first..).zip(names).collect()
    }

    /// The text with all changes. Those of the same range are inside each other in the order of their numbers.
    pub fn text(&self) -> String {
        let mut order: Vec<&Wrap> = self.list.iter().collect();
        order.sort_by_key(|wrap| (wrap.range.start, usize::MAX - wrap.range.end));
        let mut text = String::new();
        let mut at = 0;
        let mut open: Vec<&Wrap> = Vec::new();
        let all = self.source.text;
        let close = |open: &mut Vec<&Wrap>, text: &mut String, at: &mut usize, until: usize| {
            while let Some(wrap) = open.pop_if(|wrap| wrap.range.end <= until) {
                *text += &all[*at..wrap.range.end];
                *text += &wrap.after;
                *at = wrap.range.end;
            }
        };
        for wrap in order {
            close(&mut open, &mut text, &mut at, wrap.range.start);
            if let Some(outer) = open.last() {
                assert!(wrap.range.end <= outer.range.end, "{}", wrap.name);
            }
            text += &all[at..wrap.range.start];
            text += &wrap.before;
            at = wrap.range.start;
            open.push(wrap);
        }
        close(&mut open, &mut text, &mut at, all.len());
        text + &all[at..]
    }

    /// Conditions, operators, literals and statements.
    pub fn change_code(&mut self) {
        self.change_conditions();
        self.change_operators();
        self.change_functions();
        self.change_numbers();
        self.change_texts();
        if self.language == Language::C {
            self.leave_statements_out();
        }
    }

    fn change_conditions(&mut self) {
        let source = self.source;
        for (at, found) in source.text.match_indices("if (") {
            if !source.is_code(at) {
                continue;
            }
            let open = at + found.len() - 1;
            let range = open + 1..source.closing(open) - 1;
            let what = format!("the other branch of {}", &source.text[range.clone()]);
            let (is_true, is) = match self.language {
                Language::C => ("!!(", "mutant_is"),
                Language::Scala => ("(", "Mutants.is"),
            };
            self.add(&what, range, |number| {
                [is_true.to_owned(), format!(") != {is}({number})")]
            });
        }
    }

    fn change_operators(&mut self) {
        let source = self.source;
        let text = source.text;
        for (old, new) in OPERATORS {
            for (at, _) in text.match_indices(old) {
                let left = text[..at].trim_end_matches(is_word).len();
                let right = at + old.len();
                let end = text[right..].find(|letter| !is_word(letter));
                let end = end.map_or(text.len(), |found| right + found);
                let (before, after) = (text[..left].trim_end(), text[end..].trim_start());
                // An operator beside them may bind more strongly.
                let is_part = before.ends_with(['+', '-', '*', '/', '<', '>', ']', ')'])
                    || ["==", "!=", "<=", ">="]
                        .iter()
                        .any(|part| before.ends_with(part))
                    || after.starts_with(['+', '-', '*', '/', '[', '(']);
                let is_whole = left < at && right < end && !is_part;
                if !source.is_code(at) || !is_whole || text[left..].starts_with('.') {
                    continue;
                }
                let (whole, other) = (
                    &text[left..end],
                    [&text[left..at], new, &text[right..end]].concat(),
                );
                self.choose(&format!("{other} instead of {whole}"), left..end, &other);
            }
        }
    }

    fn change_functions(&mut self) {
        let source = self.source;
        for (old, new) in FUNCTIONS {
            for (at, _) in source.text.match_indices(old) {
                if source.is_code(at) {
                    let open = at + old.len();
                    let end = source.closing(open);
                    let call = format!("{new}{}", &source.text[open..end]);
                    self.choose(&format!("{new} instead of {old}"), at..end, &call);
                }
            }
        }
    }

    fn change_numbers(&mut self) {
        let source = self.source;
        let text = source.text;
        let mut at = 0;
        while let Some(start) = text[at..].find(is_word).map(|found| at + found) {
            let end = text[start..].find(|letter| !is_word(letter));
            let end = end.map_or(text.len(), |found| start + found);
            at = end;
            let word = &text[start..end];
            let (digits, suffix) = match word.strip_suffix('L') {
                Some(digits) => (digits, "L"),
                None => (word, ""),
            };
            let new = match digits.parse::<u64>() {
                Ok(0) => "1".to_owned(),
                Ok(number) => (number - 1).to_string(),
                Err(_) if digits == "0.0" => "1.5".to_owned(),
                Err(_) => continue,
            };
            if source.is_code(start) {
                let new = new + suffix;
                self.choose(&format!("{new} instead of {word}"), start..end, &new);
            }
        }
    }

    /// In C only those that are sent or compared.
    fn change_texts(&mut self) {
        let source = self.source;
        for literal in &source.literals {
            let shown = &source.text[literal.start + 1..literal.end - 1];
            let new = format!("\"{shown}x\"");
            let what = format!("another text than {shown}");
            if source.is_kept(literal.start) {
                continue;
            }
            match self.language {
                Language::C if source.text[..literal.start].ends_with("DUO_STR(") => {
                    let range = literal.start - "DUO_STR(".len()..literal.end + 1;
                    self.choose(&what, range, &format!("DUO_STR({new})"));
                }
                Language::Scala if !PRINTED.contains(&shown) => {
                    self.choose(&what, literal.clone(), &new);
                }
                Language::C | Language::Scala => {}
            }
        }
    }

    fn leave_statements_out(&mut self) {
        let source = self.source;
        let mut start = 0;
        for line in source.text.split_inclusive('\n') {
            let statement = line.trim();
            let at = start + line.len() - line.trim_start().len();
            start += line.len();
            let is_change = statement.contains(" += ")
                || statement.contains(" -= ")
                || statement.ends_with("++;")
                || statement.starts_with("last.");
            if is_change && statement.ends_with(';') && source.is_code(at) {
                let range = at..at + statement.len();
                self.add(&format!("without {statement}"), range, |number| {
                    [format!("if (!mutant_is({number})) "), String::new()]
                });
            }
        }
    }
}
