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

    /// Appends an integer or a `bool`.
    pub fn plain(&mut self, value: impl Display) {
        let _ = write!(self.0, "{value}");
    }

    /// Appends an `f32` or `f64`: with two decimals if they are exact, otherwise with 17 digits.
    pub fn real(&mut self, value: f64) {
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
    pub fn text(&mut self, value: &str) {
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
    pub fn bytes(&mut self, value: &[u8]) {
        self.0.push('<');
        for byte in value {
            let _ = write!(self.0, "{byte:02x}");
        }
        self.0.push('>');
    }
}

/// Whether a character is not shown, or changes the direction of what is shown after it.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
