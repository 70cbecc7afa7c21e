//! Declarations in generated C.

use super::{Declared, check};
use duologue::target::{OutputFile, Target};

const PROGRAM: &str = "the global scope of the C program";
const MACROS: &str = "the macros of the C program";
const TABLES: &str = "the tables of one source";
const FILES: &str = "the folder of generated files";

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// An identifier, or another character.
    Word(String),
    /// What is in parentheses, brackets or braces.
    Group(char, Vec<Token>),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(own) if own == word)
    }

    fn is_group(&self, bracket: char) -> bool {
        matches!(self, Token::Group(own, _) if *own == bracket)
    }
}

/// The text without comments, and without what only C++ sees.
fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = after.split_once("*/").expect("a comment ends").1;
    }
    plain.push_str(rest);
    let cpp = "#ifdef __cplusplus";
    let mut text = String::new();
    let mut parts = plain.split(cpp);
    text.push_str(parts.next().expect("a split has a first part"));
    for part in parts {
        text.push_str(part.split_once("#endif").expect("it ends").1);
    }
    text
}

fn tokens(text: &mut std::iter::Peekable<std::str::Chars>) -> Vec<Token> {
    let mut found = Vec::new();
    while let Some(next) = text.next() {
        match next {
            '(' | '[' | '{' => found.push(Token::Group(next, tokens(text))),
            ')' | ']' | '}' => return found,
            '"' => while text.next().is_some_and(|next| next != '"') {},
            _ if next.is_whitespace() => {}
            _ if next.is_alphanumeric() || next == '_' => {
                let mut word = String::from(next);
                while let Some(next) = text.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                found.push(Token::Word(word));
            }
            _ => found.push(Token::Word(next.into())),
        }
    }
    found
}

/// The last identifier of some tokens.
fn last_word(tokens: &[Token]) -> Option<&str> {
    tokens.iter().rev().find_map(|token| match token {
        Token::Word(word)
            if word.starts_with(|first: char| first.is_alphabetic() || first == '_') =>
        {
            Some(word.as_str())
        }
        Token::Word(_) | Token::Group(..) => None,
    })
}

/// What a statement outside of all functions declares.
fn declared_by(statement: &[Token], found: &mut Vec<String>) {
    for (at, token) in statement.iter().enumerate() {
        let (Token::Word(kind), true) = (token, at + 1 < statement.len()) else {
            continue;
        };
        if !["struct", "union", "enum"].contains(&kind.as_str()) {
            continue;
        }
        let body = statement[at + 1..]
            .iter()
            .take(2)
            .position(|token| token.is_group('{'));
        let Some(body) = body else { continue };
        found.extend(last_word(&statement[at + 1..at + 1 + body]).map(str::to_owned));
        if let (true, Token::Group(_, inner)) = (kind == "enum", &statement[at + 1 + body]) {
            for constant in inner.split(|token| token.is(",")) {
                if let Some(Token::Word(name)) = constant.first() {
                    found.push(name.clone());
                }
            }
        }
    }
    if statement.first().is_some_and(|first| first.is("typedef")) {
        found.extend(last_word(statement).map(str::to_owned));
        return;
    }
    if let [Token::Word(name), Token::Group('(', arguments)] = statement {
        // Both are macros of the runtime.
        match name.as_str() {
            "DUO_SHAPE" | "DUO_SHAPE_OF" => {
                let shape = last_word(&arguments[..1]).expect("its first argument is a name");
                for ending in ["per_line", "pitch", "fills", "lines", "ready", "shape"] {
                    found.push(format!("{shape}_{ending}"));
                }
            }
            "DUO_MADE_BY" => {}
            _ => panic!("{name}: an unknown macro"),
        }
        return;
    }
    let end = |token: &Token| token.is("=") || token.is_group('(') || token.is_group('[');
    let end = statement.iter().position(end).unwrap_or(statement.len());
    if !statement[..end].iter().any(|token| token.is_group('{')) {
        found.extend(last_word(&statement[..end]).map(str::to_owned));
    }
}

/// Everything that a file declares.
fn declared(file: &OutputFile) -> Vec<Declared> {
    let text = without_comments(&file.text).replace("\\\n", " ");
    let (mut code, mut found) = (String::new(), Vec::new());
    for line in text.lines() {
        let Some(directive) = line.strip_prefix('#') else {
            code.push_str(line);
            code.push('\n');
            continue;
        };
        if let Some(name) = directive.strip_prefix("define ") {
            let name = name.split_whitespace().next().expect("a macro has a name");
            found.push(match name.strip_prefix("DUO_HAS_") {
                // The struct of that name comes directly after it.
                Some(of) => (PROGRAM.to_owned(), of.to_owned()),
                None if name.starts_with("DUO_") => (MACROS.to_owned(), name.to_owned()),
                None => (PROGRAM.to_owned(), name.to_owned()),
            });
        }
    }
    let (mut names, mut statement) = (Vec::new(), Vec::new());
    // Both are macros of the runtime, for what only some compilers see.
    let code = code.replace("DUO_C_BEGINS", "").replace("DUO_C_ENDS", "");
    for token in tokens(&mut code.chars().peekable()) {
        if token.is(";") {
            declared_by(&statement, &mut names);
            statement.clear();
            continue;
        }
        let is_body = token.is_group('{') && statement.iter().any(|token| token.is_group('('));
        statement.push(token);
        if is_body {
            declared_by(&statement, &mut names);
            statement.clear();
        }
    }
    assert_eq!(statement, [], "{}: a statement does not end", file.path);
    found.extend(names.into_iter().map(|name| {
        let place = match name.starts_with("duo_said_") {
            true => TABLES,
            false => PROGRAM,
        };
        (place.to_owned(), name)
    }));
    if file.path.ends_with(".h") {
        found.push((FILES.to_owned(), file.path.clone()));
    }
    found
}

#[test]
fn what_c_declares_is_listed() {
    check(Target::C, declared);
}

#[test]
fn declarations_are_found() {
    let text = "#ifndef A_H\n#define DUO_A_H\n#define A_FINGERPRINT \\\n    {1}\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\
        /* int no; */ enum { CAPACITY = 1 };\ntypedef enum tag { ONE = 1, TWO, } tag_t;\n\
        typedef struct s { int x; union { int y; } as; } s_t;\nunion u { void *p; };\n\
        extern const duo_type table;\nstatic const duo_field rows[] = {\n {&a, 1},\n};\n\
        MUST static inline int f(int x)\n{\n    int local = 1; g(x);\n}\nDUO_SHAPE(shape, 1);\nDUO_MADE_BY(0, 1);\n\
        typedef handle host;\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
    let file = OutputFile {
        path: "a.c".to_owned(),
        text: text.to_owned(),
    };
    let names: Vec<String> = declared(&file).into_iter().map(|(_, name)| name).collect();
    let expected = "DUO_A_H A_FINGERPRINT CAPACITY tag ONE TWO tag_t s s_t u table rows f shape_per_line shape_pitch shape_fills \
        shape_lines shape_ready shape_shape host";
    assert_eq!(names.join(" "), expected);
}
