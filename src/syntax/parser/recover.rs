//! Items, protocols and states, whatever is wrong in them: where to continue after tokens that do not fit.

use super::heads::Next;
use super::rules::{BEGIN, END};
use super::{Failure, Parser, Part, Problem, is_word};
use crate::syntax::expected::Expected;
use crate::syntax::tokens::{DEPTH_LIMIT, TokenKind};
use crate::syntax::tree::Kind;
use std::ops::Range;

impl Parser<'_> {
    /// What is between two items, where there is nothing in a correct text. States there belong to a protocol whose head is
    /// missing.
    pub(super) fn outside(&mut self) {
        self.fresh();
        let range = self.at..self.limit;
        if self.has_faults(range.end) {
        } else if let Some(first) = range.clone().find(|at| self.word_at(*at) != ";") {
            self.fail_outside(first, range.clone());
        } else if !range.is_empty() {
            self.problems.push(Problem::Stray(range.start));
        }
        while self.at < self.limit {
            let range = self.at..self.limit;
            let Some(head) = range.clone().find(|at| self.is_directed_head(*at)) else {
                return self.error(range);
            };
            let opener = self.opener(range.start..head);
            let name = opener.and_then(|opener| opener.checked_sub(1));
            let name = name.filter(|name| *name >= self.at && is_word(self.word_at(*name)));
            let mark = self.problems.len();
            let closer = opener.map(|opener| match self.kind_at(opener) {
                TokenKind::Sign(b'(') => TokenKind::Sign(b')'),
                _ => END,
            });
            match (name, opener) {
                (Some(name), Some(opener)) => {
                    self.error(range.start..name);
                    let protocol = self.open(Kind::Protocol);
                    self.leaf(Kind::Ident);
                    self.error(opener..opener + 1);
                    self.states(opener, closer, mark.saturating_sub(1));
                    self.close(protocol);
                }
                _ => {
                    self.error(range.start..head);
                    let protocol = self.open(Kind::Protocol);
                    // Something was reported, so nothing is said about its brackets.
                    self.states(head, closer, mark.saturating_sub(1));
                    self.close(protocol);
                }
            }
        }
    }

    fn fail_outside(&mut self, at: usize, tokens: Range<usize>) {
        self.problems.push(Problem::Failure(Failure {
            part: Part::Outside,
            tokens,
            at,
            inside: 0,
            expected: Expected::default(),
        }));
    }

    /// The first bracket in a range that may be that of a protocol: not one in square brackets.
    fn opener(&self, range: Range<usize>) -> Option<usize> {
        let mut depth = 0usize;
        for at in range {
            match self.kind_at(at) {
                TokenKind::Sign(b'[') => depth += 1,
                TokenKind::Sign(b']') => depth = depth.saturating_sub(1),
                TokenKind::Sign(b'{' | b'(') if depth == 0 => return Some(at),
                _ => {}
            }
        }
        None
    }

    /// A protocol: its header, its states, and the semicolon that may follow it.
    pub(super) fn protocol(&mut self) {
        let first = self.at;
        let reported = self.problems.len();
        let protocol = self.open(Kind::Protocol);
        self.fresh();
        let mut good = self.tree.len();
        let mut header = self.header(&mut good);
        let stopped = header.is_err().then(|| self.stopped());
        let is_keyword = |at: &usize| {
            self.word_at(*at) == "proto" && self.kind_at(at + 1) == TokenKind::Sign(b'!')
        };
        if header.is_err()
            && let Some(keyword) = (self.at..self.limit).find(is_keyword)
        {
            // An attribute did not fit.
            self.tree.truncate(good);
            self.error(self.at..keyword);
            good = self.tree.len();
            header = self.header(&mut good);
        }
        let open = match header {
            Ok(_) => self.at - 1,
            Err(_) => self.body_after(self.at),
        };
        let is_implied = self.kind_at(open) != BEGIN && self.kind_at(open) != TokenKind::Sign(b'(');
        let end = match is_implied {
            true => open,
            false => open + 1,
        };
        self.settle(Part::Header, first..end, stopped);
        let closer = match self.kind_at(open) {
            TokenKind::Sign(b'(') => Some(TokenKind::Sign(b')')),
            BEGIN => Some(END),
            _ => None,
        };
        if header.is_err() {
            self.tree.truncate(good);
            let at = self.at;
            self.error(at.min(end)..end);
            if end >= self.limit {
                self.tree.truncate(protocol);
                return self.error(first..self.limit);
            }
        }
        self.states(open, closer, reported);
        if self.kind() == TokenKind::Sign(b';') {
            self.bump();
        }
        self.close(protocol);
    }

    /// Where the body of a protocol begins, whose header does not fit: the bracket, or the first state if the bracket is missing.
    fn body_after(&self, from: usize) -> usize {
        let rest = from..self.limit;
        let head = rest.clone().find(|at| self.is_directed_head(*at));
        let opener = self.opener(from..head.unwrap_or(self.limit));
        opener.or(head).unwrap_or(self.limit)
    }

    /// The states of a protocol whose opening bracket is `open`, up to its closing bracket, which is either one if the opening one is
    /// missing. `reported` is the number of problems
    /// before it.
    fn states(&mut self, open: usize, closer: Option<TokenKind>, reported: usize) {
        loop {
            let at = self.at;
            match self.kind() {
                _ if at >= self.limit => {
                    if self.problems.len() == reported {
                        self.problems.push(Problem::Unclosed(open));
                    }
                    self.error(at..at);
                    return;
                }
                kind @ TokenKind::Sign(b'}' | b')')
                    if closer.is_none_or(|closer| closer == kind) =>
                {
                    // States after the last bracket were meant to be in it.
                    if !self.is_directed_head(at + 1) {
                        return self.bump();
                    }
                    self.error(at..at + 1);
                    if !self.has_faults(at + 2) {
                        self.fail_outside(at + 1, at + 1..self.limit);
                    }
                }
                TokenKind::Sign(b',' | b';') => {
                    self.problems.push(Problem::Separator(at..self.limit));
                    self.error(at..at + 1);
                }
                // A bracket of the other kind closes the protocol too, if nothing follows it.
                kind @ TokenKind::Sign(b'}' | b')') if self.is_last(at) => {
                    self.fresh();
                    self.expected.add(kind);
                    let stopped = self.stopped();
                    self.settle(Part::State, at..at + 1, Some(stopped));
                    return self.error(at..at + 1);
                }
                _ => self.state(),
            }
            if self.at == at {
                self.error(at..at + 1);
            }
        }
    }

    /// Whether at most a semicolon follows a token.
    fn is_last(&self, at: usize) -> bool {
        matches!(
            self.kind_at(at + 1),
            TokenKind::Space | TokenKind::Sign(b';')
        )
    }

    fn state(&mut self) {
        let first = self.at;
        let state = self.open(Kind::State);
        let mut good = self.tree.len();
        let mut is_broken = false;
        self.fresh();
        let mut head = self.state_head(&mut good);
        while head.is_err() {
            if !is_broken {
                self.fail_state(first, false);
            }
            let next = self.after_head(first, &mut good, state, is_broken);
            is_broken = true;
            self.tree.truncate(good);
            let at = self.at;
            match next {
                Next::Head(begin) => {
                    self.error(at.min(begin)..begin);
                    good = self.tree.len();
                    head = self.state_head(&mut good);
                }
                Next::Name(begin, end) => {
                    self.at = end;
                    let place = self.start_of(begin)..self.end_of_last();
                    self.tree.leaf(Kind::Ident, place);
                    self.fresh();
                    good = self.tree.len();
                    head = self.after_name(&mut good);
                }
                Next::Rest(begin) => {
                    self.error(at.min(begin)..begin);
                    good = self.tree.len();
                    head = self.after_name(&mut good);
                }
                Next::Messages(begin) => {
                    self.error(at.min(begin)..begin);
                    break;
                }
                Next::End(end) => {
                    self.error(at.min(end)..end);
                    return self.close(state);
                }
            }
        }
        self.messages(first, &mut is_broken);
        self.close(state);
        if !is_broken {
            self.has_faults(self.at);
        }
    }

    /// Reports what is wrong with a state that begins at `first`. Its body has begun or not.
    fn fail_state(&mut self, first: usize, has_body: bool) {
        let end = self.end_of_state(self.at, has_body);
        let stopped = self.stopped();
        self.settle(Part::State, first..end, Some(stopped));
    }

    /// The messages of a state, and the bracket that closes it.
    fn messages(&mut self, first: usize, is_broken: &mut bool) {
        // The bracket, or the first message if the bracket is missing.
        loop {
            if self.eat(END) {
                return;
            }
            let start = self.at;
            let mark = self.tree.len();
            let is_message = self.message().is_ok();
            if is_message && (self.eat(TokenKind::Sign(b',')) || self.is(END)) {
                continue;
            }
            if !*is_broken {
                *is_broken = true;
                self.fail_state(first, true);
            }
            let at = self.at;
            if is_message {
                match self.kind() {
                    TokenKind::Sign(b';' | b'|') => {
                        self.error(at..at + 1);
                        continue;
                    }
                    TokenKind::Word | TokenKind::Sign(b'#') if !self.is_head(at) => {
                        self.error(at..at);
                        continue;
                    }
                    // The state was not closed.
                    TokenKind::Word | TokenKind::Space => return self.error(at..at),
                    _ => {}
                }
            }
            // Even if the message is complete, more was meant to be in it.
            self.tree.truncate(mark);
            let start = if is_message { at } else { start };
            let end = self.end_of_message(start, at);
            self.error(start..end);
            if self.kind() == TokenKind::Sign(b',') {
                self.error(end..end + 1);
            } else if self.kind() != END {
                return;
            }
        }
    }

    /// Where a message that begins at `start` and does not fit at `at` ends: before the comma after it, the bracket that closes
    /// its state, the next state or the next item.
    fn end_of_message(&self, start: usize, at: usize) -> usize {
        let mut open: Vec<u8> = Vec::new();
        for found in start..self.limit {
            let kind = self.kind_at(found);
            match kind {
                // No payload contains an arrow.
                TokenKind::Arrow => open.retain(|open| *open == b'{'),
                TokenKind::Sign(sign @ (b'(' | b'[' | b'{')) if open.len() < 2 * DEPTH_LIMIT => {
                    open.push(sign);
                }
                TokenKind::Sign(b')') => {
                    open.pop_if(|open| *open == b'(');
                }
                TokenKind::Sign(b']') => {
                    open.pop_if(|open| *open == b'[');
                }
                END => match open.iter().rposition(|open| *open == b'{') {
                    Some(partner) => open.truncate(partner),
                    None => return found,
                },
                TokenKind::Sign(b',') if found >= at && open.is_empty() => return found,
                TokenKind::Word if found == start && self.is_plain_head(found) => return found,
                TokenKind::Word if found >= at && self.is_head(found) => {
                    let is_payload = self.kind_at(found + 3) == TokenKind::Sign(b'<');
                    if open.is_empty() || !is_payload {
                        return found;
                    }
                }
                _ => {}
            }
        }
        self.limit
    }

    /// Where a state ends that does not fit at `at`.
    fn end_of_state(&self, at: usize, has_body: bool) -> usize {
        let mut depth = usize::from(has_body);
        for found in at..self.limit {
            match self.kind_at(found) {
                // What is nested deeper is the end of the state for its messages too, so nothing is read again and again.
                BEGIN if depth >= 2 * DEPTH_LIMIT => return found,
                BEGIN => depth += 1,
                END if depth == 0 && !self.closes_state(found) => return found,
                END => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return found + 1;
                    }
                }
                // The explanation looks at the name and the sign after it.
                TokenKind::Word if found > at && self.is_head(found) => return found + 2,
                _ => {}
            }
        }
        self.limit
    }

    /// Where an item ends that begins at `first`: after its `;` or its last bracket.
    pub(super) fn end_of_item(&self, first: usize) -> usize {
        let mut open = Vec::new();
        for at in first..self.limit {
            let opener = match self.kind_at(at) {
                TokenKind::Sign(b';') if open.is_empty() => return at + 1,
                TokenKind::Sign(sign @ (b'{' | b'(' | b'[')) => {
                    open.push(sign);
                    continue;
                }
                TokenKind::Sign(b'}') => b'{',
                TokenKind::Sign(b')') => b'(',
                TokenKind::Sign(b']') => b'[',
                _ => continue,
            };
            let mut nearest = open.iter().rev().take(2 * DEPTH_LIMIT);
            if let Some(above) = nearest.position(|open| *open == opener) {
                open.truncate(open.len() - 1 - above);
                if opener == b'{' && open.is_empty() {
                    return at + 1;
                }
            }
        }
        self.limit
    }
}
