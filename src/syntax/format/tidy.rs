//! Separators: drops the redundant ones, and puts the others before any comments between them and what they end.
//!
//! Documentation belongs to the atom after it, so no separator is ever moved across it.

use super::atoms::{Atom, AtomKind, Comment, atoms};
use duologue_grammar::Tree;

/// The atoms of a text that has no syntax errors, with the separators where the layout expects them.
pub fn tidy(tree: &Tree<'_>) -> Vec<Atom> {
    let mut tidy = Tidy::default();
    atoms(tree, |atom| tidy.take(atom));
    pair(&mut tidy.atoms);
    tidy.atoms
}

#[derive(Default)]
struct Tidy {
    atoms: Vec<Atom>,
    /// The line breaks before removed atoms, which have to precede the next one.
    breaks: u8,
}

impl Tidy {
    fn take(&mut self, atom: Atom) {
        let is_closing = matches!(atom.kind, AtomKind::Close | AtomKind::CloseBody);
        let is_separator = matches!(
            atom.kind,
            AtomKind::Comma | AtomKind::Semicolon | AtomKind::OpenBody
        );
        if atom.kind == AtomKind::Semicolon && self.ends_nothing() {
            self.breaks = self.breaks.max(atom.breaks);
        } else if is_separator {
            self.before_comments(atom);
        } else {
            if is_closing {
                self.drop_comma();
            }
            self.push(atom);
        }
    }

    fn push(&mut self, mut atom: Atom) {
        atom.breaks = atom.breaks.max(std::mem::take(&mut self.breaks));
        self.atoms.push(atom);
    }

    /// The index at which the trailing comments begin.
    fn comments(&self) -> usize {
        let comments = self.atoms.iter().rev().take_while(|atom| atom.is_comment());
        self.atoms.len() - comments.count()
    }

    /// Adds a separator, before the trailing comments if one of them would push it to another line.
    fn before_comments(&mut self, mut atom: Atom) {
        let first = self.comments();
        let comments = &self.atoms[first..];
        let has_lines = comments
            .iter()
            .any(|comment| comment.kind == AtomKind::Comment(Comment::Line));
        if !has_lines || comments.iter().any(Atom::is_doc) {
            self.push(atom);
            return;
        }
        let breaks = std::mem::take(&mut atom.breaks);
        self.breaks = self.breaks.max(breaks);
        self.atoms.insert(first, atom);
    }

    /// Removes a comma before the closing bracket that follows.
    fn drop_comma(&mut self) {
        let first = self.comments();
        if first == 0 || self.atoms[first - 1].kind != AtomKind::Comma {
            return;
        }
        let comma = self.atoms.remove(first - 1);
        match self.atoms.get_mut(first - 1) {
            Some(next) => next.breaks = next.breaks.max(comma.breaks),
            None => self.breaks = self.breaks.max(comma.breaks),
        }
    }

    /// Whether a semicolon here ends nothing, like one after a protocol, and removing it would not make documentation before it
    /// document something else.
    fn ends_nothing(&self) -> bool {
        let first = self.comments();
        let ends_nothing = first == 0 || self.atoms[first - 1].kind == AtomKind::CloseBody;
        ends_nothing && !self.atoms[first..].iter().any(Atom::is_doc)
    }
}

fn pair(atoms: &mut [Atom]) {
    let mut open = Vec::new();
    for index in 0..atoms.len() {
        if matches!(atoms[index].kind, AtomKind::Open(_) | AtomKind::OpenBody) {
            open.push(index);
        } else if matches!(atoms[index].kind, AtomKind::Close | AtomKind::CloseBody)
            && let Some(opener) = open.pop()
        {
            let opener: &mut Atom = &mut atoms[opener];
            opener.partner = u32::try_from(index).unwrap_or(0);
        }
    }
}
