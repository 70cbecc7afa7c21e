//! Decides how each element is laid out, before it is written.

use super::WIDTH;
use super::atoms::{Atom, AtomKind};
use super::comment::columns;
use super::space::is_spaced;

/// What a list consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Packages, imports and items.
    File,
    /// States.
    Protocol,
    /// Messages.
    State,
    /// Fields or variants, which all end in commas.
    Members,
    /// Mappings of an external type or bound.
    Mappings,
    /// Entries of a payload, types, parameters.
    List,
}

/// An element of a list, without its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    class: Class,
    pub body: Body,
    /// What the body consists of.
    pub list_kind: ListKind,
    /// The index of the body's opening bracket; without a body, one past the last atom before the separator.
    pub end: usize,
}

/// What decides whether neighbors are separated by a blank line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Package,
    Import,
    Item,
    State,
    /// Everything in a state or a type.
    Inner,
}

/// How the body of an element is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    None,
    /// All on one line, with the element's head.
    OnLine,
    /// Each element on its own lines.
    OnLines,
}

impl Element {
    /// Whether a blank line always separates this element from the next one, whatever was written.
    pub fn is_apart_from(&self, next: &Element) -> bool {
        let is_large = |element: &Element| element.body == Body::OnLines;
        let is_inner = self.class == Class::Inner;
        !is_inner && (self.class != next.class || is_large(self) || is_large(next))
    }
}

/// Whether atoms fit on a line.
#[derive(Clone, Copy, PartialEq)]
enum Measured {
    Fits,
    TooWide,
    /// The atom at this index needs more than one line; the atoms before it fit.
    Breaks(usize),
}

/// The atoms, and what their layout depends on.
pub struct Plan<'a> {
    pub text: &'a str,
    pub atoms: &'a [Atom],
    /// How many characters the current line has so far.
    pub column: usize,
    /// The column at which the lines of the current element begin.
    pub indent: usize,
    /// Whether a line comment has been written, so that nothing else may follow on its line.
    pub must_break: bool,
}

impl Plan<'_> {
    /// The next element of the list at or after `from`, if there is one.
    pub fn element_ahead(&self, from: usize, list_kind: ListKind) -> Option<Element> {
        let mut index = from;
        loop {
            let atom = self.atoms.get(index)?;
            if matches!(atom.kind, AtomKind::Close | AtomKind::CloseBody) {
                return None;
            } else if atom.is_comment() {
                index += 1;
            } else if atom.kind == AtomKind::Sign(b'#') {
                index = self.attribute_end(index);
            } else {
                return Some(self.element_at(index, list_kind));
            }
        }
    }

    /// One past the last atom of the attribute whose `#` is at `index`.
    pub fn attribute_end(&self, index: usize) -> usize {
        let rest = self.atoms[index + 1..].iter();
        let opener = rest.take(self.atoms.len()).find(|atom| !atom.is_comment());
        let partner = opener.map_or(0, |opener| opener.partner as usize);
        partner.max(index) + 1
    }

    fn element_at(&self, start: usize, list_kind: ListKind) -> Element {
        let (class, inside) = self.class(start, list_kind);
        let mut index = start;
        let is_open = loop {
            match self.atoms.get(index).map(|atom| atom.kind) {
                Some(AtomKind::OpenBody) => break true,
                Some(AtomKind::Open(_)) => index = self.partner(index).max(index) + 1,
                Some(AtomKind::Comma | AtomKind::Semicolon) => break false,
                Some(AtomKind::Close | AtomKind::CloseBody) | None => {
                    let comments = self.atoms[start..index].iter().rev();
                    index -= comments.take_while(|atom| atom.is_comment()).count();
                    break false;
                }
                Some(_) => index += 1,
            }
        };
        Element {
            class,
            body: if is_open {
                self.body(start, index, inside)
            } else {
                Body::None
            },
            list_kind: inside,
            end: index,
        }
    }

    /// What an element is by its first word, and what its body consists of.
    fn class(&self, start: usize, list_kind: ListKind) -> (Class, ListKind) {
        match list_kind {
            ListKind::File => match self.atoms[start].text(self.text) {
                "package" => (Class::Package, ListKind::List),
                "import" => (Class::Import, ListKind::List),
                "proto" => (Class::Item, ListKind::Protocol),
                "extern" => (Class::Item, ListKind::Mappings),
                _ => (Class::Item, ListKind::Members),
            },
            ListKind::Protocol => (Class::State, ListKind::State),
            ListKind::State | ListKind::Members | ListKind::Mappings | ListKind::List => {
                (Class::Inner, ListKind::List)
            }
        }
    }

    /// A body stays on one line if it was written on one, fits, and is not a protocol's.
    fn body(&self, start: usize, open: usize, inside: ListKind) -> Body {
        let close = self.partner(open);
        let columns = WIDTH.saturating_sub(self.indent);
        if close < open || self.measure(start, close + 1, columns) != Measured::Fits {
            return Body::OnLines;
        }
        let is_line = |atom: &Atom| atom.breaks == 0 && atom.kind != AtomKind::Sign(b'#');
        let is_empty = close == open + 1;
        let is_line =
            inside != ListKind::Protocol && self.atoms[open + 1..=close].iter().all(is_line);
        if is_empty || is_line {
            Body::OnLine
        } else {
            Body::OnLines
        }
    }

    /// Whether the list that opens at `open` has to be broken, given that the atoms up to `end` and `reserve` characters share
    /// its line, which begins at `indent`.
    pub fn is_broken(&self, open: usize, end: usize, indent: usize, reserve: usize) -> bool {
        let close = self.partner(open);
        let used = self.column_of_next(indent) + reserve;
        match self.measure(open, end, WIDTH.saturating_sub(used)) {
            Measured::Fits => false,
            Measured::Breaks(at) => at < close,
            Measured::TooWide => {
                // If what follows has to be broken too, and breaking that alone is enough, this list stays whole.
                let rest = WIDTH.saturating_sub(indent + reserve);
                let next = self.atoms[close..end].iter();
                let next =
                    next.take_while(|atom| !matches!(atom.kind, AtomKind::Open(b'(' | b'<')));
                let next = close + next.count();
                let would_do = next < end
                    && self.measure(open, next + 1, WIDTH.saturating_sub(used)) == Measured::Fits
                    && self.measure(close, end, rest) != Measured::Fits;
                !would_do
            }
        }
    }

    /// Whether the atoms `from..to` fit in `columns` columns. Reads no further than that.
    fn measure(&self, from: usize, to: usize, columns: usize) -> Measured {
        let mut width = 0;
        let mut left = None;
        for (index, atom) in (from..to).zip(&self.atoms[from..to]) {
            if !atom.is_flat() {
                return Measured::Breaks(index);
            }
            width += usize::from(left.is_some_and(|left| is_spaced(left, atom.kind)));
            width += self.width(atom);
            left = Some(atom.kind);
            if width > columns {
                return Measured::TooWide;
            }
        }
        Measured::Fits
    }

    fn width(&self, atom: &Atom) -> usize {
        let text = atom.text(self.text);
        if matches!(atom.kind, AtomKind::String | AtomKind::Comment(_)) {
            columns(text)
        } else {
            text.len()
        }
    }

    /// The index of the bracket that closes the one at `open`; 0 if none does.
    pub fn partner(&self, open: usize) -> usize {
        self.atoms[open].partner as usize
    }

    fn column_of_next(&self, indent: usize) -> usize {
        if self.must_break {
            indent
        } else {
            self.column + 1
        }
    }
}
