//! The tree-sitter grammar: its committed parser is what its grammar generates, and accepts what the compiler accepts.

use crate::support::choices::Choices;
use crate::support::program::{Scratch, run};
use crate::support::rust::tool;
use crate::support::{repository, succeed};
use crate::tidy::{files, relative};
use duologue::source::Sources;
use duologue::syntax::{decode, parse};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Files that only the compiler rejects, each because of a value and not because of its form, which is all that a grammar can describe.
const VALUES: &[(&str, &str)] = &[
    ("tests/fail/syntax/bound_too_large.proto", "a large number"),
    ("tests/fail/syntax/deep_type.proto", "deep nesting"),
    (
        "tests/fail/syntax/duration_beyond_all_numbers.proto",
        "a large number",
    ),
    (
        "tests/fail/syntax/duration_too_long.proto",
        "a long duration",
    ),
    ("tests/fail/syntax/limit_too_large.proto", "a large number"),
    ("tests/fail/syntax/name_too_long.proto", "a long name"),
    (
        "tests/fail/syntax/not_utf8.proto",
        "bytes that are not text",
    ),
];

/// What the compiler says about values, and about the bytes of a file, in texts with a random mistake.
const ABOUT_VALUES: &[&str] = &[
    "is longer than 100 characters",
    "does not fit in 64 bits",
    "is longer than 24 hours",
    "is written twice here",
    "ends in `\\r` alone",
];

/// How many texts with a random mistake are compared.
const MISTAKES: usize = 3000;

const QUERIES: [&str; 5] = ["highlights", "folds", "locals", "indents", "tags"];

fn grammar() -> PathBuf {
    repository().join("tools/editors/tree-sitter-duologue")
}

/// The program of `tests/editors`, built once per run of the tests.
fn program() -> &'static Path {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("editors-target");
        let mut cargo = tool("cargo", "rustup toolchain install stable");
        cargo.current_dir(repository().join("tests/editors"));
        cargo.args(["build", "--locked", "--quiet"]);
        succeed(cargo.env("CARGO_TARGET_DIR", &target))?;
        Ok(target.join("debug/duologue-editors"))
    });
    built
        .as_deref()
        .unwrap_or_else(|failure| panic!("{failure}"))
}

/// What the program prints.
fn printed(program: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut command = Command::new(program);
    command.args(arguments);
    let output = run(command, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// What the parser says about each text: `accepts`, or `rejects` and where.
fn verdicts(program: &Path, texts: &[Vec<u8>]) -> Vec<String> {
    for text in texts {
        assert!(!text.contains(&0), "the program splits its input at NUL");
    }
    let printed = printed(program, &["parse"], &texts.join(&0));
    let verdicts: Vec<String> = printed.lines().map(str::to_owned).collect();
    assert_eq!(verdicts.len(), texts.len());
    verdicts
}

/// The compiler's syntax errors. Errors of every later stage have other rules, and do not count.
fn errors(text: &[u8]) -> Vec<String> {
    let mut sources = Sources::default();
    let (source, error) = decode(&mut sources, "text", text.to_vec());
    let (_, mut found) = parse(source, sources.get(source).text());
    found.extend(error);
    let syntax = found.into_iter().filter(|found| found.rule == "syntax");
    syntax.map(|found| found.message).collect()
}

/// Every protocol file of `protocols/` and `tests/`.
fn protocols() -> Vec<PathBuf> {
    let ends = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end == "proto" || end == "duo")
    };
    let below = ["protocols", "tests"].into_iter().flat_map(files);
    let found: Vec<PathBuf> = below.filter(ends).collect();
    assert!(found.len() > 400, "only {} protocol files", found.len());
    found
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[ignore = "nightly: editors"]
fn the_committed_parser_is_the_generated_one() {
    let program = program();
    tool("node", "apt-get install nodejs");
    let scratch = Scratch::new("tree-sitter-generated");
    let folder = scratch.path("src");
    let folder = folder.to_str().expect("a UTF-8 path");
    printed(program, &["generate", folder], b"");
    let generated = scratch.files("src");
    assert!(generated.contains(&"src/parser.c".to_owned()));
    for path in generated {
        let (new, old) = (read(&scratch.path(&path)), read(&grammar().join(&path)));
        assert!(
            new == old,
            "tools/editors/tree-sitter-duologue/{path} is not what grammar.js generates: \
             cargo run --manifest-path tests/editors/Cargo.toml -- generate"
        );
    }
}

#[test]
#[ignore = "nightly: editors"]
fn the_parser_agrees_with_the_compiler_on_every_file() {
    let program = program();
    let paths = protocols();
    let texts: Vec<Vec<u8>> = paths.iter().map(|path| read(path)).collect();
    let mut differ = Vec::new();
    let mut rejected = 0;
    for ((path, text), verdict) in paths.iter().zip(&texts).zip(verdicts(program, &texts)) {
        let (path, errors) = (relative(path), errors(text));
        rejected += usize::from(!errors.is_empty());
        let agrees = errors.is_empty() == (verdict == "accepts");
        let is_value = VALUES.iter().any(|(value, _)| *value == path);
        if agrees == is_value {
            differ.push(format!(
                "{path}: the parser {verdict}, the compiler reports {errors:?}"
            ));
        }
    }
    assert!(rejected > 150, "only {rejected} files have syntax errors");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// A text with one mistake: without one of its words or signs, with one twice, or with two exchanged.
fn with_mistake(text: &[u8], choices: &mut Choices) -> Vec<u8> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut tokens = vec![0];
    for at in 1..text.len() {
        if !is_word(text[at]) || !is_word(text[at - 1]) {
            tokens.push(at);
        }
    }
    tokens.push(text.len());
    let (first, second) = (
        choices.below(tokens.len() - 1),
        choices.below(tokens.len() - 1),
    );
    let token = |index: usize| &text[tokens[index]..tokens[index + 1]];
    let (before, after) = (&text[..tokens[first]], &text[tokens[first + 1]..]);
    match choices.below(3) {
        0 => [before, after].concat(),
        1 => [before, token(first), token(first), after].concat(),
        _ => [before, token(second), after].concat(),
    }
}

#[test]
#[ignore = "nightly: editors"]
fn the_parser_agrees_with_the_compiler_on_random_mistakes() {
    let program = program();
    let short = |text: &Vec<u8>| text.len() < 4000 && std::str::from_utf8(text).is_ok();
    let texts = protocols().into_iter().map(|path| read(&path));
    let texts: Vec<Vec<u8>> = texts
        .filter(short)
        .filter(|text| errors(text).is_empty())
        .collect();
    let mut choices = Choices::new(2012);
    let wrong: Vec<Vec<u8>> = (0..MISTAKES)
        .map(|_| with_mistake(&texts[choices.below(texts.len())], &mut choices))
        .filter(|text| std::str::from_utf8(text).is_ok())
        .collect();
    let mut differ = Vec::new();
    let mut rejected = 0;
    for (text, verdict) in wrong.iter().zip(verdicts(program, &wrong)) {
        let mut errors = errors(text);
        let is_value = |error: &String| ABOUT_VALUES.iter().any(|words| error.contains(words));
        errors.retain(|error| !is_value(error));
        rejected += usize::from(!errors.is_empty());
        if errors.is_empty() != (verdict == "accepts") {
            let text = String::from_utf8_lossy(text);
            differ.push(format!(
                "the parser {verdict}, the compiler reports {errors:?}:\n{text}"
            ));
        }
    }
    let (few, many) = (MISTAKES / 4, MISTAKES / 4 * 3);
    assert!((few..many).contains(&rejected), "{rejected} are rejected");
    assert!(
        differ.is_empty(),
        "{} differ\n{}",
        differ.len(),
        differ.join("\n")
    );
}

/// One text in which every keyword of the grammar occurs as a keyword.
const EVERY_KEYWORD: &str = r#"package a.b;
import "other.duo";
type money = f64;
struct item { name: str }
enum answer { sold, later(u16) }
extern type ticket: clone;
extern type buffer { rust = "B"; c = "b *" from "b.h" drop "free"; scala = "B"; }
extern bound printable;
#[accepts(server, 5587fde1ea262a7f6f78ddc9dc6d1f83)]
#[accepts(client, 8e230bb0e9dc958ef3c095e37c42a4f8)]
#[allow(all)] #[warn(never-ends)] #[deny(missing-docs)] #[dual_of(other)] #[at_most(64 B)]
proto! shop {
    #[at_most(1 KiB)] #[within(5ms)]
    open:send { buy(item, shop::client::open) -> told }
    #[at_most(1 MiB)] #[within(5s)]
    told:recv { told(answer, shop::server::open) -> open, over -> ! }
    #[within(5min)]
    rest:send { rest -> late }
    #[within(1h)]
    late:recv { late -> ! }
}
"#;

/// The texts that a query captures, by the name of the capture.
fn captured(program: &Path, query: &str, text: &str) -> BTreeSet<(String, String)> {
    let query = grammar().join(format!("queries/{query}.scm"));
    let printed = printed(
        program,
        &["query", query.to_str().expect("UTF-8")],
        text.as_bytes(),
    );
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ').skip(1).map(str::to_owned);
        Some((words.next()?, words.next()?))
    };
    printed.lines().filter_map(line).collect()
}

/// The words in the grammar that are in quotes and consist of letters.
fn keywords() -> BTreeSet<String> {
    let text = fs::read_to_string(grammar().join("grammar.js")).expect("the grammar is there");
    let (_, rules) = text.split_once("rules: {").expect("the grammar has rules");
    let code = rules
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let quoted = code.flat_map(|line| line.split('\'').skip(1).step_by(2));
    // The names of fields are in quotes too.
    let fields: BTreeSet<String> = rules
        .split("field('")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned()))
        .collect();
    let is_word = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    let words = quoted.filter(is_word).map(str::to_owned);
    words
        .filter(|word| !fields.contains(word) || ["type", "drop"].contains(&word.as_str()))
        .collect()
}

#[test]
#[ignore = "nightly: editors"]
fn every_keyword_is_colored_and_no_name_is() {
    let program = program();
    assert_eq!(errors(EVERY_KEYWORD.as_bytes()), Vec::<String>::new());
    let colored = captured(program, "highlights", EVERY_KEYWORD);
    let keywords = keywords();
    assert!(keywords.len() > 25, "{keywords:?}");
    for word in &keywords {
        let is_colored = |(name, text): &(String, String)| {
            text == word && (name.starts_with("keyword") || name == "attribute")
        };
        assert!(colored.iter().any(is_colored), "`{word}` is no keyword");
    }
    // Every keyword is contextual: as the name of anything, it is a name.
    for word in &keywords {
        let text = format!(
            "type {word} = u8;\nproto! {word} {{\n{word}:send<T: {word}> {{ {word}({word}: {word}) -> {word}<T> }}\n}}\n"
        );
        assert_eq!(errors(text.as_bytes()), Vec::<String>::new(), "{text}");
        assert_eq!(verdicts(program, &[text.clone().into_bytes()]), ["accepts"]);
        let uses = captured(program, "highlights", &text);
        for name in ["type", "label", "function", "property"] {
            let found = uses.contains(&(name.to_owned(), word.clone()));
            assert!(found, "`{word}` as a name is no {name}");
        }
        let is_keyword = uses.contains(&("keyword".to_owned(), word.clone()));
        let own = ["type", "proto", "send"].contains(&word.as_str());
        assert!(!is_keyword || own, "`{word}` as a name is a keyword");
    }
}

/// Every query can be used, and finds something in the examples. Nothing in a correct file is marked as an error.
#[test]
#[ignore = "nightly: editors"]
fn every_query_works() {
    let program = program();
    let examples = files("protocols").into_iter();
    let texts: Vec<String> = examples
        .map(|path| fs::read_to_string(path).expect("UTF-8"))
        .collect();
    let text = texts.join("\n");
    for query in QUERIES {
        let captured = captured(program, query, EVERY_KEYWORD);
        assert!(captured.len() > 10, "{query} captures {captured:?}");
        let is_error = |(name, _): &(String, String)| name == "error";
        assert!(!captured.iter().any(is_error));
    }
    let names: BTreeSet<String> = captured(program, "highlights", &text)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for name in [
        "comment.documentation",
        "type.builtin",
        "label",
        "function",
        "constructor",
    ] {
        assert!(names.contains(name), "no example has a {name}");
    }
    let tags = captured(program, "tags", EVERY_KEYWORD);
    for name in [
        "money",
        "item",
        "answer",
        "ticket",
        "printable",
        "shop",
        "open",
        "buy",
    ] {
        let found = tags.contains(&("name".to_owned(), name.to_owned()));
        assert!(found, "no tag for {name}");
    }
}

/// After a mistake the rest of the file is still understood: the protocols that the compiler finds are found.
#[test]
#[ignore = "nightly: editors"]
fn a_mistake_hides_nothing_after_it() {
    let program = program();
    let text = "proto! first { a:send { x -> } }\nproto! second { b:send { y -> ! } }\n\
                struct third { c u8 }\nproto! fourth { d:send { z -> ! } }\n";
    assert!(errors(text.as_bytes()).len() >= 2);
    let tags = captured(program, "tags", text);
    for name in ["first", "second", "fourth", "d", "z"] {
        let found = tags.contains(&("name".to_owned(), name.to_owned()));
        assert!(found, "no tag for {name}: {tags:?}");
    }
}

/// Zed has its own names for some queries. They fit the grammar, and its colors are those of the grammar.
#[test]
#[ignore = "nightly: editors"]
fn the_queries_for_zed_fit_the_grammar() {
    let program = program();
    let folder = repository().join("tools/editors/zed/languages/duologue");
    for name in ["highlights", "indents", "brackets", "outline"] {
        let query = folder.join(format!("{name}.scm"));
        let query = query.to_str().expect("a UTF-8 path");
        let found = printed(program, &["query", query], EVERY_KEYWORD.as_bytes());
        assert!(found.lines().count() > 10, "{name}: {found}");
    }
    let own = read(&grammar().join("queries/highlights.scm"));
    assert!(
        read(&folder.join("highlights.scm")) == own,
        "highlights.scm differs"
    );
}
