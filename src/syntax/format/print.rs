//! Writes atoms line by line.

use super::INDENT;
use super::atoms::{Atom, AtomKind, Comment};
use super::comment;
use super::plan::{Body, Element, ListKind, Plan};
use super::space::is_spaced;

/// Lays out atoms as a text.
pub fn print(text: &str, atoms: &[Atom]) -> String {
    let mut printer = Printer {
        plan: Plan {
            text,
            atoms,
            column: 0,
            indent: 0,
            must_break: false,
        },
        next: 0,
        out: String::with_capacity(text.len() + text.len() / 8),
        is_line_start: true,
    };
    printer.elements(ListKind::File);
    if !printer.out.is_empty() {
        printer.out.push('\n');
    }
    printer.out
}

/// The state of the printer. The plan decides; the methods here write.
struct Printer<'a> {
    plan: Plan<'a>,
    /// The next atom to be written.
    next: usize,
    out: String,
    /// Whether the line holds nothing but its indentation.
    is_line_start: bool,
}

/// What the previous line holds, as far as it decides whether a blank line follows.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing, or the bracket that opens the current list.
    Opening,
    /// An attribute or documentation, which belongs to what follows.
    Belonging,
    /// Documentation of the file.
    FileDoc,
    /// A comment.
    Comment,
    Element(Element),
}

impl Printer<'_> {
    /// Writes everything up to the bracket that closes the current list, each element on its own lines. The opening bracket has
    /// been written; the closing one is left to the caller.
    fn elements(&mut self, list_kind: ListKind) {
        let mut before = Before::Opening;
        let mut ahead = self.plan.element_ahead(self.next, list_kind);
        // Whether the next atom shares a line with the comment before it.
        let mut is_shared = false;
        loop {
            if self.next > 0 && !is_shared {
                self.trailing_comments();
            }
            let next = self
                .plan
                .atoms
                .get(self.next)
                .filter(|atom| !is_closing(atom));
            let Some(atom) = next else {
                return;
            };
            if !is_shared {
                let is_blank = is_blank_between(before, atom, list_kind, ahead.as_ref());
                self.start_line(self.plan.indent, is_blank);
            }
            is_shared = false;
            match (atom.kind, ahead) {
                (AtomKind::Comment(kind), _) => {
                    self.atom();
                    let shares = |next: &Atom| next.breaks == 0 && !is_closing(next);
                    is_shared =
                        !atom.ends_line() && self.plan.atoms.get(self.next).is_some_and(shares);
                    before = match kind {
                        Comment::Doc => Before::Belonging,
                        Comment::FileDoc if list_kind == ListKind::File => Before::FileDoc,
                        Comment::Line | Comment::FileDoc | Comment::Block | Comment::Lines => {
                            Before::Comment
                        }
                    };
                }
                (AtomKind::Sign(b'#'), _) => {
                    self.line(self.plan.attribute_end(self.next), 0);
                    before = Before::Belonging;
                }
                (_, Some(element)) => {
                    self.element(&element, list_kind);
                    before = Before::Element(element);
                    ahead = self.plan.element_ahead(self.next, list_kind);
                }
                (_, None) => return,
            }
        }
    }

    /// Writes comments that belong to the line just written: those that were on it, if nothing else followed there.
    fn trailing_comments(&mut self) {
        let on_line = |atom: &&Atom| atom.is_comment() && !atom.is_doc() && atom.breaks == 0;
        let run = self.plan.atoms[self.next..]
            .iter()
            .take_while(on_line)
            .count();
        let behind = self.plan.atoms.get(self.next + run);
        if behind.is_none_or(|atom| atom.breaks > 0 || is_closing(atom) || atom.is_doc()) {
            self.flat(self.next + run);
        }
    }

    /// Writes an element of a list with its body and its separator.
    fn element(&mut self, element: &Element, list_kind: ListKind) {
        match element.body {
            Body::None => {
                self.line(element.end, 1);
                let separator = self.plan.atoms.get(self.next).map(|atom| atom.kind);
                if matches!(separator, Some(AtomKind::Comma | AtomKind::Semicolon)) {
                    self.atom();
                } else if list_kind == ListKind::Members {
                    self.write(",");
                }
            }
            Body::OnLine => self.flat(self.plan.partner(element.end) + 1),
            Body::OnLines => {
                let close = self.plan.partner(element.end);
                let is_empty = close == element.end + 1;
                self.line(element.end, if is_empty { 4 } else { 2 });
                self.atom();
                self.list(element.list_kind, self.plan.indent, close);
            }
        }
    }

    /// Writes the elements of a list, whose opening bracket has been written on a line that begins at `indent`, and its closing
    /// bracket.
    fn list(&mut self, list_kind: ListKind, indent: usize, close: usize) {
        if self.next == close {
            self.atom();
            return;
        }
        let outer = std::mem::replace(&mut self.plan.indent, indent + INDENT);
        self.elements(list_kind);
        self.plan.indent = outer;
        self.start_line(indent, false);
        self.flat(close + 1);
    }

    /// Writes atoms up to `end` on one line if they fit with `reserve` more characters; otherwise breaks lists in brackets.
    fn line(&mut self, end: usize, reserve: usize) {
        let mut indent = self.plan.indent;
        while self.next < end {
            if self.plan.must_break {
                indent = self.plan.indent + INDENT;
            }
            let open = self.next;
            let close = self.plan.partner(open);
            let can_break = matches!(self.plan.atoms[open].kind, AtomKind::Open(b'(' | b'<'));
            if !can_break || close <= open + 1 {
                self.atom();
            } else if self.plan.is_broken(open, end, indent, reserve) {
                self.atom();
                self.list(ListKind::List, indent, close);
            } else {
                self.flat(close + 1);
            }
        }
    }

    /// Writes atoms up to `end` one after another.
    fn flat(&mut self, end: usize) {
        while self.next < end.min(self.plan.atoms.len()) {
            self.atom();
        }
    }

    /// Writes the next atom after those on the line, or on a new line if the line has to end.
    fn atom(&mut self) {
        let Some(atom) = self.plan.atoms.get(self.next) else {
            return;
        };
        if self.plan.must_break {
            self.start_line(self.plan.indent + INDENT, false);
        }
        let left = self
            .next
            .checked_sub(1)
            .map(|left| self.plan.atoms[left].kind);
        if !self.is_line_start && left.is_some_and(|left| is_spaced(left, atom.kind)) {
            self.write(" ");
        }
        let text = atom.text(self.plan.text);
        if atom.kind == AtomKind::Comment(Comment::Lines) {
            let source = comment::column(self.plan.text, atom.start as usize);
            let lines = comment::moved(text, source, self.plan.column);
            self.write(&lines);
        } else {
            self.write(text.trim_end_matches([' ', '\t', '\r']));
        }
        self.plan.must_break = atom.ends_line();
        self.next += 1;
    }

    fn write(&mut self, text: &str) {
        match text.rfind('\n') {
            Some(last) => self.plan.column = comment::columns(&text[last + 1..]),
            None => self.plan.column += comment::columns(text),
        }
        self.out += text;
        self.is_line_start = false;
    }

    fn start_line(&mut self, indent: usize, is_blank: bool) {
        if !self.out.is_empty() {
            self.out += if is_blank { "\n\n" } else { "\n" };
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.plan.column = indent;
        self.is_line_start = true;
        self.plan.must_break = false;
    }
}

fn is_closing(atom: &Atom) -> bool {
    matches!(atom.kind, AtomKind::Close | AtomKind::CloseBody)
}

/// Whether a blank line precedes `atom`, which begins a line; `ahead` is the next element, which may come later.
fn is_blank_between(
    before: Before,
    atom: &Atom,
    list_kind: ListKind,
    ahead: Option<&Element>,
) -> bool {
    let is_kept = atom.breaks > 1 && list_kind != ListKind::List;
    match before {
        Before::Opening | Before::Belonging => false,
        Before::FileDoc => is_kept || atom.kind != AtomKind::Comment(Comment::FileDoc),
        Before::Comment => is_kept,
        Before::Element(last) => is_kept || ahead.is_some_and(|next| last.is_apart_from(next)),
    }
}
