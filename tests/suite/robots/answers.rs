//! Every place where a server in C or Scala answers is one where it may close, hang, or answer something else.

use super::mutations::{Answer, answers};
use super::wraps::Wraps;
use duologue::protocol::{Builtin, Definition, Program, Type};
use duologue::robots::Plan;

/// A type as the rules see it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Number,
    Text,
    Bytes,
    List,
    Option,
    /// Rules do not change values of other types.
    Other,
}

fn kind(program: &Program, ty: &Type) -> Kind {
    match ty {
        Type::Builtin(Builtin::Bool) => Kind::Bool,
        Type::Builtin(Builtin::Str) => Kind::Text,
        Type::Builtin(Builtin::Bytes) => Kind::Bytes,
        Type::Builtin(_) => Kind::Number,
        Type::List(_) => Kind::List,
        Type::Option(_) => Kind::Option,
        Type::Named(id) => match &program.ty(*id).definition {
            Definition::Alias(target) => kind(program, target),
            Definition::Struct(_)
            | Definition::Enum(_)
            | Definition::Extern(..)
            | Definition::Undeclared => Kind::Other,
        },
        Type::Tuple(_) | Type::Parameter(_) | Type::Endpoint(_) | Type::Error => Kind::Other,
    }
}

/// A value of a type in C.
fn c_value(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Bool => Some("false"),
        Kind::Number => Some("0"),
        Kind::Text => Some("DUO_STR(\"\")"),
        Kind::Bytes => Some("((duo_bytes){NULL, 0})"),
        Kind::List | Kind::Option | Kind::Other => None,
    }
}

/// A value of a type in Scala.
fn scala_value(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Bool => Some("false"),
        Kind::Number => Some("0"),
        Kind::Text => Some("\"\""),
        Kind::Bytes => Some("duologue.Bytes()"),
        Kind::List => Some("Vector()"),
        Kind::Option => Some("None"),
        Kind::Other => None,
    }
}

/// The messages of a server.
struct Answers<'p> {
    program: &'p Program,
    all: Vec<Answer<'p>>,
}

impl<'p> Answers<'p> {
    fn new(program: &'p Program, plan: &'p Plan<'_>) -> Answers<'p> {
        let all = answers(plan);
        Answers { program, all }
    }

    /// Each name once.
    fn names(&self) -> Vec<&'p str> {
        let mut names: Vec<&str> = self.all.iter().map(|answer| answer.name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn named(&self, name: &str) -> Vec<&Answer<'p>> {
        let own = self.all.iter().filter(|answer| answer.name == name);
        own.collect()
    }

    /// What a message has, if it is the same wherever it is sent.
    fn kinds(&self, name: &str) -> Vec<Kind> {
        let kinds = |answer: &Answer<'_>| -> Vec<Kind> {
            let types = answer.types.iter();
            types.map(|ty| kind(self.program, ty)).collect()
        };
        let mut all: Vec<Vec<Kind>> = self.named(name).into_iter().map(kinds).collect();
        all.dedup();
        if all.len() == 1 {
            all.remove(0)
        } else {
            Vec::new()
        }
    }

    /// The messages that may replace one, with values, and whether the session then ends; none if it is sent in several states.
    fn others(
        &self,
        name: &str,
        value: fn(Kind) -> Option<&'static str>,
    ) -> Vec<(&'p str, Vec<&'static str>, bool)> {
        let own = self.named(name);
        let [own] = own[..] else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for other in &self.all {
            let may_be = other.next == own.next || other.next.is_none();
            if other.name == name || other.node != own.node || !may_be {
                continue;
            }
            let values = other.types.iter().map(|ty| value(kind(self.program, ty)));
            if let Some(values) = values.collect() {
                let ends_early = other.next.is_none() && own.next.is_some();
                found.push((other.name, values, ends_early));
            }
        }
        found
    }
}

pub fn change_c(program: &Program, plan: &Plan<'_>, wraps: &mut Wraps<'_>) {
    let answers = Answers::new(program, plan);
    let source = wraps.source;
    let text = source.text;
    for name in answers.names() {
        for (at, call) in text.match_indices(&format!("_send_{name}(")) {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let start = text[..at].trim_end_matches(is_word).len();
            let (state, open) = (&text[start..at], at + call.len() - 1);
            let range = start..source.closing(open);
            let arguments = source.arguments(open);
            let argument = |number: usize| text[arguments[number].clone()].trim();
            let endpoint = argument(0);
            let close = format!("((void){state}_close({endpoint}), DUO_CLOSED)");
            wraps.choose(&format!("closes before {name}"), range.clone(), &close);
            wraps.add(&format!("hangs before {name}"), range.clone(), |number| {
                [format!("(mutant_hangs({number}), "), ")".to_owned()]
            });
            for (other, values, ends_early) in answers.others(name, c_value) {
                let mut all = vec![endpoint];
                all.extend(values);
                let ends = answers.named(other)[0].next.is_none();
                if !ends {
                    all.push(argument(arguments.len() - 1));
                }
                let send = format!("{state}_send_{other}({})", all.join(", "));
                let new = if ends_early {
                    format!("((void){send}, DUO_CLOSED)")
                } else {
                    send
                };
                wraps.choose(&format!("{other} instead of {name}"), range.clone(), &new);
            }
            for (range, kind) in arguments[1..].iter().zip(answers.kinds(name)) {
                let value = text[range.clone()].trim();
                let what = format!("a wrong value {value}");
                let start = range.start + text[range.clone()].len()
                    - text[range.clone()].trim_start().len();
                let range = start..start + value.len();
                let change = match kind {
                    Kind::Bool | Kind::Number => "MUTANT_NUMBER",
                    Kind::Text | Kind::Bytes | Kind::List => "MUTANT_SHORTER",
                    Kind::Option => "MUTANT_OPTION",
                    Kind::Other => continue,
                };
                wraps.add(&what, range, |number| {
                    [format!("{change}({number}, "), ")".to_owned()]
                });
            }
        }
    }
}

/// The name of a message as a method in Scala.
fn in_scala(name: &str) -> String {
    let mut words = name.split('_');
    let mut method = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        method += &first.to_uppercase();
        method += rest;
    }
    method
}

pub fn change_scala(program: &Program, plan: &Plan<'_>, wraps: &mut Wraps<'_>) {
    let answers = Answers::new(program, plan);
    let source = wraps.source;
    let text = source.text;
    for name in answers.names() {
        for (dot, call) in text.match_indices(&format!(".{}(", in_scala(name))) {
            let open = dot + call.len() - 1;
            let start = text[..dot].trim_end_matches(char::is_alphanumeric).len();
            if start == dot || source.is_kept(dot) {
                continue;
            }
            let endpoint = &text[start..dot];
            let range = start..source.closing(open);
            for (other, values, ends_early) in answers.others(name, scala_value) {
                let method = in_scala(other);
                let send = format!("{method}({})", values.join(", "));
                let what = format!("{other} instead of {name}");
                if ends_early {
                    wraps.add(&what, start..dot, |number| {
                        [
                            format!("Mutants.ends({number}, "),
                            format!(")(_.{send}: Unit)"),
                        ]
                    });
                } else {
                    wraps.choose(&what, range.clone(), &format!("{endpoint}.{send}"));
                }
            }
            for what in ["closes", "hangs"] {
                wraps.add(&format!("{what} before {name}"), start..dot, |number| {
                    [format!("Mutants.{what}({number}, "), ")".to_owned()]
                });
            }
            let arguments = source.arguments(open);
            for (range, kind) in arguments.into_iter().zip(answers.kinds(name)) {
                let value = text[range.clone()].trim();
                if kind != Kind::Other {
                    wraps.add(&format!("a wrong value {value}"), range, |number| {
                        [format!("Mutants.wrong({number}, "), ")".to_owned()]
                    });
                }
            }
        }
    }
}
