//! Writes atoms line by line.

use super::INDENT;
use super::atoms::{Atom, Comment, Kind};
use super::comment;
use super::plan::{Body, Entry, Room};
use super::space::is_spaced;

/// Lays out atoms as a text.
pub fn print(text: &str, atoms: &[Atom]) -> String {
    let mut printer = Printer {
        text,
        atoms,
        next: 0,
        out: String::with_capacity(text.len() + text.len() / 8),
        column: 0,
        indent: 0,
        is_line_start: true,
        must_break: false,
    };
    printer.elements(Room::File);
    if !printer.out.is_empty() {
        printer.out.push('\n');
    }
    printer.out
}

/// The state of the printer. The methods in [`super::plan`] decide; the methods here write.
pub struct Printer<'a> {
    pub(super) text: &'a str,
    pub(super) atoms: &'a [Atom],
    /// The next atom to be written.
    next: usize,
    out: String,
    /// How many characters the line has so far.
    pub(super) column: usize,
    /// The column at which the lines of the current element begin.
    pub(super) indent: usize,
    /// Whether the line holds nothing but its indentation.
    is_line_start: bool,
    /// Whether a line comment has been written, so that nothing else may follow on its line.
    pub(super) must_break: bool,
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
    Entry(Entry),
}

impl Printer<'_> {
    /// Writes everything up to the bracket that closes the current list, each element on its own lines. The opening bracket has
    /// been written; the closing one is left to the caller.
    fn elements(&mut self, room: Room) {
        let mut before = Before::Opening;
        let mut ahead = self.entry_ahead(self.next, room);
        // Whether the next atom shares a line with the comment before it.
        let mut is_shared = false;
        loop {
            if self.next > 0 && !is_shared {
                self.trailing_comments();
            }
            let next = self.atoms.get(self.next).filter(|atom| !is_closing(atom));
            let Some(atom) = next else {
                return;
            };
            if !is_shared {
                let is_blank = is_blank_between(before, atom, room, ahead.as_ref());
                self.start_line(self.indent, is_blank);
            }
            is_shared = false;
            match (atom.kind, ahead) {
                (Kind::Comment(kind), _) => {
                    self.atom();
                    let shares = |next: &Atom| next.breaks == 0 && !is_closing(next);
                    is_shared = !atom.ends_line() && self.atoms.get(self.next).is_some_and(shares);
                    before = match kind {
                        Comment::Doc => Before::Belonging,
                        Comment::FileDoc if room == Room::File => Before::FileDoc,
                        Comment::Line | Comment::FileDoc | Comment::Block | Comment::Lines => {
                            Before::Comment
                        }
                    };
                }
                (Kind::Sign(b'#'), _) => {
                    self.line(self.attribute_end(self.next), 0);
                    before = Before::Belonging;
                }
                (_, Some(entry)) => {
                    self.entry(&entry, room);
                    before = Before::Entry(entry);
                    ahead = self.entry_ahead(self.next, room);
                }
                (_, None) => return,
            }
        }
    }

    /// Writes comments that belong to the line just written: those that were on it, if nothing else followed there.
    fn trailing_comments(&mut self) {
        let on_line = |atom: &&Atom| atom.is_comment() && !atom.is_doc() && atom.breaks == 0;
        let run = self.atoms[self.next..].iter().take_while(on_line).count();
        let behind = self.atoms.get(self.next + run);
        if behind.is_none_or(|atom| atom.breaks > 0 || is_closing(atom) || atom.is_doc()) {
            self.flat(self.next + run);
        }
    }

    /// Writes an element of a list with its body and its separator.
    fn entry(&mut self, entry: &Entry, room: Room) {
        match entry.body {
            Body::None => {
                self.line(entry.end, 1);
                let separator = self.atoms.get(self.next).map(|atom| atom.kind);
                if matches!(separator, Some(Kind::Comma | Kind::Semicolon)) {
                    self.atom();
                } else if room == Room::Members {
                    self.write(",");
                }
            }
            Body::OnLine => self.flat(self.partner(entry.end) + 1),
            Body::OnLines => {
                let close = self.partner(entry.end);
                let is_empty = close == entry.end + 1;
                self.line(entry.end, if is_empty { 4 } else { 2 });
                self.atom();
                self.list(entry.room, self.indent, close);
            }
        }
    }

    /// Writes the elements of a list, whose opening bracket has been written on a line that begins at `indent`, and its closing
    /// bracket.
    fn list(&mut self, room: Room, indent: usize, close: usize) {
        if self.next == close {
            self.atom();
            return;
        }
        let outer = std::mem::replace(&mut self.indent, indent + INDENT);
        self.elements(room);
        self.indent = outer;
        self.start_line(indent, false);
        self.flat(close + 1);
    }

    /// Writes atoms up to `end` on one line if they fit with `reserve` more characters; otherwise breaks lists in brackets.
    fn line(&mut self, end: usize, reserve: usize) {
        let mut indent = self.indent;
        while self.next < end {
            if self.must_break {
                indent = self.indent + INDENT;
            }
            let open = self.next;
            let close = self.partner(open);
            let can_break = matches!(self.atoms[open].kind, Kind::Open(b'(' | b'<'));
            if !can_break || close <= open + 1 {
                self.atom();
            } else if self.is_broken(open, end, indent, reserve) {
                self.atom();
                self.list(Room::List, indent, close);
            } else {
                self.flat(close + 1);
            }
        }
    }

    /// Writes atoms up to `end` one after another.
    fn flat(&mut self, end: usize) {
        while self.next < end.min(self.atoms.len()) {
            self.atom();
        }
    }

    /// Writes the next atom after those on the line, or on a new line if the line has to end.
    fn atom(&mut self) {
        let Some(atom) = self.atoms.get(self.next) else {
            return;
        };
        if self.must_break {
            self.start_line(self.indent + INDENT, false);
        }
        let left = self.next.checked_sub(1).map(|left| self.atoms[left].kind);
        if !self.is_line_start && left.is_some_and(|left| is_spaced(left, atom.kind)) {
            self.write(" ");
        }
        let text = atom.text(self.text);
        if atom.kind == Kind::Comment(Comment::Lines) {
            let source = comment::column(self.text, atom.start as usize);
            let lines = comment::moved(text, source, self.column);
            self.write(&lines);
        } else {
            self.write(text.trim_end_matches([' ', '\t', '\r']));
        }
        self.must_break = atom.ends_line();
        self.next += 1;
    }

    fn write(&mut self, text: &str) {
        match text.rfind('\n') {
            Some(last) => self.column = comment::columns(&text[last + 1..]),
            None => self.column += comment::columns(text),
        }
        self.out += text;
        self.is_line_start = false;
    }

    fn start_line(&mut self, indent: usize, is_blank: bool) {
        if !self.out.is_empty() {
            self.out += if is_blank { "\n\n" } else { "\n" };
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
        self.is_line_start = true;
        self.must_break = false;
    }
}

fn is_closing(atom: &Atom) -> bool {
    matches!(atom.kind, Kind::Close | Kind::CloseBody)
}

/// Whether a blank line precedes `atom`, which begins a line; `ahead` is the next element, which may come later.
fn is_blank_between(before: Before, atom: &Atom, room: Room, ahead: Option<&Entry>) -> bool {
    let is_kept = atom.breaks > 1 && room != Room::List;
    match before {
        Before::Opening | Before::Belonging => false,
        Before::FileDoc => is_kept || atom.kind != Kind::Comment(Comment::FileDoc),
        Before::Comment => is_kept,
        Before::Entry(last) => is_kept || ahead.is_some_and(|next| last.is_apart_from(next)),
    }
}
