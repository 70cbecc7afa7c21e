//! Parses text into a syntax tree, and explains what does not parse in the language's own terms.

mod ascii;
pub mod ast;
// Most kinds of nodes and tokens cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
mod build;
mod declared;
mod decode;
mod expected;
mod failure;
mod foreign;
pub mod format;
mod mistakes;
// Most kinds of nodes and tokens cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
mod outline;
// Most kinds of nodes and tokens cannot occur at a given position.
#[allow(clippy::wildcard_enum_match_arm)]
mod parser;
mod problems;
mod protocol_buffers;
mod tokens;
mod tree;

pub use decode::decode;
#[cfg(feature = "lsp")]
pub(crate) use outline::outline;
pub use protocol_buffers::is_protocol_buffers;
#[cfg(feature = "lsp")]
pub(crate) use tokens::{TokenKind, Tokens, is_doc, is_file_doc};

use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Span};
use build::Builder;

/// The largest text that is read, in bytes.
pub const SIZE_LIMIT: usize = 64 * 1024 * 1024;

/// Parses a text. An error in a message, a state or an item hides nothing in another. The tree holds everything that could be
/// parsed. Linear in the length of the text; never recurses deeper than 64 nested types.
#[must_use]
pub fn parse(source: SourceId, text: &str) -> (ast::File, Vec<Diagnostic>) {
    if text.len() > SIZE_LIMIT {
        let error = Diagnostic::error(
            "syntax",
            Span::new(source, 0, 0),
            "this file is larger than 64 MiB",
        )
        .help("split it, and import the parts");
        return (ast::File::default(), vec![error]);
    }
    let parsed = parser::parse(text);
    let mut builder = Builder::new(source, text, &parsed);
    problems::explain(source, &parsed, |error| builder.report(error));
    builder.file(&parsed.tree);
    builder.finish()
}
