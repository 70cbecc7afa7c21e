//! How a session with a far end begins.

use std::sync::Arc;

use super::far_end::FarEnd;
use super::fingerprint::Fingerprint;
use super::table::{IntoFar, Remote};
use crate::floor::layout::{Capacity, Slot};
use crate::ring::driver::Driver;
use crate::typed::endpoint::session_to_drive;
use crate::typed::ends::{Receiver, Sender};

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
