//! Fingerprints, as `duologue fingerprint` prints them.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// What identifies a protocol between processes: `duologue fingerprint` prints it.
///
/// ```
/// use duologue_runtime::transport::Fingerprint;
///
/// let old: Fingerprint = "6b4021487a63e0618d274211e3ebd7c9".parse()?;
/// assert_eq!(old.to_string(), "6b4021487a63e0618d274211e3ebd7c9");
/// # Ok::<(), duologue_runtime::transport::NotAFingerprint>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint(pub [u8; 16]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Fingerprint, NotAFingerprint> {
        let is_hex = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(number) if is_hex => Ok(Fingerprint(number.to_be_bytes())),
            Ok(_) | Err(_) => Err(NotAFingerprint(text.to_owned())),
        }
    }
}

/// A text that is not a fingerprint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAFingerprint(String);

impl fmt::Display for NotAFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a fingerprint: expected 32 hexadecimal digits, as `duologue fingerprint` prints them",
            self.0
        )
    }
}

impl Error for NotAFingerprint {}
