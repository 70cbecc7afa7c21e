//! Rules that change the text of an example server in Rust, one place at a time.

use super::source::Source;
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
pub struct Answer<'p> {
    pub name: &'p str,
    pub node: usize,
    pub next: Option<usize>,
    pub types: Vec<Type>,
}

/// All messages of the server, once for each state in which it sends them.
pub fn answers<'p>(plan: &'p Plan<'_>) -> Vec<Answer<'p>> {
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
