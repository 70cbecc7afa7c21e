//! Reads the values of a payload by its type.

use super::value::{DEPTH, Fault, Value};
use duologue::diagnostic::joined;
use duologue::protocol::{
    Builtin, EndpointType, Entry, Field, Lengths, Limit, Part, Program, Shape, Type, Variant,
};
use duologue::report::quoted;

/// Reads a text from left to right.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    program: &'a Program,
    text: &'a str,
    /// The byte that is read next.
    pub at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub fn new(program: &'a Program, text: &'a str) -> Reader<'a> {
        Reader {
            program,
            text,
            at: 0,
            depth: 0,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips whitespace, and returns the next character.
    pub fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    /// Reads a character if it is the next one.
    pub fn take(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.at += wanted.len_utf8();
        }
        is_next
    }

    fn expect(&mut self, wanted: char, place: &str) -> Result<(), Fault> {
        if self.take(wanted) {
            return Ok(());
        }
        let found = self.found();
        let words = format!("expected `{wanted}` {place}, not {found}");
        Err(Fault::new(self.at, words))
    }

    /// What is next, for a message.
    pub fn found(&mut self) -> String {
        match self.peek() {
            Some(letter) => format!("`{}`", letter.escape_debug()),
            None => "the end".to_owned(),
        }
    }

    /// Reads an identifier, which may be empty.
    pub fn word(&mut self) -> &'a str {
        self.peek();
        let rest = self.rest();
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The values of a payload in parentheses, or none if it has no entries.
    pub fn payload(&mut self, entries: &[Entry], arguments: &[Type]) -> Result<Vec<Value>, Fault> {
        if entries.is_empty() {
            if self.take('(') {
                self.expect(')', "because there are no values")?;
            }
            return Ok(Vec::new());
        }
        let place = || {
            let names = entries.iter().map(|entry| &entry.name);
            format!("before {}", quoted(names))
        };
        self.expect('(', &place())?;
        let mut values = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            if index > 0 {
                self.expect(',', &format!("and then `{}`", entry.name))?;
            }
            self.skip_label(entry.name.text());
            let ty = entry.ty.substitute(arguments);
            values.push(self.value(&ty, &entry.lengths)?);
        }
        self.expect(')', "after the last value")?;
        Ok(values)
    }

    /// Skips the name of an entry and its colon, which may be written.
    fn skip_label(&mut self, name: &str) {
        let before = self.at;
        if self.word() != name || !self.take(':') {
            self.at = before;
        }
    }

    fn value(&mut self, ty: &Type, lengths: &Lengths) -> Result<Value, Fault> {
        self.peek();
        if self.depth == DEPTH {
            let words = format!("values are nested more than {DEPTH} deep");
            return Err(Fault::new(self.at, words));
        }
        self.depth += 1;
        let value = self.of_type(ty, lengths);
        self.depth -= 1;
        value
    }

    fn of_type(&mut self, ty: &Type, lengths: &Lengths) -> Result<Value, Fault> {
        let (shape, lengths) = self.program.shape(ty, lengths);
        match shape {
            Shape::Builtin(builtin) => self.builtin(builtin, lengths.most),
            Shape::List(item) => self.items(item, lengths.most).map(Value::List),
            Shape::Option(item) => self.option(item),
            Shape::Tuple(items) => {
                self.expect('(', "before the values of a tuple")?;
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    if !values.is_empty() {
                        self.expect(',', "before the next value of the tuple")?;
                    }
                    values.push(self.value(item.ty, item.lengths)?);
                }
                self.expect(')', "after the values of a tuple")?;
                Ok(Value::Tuple(values))
            }
            Shape::Struct(fields) => self.record(fields),
            Shape::Enum(variants) => self.variant(variants),
            Shape::Endpoint(endpoint) => self.endpoint(endpoint),
            Shape::Host(_) | Shape::Unknown => self.opaque(),
        }
    }

    fn builtin(&mut self, builtin: Builtin, most: Option<Limit>) -> Result<Value, Fault> {
        let bits = 8 * builtin.width().unwrap_or(8);
        let whole = "a whole number";
        match builtin {
            Builtin::Bool => self
                .choice(&["true", "false"])
                .map(|word| Value::Bool(word == 0)),
            Builtin::U8 | Builtin::U16 | Builtin::U32 | Builtin::U64 => {
                let most = u64::MAX >> (64 - bits);
                let read = |text: &str| text.parse().ok().filter(|value| *value <= most);
                let range = format!(" from 0 to {most}");
                self.number(whole, read, &range).map(Value::Unsigned)
            }
            Builtin::I8 | Builtin::I16 | Builtin::I32 | Builtin::I64 => {
                let (least, most) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
                let fits = |value: &i64| (least..=most).contains(value);
                let read = |text: &str| text.parse().ok().filter(fits);
                let range = format!(" from {least} to {most}");
                self.number(whole, read, &range).map(Value::Signed)
            }
            Builtin::F32 => {
                let read = |text: &str| text.parse::<f32>().ok();
                let value = self.number("a number", read, "")?;
                Ok(Value::Real(value.into()))
            }
            Builtin::F64 => {
                let read = |text: &str| text.parse::<f64>().ok();
                self.number("a number", read, "").map(Value::Real)
            }
            Builtin::Str => {
                let start = self.at;
                let text = self.text()?;
                bounded(start, text.len(), "bytes", most)?;
                Ok(Value::Text(text))
            }
            Builtin::Bytes => {
                let start = self.at;
                let bytes = self.bytes()?;
                bounded(start, bytes.len(), "bytes", most)?;
                Ok(Value::Bytes(bytes))
            }
        }
    }

    fn number<T>(
        &mut self,
        what: &str,
        read: impl Fn(&str) -> Option<T>,
        range: &str,
    ) -> Result<T, Fault> {
        self.peek();
        let (start, rest) = (self.at, self.rest());
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+-._".contains(letter);
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let text = &rest[..end];
        if text.is_empty() {
            let found = self.found();
            return Err(Fault::new(start, format!("expected {what}, not {found}")));
        }
        let Some(value) = read(text) else {
            let words = format!("`{text}` is not {what}{range}");
            return Err(Fault::new(start, words));
        };
        self.at += end;
        Ok(value)
    }

    /// Reads one of some words, and returns its position among them.
    fn choice<W: AsRef<str>>(&mut self, words: &[W]) -> Result<usize, Fault> {
        self.peek();
        let start = self.at;
        let word = self.word();
        if let Some(index) = words.iter().position(|known| known.as_ref() == word) {
            return Ok(index);
        }
        let shown: Vec<String> = words
            .iter()
            .map(|word| format!("`{}`", word.as_ref()))
            .collect();
        let found = match word {
            "" => self.found(),
            word => format!("`{word}`"),
        };
        Err(Fault {
            at: start,
            message: format!("expected {}, not {found}", joined(&shown, "or")),
            words: words.iter().map(|word| word.as_ref().to_owned()).collect(),
        })
    }

    fn text(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.expect('"', "before a text")?;
        let mut text = String::new();
        let mut letters = self.rest().char_indices();
        let base = self.at;
        while let Some((offset, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at = base + offset + 1;
                    return Ok(text);
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, letter @ ('"' | '\\'))) => text.push(letter),
                    Some((_, 'u')) => {
                        let rest = letters.as_str();
                        let code = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
                        let letter = code
                            .and_then(|(code, _)| u32::from_str_radix(code, 16).ok())
                            .and_then(char::from_u32);
                        let (Some((code, _)), Some(letter)) = (code, letter) else {
                            let words = "expected a character after `\\u`, as in `\\u{e9}`";
                            return Err(Fault::new(base + offset, words));
                        };
                        text.push(letter);
                        // The digits and the braces.
                        letters.nth(code.chars().count() + 1);
                    }
                    _ => {
                        let words = "after `\\` a text has `\"`, `\\`, `n`, `t`, `r` or `u{...}`";
                        return Err(Fault::new(base + offset, words));
                    }
                },
                letter => text.push(letter),
            }
        }
        Err(Fault::new(start, "the text has no `\"` at its end"))
    }

    fn bytes(&mut self) -> Result<Vec<u8>, Fault> {
        self.expect('<', "before bytes, as in `<00ff>`")?;
        let mut bytes = Vec::new();
        while !self.take('>') {
            let digits = self.rest().get(..2);
            let is_hex = |digits: &&str| digits.chars().all(|digit| digit.is_ascii_hexdigit());
            let byte = digits
                .filter(is_hex)
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let Some(byte) = byte else {
                let words = "expected two hexadecimal digits for each byte, and then `>`";
                return Err(Fault::new(self.at, words));
            };
            bytes.push(byte);
            self.at += 2;
        }
        Ok(bytes)
    }

    fn items(&mut self, item: Part<'_>, most: Option<Limit>) -> Result<Vec<Value>, Fault> {
        let start = self.at;
        self.expect('[', "before the items of a list")?;
        let mut items = Vec::new();
        while !self.take(']') {
            if !items.is_empty() {
                self.expect(',', "or `]` after an item")?;
            }
            items.push(self.value(item.ty, item.lengths)?);
        }
        bounded(start, items.len(), "items", most)?;
        Ok(items)
    }

    fn option(&mut self, item: Part<'_>) -> Result<Value, Fault> {
        if self.choice(&["none", "some"])? == 0 {
            return Ok(Value::Option(None));
        }
        self.expect('(', "before the value of `some`")?;
        let value = self.value(item.ty, item.lengths)?;
        self.expect(')', "after the value of `some`")?;
        Ok(Value::Option(Some(Box::new(value))))
    }

    /// The fields of a struct, in any order.
    fn record(&mut self, fields: &[Field]) -> Result<Value, Fault> {
        self.expect('{', "before the fields of a struct")?;
        let mut values: Vec<Option<Value>> = vec![None; fields.len()];
        let mut is_first = true;
        while !self.take('}') {
            if !is_first {
                self.expect(',', "or `}` after a field")?;
            }
            is_first = false;
            let missing = || (0..fields.len()).filter(|index| values[*index].is_none());
            let open: Vec<usize> = missing().collect();
            if open.is_empty() {
                let words = "expected `}`, because each field has its value";
                return Err(Fault::new(self.at, words));
            }
            let names: Vec<&str> = open
                .iter()
                .map(|index| fields[*index].name.text())
                .collect();
            let index = open[self.choice(&names)?];
            self.expect(':', "after the name of a field")?;
            values[index] = Some(self.value(&fields[index].ty, &fields[index].lengths)?);
        }
        let mut complete = Vec::with_capacity(fields.len());
        for (field, value) in fields.iter().zip(values) {
            let Some(value) = value else {
                let words = format!("the field `{}` has no value", field.name);
                return Err(Fault::new(self.at - 1, words));
            };
            complete.push((field.name.text().into(), value));
        }
        Ok(Value::Struct(complete))
    }

    fn variant(&mut self, variants: &[Variant]) -> Result<Value, Fault> {
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.text()).collect();
        let variant = &variants[self.choice(&names)?];
        let values = match variant.entries.is_empty() {
            true => Vec::new(),
            false => self.payload(&variant.entries, &[])?,
        };
        Ok(Value::Variant(variant.name.text().into(), values))
    }

    fn endpoint(&mut self, endpoint: &EndpointType) -> Result<Value, Fault> {
        let protocol = self.program.protocol(endpoint.protocol);
        let state = &protocol.state(endpoint.state).name;
        let text = format!("<{}.{}.{state}>", protocol.name, endpoint.side.word());
        if self.rest().starts_with(&text) {
            self.at += text.len();
            return Ok(Value::Opaque(text));
        }
        Err(Fault {
            at: self.at,
            message: format!("expected an endpoint, which is written `{text}`"),
            words: vec![text],
        })
    }

    /// A value of which only the program knows how it is written: everything up to a comma or a bracket that it does not open, other
    /// than in quotes.
    fn opaque(&mut self) -> Result<Value, Fault> {
        self.peek();
        let rest = self.rest();
        let (mut open, mut is_quoted, mut is_escaped) = (0_usize, false, false);
        let end = rest.find(|letter| {
            if is_quoted {
                is_quoted = is_escaped || letter != '"';
                is_escaped = letter == '\\' && !is_escaped;
                return false;
            }
            match letter {
                '"' => is_quoted = true,
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' if open == 0 => return true,
                ')' | ']' | '}' => open -= 1,
                _ => {}
            }
            letter == ',' && open == 0
        });
        let text = rest[..end.unwrap_or(rest.len())].trim_end();
        if text.is_empty() {
            return Err(Fault::new(self.at, "expected a value"));
        }
        self.at += text.len();
        Ok(Value::Opaque(text.to_owned()))
    }
}

/// Checks a length against the bound that the protocol has for it.
fn bounded(at: usize, length: usize, unit: &str, most: Option<Limit>) -> Result<(), Fault> {
    match most {
        Some(limit) if length as u64 > limit.most => {
            let words = format!(
                "{length} {unit} are more than the {} that are allowed",
                limit.most
            );
            Err(Fault::new(at, words))
        }
        _ => Ok(()),
    }
}
