//! Parses text into a syntax tree, and explains what does not parse in the language's own terms.

mod ascii;
pub mod ast;
// Most kinds of nodes cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
mod build;
mod declared;
mod decode;
mod failure;
// Most kinds of nodes cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
mod foreign;
// Most kinds of nodes cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
pub mod format;
mod measure;
// Most kinds of nodes cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
pub(crate) mod mistakes;
// Most kinds of nodes cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
mod problems;
mod protocol_buffers;

pub use decode::decode;
pub use protocol_buffers::is_protocol_buffers;

use crate::diagnostic::Diagnostic;
use crate::protocol::limits;
use crate::source::{SourceId, Span};
use build::Builder;
use duologue_grammar::Tree;
use foreign::faults;
use problems::problems;

/// The tree of a text, unless it is too large.
fn read(source: SourceId, text: &str) -> Result<Tree<'_>, Vec<Diagnostic>> {
    if text.len() <= limits::FILE_SIZE {
        return Ok(Tree::of(text));
    }
    let here = Span::new(source, 0, 0);
    let error = Diagnostic::syntax(here, "this file is larger than 64 MiB");
    Err(vec![error.help("split it, and import the parts")])
}

/// Parses a text. An error in a message, a state or an item hides nothing in another. The tree holds everything that could be
/// parsed. Linear in the length of the text; never recurses deeper than 64 nested types.
#[must_use]
pub fn parse(source: SourceId, text: &str) -> (ast::File, Vec<Diagnostic>) {
    match read(source, text) {
        Ok(tree) => parse_tree(source, &tree),
        Err(errors) => (ast::File::default(), errors),
    }
}

/// What a text with this tree declares, and what is wrong with it.
fn parse_tree(source: SourceId, tree: &Tree<'_>) -> (ast::File, Vec<Diagnostic>) {
    let faults = faults(tree);
    let problems = problems(source, tree, &faults);
    let mut builder = Builder::new(source, tree, &faults, problems);
    builder.file();
    builder.finish()
}
