//! The rules of `grammar/duologue.pest`, one method each. A rule that fails leaves the parser at the token that does not fit.

use super::{Parser, Result, Stop};
use crate::syntax::outline::ItemStartKind;
use crate::syntax::tokens::{TokenKind, digits};
use crate::syntax::tree::Kind;

pub const OPEN: TokenKind = TokenKind::Sign(b'(');
pub const CLOSE: TokenKind = TokenKind::Sign(b')');
pub const COMMA: TokenKind = TokenKind::Sign(b',');
pub const COLON: TokenKind = TokenKind::Sign(b':');
pub const SEMICOLON: TokenKind = TokenKind::Sign(b';');
pub const LESS: TokenKind = TokenKind::Sign(b'<');
pub const GREATER: TokenKind = TokenKind::Sign(b'>');
pub const HASH: TokenKind = TokenKind::Sign(b'#');
pub const BEGIN: TokenKind = TokenKind::Sign(b'{');
pub const END: TokenKind = TokenKind::Sign(b'}');

impl Parser<'_> {
    /// `package`, `import` or `item`.
    pub(super) fn item(&mut self, kind: ItemStartKind) -> Result {
        match kind {
            ItemStartKind::Package => self.package(),
            ItemStartKind::Import => self.import(),
            ItemStartKind::Item | ItemStartKind::Protocol => {
                let item = self.open(Kind::Item);
                self.attributes()?;
                self.declaration()?;
                self.close(item);
                Ok(())
            }
        }
    }

    fn package(&mut self) -> Result {
        let package = self.open(Kind::Package);
        self.keyword("package", Kind::KwPackage)?;
        self.ident()?;
        while self.eat(TokenKind::Sign(b'.')) {
            self.ident()?;
        }
        self.need(SEMICOLON)?;
        self.close(package);
        Ok(())
    }

    fn import(&mut self) -> Result {
        let import = self.open(Kind::Import);
        self.keyword("import", Kind::KwImport)?;
        self.string()?;
        self.need(SEMICOLON)?;
        self.close(import);
        Ok(())
    }

    fn declaration(&mut self) -> Result {
        let at = self.at;
        match self.word() {
            "type" => self.alias(),
            "struct" => self.structure(),
            "enum" => self.enumeration(),
            "extern" => self.external(),
            "proto" => self.instance(),
            _ => {
                for keyword in ["type", "struct", "enum", "extern", "proto"] {
                    self.expected.add_word(keyword);
                }
                debug_assert_eq!(at, self.at);
                Err(Stop)
            }
        }
    }

    fn alias(&mut self) -> Result {
        let alias = self.open(Kind::Alias);
        self.keyword("type", Kind::KwType)?;
        self.ident()?;
        self.need(TokenKind::Sign(b'='))?;
        self.ty(0)?;
        self.need(SEMICOLON)?;
        self.close(alias);
        Ok(())
    }

    fn structure(&mut self) -> Result {
        let structure = self.open(Kind::Structure);
        self.keyword("struct", Kind::KwStruct)?;
        self.ident()?;
        self.need(BEGIN)?;
        self.list(END, |parser| {
            let field = parser.open(Kind::Field);
            parser.attributes()?;
            parser.ident()?;
            parser.need(COLON)?;
            parser.ty(0)?;
            parser.close(field);
            Ok(())
        })?;
        self.close(structure);
        Ok(())
    }

    fn enumeration(&mut self) -> Result {
        let enumeration = self.open(Kind::Enumeration);
        self.keyword("enum", Kind::KwEnum)?;
        self.ident()?;
        self.need(BEGIN)?;
        self.list(END, |parser| {
            let variant = parser.open(Kind::Variant);
            parser.attributes()?;
            parser.ident()?;
            if parser.is(OPEN) {
                parser.payload()?;
            }
            parser.close(variant);
            Ok(())
        })?;
        self.close(enumeration);
        Ok(())
    }

    fn external(&mut self) -> Result {
        let external = self.open(Kind::External);
        self.keyword("extern", Kind::KwExtern)?;
        if self.is_keyword("type") {
            self.leaf(Kind::KwType);
        } else {
            self.keyword("bound", Kind::KwBound)?;
        }
        self.ident()?;
        if self.eat(COLON) {
            self.bounds()?;
        }
        if !self.eat(SEMICOLON) {
            self.need(BEGIN)?;
            while !self.eat(END) {
                self.mapping()?;
            }
        }
        self.close(external);
        Ok(())
    }

    fn mapping(&mut self) -> Result {
        let mapping = self.open(Kind::Mapping);
        self.ident()?;
        self.need(TokenKind::Sign(b'='))?;
        self.string()?;
        for (word, keyword, kind) in [
            ("from", Kind::KwFrom, Kind::From),
            ("drop", Kind::KwDrop, Kind::Drop),
        ] {
            if self.is_keyword(word) {
                let part = self.open(kind);
                self.leaf(keyword);
                self.string()?;
                self.close(part);
            }
        }
        self.need(SEMICOLON)?;
        self.close(mapping);
        Ok(())
    }

    fn instance(&mut self) -> Result {
        let instance = self.open(Kind::Instance);
        self.keyword("proto", Kind::KwProto)?;
        self.need(TokenKind::Sign(b'!'))?;
        self.ident()?;
        self.need(TokenKind::Sign(b'='))?;
        self.ident()?;
        if !self.is(LESS) {
            return Err(Stop);
        }
        self.arguments(0)?;
        self.need(SEMICOLON)?;
        self.close(instance);
        Ok(())
    }

    /// The header of a protocol, up to its opening bracket, of which the result is the closing one. `good` is the length of the
    /// tree after the last part that is complete.
    pub(super) fn header(&mut self, good: &mut usize) -> Result<TokenKind> {
        while self.is(HASH) {
            self.attribute()?;
            *good = self.tree.len();
        }
        self.keyword("proto", Kind::KwProto)?;
        *good = self.tree.len();
        self.need(TokenKind::Sign(b'!'))?;
        self.ident()?;
        *good = self.tree.len();
        if self.eat(BEGIN) {
            Ok(END)
        } else {
            self.need(OPEN)?;
            Ok(CLOSE)
        }
    }

    pub(super) fn attributes(&mut self) -> Result {
        while self.is(HASH) {
            self.attribute()?;
        }
        Ok(())
    }

    pub(super) fn attribute(&mut self) -> Result {
        let attribute = self.open(Kind::Attribute);
        self.need(HASH)?;
        self.need(TokenKind::Sign(b'['))?;
        self.ident()?;
        if self.eat(OPEN) {
            loop {
                self.argument()?;
                if !self.eat(COMMA) {
                    self.need(CLOSE)?;
                    break;
                }
                if self.eat(CLOSE) {
                    break;
                }
            }
        }
        self.need(TokenKind::Sign(b']'))?;
        self.close(attribute);
        Ok(())
    }

    /// `quantity` or `rule_name`.
    fn argument(&mut self) -> Result {
        let word = self.word();
        let digits = digits(word);
        if digits == 0 {
            return self.rule_name();
        }
        let quantity = self.open(Kind::Quantity);
        let place = self.place();
        let end = place.start + digits;
        self.tree.leaf(Kind::Number, place.start..end);
        let is_whole = end == place.end;
        if !is_whole {
            self.tree.leaf(Kind::Ident, end..place.end);
        }
        self.bump();
        if is_whole && self.is_name() {
            self.leaf(Kind::Ident);
        }
        self.close(quantity);
        Ok(())
    }

    /// Names joined by `-`, with nothing between them.
    fn rule_name(&mut self) -> Result {
        if !self.is_name() {
            return Err(Stop);
        }
        let start = self.place().start;
        self.bump();
        let mut end = self.end_of_last();
        while self.kind() == TokenKind::Sign(b'-') && self.place().start == end {
            let next = self.tokens.get(self.at + 1);
            let joins = |start: u32| start == end + 1;
            let is_joined = next.is_some_and(|next| joins(next.start));
            if !is_joined || !super::is_word(self.word_ahead(1)) {
                break;
            }
            self.bump();
            self.bump();
            end = self.end_of_last();
        }
        self.tree.leaf(Kind::RuleName, start..end);
        Ok(())
    }

    /// `name direction? parameters? {`, after the attributes of a state.
    pub(super) fn state_head(&mut self, good: &mut usize) -> Result {
        while self.is(HASH) {
            self.attribute()?;
            *good = self.tree.len();
        }
        self.ident()?;
        *good = self.tree.len();
        self.after_name(good)
    }

    /// What follows the name of a state.
    pub(super) fn after_name(&mut self, good: &mut usize) -> Result {
        if self.is(COLON) {
            let direction = self.open(Kind::Direction);
            self.bump();
            self.ident()?;
            self.close(direction);
            *good = self.tree.len();
        }
        if self.is(LESS) {
            let parameters = self.open(Kind::Parameters);
            self.bump();
            loop {
                let parameter = self.open(Kind::Parameter);
                self.ident()?;
                if self.eat(COLON) {
                    self.bounds()?;
                }
                self.close(parameter);
                if !self.eat(COMMA) {
                    self.need(GREATER)?;
                    break;
                }
                if self.eat(GREATER) {
                    break;
                }
            }
            self.close(parameters);
            *good = self.tree.len();
        }
        self.need(BEGIN)
    }

    fn bounds(&mut self) -> Result {
        let bounds = self.open(Kind::Bounds);
        if self.is_name() {
            self.leaf(Kind::Ident);
            loop {
                if self.eat(TokenKind::Sign(b'+')) {
                    self.ident()?;
                } else if self.is_name() {
                    self.leaf(Kind::Ident);
                } else {
                    break;
                }
            }
        }
        self.close(bounds);
        Ok(())
    }

    pub(super) fn message(&mut self) -> Result {
        let message = self.open(Kind::Message);
        self.attributes()?;
        self.ident()?;
        if self.is(OPEN) {
            self.payload()?;
        }
        self.need(TokenKind::Arrow)?;
        if self.is(TokenKind::Sign(b'!')) {
            self.leaf(Kind::End);
        } else {
            let next = self.open(Kind::Next);
            self.ident()?;
            if self.is(LESS) {
                self.arguments(0)?;
            }
            self.close(next);
        }
        self.close(message);
        Ok(())
    }

    /// Elements with commas between them, up to the closing bracket; the last comma may be left out.
    pub(super) fn list(&mut self, end: TokenKind, element: fn(&mut Self) -> Result) -> Result {
        loop {
            if self.eat(end) {
                return Ok(());
            }
            element(self)?;
            if !self.eat(COMMA) {
                return self.need(end);
            }
        }
    }

    fn string(&mut self) -> Result {
        if !self.is(TokenKind::String) {
            return Err(Stop);
        }
        if let Some(backslash) = self.word().find('\\') {
            self.inside = u32::try_from(backslash).unwrap_or(u32::MAX);
            return Err(Stop);
        }
        let string = self.open(Kind::String);
        let place = self.place();
        self.tree
            .leaf(Kind::StringText, place.start + 1..place.end - 1);
        self.bump();
        self.close(string);
        Ok(())
    }
}
