//! Rules that change the text of an example server in Rust, one place at a time.

use duologue::protocol::{Definition, Program, Side, Type};
use duologue::robots::Plan;
use std::ops::Range;

/// Operators and calls, and what a mutant has instead.
const OTHERS: [(&str, &str); 15] = [
    (" == ", " != "),
    (" <= ", " < "),
    (" <= ", " > "),
    (" < ", " >= "),
    (" += ", " -= "),
    (" -= ", " += "),
    (" && ", " || "),
    (" + ", " - "),
    ("-number", "number"),
    (".is_empty()", ".is_empty() == false"),
    ("checked_add", "checked_sub"),
    ("checked_sub", "checked_add"),
    ("checked_mul", "checked_add"),
    ("checked_div", "checked_mul"),
    ("pop_front", "pop_back"),
];

/// Texts that examples only print.
const PRINTED: [&str; 6] = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "read",
    "append({create})",
];

/// A change of a text: what is wrong, where, and the new text there.
pub struct Change {
    pub name: String,
    pub range: Range<usize>,
    pub new: String,
}

/// A server's text with what the rules need to know about it.
pub struct Source<'t> {
    text: &'t str,
    /// The string literals, with their quotes.
    literals: Vec<Range<usize>>,
    /// What is not changed: imports, and what the program prints.
    kept: Vec<Range<usize>>,
}

impl<'t> Source<'t> {
    pub fn new(text: &'t str) -> Source<'t> {
        let mut source = Source {
            text,
            literals: Vec::new(),
            kept: Vec::new(),
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'"' {
                let start = at;
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                source.literals.push(start..at + 1);
            }
            at += 1;
        }
        for (start, _) in text.match_indices("use ") {
            let is_line = start == 0 || bytes[start - 1] == b'\n';
            let end = text[start..]
                .find(";\n")
                .map_or(text.len(), |end| start + end);
            if is_line {
                source.kept.push(start..end);
            }
        }
        for word in ["transcript.line", "panic!"] {
            for (start, _) in text.match_indices(word) {
                let end = source.closing(start + word.len());
                source.kept.push(start..end);
            }
        }
        source
    }

    fn literal_at(&self, at: usize) -> Option<&Range<usize>> {
        self.literals.iter().find(|literal| literal.contains(&at))
    }

    fn is_kept(&self, at: usize) -> bool {
        self.kept.iter().any(|kept| kept.contains(&at))
    }

    /// Whether rules other than those of literals may change the text here.
    fn is_code(&self, at: usize) -> bool {
        !self.is_kept(at) && self.literal_at(at).is_none()
    }

    /// The positions of brackets and commas from an opening bracket to its end, with their depths.
    fn structure(&self, open: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut depth = 0;
        for (at, letter) in self.text[open..].char_indices() {
            let at = open + at;
            if self.literal_at(at).is_some() {
                continue;
            }
            match letter {
                '(' | '[' | '{' => {
                    depth += 1;
                    found.push((at, depth));
                }
                ')' | ']' | '}' => {
                    found.push((at, depth));
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                ',' => found.push((at, depth)),
                _ => {}
            }
        }
        found
    }

    /// The end of what an opening bracket begins.
    fn closing(&self, open: usize) -> usize {
        self.structure(open).last().expect("it is closed").0 + 1
    }

    /// The arguments of a call, from its opening bracket on.
    fn arguments(&self, open: usize) -> Vec<Range<usize>> {
        let outer = self
            .structure(open)
            .into_iter()
            .filter(|(_, depth)| *depth == 1);
        let places: Vec<usize> = outer.map(|(at, _)| at).collect();
        let ranges = places.windows(2).map(|pair| pair[0] + 1..pair[1]);
        ranges
            .filter(|range| !self.text[range.clone()].trim().is_empty())
            .collect()
    }

    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }
}

/// Whether a type has a default value in Rust. Structs and enums have none; types of the program have one here.
fn has_default(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Builtin(_) | Type::List(_) | Type::Option(_) => true,
        Type::Tuple(parts) => parts.iter().all(|part| has_default(program, part)),
        Type::Named(id) => match &program.ty(*id).definition {
            Definition::Alias(target) => has_default(program, target),
            Definition::Undeclared | Definition::Extern(..) => true,
            Definition::Struct(_) | Definition::Enum(_) => false,
        },
        Type::Endpoint(_) | Type::Parameter(_) | Type::Error => false,
    }
}

/// A message of the server in one of the states in which it sends.
struct Answer<'p> {
    name: &'p str,
    node: usize,
    next: Option<usize>,
    types: Vec<Type>,
}

fn answers<'p>(plan: &'p Plan<'_>) -> Vec<Answer<'p>> {
    let mut answers = Vec::new();
    for (number, node) in plan.nodes.iter().enumerate() {
        for (message, edge) in plan.messages(node) {
            if node.sender == Side::Server {
                let types = message.entries.iter();
                answers.push(Answer {
                    name: message.name.text(),
                    node: number,
                    next: edge.next,
                    types: types
                        .map(|entry| entry.ty.substitute(&node.arguments))
                        .collect(),
                });
            }
        }
    }
    answers
}

/// The names of messages that may replace one, wherever it is sent, with their arguments.
fn swaps(program: &Program, answers: &[Answer<'_>], name: &str) -> Vec<String> {
    let own: Vec<&Answer<'_>> = answers
        .iter()
        .filter(|answer| answer.name == name)
        .collect();
    let fits = |other: &Answer<'_>| {
        let has_values = other.types.iter().all(|ty| has_default(program, ty));
        other.name != name
            && has_values
            && own.len() == 1
            && other.node == own[0].node
            && other.next == own[0].next
    };
    let others = answers.iter().filter(|other| fits(other));
    let calls = others.map(|other| {
        let values = vec!["Default::default()"; other.types.len()];
        format!("{}({})", other.name, values.join(", "))
    });
    calls.collect()
}

/// Every place where the server answers is one where it may close, hang, or answer something else.
pub fn change_answers(
    program: &Program,
    plan: &Plan<'_>,
    source: &Source<'_>,
    changes: &mut Vec<Change>,
) {
    let answers = answers(plan);
    let mut names: Vec<&str> = answers.iter().map(|answer| answer.name).collect();
    names.sort_unstable();
    names.dedup();
    let text = source.text;
    for name in names {
        let types = answers
            .iter()
            .find(|answer| answer.name == name)
            .map(|answer| &answer.types);
        for (dot, call) in text.match_indices(&format!(".{name}(")) {
            let open = dot + call.len() - 1;
            let end = source.closing(open);
            let before = text[..dot].char_indices().rev();
            let receiver = before
                .take_while(|(_, letter)| letter.is_alphanumeric() || *letter == '_')
                .last();
            let Some((start, _)) = receiver.filter(|_| text[end..].starts_with('?')) else {
                continue;
            };
            let range = start..end + 1;
            let whole = &text[range.clone()];
            let mut add = |what: &str, new: String| {
                let (name, range) = (format!("{}: {what}", source.line(start)), range.clone());
                changes.push(Change { name, range, new });
            };
            add(
                &format!("closes before {name}"),
                format!("{{ crate::close()?; {whole} }}"),
            );
            add(
                &format!("hangs before {name}"),
                format!("{{ crate::hang(); {whole} }}"),
            );
            let arguments = source.arguments(open);
            let receiver = &text[start..dot];
            for other in swaps(program, &answers, name) {
                let values: String = arguments
                    .iter()
                    .map(|range| text[range.clone()].to_owned() + ",")
                    .collect();
                let new = format!("{{ let _ = ({values}); {receiver}.{other}? }}");
                add(&format!("{other} instead of {name}"), new);
            }
            for (argument, ty) in arguments.into_iter().zip(types.into_iter().flatten()) {
                if !matches!(ty, Type::Tuple(_)) && has_default(program, ty) {
                    let value = text[argument.clone()].trim();
                    let new = [
                        &text[start..argument.start],
                        "crate::wrong(",
                        value,
                        ")",
                        &text[argument.end..=end],
                    ]
                    .concat();
                    add(&format!("a wrong value {value}"), new);
                }
            }
        }
    }
}

/// Operators, literals and statements.
pub fn change_code(source: &Source<'_>, changes: &mut Vec<Change>) {
    let text = source.text;
    let mut add = |what: String, range: Range<usize>, new: String| {
        let name = format!("{}: {what}", source.line(range.start));
        changes.push(Change { name, range, new });
    };
    for (old, new) in OTHERS {
        for (at, _) in text
            .match_indices(old)
            .filter(|(at, _)| source.is_code(*at))
        {
            add(
                format!("{} instead of {}", new.trim(), old.trim()),
                at..at + old.len(),
                new.to_owned(),
            );
        }
    }
    for literal in &source.literals {
        let shown = &text[literal.start + 1..literal.end - 1];
        if !source.is_kept(literal.start) && !PRINTED.contains(&shown) {
            add(
                format!("another text than {shown}"),
                literal.end - 1..literal.end,
                "x\"".to_owned(),
            );
        }
    }
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let mut at = 0;
    while let Some(start) = text[at..].find(is_word).map(|found| at + found) {
        let end = text[start..]
            .find(|letter| !is_word(letter))
            .map_or(text.len(), |found| start + found);
        at = end;
        let word = text[start..end].replace('_', "");
        let new = match word.parse::<u64>() {
            Ok(number) => (number ^ 1).to_string(),
            Err(_) if word == "0.0" => "1.5".to_owned(),
            Err(_) => continue,
        };
        if source.is_code(start) {
            add(format!("{new} instead of {word}"), start..end, new);
        }
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let statement = line.trim();
        let is_change = [" += ", " -= ", ".push_back("]
            .iter()
            .any(|part| statement.contains(part));
        if statement.ends_with(';') && (is_change || statement.starts_with("last = ")) {
            add(
                format!("without {statement}"),
                start..start + line.len(),
                String::new(),
            );
        }
        start += line.len();
    }
}
