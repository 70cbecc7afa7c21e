//! Values, written as in transcripts: `"holk"`, `[1, 2]`. `tests/run/README.md` has the table.

use std::fmt::{self, Display, Formatter, Write as _};

/// How deeply values may be nested, typed or received, so that none overflows the stack. Received lists may be nested up to 256 deep.
pub(super) const DEPTH: usize = 600;

/// A value of a payload. Two are equal if they are written in the same way.
#[derive(Clone, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A value of an unsigned type.
    Unsigned(u64),
    /// A value of a signed type.
    Signed(i64),
    /// A value of `f32` or `f64`.
    Real(f64),
    /// A value of `str`.
    Text(String),
    /// A value of `bytes`.
    Bytes(Vec<u8>),
    /// `[1, 2]`
    List(Vec<Value>),
    /// `none` or `some(1)`.
    Option(Option<Box<Value>>),
    /// `(1, "x")`
    Tuple(Vec<Value>),
    /// `{code: 250, lines: []}`, with the fields in the order declared.
    Struct(Vec<(Box<str>, Value)>),
    /// `limit` or `frozen(12)`.
    Variant(Box<str>, Vec<Value>),
    /// An endpoint, or a value of a type that the program supplies: nothing but its text.
    Opaque(String),
}

/// Why a text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The byte of the text from which it is not.
    pub at: usize,
    /// What is wrong, and what would be right.
    pub message: String,
    /// Words that could be written there.
    pub words: Vec<String>,
}

impl Fault {
    /// A fault with no words to propose.
    pub(super) fn new(at: usize, message: impl Into<String>) -> Fault {
        Fault {
            at,
            message: message.into(),
            words: Vec::new(),
        }
    }
}

impl PartialEq for Value {
    /// Every NaN equals every other, so that a script with one can be played.
    fn eq(&self, other: &Value) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Display for Value {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(out, "{value}"),
            Value::Unsigned(value) => write!(out, "{value}"),
            Value::Signed(value) => write!(out, "{value}"),
            Value::Real(value) => real(out, *value),
            Value::Text(text) => quoted(out, text),
            Value::Bytes(bytes) => {
                out.write_char('<')?;
                bytes
                    .iter()
                    .try_for_each(|byte| write!(out, "{byte:02x}"))?;
                out.write_char('>')
            }
            Value::List(items) => list(out, "[", items, "]"),
            Value::Option(None) => out.write_str("none"),
            Value::Option(Some(value)) => write!(out, "some({value})"),
            Value::Tuple(items) => list(out, "(", items, ")"),
            Value::Struct(fields) => {
                out.write_char('{')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(out, "{comma}{name}: {value}")?;
                }
                out.write_char('}')
            }
            Value::Variant(name, values) if values.is_empty() => out.write_str(name),
            Value::Variant(name, values) => {
                out.write_str(name)?;
                list(out, "(", values, ")")
            }
            Value::Opaque(text) => out.write_str(text),
        }
    }
}

/// Two decimals where they are exact, as in transcripts, and otherwise as many as are needed.
fn real(out: &mut Formatter<'_>, value: f64) -> fmt::Result {
    let short = format!("{value:.2}");
    match short.parse::<f64>() {
        Ok(same) if same.to_bits() == value.to_bits() && value.abs() < 1e15 => {
            out.write_str(&short)
        }
        _ => write!(out, "{value:?}"),
    }
}

fn quoted(out: &mut Formatter<'_>, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            other if is_hidden(other) => write!(out, "\\u{{{:x}}}", u32::from(other))?,
            other => out.write_char(other)?,
        }
    }
    out.write_char('"')
}

/// Whether a character is not shown, or changes the direction of what is shown after it.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Values in brackets, separated by commas.
fn list(out: &mut Formatter<'_>, open: &str, values: &[Value], close: &str) -> fmt::Result {
    out.write_str(open)?;
    for (index, value) in values.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(out, "{comma}{value}")?;
    }
    out.write_str(close)
}
