//! Whether two texts have the same content: the same tree except for separators, the same tokens, and the same comments.

use crate::syntax::build::{is_doc, is_file_doc};
use duologue_grammar::{Kind, Leaf, Tree};

/// Whether two texts without errors mean the same: their trees have the same nodes, and documentation is before the same tokens.
pub fn same_trees(one: &Tree<'_>, two: &Tree<'_>) -> bool {
    kinds(one).eq(kinds(two)) && documented(one).eq(documented(two))
}

fn is_separator(kind: Kind) -> bool {
    matches!(kind, Kind::comma | Kind::last_comma | Kind::semi)
}

/// The kinds of all nodes, each before those in it.
fn kinds(tree: &Tree<'_>) -> impl Iterator<Item = Kind> {
    let kinds = tree.root().all().map(|node| node.kind());
    kinds.filter(|kind| !is_separator(*kind))
}

/// For each documentation comment, how many tokens precede it.
fn documented(tree: &Tree<'_>) -> impl Iterator<Item = usize> {
    let is_documentation = |leaf: Leaf| {
        let text = &tree.text[leaf.range()];
        leaf.kind == Kind::line_comment && (is_doc(text) || is_file_doc(text))
    };
    let mut words = 0;
    tree.leaves().filter_map(move |leaf| {
        words += usize::from(!leaf.kind.is_trivia() && !is_separator(leaf.kind));
        is_documentation(leaf).then_some(words)
    })
}

/// Whether two texts have the same comments in the same order, except for whitespace where their lines begin and end.
pub fn same_comments(one: &Tree<'_>, two: &Tree<'_>) -> bool {
    comment_lines(one).eq(comment_lines(two))
}

fn comment_lines<'t>(tree: &'t Tree<'_>) -> impl Iterator<Item = &'t str> {
    let comments = tree.comments.iter();
    comments.flat_map(|comment| tree.text[comment.range()].split('\n').map(str::trim))
}

/// Whether two texts have the same tokens in the same order, except for commas and semicolons.
pub fn same_words(one: &Tree<'_>, two: &Tree<'_>) -> bool {
    words(one).eq(words(two))
}

fn words<'t>(tree: &'t Tree<'_>) -> impl Iterator<Item = &'t str> {
    let tokens = tree.tokens();
    let tokens = tokens.filter(|token| !is_separator(token.kind()));
    tokens.map(|token| token.text())
}
