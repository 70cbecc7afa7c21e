//! How a session with a far end begins, and the fingerprint by which both sides know its protocol.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::far_end::{FarEnd, IntoFar, Remote};
use crate::floor::layout::{Capacity, Slot};
use crate::ring::driver::Driver;
use crate::typed::endpoint::{session_to_drive, Receiver, Sender};

/// The first state of a protocol whose sessions can run between processes. A generic protocol has its type arguments.
#[diagnostic::on_unimplemented(
    message = "the protocol that begins in `{Self}` was generated for sessions within one process",
    label = "not the first endpoint of a protocol that was generated with `--remote`",
    note = "generate with `duologue gen --remote`, or `Builder::remote()` in a build script; if you do, it says which message cannot travel"
)]
pub trait Start: Remote {
    /// The protocol's fingerprint: `duologue fingerprint` prints it.
    const FINGERPRINT: [u8; 16];

    /// The protocol's name, with its package.
    const PROTOCOL: &'static str;

    /// The longest run.
    const CAPACITY: Capacity;

    /// The older fingerprints that the side that sends first accepts: `#[accepts(...)]` in the protocol file.
    const SENDER_ACCEPTS: &'static [Fingerprint] = &[];

    /// The older fingerprints that the side that receives first accepts.
    const RECEIVER_ACCEPTS: &'static [Fingerprint] = &[];

    /// A slot that fits every payload.
    fn slot() -> Slot;
}

/// The first endpoint of one side of a protocol whose sessions can run between processes. `duologue gen --remote`
/// implements it: for the sending side directly, for the receiving side because its state is a [`Start`].
#[diagnostic::on_unimplemented(
    message = "sessions that begin with `{Self}` stay within one process",
    label = "not the first endpoint of a protocol that was generated with `--remote`",
    note = "generate with `duologue gen --remote`, or `Builder::remote()` in a build script; if you do, it says which message cannot travel"
)]
pub trait Open: Send + Sized {
    /// The first state.
    type State: Start;

    /// Whether this side sends first.
    const SENDS_FIRST: bool;

    /// The fingerprints of older versions that this side accepts: `#[accepts(...)]` in the protocol file.
    const ACCEPTS: &'static [Fingerprint] = if Self::SENDS_FIRST {
        <Self::State as Start>::SENDER_ACCEPTS
    } else {
        <Self::State as Start>::RECEIVER_ACCEPTS
    };

    /// Begins a session. `attach` gets the far end and returns the transport that drives it.
    fn open(attach: impl FnOnce(FarEnd) -> Arc<dyn Driver>) -> Self;
}

impl<S: Start> Open for Receiver<S> {
    type State = S;
    const SENDS_FIRST: bool = false;

    fn open(attach: impl FnOnce(FarEnd) -> Arc<dyn Driver>) -> Receiver<S> {
        let (sender, receiver) = session_to_drive::<S>(S::slot(), S::CAPACITY, 0);
        let far = sender.pipe().copy();
        let driver = attach(FarEnd::new(sender.into_far()));
        far.attach(driver);
        receiver
    }
}

/// For the sending side: [`Open::open`] without its endpoint's own type.
pub fn open_sender<S: Start>(attach: impl FnOnce(FarEnd) -> Arc<dyn Driver>) -> Sender<S> {
    let (sender, receiver) = session_to_drive::<S>(S::slot(), S::CAPACITY, 1);
    let far = receiver.pipe().copy();
    let driver = attach(FarEnd::new(receiver.into_far()));
    far.attach(driver);
    sender
}

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
