//! Bytes -> text.

use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Sources, Span};

/// Adds bytes to the sources as text, under the name that reports show. If they are not UTF-8, also returns an error; the text
/// then only serves to show where it is.
#[must_use]
pub fn decode(
    sources: &mut Sources,
    name: impl Into<String>,
    bytes: Vec<u8>,
) -> (SourceId, Option<Diagnostic>) {
    let error = match String::from_utf8(bytes) {
        Ok(text) => {
            let lone = lone_return(text.as_bytes());
            let source = sources.add(name, text);
            let error = lone.map(|at| {
                let span = Span::new(source, at, at + 1);
                Diagnostic::syntax(span, "a line of this file ends in `\\r` alone")
                    .help("end lines with `\\n` or `\\r\\n`")
            });
            return (source, error);
        }
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let byte = error.as_bytes()[valid];
    let source = sources.add_lossy(name, error.as_bytes());
    let span = Span::new(source, valid, valid + '\u{fffd}'.len_utf8());
    let error = Diagnostic::syntax(span, "this file is not valid UTF-8")
        .label(format!(
            "the byte {byte:#04x} is not part of a character here"
        ))
        .help("save it as UTF-8");
    (source, Some(error))
}

/// Where a line ends in a carriage return alone. A comment would go on after it, and hide what follows.
fn lone_return(bytes: &[u8]) -> Option<usize> {
    let mut pairs = bytes.windows(2);
    pairs.position(|pair| pair[0] == b'\r' && pair[1] != b'\n' && pair[1] != b'\r')
}
