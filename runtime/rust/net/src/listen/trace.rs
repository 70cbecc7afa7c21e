//! The trace context of a session.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// What the connecting side sends about the trace that its session belongs to, as in W3C `traceparent`.
///
/// ```
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context: duologue_net::TraceContext = text.parse()?;
/// assert_eq!(context.to_string(), text);
/// assert_eq!(context.flags, 1);
/// # Ok::<(), duologue_net::NotATraceContext>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TraceContext {
    /// The trace. A peer may send zeros, which identify none.
    pub trace_id: [u8; 16],
    /// The span in which the session begins.
    pub span_id: [u8; 8],
    /// 1 if the trace is recorded.
    pub flags: u8,
}

/// A text that is not the `traceparent` of version 00.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotATraceContext;

impl fmt::Display for NotATraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a `traceparent` of version 00")
    }
}

impl Error for NotATraceContext {}

impl TraceContext {
    pub(crate) fn from_bytes(bytes: [u8; 25]) -> TraceContext {
        let (mut trace_id, mut span_id) = ([0; 16], [0; 8]);
        trace_id.copy_from_slice(&bytes[..16]);
        span_id.copy_from_slice(&bytes[16..24]);
        TraceContext {
            trace_id,
            span_id,
            flags: bytes[24],
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; 25] {
        let mut bytes = [0; 25];
        bytes[..16].copy_from_slice(&self.trace_id);
        bytes[16..24].copy_from_slice(&self.span_id);
        bytes[24] = self.flags;
        bytes
    }
}

/// The text of a `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |f: &mut fmt::Formatter<'_>, bytes: &[u8]| {
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        };
        f.write_str("00-")?;
        hex(f, &self.trace_id)?;
        f.write_str("-")?;
        hex(f, &self.span_id)?;
        write!(f, "-{:02x}", self.flags)
    }
}

impl FromStr for TraceContext {
    type Err = NotATraceContext;

    fn from_str(text: &str) -> Result<TraceContext, NotATraceContext> {
        let parts: Vec<&str> = text.split('-').collect();
        let &["00", trace, span, flags] = parts.as_slice() else {
            return Err(NotATraceContext);
        };
        let context = TraceContext {
            trace_id: unhex(trace).ok_or(NotATraceContext)?,
            span_id: unhex(span).ok_or(NotATraceContext)?,
            flags: unhex::<1>(flags).ok_or(NotATraceContext)?[0],
        };
        let is_valid = context.trace_id != [0; 16] && context.span_id != [0; 8];
        is_valid.then_some(context).ok_or(NotATraceContext)
    }
}

/// Bytes in lower-case hexadecimal digits.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4) | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::TraceContext;

    #[test]
    fn only_the_text_of_version_00_is_read() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context: TraceContext = text.parse().expect("it is one");
        assert_eq!(TraceContext::from_bytes(context.to_bytes()), context);
        assert_eq!(context.to_string(), text);
        for other in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b+-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47\u{e9}-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert!(other.parse::<TraceContext>().is_err(), "{other}");
        }
    }
}
