//! Imports: what another file declares, and the order of imports.

use super::Snapshot;
use super::tree::symbols::{ItemKind, import_path, tree};
use duologue_grammar::{Kind, Node};
use std::collections::BTreeSet;
use std::ops::Range;

/// A declaration of a file that a text does not see.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// What is declared.
    pub kind: ItemKind,
    /// Its name.
    pub name: String,
    /// The path to import; `None` if the text sees it as soon as it names it.
    pub import: Option<String>,
}

/// Finds declarations of other files by kind and name.
pub type Search<'a> = dyn FnMut(&dyn Fn(ItemKind, &str) -> bool) -> Vec<Elsewhere> + 'a;

/// What to insert to import a path: after the other imports, the package, or the documentation of the file.
#[must_use]
pub fn import(text: &str, path: &str) -> (Range<usize>, String) {
    let tree = tree(text);
    let line_break = line_break(text);
    let statement = format!("import \"{path}\";");
    let is_head = |node: &Node<'_>| matches!(node.kind(), Kind::import | Kind::package);
    if let Some(last) = tree.root().parts().filter(is_head).last() {
        let end = last.range().end;
        let lines = match last.kind() == Kind::import {
            true => 1,
            false => 2,
        };
        return (end..end, line_break.repeat(lines) + &statement);
    }
    let first = tree.place(0).start;
    let docs = tree
        .comments
        .iter()
        .take_while(|comment| comment.range().end <= first);
    let docs = docs.filter(|comment| text[comment.range()].starts_with("//!"));
    match docs.last() {
        Some(last) => {
            let end = last.range().start + text[last.range()].trim_end().len();
            (end..end, line_break.repeat(2) + &statement)
        }
        None => {
            let start = text.len() - text.trim_start_matches('\u{feff}').len();
            (start..start, statement + &line_break.repeat(2))
        }
    }
}

/// How the lines of a text end.
pub fn line_break(text: &str) -> &'static str {
    match text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    }
}

/// What to replace so that the imports are sorted, none is there twice and none is unused. Imports between which there is a comment or a
/// blank line are sorted separately.
#[must_use]
pub fn organized(snapshot: &Snapshot) -> Vec<(Range<usize>, String)> {
    let text = snapshot.text();
    let tree = tree(text);
    let found = snapshot.compilation.diagnostics.iter();
    let unused = found.filter(|found| found.rule == "unused-import");
    let unused: Vec<Range<usize>> = unused
        .filter(|found| found.primary.span.source == snapshot.source)
        .map(|found| found.primary.span.range())
        .collect();
    let parts = tree.root().parts();
    let imports = parts.filter(|node| node.kind() == Kind::import && !node.is_broken());
    let mut groups: Vec<Vec<Node<'_>>> = Vec::new();
    for import in imports {
        let start = import.range().start;
        let is_next = |last: &Node<'_>| {
            let between = &text[last.range().end..start];
            between.trim().is_empty() && between.matches('\n').count() < 2
        };
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(is_next) => group.push(import),
            _ => groups.push(vec![import]),
        }
    }
    let mut seen = BTreeSet::new();
    let mut edits = Vec::new();
    for mut group in groups {
        let mut whole = group[0].range().start..group[group.len() - 1].range().end;
        group.sort_by_key(|import| import_path(*import));
        group.retain(|import| {
            let at = import.range();
            let mut unused = unused.iter();
            !unused.any(|unused| at.start <= unused.start && unused.end <= at.end)
                && seen.insert(import_path(*import))
        });
        let lines: Vec<&str> = group.into_iter().map(Node::text).collect();
        let sorted = lines.join(line_break(text));
        if sorted.is_empty() {
            whole.end = text.len() - text[whole.end..].trim_start().len();
        }
        if sorted != text[whole.clone()] {
            edits.push((whole, sorted));
        }
    }
    edits
}
