//! One layout for protocol files: changes the whitespace, line endings and trailing commas of a text, and nothing else.
//!
//! The leaves of the text's tree are `atoms`, separators are put where they belong (`tidy`), and the atoms are written line by line
//! (`print`) as decided element by element (`plan`). The result is parsed and compared with the original before it is returned
//! (`same`).

mod atoms;
mod comment;
mod plan;
mod print;
mod same;
mod space;
mod tidy;

use super::{parse_tree, read};
use crate::diagnostic::Diagnostic;
use crate::protocol::limits;
use crate::source::{SourceId, Span};
use duologue_grammar::Tree;
use same::{same_comments, same_trees, same_words};
use std::fmt;

/// The width that a line should not exceed, in columns.
pub const WIDTH: usize = 100;

/// The indentation of nested elements, in columns.
const INDENT: usize = 4;

/// Why a text was not formatted.
#[derive(Debug)]
pub enum Unformatted {
    /// It has syntax errors, or the result would be too large.
    Invalid(Vec<Diagnostic>),
    /// The layout would have changed what the text says, which is a bug in the formatter.
    Refused(Difference),
}

/// What a wrong layout would have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The result has syntax errors.
    Invalid,
    /// The result parses to another tree.
    Tree,
    /// A token is missing, added or moved.
    Words,
    /// A comment is missing, added or moved.
    Comments,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Difference::Invalid => "the result would not parse",
            Difference::Tree => "the result would mean something else",
            Difference::Words => "tokens would change",
            Difference::Comments => "comments would change",
        })
    }
}

/// Turns the tree of a text into the text that [`format()`] should return.
pub type Layout = fn(&Tree<'_>) -> String;

/// The text in the layout of protocol files. Formatting the result does not change it.
///
/// Linear in the length of the text; recurses no deeper than brackets may nest.
///
/// # Errors
/// The text does not parse, or the result says something different from the text and must not be used.
pub fn format(source: SourceId, text: &str) -> Result<String, Unformatted> {
    format_with(source, text, lay_out)
}

/// Like [`format()`], with another layout.
///
/// # Errors
/// As for [`format()`]. Whatever the layout does, it cannot change what the text says.
pub fn format_with(source: SourceId, text: &str, layout: Layout) -> Result<String, Unformatted> {
    let tree = read(source, text).map_err(Unformatted::Invalid)?;
    let (_, errors) = parse_tree(source, &tree);
    if !errors.is_empty() {
        return Err(Unformatted::Invalid(errors));
    }
    let formatted = layout(&tree);
    if formatted == text {
        return Ok(formatted);
    }
    if formatted.len() > limits::FILE_SIZE {
        let span = Span::new(source, 0, 0);
        let error = Diagnostic::syntax(span, "formatted, this file would be larger than 64 MiB");
        let error = error.help("split it: `import` brings the parts together");
        return Err(Unformatted::Invalid(vec![error]));
    }
    let refused = |difference| Err(Unformatted::Refused(difference));
    let new_tree = Tree::of(&formatted);
    if !same_words(&tree, &new_tree) {
        return refused(Difference::Words);
    }
    if !same_comments(&tree, &new_tree) {
        return refused(Difference::Comments);
    }
    let (_, errors) = parse_tree(source, &new_tree);
    if !errors.is_empty() {
        return refused(Difference::Invalid);
    }
    if !same_trees(&tree, &new_tree) {
        return refused(Difference::Tree);
    }
    Ok(formatted)
}

/// The layout of a text that has no syntax errors.
#[must_use]
pub fn lay_out(tree: &Tree<'_>) -> String {
    print::print(tree.text, &tidy::tidy(tree))
}
