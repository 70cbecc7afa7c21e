//! Parses text into a syntax tree. The only module that uses pest, whose failures are explained in the language's own terms.

pub mod ast;
mod build;
mod declared;
mod decode;
mod failure;
mod foreign;
pub mod format;
mod grammar;
mod lex;
mod mistakes;
mod protocol_buffers;
mod scan;
mod tokens;

pub use decode::decode;
#[cfg(feature = "lsp")]
pub(crate) use lex::{Lexeme, is_doc, is_file_doc, lexeme};
pub use protocol_buffers::is_protocol_buffers;

use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Span};
use build::Builder;
use declared::DeclaredNames;
use grammar::{Grammar, Rule};
use pest::Parser as _;
use pest::iterators::Pair;
use scan::{Body, Fault, Piece, PieceKind};
use std::cell::OnceCell;
use std::ops::Range;
use tokens::next_token;

/// The largest text that is read, in bytes.
pub const SIZE_LIMIT: usize = 64 * 1024 * 1024;

/// Parses a text, item by item and state by state, so that an error in one hides nothing in another. The tree holds everything
/// that could be parsed. Linear in the length of the text; never recurses deeper than 64 nested types.
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
    let scan = scan::scan(text);
    let mut reader = Reader {
        source,
        text,
        builder: Builder::new(source, text),
        pieces: &scan.pieces,
        declared: OnceCell::new(),
    };
    reader.builder.take_docs(scan.docs);
    let mut faults = scan.faults.into_iter().peekable();
    reader.lead(scan.lead.clone(), &mut faults);
    for piece in &scan.pieces {
        reader.piece(piece, &mut faults);
    }
    reader.builder.finish()
}

type Faults = std::iter::Peekable<std::vec::IntoIter<Fault>>;

struct Reader<'a> {
    source: SourceId,
    text: &'a str,
    builder: Builder<'a>,
    pieces: &'a [Piece],
    /// What the text declares, computed when a mistake needs it.
    declared: OnceCell<DeclaredNames<'a>>,
}

/// The maximum number of characters that one repair replaces.
const REPLACED: usize = 64;

impl<'a> Reader<'a> {
    /// Reports the first fault before the end of `at`, with a repair of all faults like it. Returns whether there was one.
    fn faulty(&mut self, at: &Range<usize>, faults: &mut Faults) -> bool {
        let Some(first) = faults.next_if(|fault| fault.at.start < at.end) else {
            return false;
        };
        let mut edits = first.replacements(self.text);
        while let Some(more) = faults.next_if(|fault| fault.at.start < at.end) {
            if !edits.is_empty() && edits.len() < REPLACED {
                edits.extend(more.replacements(self.text));
            }
        }
        self.builder
            .report(first.explain(self.source, self.text, edits));
        self.builder.broken(at.clone());
        true
    }

    fn lead(&mut self, at: Range<usize>, faults: &mut Faults) {
        if !self.faulty(&at, faults) {
            self.parse_nothing(at);
        }
    }

    fn piece(&mut self, piece: &Piece, faults: &mut Faults) {
        if let (Some(body), PieceKind::Protocol) = (&piece.body, piece.kind) {
            self.protocol(piece, body, faults);
            return;
        }
        let item = piece.at.start..piece.end.unwrap_or(piece.at.end);
        let tail = item.end..piece.at.end;
        if !self.faulty(&item, faults) {
            match piece.kind {
                PieceKind::Package => self.parse_piece(Rule::package_piece, item, Builder::package),
                PieceKind::Import => self.parse_piece(Rule::import_piece, item, Builder::import),
                PieceKind::Item => self.parse_piece(Rule::item_piece, item, Builder::item),
                PieceKind::Protocol => self.parse_piece(Rule::header_piece, item, |_, _| {}),
            };
        }
        if !self.faulty(&tail, faults) {
            self.parse_nothing(tail);
        }
    }

    /// Checks that there is nothing between two items. A stray semicolon is reported: one may follow only a protocol, and only
    /// once.
    fn parse_nothing(&mut self, at: Range<usize>) {
        if !self.parse_piece(Rule::tail_piece, at.clone(), |_, _| {}) {
            return;
        }
        let text = &self.text[..at.end];
        let stray = next_token(text, at.start);
        if stray.is_empty() {
            return;
        }
        let more = text[stray.end..].bytes();
        let more = more.take_while(|byte| *byte == b';').count();
        let span = Span::new(self.source, stray.start, stray.end + more);
        let (words, repair) = match more {
            0 => ("this semicolon ends nothing", "remove it"),
            _ => ("these semicolons end nothing", "remove them"),
        };
        let error = Diagnostic::error("syntax", span, words);
        self.builder.report(error.fix(repair, span, "", true));
    }

    /// A protocol consists of its header, its states and the rest, each of which is parsed separately.
    fn protocol(&mut self, piece: &Piece, body: &Body, faults: &mut Faults) {
        let reported = self.builder.reported();
        let header = piece.at.start..body.open + 1;
        let is_open = !self.faulty(&header, faults)
            && self.parse_piece(Rule::header_piece, header, Builder::header);
        if !is_open {
            while faults
                .next_if(|fault| fault.at.start < piece.at.end)
                .is_some()
            {}
            self.builder.broken(piece.at.clone());
            return;
        }
        for state in &body.states {
            if !self.faulty(state, faults) {
                let state = self.without_separator(state.clone());
                self.parse_piece(Rule::state_piece, state, Builder::state);
            }
        }
        let after_states = body.states.last().map_or(body.open + 1, |state| state.end);
        let rest = after_states..body.close.unwrap_or(piece.at.end);
        if !self.faulty(&rest, faults) {
            self.rest(rest, body, reported);
        }
        let mut end = piece.at.end;
        if let Some(close) = body.close {
            let tail = close + 1..piece.at.end;
            end = tail.start;
            if !self.faulty(&tail, faults) {
                let first = next_token(&self.text[..tail.end], tail.start);
                if &self.text[first.clone()] == ";" {
                    end = first.end;
                }
                self.parse_nothing(end..tail.end);
            }
        }
        let is_broken = self.builder.reported() > reported;
        let span = Span::new(self.source, piece.at.start, end);
        self.builder.end_protocol(is_broken, span);
    }

    /// The piece after a comma or semicolon that separates it from the state before; reports the separator. It is removed
    /// automatically only if a state or nothing follows: before a message, it is the bracket before the separator that is wrong.
    fn without_separator(&mut self, state: Range<usize>) -> Range<usize> {
        let token = next_token(self.text, state.start);
        let name = match &self.text[token.clone()] {
            "," => "comma",
            ";" => "semicolon",
            _ => return state,
        };
        let span = Span::new(self.source, token.start, token.end);
        let text = format!("states are not separated by {name}s");
        let mut next = tokens::tokens(&self.text[..state.end], token.end);
        let mut next = || next.next().map_or("", |at| &self.text[at]);
        let is_message = tokens::is_word(next()) && !matches!(next(), ":" | "<" | "{");
        self.builder
            .report(Diagnostic::error("syntax", span, text).fix(
                "remove it",
                span,
                "",
                !is_message,
            ));
        token.end..state.end
    }

    /// The rest after the last complete state, which is empty in a complete protocol.
    fn rest(&mut self, rest: Range<usize>, body: &Body, reported: usize) {
        let is_blank = Grammar::parse(Rule::tail_piece, &self.text[rest.clone()])
            .is_ok_and(|pairs| !pairs.as_str().contains(';'));
        if !is_blank {
            let rest = self.without_separator(rest);
            if !self.text[rest.clone()].trim().is_empty() {
                self.parse_piece(Rule::state_piece, rest, Builder::state);
            }
        }
        if body.close.is_none() && self.builder.reported() == reported {
            let span = Span::new(self.source, body.open, body.open + 1);
            let open = &self.text[body.open..=body.open];
            let close = if open == "{" { "}" } else { ")" };
            self.builder.report(
                Diagnostic::error("syntax", span, "this protocol is never closed")
                    .label(format!("this `{open}` has no `{close}`"))
                    .help(format!("close it with `{close}` after its last state")),
            );
        }
    }

    /// Parses one piece and passes the pair to the builder; a failure is reported. Returns whether it succeeded.
    fn parse_piece(
        &mut self,
        rule: Rule,
        at: Range<usize>,
        build: fn(&mut Builder<'a>, Pair<'a, Rule>),
    ) -> bool {
        let text = self.text;
        match Grammar::parse(rule, &text[at.clone()]) {
            Ok(mut pairs) => {
                self.builder.stand_at(at.start);
                if let Some(pair) = pairs.next()
                    && pair.as_rule() != Rule::EOI
                {
                    build(&mut self.builder, pair);
                }
                true
            }
            Err(error) => {
                let declared = self
                    .declared
                    .get_or_init(|| DeclaredNames::of(text, self.pieces));
                let explained =
                    failure::explain(self.source, text, rule, at.clone(), &error, declared);
                self.builder.report(explained);
                self.builder.broken(at);
                false
            }
        }
    }
}
