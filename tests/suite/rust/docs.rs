//! Documentation in generated Rust: nothing in it is a test.

use super::{generate, rustc, scratch, tool};
use crate::support::choices::Choices;
use crate::support::rust::Edition;
use crate::support::succeed;
use crate::support::texts::compile_text;
use duologue::languages::{self, Options, Target};
use pulldown_cmark::{CodeBlockKind, Event, Options as Markdown, Parser, Tag};
use std::fs;

/// Parts of which lists, quotes, code and what looks like them are made.
const PIECES: &[&str] = &[
    "- ", "* ", "1. ", "10) ", "> ", ">", "-", "*", "    ", "  ", " ", "\t", "```", "~~~~",
    "```rust", "`", "code", "[^1]: ", "<b>", "</b>", "**", "# ", "\\",
];

/// The documentation that a test of documentation sees.
fn seen(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let lines = lines.filter_map(|line| line.strip_prefix("///").or(line.strip_prefix("//!")));
    lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n")
        .collect()
}

#[test]
fn code_in_random_documentation_is_marked_as_text() {
    let mut choices = Choices::new(45);
    let mut code = 0;
    for _ in 0..400 {
        let mut docs = String::new();
        for _ in 0..=choices.below(9) {
            docs += "/// ";
            for _ in 0..choices.below(5) {
                docs += choices.one_of(PIECES);
            }
            docs += "\n";
        }
        let text = format!("{docs}struct a {{ x: u8 }}\nproto! p {{ s:send {{ m(a) -> ! }} }}\n");
        let compilation = compile_text(&text);
        let checked = compilation
            .checked
            .unwrap_or_else(|| panic!("{:?}", compilation.diagnostics));
        for file in languages::generate(&checked, Target::Rust, &Options::default()).files {
            let seen = seen(&file.text);
            for event in Parser::new_ext(&seen, Markdown::all()) {
                if let Event::Start(Tag::CodeBlock(kind)) = event {
                    code += 1;
                    let is_text = matches!(&kind, CodeBlockKind::Fenced(word) if &**word == "text");
                    assert!(is_text, "{kind:?} in\n{seen}\nfrom\n{docs}");
                }
            }
        }
    }
    assert!(code > 20, "only {code} blocks were seen");
}

const LISTS: &str = "/// Lists and quotes with code in them.
///
/// -               panic!()
///
/// \t- item
///
/// 1. one
///
///        nested
///
/// > ```
/// > panic!()
/// > ```
struct a { x: u8 }
/// ```
/// panic!()
/// ```
proto! p { s:send { m(a) -> ! } }
";

#[test]
fn rustdoc_finds_no_test() {
    let folder = scratch("doctests");
    let path = folder.join("lists.proto");
    fs::write(&path, LISTS).expect("the target folder can be written");
    generate(&[path], &Options::default(), &folder.join("tree"));
    let text = format!("include!(\"{}/tree/mod.rs\");\n", folder.display());
    fs::write(folder.join("program.rs"), text).expect("it can be written");
    let mut rustdoc = tool("rustdoc", "rustup toolchain install stable");
    rustdoc.args(rustc(Edition::E2024).get_args());
    rustdoc.args(["--test", "--test-args", "--list"]);
    rustdoc.arg(folder.join("program.rs"));
    let said = succeed(&mut rustdoc).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(said.contains("0 tests, 0 benchmarks"), "{said}");
}
