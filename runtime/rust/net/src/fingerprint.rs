//! Fingerprints, as `duologue fingerprint` prints them.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// What identifies a protocol between processes: `duologue fingerprint` prints it.
///
/// ```
/// let old: duologue_net::Fingerprint = "6b4021487a63e0618d274211e3ebd7c9".parse()?;
/// assert_eq!(old.to_string(), "6b4021487a63e0618d274211e3ebd7c9");
/// # Ok::<(), duologue_net::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint(pub [u8; 16]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fingerprint, Error> {
        let is_hex = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(number) if is_hex => Ok(Fingerprint(number.to_be_bytes())),
            Ok(_) | Err(_) => Err(Error::Fingerprint(text.to_owned())),
        }
    }
}
