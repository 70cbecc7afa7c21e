//! The tree-sitter grammar of `tools/editors/` as a program: generates its parser, and parses texts with the parser that is committed.

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use tree_sitter::{Language, Node, Parser, Query, QueryCursor, StreamingIterator};
use tree_sitter_generate::{OptLevel, generate_parser_in_directory};

/// The oldest version of the format of parsers that the generator writes. All editors that use tree-sitter can read it.
const FORMAT: usize = 14;

const USAGE: &str = "usage: duologue-editors COMMAND
  generate [DIR]  write the parser to DIR, instead of next to its grammar
  parse           for each of the texts on standard input, which NUL bytes separate: whether the parser accepts it
  tree            the syntax tree of the text on standard input
  query FILE      what this query captures in the text on standard input";

unsafe extern "C" {
    fn tree_sitter_duologue() -> *const ();
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["generate"] => generate(&folder().join("src")),
        ["generate", into] => generate(Path::new(into)),
        ["parse"] => {
            let mut parser = parser()?;
            for text in input()?.split(|byte| *byte == 0) {
                println!("{}", verdict(&mut parser, text)?);
            }
            Ok(())
        }
        ["tree"] => {
            let tree = parser()?.parse(input()?, None).ok_or("no tree")?;
            println!("{}", tree.root_node());
            Ok(())
        }
        ["query", file] => captures(&std::fs::read_to_string(file)?, &input()?),
        _ => Err(USAGE.into()),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/editors/tree-sitter-duologue")
}

fn generate(into: &Path) -> Result<(), Box<dyn Error>> {
    generate_parser_in_directory(
        folder(),
        Some(into),
        None::<PathBuf>,
        FORMAT,
        None,
        None,
        true,
        OptLevel::default(),
    )?;
    Ok(())
}

fn language() -> Language {
    // SAFETY: the function is the parser's, which the generator of the same release as the library has written.
    unsafe { tree_sitter_language::LanguageFn::from_raw(tree_sitter_duologue) }.into()
}

fn parser() -> Result<Parser, Box<dyn Error>> {
    let mut parser = Parser::new();
    parser.set_language(&language())?;
    Ok(parser)
}

fn input() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    Ok(input)
}

/// `accepts`, or `rejects` with the first position that the tree has an error at.
fn verdict(parser: &mut Parser, text: &[u8]) -> Result<String, Box<dyn Error>> {
    let tree = parser.parse(text, None).ok_or("no tree")?;
    Ok(match first_error(tree.root_node()) {
        None => "accepts".to_owned(),
        Some(node) => {
            let at = node.start_position();
            format!("rejects {}:{}", at.row + 1, at.column + 1)
        }
    })
}

fn first_error(root: Node<'_>) -> Option<Node<'_>> {
    let mut node = root.has_error().then_some(root)?;
    loop {
        if node.is_error() || node.is_missing() {
            return Some(node);
        }
        let mut cursor = node.walk();
        let inner = node.children(&mut cursor).find(Node::has_error);
        match inner {
            Some(child) => node = child,
            None => return Some(node),
        }
    }
}

/// Prints each capture as `line:column-line:column name text`, in the order of the text.
fn captures(query: &str, text: &[u8]) -> Result<(), Box<dyn Error>> {
    let query = Query::new(&language(), query)?;
    let tree = parser()?.parse(text, None).ok_or("no tree")?;
    let mut cursor = QueryCursor::new();
    let mut found = cursor.captures(&query, tree.root_node(), text);
    while let Some((found, index)) = found.next() {
        let capture = found.captures[*index];
        let (node, name) = (capture.node, query.capture_names()[capture.index as usize]);
        let (from, to) = (node.start_position(), node.end_position());
        let text = String::from_utf8_lossy(&text[node.byte_range()]);
        let first = text.lines().next().unwrap_or_default();
        println!(
            "{}:{}-{}:{} {name} {first}",
            from.row + 1,
            from.column + 1,
            to.row + 1,
            to.column + 1
        );
    }
    Ok(())
}
