//! Heads of states: where they begin, and how to go on after one that does not fit.

use super::rules::{BEGIN, COLON, END, HASH, LESS};
use super::{Parser, is_word};
use crate::syntax::tokens::TokenKind;

/// How the parser goes on after a head of a state that does not fit.
pub(super) enum Next {
    /// The head begins again at this token.
    Head(usize),
    /// The name of the state are the tokens from the first to before the second; the rest of its head follows.
    Name(usize, usize),
    /// The rest of the head, after the name, goes on at this token.
    Rest(usize),
    /// The messages begin at this token.
    Messages(usize),
    /// The state ends before this token.
    End(usize),
}

impl Parser<'_> {
    /// How to go on after the current token, which does not fit into the head of a state. `good` is the length of the tree that
    /// is kept.
    pub(super) fn after_head(
        &mut self,
        first: usize,
        good: &mut usize,
        state: usize,
        is_again: bool,
    ) -> Next {
        let at = self.at;
        let has_name = *good > state + 1 && at > first;
        if self.kind_at(first) == TokenKind::Sign(b'#') && !is_again {
            let inside = self.attribute_end(first);
            if at < inside {
                return Next::Head(inside);
            }
        }
        let has_direction = (first..at).any(|at| self.kind_at(at) == TokenKind::Sign(b':'));
        let next = self.kind_ahead(1);
        if has_name && !has_direction && !is_again {
            let is_head = self.is_head(at)
                || is_word(self.word())
                    && matches!(next, BEGIN | TokenKind::Sign(b'<' | b':'))
                    && !matches!(self.word(), "send" | "recv");
            if is_head && is_word(self.word_at(at.saturating_sub(1))) {
                *good = state + 1;
                self.at = first;
                return Next::Head(at);
            }
        }
        if self.kind() == TokenKind::Foreign
            && !is_again
            && !has_direction
            && let Some(next) = self.foreign_in_name(first, good)
        {
            return next;
        }
        let is_message =
            is_word(self.word()) && matches!(next, TokenKind::Arrow | TokenKind::Sign(b'('));
        if has_name && is_message && !self.is_head(at) {
            return Next::Messages(at);
        }
        for found in at.max(first + 1)..self.limit {
            match self.kind_at(found) {
                BEGIN => return Next::Messages(found + 1),
                TokenKind::Sign(b'}' | b')') if self.closes_state(found) => {
                    return Next::End(found + 1);
                }
                END => return Next::End(found),
                _ if self.is_directed_head(found) => return Next::End(found),
                // A state without messages, and another without a direction.
                _ if has_direction && self.is_head(found) && self.starts_line(found) => {
                    return Next::End(found);
                }
                _ => {}
            }
        }
        Next::End(self.limit)
    }

    /// How to go on after a foreign character at the current token, in a head that begins at `first`: before, in or after the name. If
    /// it is a letter that touches the name, it belongs to the name.
    fn foreign_in_name(&self, first: usize, good: &mut usize) -> Option<Next> {
        let at = self.at;
        let begins_at =
            |at: usize| at == first || self.kind_at(at.saturating_sub(1)) == TokenKind::Sign(b']');
        let is_named = at > first && begins_at(at - 1) && is_word(self.word_at(at - 1));
        if !is_named && !begins_at(at) {
            return None;
        }
        let begin = match is_named && self.touches(at) {
            true => at - 1,
            false => at,
        };
        let is_part = |at| matches!(self.kind_at(at), TokenKind::Word | TokenKind::Foreign);
        let mut end = at + 1;
        while is_part(end) && self.touches(end) {
            end += 1;
        }
        let is_letter = self.word().chars().any(char::is_alphanumeric);
        if is_named {
            if begin == at || !is_letter {
                return Some(Next::Rest(at + 1));
            }
            // The word before is the last part that was kept.
            *good = good.saturating_sub(1);
            return Some(Next::Name(begin, end));
        }
        let begins = |at: usize| self.is_head(at) || self.kind_at(at) == HASH;
        let is_in_name = is_letter && is_part(at + 1) && self.touches(at + 1);
        if begins(at + 1) && !is_in_name {
            return Some(Next::Head(at + 1));
        }
        match self.kind_at(end) {
            _ if begins(end) => Some(Next::Head(end)),
            // Anything else has no name.
            BEGIN | COLON | LESS if is_letter => Some(Next::Name(begin, end)),
            _ => None,
        }
    }

    /// Whether there is nothing between a token and the one before it.
    fn touches(&self, at: usize) -> bool {
        let end = at.checked_sub(1).map(|last| self.tokens.place(last).end);
        end == Some(self.tokens.place(at).start)
    }

    /// Whether a token is the first of its line.
    fn starts_line(&self, at: usize) -> bool {
        let end = at
            .checked_sub(1)
            .map_or(0, |last| self.tokens.place(last).end);
        self.tokens.text[end..self.tokens.place(at).start].contains('\n')
    }

    /// Where the attributes that begin at `first` seem to end: after the last `]`, or where the state begins.
    fn attribute_end(&self, first: usize) -> usize {
        let mut end = first;
        for at in first..self.limit {
            match self.kind_at(at) {
                TokenKind::Sign(b']') => {
                    end = at + 1;
                    if self.kind_at(end) != TokenKind::Sign(b'#') {
                        return end;
                    }
                }
                TokenKind::Sign(b'{' | b'}') => return end,
                _ if self.is_directed_head(at) => return at,
                _ => {}
            }
        }
        end
    }

    /// Whether a closing bracket outside of any state ends one whose opening bracket is missing, and not the protocol.
    pub(super) fn closes_state(&self, at: usize) -> bool {
        self.kind_at(at) == END
            && (self.is_head(at + 1)
                || matches!(self.kind_at(at + 1), TokenKind::Sign(b'}' | b')' | b'#')))
    }

    /// Whether a state with a direction begins at a token: `name:send {`, `name:recv<`. Nothing else in the language looks like that,
    /// except for an entry `name: send<T>` of a payload.
    pub(super) fn is_directed_head(&self, at: usize) -> bool {
        self.kind_at(at) == TokenKind::Word
            && self.kind_at(at + 1) == TokenKind::Sign(b':')
            && matches!(self.word_at(at + 2), "send" | "recv")
            && matches!(self.kind_at(at + 3), BEGIN | TokenKind::Sign(b'<'))
            && is_word(self.word_at(at))
    }

    /// Whether a state begins at a token that is no message with its payload in braces.
    pub(super) fn is_plain_head(&self, at: usize) -> bool {
        self.is_directed_head(at) || self.is_head(at) && self.kind_at(at + 2) == END
    }

    /// Whether a state seems to begin at a token, with or without a direction.
    pub(super) fn is_head(&self, at: usize) -> bool {
        let is_state = || {
            let inner = self.kind_at(at + 2);
            let after = self.kind_at(at + 3);
            self.kind_at(at + 1) == BEGIN
                && match inner {
                    END => after != TokenKind::Arrow,
                    TokenKind::Word => {
                        matches!(after, TokenKind::Arrow | TokenKind::Sign(b'('))
                    }
                    _ => false,
                }
        };
        let word = self.word_at(at);
        let is_direction = matches!(word, "send" | "recv");
        is_word(word) && (self.is_directed_head(at) || !is_direction && is_state())
    }
}
