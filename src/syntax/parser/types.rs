//! The rules of payloads and types.

use super::rules::{CLOSE, COLON, COMMA, GREATER, LESS, OPEN, SEMICOLON};
use super::{Parser, Result, Stop};
use crate::syntax::expected::Expected;
use crate::syntax::tokens::{DEPTH_LIMIT, TokenKind, digits};
use crate::syntax::tree::Kind;

impl Parser<'_> {
    pub(super) fn payload(&mut self) -> Result {
        let payload = self.open(Kind::Payload);
        self.need(OPEN)?;
        self.list(CLOSE, |parser| {
            let entry = parser.open(Kind::Entry);
            if parser.is_name() {
                if parser.kind_ahead(1) == COLON {
                    let label = parser.open(Kind::Label);
                    parser.leaf(Kind::Ident);
                    parser.bump();
                    parser.close(label);
                } else {
                    parser.may_be_label = true;
                }
            }
            parser.ty(0)?;
            parser.close(entry);
            Ok(())
        })?;
        self.close(payload);
        Ok(())
    }

    pub(super) fn ty(&mut self, depth: usize) -> Result {
        if depth >= DEPTH_LIMIT {
            self.is_too_deep = true;
            return Err(Stop);
        }
        let ty = self.open(Kind::Ty);
        while self.eat(TokenKind::Sign(b'~')) {
            self.may_be_label = false;
        }
        if self.is(TokenKind::Sign(b'[')) {
            let list = self.open(Kind::List);
            self.bump();
            self.ty(depth + 1)?;
            if self.eat(SEMICOLON) {
                self.number(TokenKind::Sign(b']'))?;
            }
            self.need(TokenKind::Sign(b']'))?;
            self.close(list);
        } else if self.is(OPEN) {
            self.tuple(depth)?;
        } else {
            self.path(depth)?;
        }
        let mut options = 0;
        while self.is(TokenKind::Sign(b'?')) {
            options += 1;
            if options > DEPTH_LIMIT {
                self.is_too_deep = true;
                return Err(Stop);
            }
            self.leaf(Kind::Option);
        }
        self.close(ty);
        Ok(())
    }

    fn tuple(&mut self, depth: usize) -> Result {
        let tuple = self.open(Kind::Tuple);
        self.bump();
        self.ty(depth + 1)?;
        while self.is(COMMA) {
            let comma = self.place();
            self.bump();
            if self.is(CLOSE) {
                self.tree.leaf(Kind::Comma, comma);
                break;
            }
            self.ty(depth + 1)?;
        }
        self.need(CLOSE)?;
        self.close(tuple);
        Ok(())
    }

    fn path(&mut self, depth: usize) -> Result {
        let path = self.open(Kind::Path);
        self.ident()?;
        if std::mem::take(&mut self.may_be_label) {
            self.expected.add(COLON);
        }
        while self.eat(TokenKind::Path) {
            self.ident()?;
        }
        if self.is(LESS) {
            if digits(self.word_ahead(1)) > 0 {
                let length = self.open(Kind::Length);
                self.bump();
                self.number(GREATER)?;
                self.need(GREATER)?;
                self.close(length);
            } else {
                self.arguments(depth + 1)?;
            }
        }
        self.close(path);
        Ok(())
    }

    pub(super) fn arguments(&mut self, depth: usize) -> Result {
        let arguments = self.open(Kind::Arguments);
        self.need(LESS)?;
        loop {
            self.ty(depth)?;
            if !self.eat(COMMA) {
                self.need(GREATER)?;
                break;
            }
            if self.eat(GREATER) {
                break;
            }
        }
        self.close(arguments);
        Ok(())
    }

    /// A number, which `end` follows.
    fn number(&mut self, end: TokenKind) -> Result {
        let digits = digits(self.word());
        let place = self.place();
        if digits == 0 {
            self.expected.add(TokenKind::Word);
            return Err(Stop);
        }
        if place.start + digits < place.end {
            self.expected = Expected::default();
            self.expected.add(end);
            self.inside = digits;
            return Err(Stop);
        }
        self.leaf(Kind::Number);
        Ok(())
    }
}
