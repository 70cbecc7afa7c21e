//! Declarations in generated Scala.

use super::{Declared, check, check_with, options, shown};
use duologue::target::{OutputFile, ScalaVersion, Target};

/// The text without comments and without what is in quotes.
fn without_comments(text: &str) -> String {
    let (mut plain, mut depth) = (String::new(), 0);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match (letter, next) {
            ('/', Some('*')) => {
                depth += 1;
                letters.next();
            }
            ('*', Some('/')) if depth > 0 => {
                depth -= 1;
                letters.next();
            }
            _ if depth > 0 => {}
            ('/', Some('/')) => while letters.next().is_some_and(|letter| letter != '\n') {},
            ('"', _) => while letters.next().is_some_and(|letter| letter != '"') {},
            _ => plain.push(letter),
        }
    }
    plain
}

fn words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut letters = text.chars().peekable();
    let is_inner = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    while let Some(letter) = letters.next() {
        if letter == '`' {
            let name: String = letters
                .by_ref()
                .take_while(|letter| *letter != '`')
                .collect();
            found.push(format!("`{name}`"));
        } else if is_inner(&letter) {
            let mut word = String::from(letter);
            while let Some(letter) = letters.next_if(is_inner) {
                word.push(letter);
            }
            found.push(word);
        } else if !letter.is_whitespace() {
            found.push(letter.into());
        }
    }
    found
}

/// Collects what the object, class or trait at `path` declares, up to its end. Other bodies are skipped.
fn members(words: &mut std::slice::Iter<String>, path: &str, found: &mut Vec<Declared>) {
    let place = |path: &str| format!("`{path}`");
    let mut before = "";
    // What was declared last, if its body may follow.
    let mut open: Option<String> = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "}" => return,
            "{" => match open.take() {
                Some(name) => members(words, &format!("{path}.{name}"), found),
                None => pass_over(words),
            },
            "case" if matches!(words.as_slice(), [next, ..] if next != "class" && next != "object") =>
            {
                let name = words.next().expect("it has a name");
                found.push((place(path), name.clone()));
                open = None;
                parameters(words, &place(&format!("{path}.{name}")), found);
            }
            "object" | "class" | "trait" | "enum" if before != "." => {
                let name = words.next().expect("it has a name");
                found.push((place(path), name.clone()));
                open = Some(name.clone());
                if word == "class" || word == "enum" {
                    parameters(words, &place(&format!("{path}.{name}")), found);
                }
            }
            "def" | "val" => {
                let name = words.next().expect("it has a name");
                found.push((place(path), name.clone()));
                open = None;
            }
            "type" if before != "." => {
                let name = words.next().expect("it has a name");
                found.push((place(path), name.clone()));
                open = None;
            }
            _ => {}
        }
        before = word;
    }
}

fn pass_over(words: &mut std::slice::Iter<String>) {
    let mut depth = 1;
    while depth > 0 {
        match words.next().expect("a body ends").as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
    }
}

/// The fields of a class: the names before a colon in its first parentheses.
fn parameters(words: &mut std::slice::Iter<String>, place: &str, found: &mut Vec<Declared>) {
    let all = words.as_slice();
    let mut at = 0;
    let mut brackets = 0;
    // Skips type parameters, and the modifier that restricts the constructor.
    loop {
        match all.get(at).map(String::as_str) {
            Some("[") => brackets += 1,
            Some("]") => brackets -= 1,
            Some("(") if brackets == 0 => break,
            Some("extends" | "derives" | "{" | "}" | "case" | "object" | "class" | "def")
            | None => return,
            Some(_) => {}
        }
        at += 1;
    }
    let mut depth = 0;
    for index in at..all.len() {
        match all[index].as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            // The `previous` parameter of an endpoint's constructor is not a field.
            ":" if depth == 1 && all[index - 1].trim_start_matches('$') != "previous" => {
                found.push((place.to_owned(), all[index - 1].clone()));
            }
            _ => {}
        }
        if depth == 0 {
            return;
        }
    }
}

fn declared(file: &OutputFile) -> Vec<Declared> {
    let text = without_comments(&file.text);
    let (_, after) = text.split_once("package ").expect("it is in a package");
    let (package, body) = after.split_once('\n').expect("a line ends");
    let mut found = Vec::new();
    let words = words(body);
    members(&mut words.iter(), package, &mut found);
    for (place, _) in &mut found {
        if *place == format!("`{package}`") {
            *place = format!("package {place}");
        }
    }
    found
}

#[test]
fn what_scala_declares_is_listed() {
    check(Target::Scala, declared);
}

#[test]
fn what_scala_3_alone_declares_is_listed() {
    let mut options = options();
    options.scala.version = ScalaVersion::Three;
    check_with(Target::Scala, &options, declared);
}

#[test]
fn declarations_of_scala_3_are_found() {
    let text = "package p\n\nobject aTypes {\n  opaque type M <: Int = Int\n  object M {\n    def apply(value: Int): M = {\n      u8(value)\n      \
        value\n    }\n  }\n  enum E(@unused $checked: Unit) extends C[aTypes.E] {\n    case A extends aTypes.E(())\n    \
        case B(x: Int, y: Int) extends aTypes.E({ u8(x); u8(y) })\n    def $moved(m: M): E = this match {\n      case it: aTypes.E.B => it\n    \
        }\n  }\n  enum F derives CanEqual {\n    case G\n    case H(z: Int)\n  }\n}\n";
    let found = shown("aTypes.scala", text, declared);
    let expected = [
        "package `p` aTypes",
        "`p.aTypes` M",
        "`p.aTypes` M",
        "`p.aTypes.M` apply",
        "`p.aTypes` E",
        "`p.aTypes.E` $checked",
        "`p.aTypes.E` A",
        "`p.aTypes.E` B",
        "`p.aTypes.E.B` x",
        "`p.aTypes.E.B` y",
        "`p.aTypes.E` $moved",
        "`p.aTypes` F",
        "`p.aTypes.F` G",
        "`p.aTypes.F` H",
        "`p.aTypes.F.H` z",
    ];
    assert_eq!(found, expected);
}

#[test]
fn declarations_are_found() {
    let text = "// of a.proto\npackage p\n\n/** class No */\nobject a {\n  def init(): (server.S, client.S) = {\n    val start = 1\n  }\n\
        sealed trait S extends M\n  object S {\n    final case class `type`[T](b: Vector[T], next: client.S) extends a.S\n\
        case object Over extends a.S\n  }\n  object client {\n    final class S[T] private[a](previous: E) extends R[a.S.type](previous) {\n\
        def open(index: Int): a.S = index match { case 0 => val values = 1 }\n      def go(x: Int): Unit = send(this, 0, x)\n    }\n    type T = x.T\n  }\n}\n";
    let found = shown("a.scala", text, declared);
    let expected = [
        "package `p` a",
        "`p.a` init",
        "`p.a` S",
        "`p.a` S",
        "`p.a.S` `type`",
        "`p.a.S.`type`` b",
        "`p.a.S.`type`` next",
        "`p.a.S` Over",
        "`p.a` client",
        "`p.a.client` S",
        "`p.a.client.S` open",
        "`p.a.client.S` go",
        "`p.a.client` T",
    ];
    assert_eq!(found, expected);
}
