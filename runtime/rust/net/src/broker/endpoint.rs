//! The subject of a protocol as the service discovery of NATS describes it.

use std::fmt::Write;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicU8};

use crate::error::Verdict;
use crate::Fingerprint;

/// The subject of a protocol, and what has arrived there.
pub(crate) struct Endpoint {
    pub(super) subject: String,
    pub(super) protocol: &'static str,
    pub(super) fingerprint: Fingerprint,
    requests: AtomicU64,
    errors: AtomicU64,
    /// The code of the last verdict that has refused a session, or 0.
    last: AtomicU8,
}

impl Endpoint {
    pub(super) fn new(
        subject: String,
        protocol: &'static str,
        fingerprint: Fingerprint,
    ) -> Endpoint {
        Endpoint {
            subject,
            protocol,
            fingerprint,
            requests: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            last: AtomicU8::new(0),
        }
    }

    /// Counts a hello that is answered, and the verdict if the session is refused.
    pub(super) fn count(&self, refused: Option<Verdict>) {
        self.requests.fetch_add(1, SeqCst);
        if let Some(verdict) = refused {
            self.errors.fetch_add(1, SeqCst);
            self.last.store(verdict.code(), SeqCst);
        }
    }

    /// As the answer to a request, which has the counts or not.
    pub(super) fn write(&self, has_counts: bool) -> String {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        let name = self.protocol.replace(|char| !is_plain(char), "_");
        let mut text = format!(
            "{{\"name\":{},\"subject\":{},\"queue_group\":\"duo\"",
            quoted(&name),
            quoted(&self.subject)
        );
        if has_counts {
            let errors = self.errors.load(SeqCst);
            let last = match self.last.load(SeqCst) {
                0 => String::new(),
                code => Verdict::of(code).to_string(),
            };
            text += &format!(
                ",\"num_requests\":{},\"num_errors\":{errors},\"last_error\":{},\
                 \"processing_time\":0,\"average_processing_time\":0}}",
                self.requests.load(SeqCst),
                quoted(&last)
            );
        } else {
            text += &format!(
                ",\"metadata\":{{\"fingerprint\":\"{}\",\"protocol\":{}}}}}",
                self.fingerprint,
                quoted(self.protocol)
            );
        }
        text
    }
}

/// A string of JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if char.is_control() => {
                // Writing into memory does not fail. All control characters have at most four digits.
                let _infallible = write!(quoted, "\\u{:04x}", u32::from(char));
            }
            char => quoted.push(char),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_valid() {
        assert_eq!(quoted("a \"b\"\\\n\u{7f}é"), r#""a \"b\"\\\u000a\u007fé""#);
    }
}
