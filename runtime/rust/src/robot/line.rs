//! Lines of transcripts.

use std::fmt::{Display, Write as _};

/// Appends values to a line of a transcript.
#[derive(Debug, Default)]
pub struct Line(String);

impl Line {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends a text as it is.
    pub fn raw(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// Appends a value of a built-in type.
    pub fn value(&mut self, value: &impl Show) {
        value.show(self);
    }

    /// Appends a list. `item` appends one of its items.
    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&T, &mut Self)) {
        self.raw("[");
        for (at, own) in items.iter().enumerate() {
            if at > 0 {
                self.raw(", ");
            }
            item(own, self);
        }
        self.raw("]");
    }

    /// Appends an optional value.
    pub fn option<T>(&mut self, value: &Option<T>, some: impl FnOnce(&T, &mut Self)) {
        match value {
            None => self.raw("none"),
            Some(value) => {
                self.raw("some(");
                some(value, self);
                self.raw(")");
            }
        }
    }

    fn plain(&mut self, value: impl Display) {
        let _ = write!(self.0, "{value}");
    }

    /// Appends a number with two decimals if they are exact, otherwise with 17 digits.
    fn real(&mut self, value: f64) {
        if !value.is_finite() {
            return self.plain(value);
        }
        let short = format!("{value:.2}");
        let is_exact = short.parse::<f64>().map(f64::to_bits) == Ok(value.to_bits());
        match is_exact && value.abs() < 1e15 {
            true => self.0.push_str(&short),
            false => self.plain(format_args!("{value:.16e}")),
        }
    }

    /// Appends a text in quotes.
    fn text(&mut self, value: &str) {
        self.0.push('"');
        for letter in value.chars() {
            match letter {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                hidden if is_hidden(hidden) => {
                    let _ = write!(self.0, "\\u{{{:x}}}", u32::from(hidden));
                }
                other => self.0.push(other),
            }
        }
        self.0.push('"');
    }

    /// Appends bytes as hexadecimal digits.
    fn bytes(&mut self, value: &[u8]) {
        self.0.push('<');
        for byte in value {
            let _ = write!(self.0, "{byte:02x}");
        }
        self.0.push('>');
    }
}

/// A built-in type.
pub trait Show {
    /// Appends a value to a line.
    fn show(&self, out: &mut Line);
}

macro_rules! shows {
    ($($ty:ty: |$value:ident, $out:ident| $body:expr;)*) => {$(
        impl Show for $ty {
            fn show(&self, $out: &mut Line) {
                let $value = self;
                $body;
            }
        }
    )*};
}

shows! {
    bool: |value, out| out.plain(value);
    u8: |value, out| out.plain(value);
    u16: |value, out| out.plain(value);
    u32: |value, out| out.plain(value);
    u64: |value, out| out.plain(value);
    i8: |value, out| out.plain(value);
    i16: |value, out| out.plain(value);
    i32: |value, out| out.plain(value);
    i64: |value, out| out.plain(value);
    f32: |value, out| out.real(f64::from(*value));
    f64: |value, out| out.real(*value);
    String: |value, out| out.text(value);
    Vec<u8>: |value, out| out.bytes(value);
}

/// Whether a character is not shown, or changes the direction of what is shown after it.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
