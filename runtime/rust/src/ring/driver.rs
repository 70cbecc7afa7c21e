//! What drives a session whose other side is in another process: the hook by which a side calls the transport where it
//! waits, disconnects or sends without its peer noticing.
//!
//! Sessions within a process have none. Those that have one are begun in the mode in which messages are swapped, so a
//! side knows from its position alone that it has none, and does not read the header. `link::message::apart` says which messages
//! of such a session are stored all the same.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicU8};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::observer::Observed;
use crate::floor::deadline::SideLimit;

/// Why a session was closed before its protocol ended.
// As wide as the value that a successful receive returns in its place: with a narrower one, the compiler stores the next
// endpoint in pieces and loads it as a whole, which costs more than a message.
#[repr(usize)]
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The peer's endpoint was dropped, or its program ended the session.
    Left,
    /// The connection ended or failed, or the peer was silent for too long.
    Lost,
    /// The peer sent something that its protocol does not allow, or reports that this side did.
    Broken,
    /// A side waited longer than its protocol allows, or than its own program does
    /// ([`Endpoint::within`](crate::Endpoint::within)).
    Late,
    /// A message was larger than its receiver accepts, had lists that are nested too deeply to be sent, or takes more memory
    /// than its receiver allows.
    TooLarge,
    /// The session's [`Observer`](crate::observe::Observer) did not allow a message, which was not sent.
    Stopped,
}

/// Why a session was closed, for threads that ask without a lock: [`Why::Left`] until it is set.
#[derive(Debug, Default)]
pub struct Reason(AtomicU8);

impl Reason {
    /// Sets it.
    pub fn set(&self, why: Why) {
        self.0.store(why as u8, SeqCst);
    }

    /// What was set last.
    #[must_use]
    pub fn get(&self) -> Why {
        use Why::{Broken, Late, Left, Lost, Stopped, TooLarge};
        [Left, Lost, Broken, Late, TooLarge, Stopped][usize::from(self.0.load(SeqCst))]
    }
}

/// What a side does next inside a run, where the far end was not woken for what the side has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ahead {
    /// It sends more, or does nothing for a while.
    More,
    /// It publishes a message that reverses the direction or ends the session. The far end waits for that message.
    Last,
    /// It disconnects. The far end waits for that.
    Leaves,
}

/// The transport of one session, as its side in this process sees it. All methods may be called by any thread.
pub trait Driver: Send + Sync {
    /// Moves messages in both directions until `is_ready` returns true, on the caller's thread. Returns false if the
    /// deadline has passed first. If the deadline is in the past, does not wait.
    fn wait(&self, is_ready: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool;

    /// A task, or a thread that waits for several sessions, waits for the next message or for free slots. It is woken
    /// by what arrives, so another thread has to do the reading, or for a task its executor. `sends`: it waits for slots.
    /// `by_task`: this is called while a task is polled.
    fn armed(&self, sends: bool, by_task: bool);

    /// The side must not wait when it sends: it is a task that found its endpoint ready, or it sends without waiting.
    /// The same holds for sides that are [`armed`](Driver::armed).
    fn never_waits(&self);

    /// The side has sent messages inside a run without waking the far end, which now has to forward them. Called by the
    /// thread that sends, which holds no lock of this crate. May wait as a send does, but a side that disconnects waits only
    /// for a limited time.
    fn collected(&self, ahead: Ahead);

    /// Whether the side, which sends, is ahead of the connection by more than it should be, because it
    /// [`never_waits`](Driver::never_waits) or because only one of those that share its endpoint waits, or whether a thread that
    /// forwards has not come to what the side has sent. If so,
    /// it is not ready although the ring has free slots. This may become true only in [`collected`](Driver::collected): a
    /// side that is ready remains ready. The waker is called when it becomes false. It replaces an earlier one, and is kept in
    /// any case. With a waker, this may be called while locks of this crate are held that belong to the waker's owner.
    fn holds_back(&self, waker: Option<Waker>) -> bool {
        drop(waker);
        false
    }

    /// The side sends inside a run although it may be [held back](Driver::holds_back): waits if it is far ahead of the connection, and
    /// until what it has sent before is forwarded. If it was ready, does not wait.
    fn catch_up(&self) {}

    /// Writes what the side has sent.
    fn flush(&self);

    /// The side has disconnected while it was its turn to receive.
    fn abandoned(&self);

    /// The side's waits end at this time; `None` if they have no limit any more. This also ends what the side's thread waits
    /// for when it sends: from then on the transport keeps what the connection does not accept, as for a side that
    /// [`never_waits`](Driver::never_waits).
    fn limit(&self, until: Option<Instant>) {
        let _ = until;
    }

    /// Why the session was closed.
    fn why(&self) -> Why;
}

/// What is attached to a session.
pub(crate) struct Attached {
    pub(crate) what: What,
    /// The time limits of both sides. Only the side that has one accesses it, possibly on several threads that
    /// share its sender.
    pub(crate) limits: [SideLimit; 2],
    /// The session's number for texts, or 0 if it has none yet.
    pub(crate) number: AtomicU64,
}

impl Attached {
    /// Nothing but this.
    pub(crate) fn new(what: What) -> Attached {
        Attached {
            what,
            limits: [SideLimit::default(), SideLimit::default()],
            number: AtomicU64::new(0),
        }
    }
}

/// What calls into a session, or is called by it.
pub(crate) enum What {
    /// Nothing.
    Nothing,
    /// Its driver.
    Driver {
        driver: Arc<dyn Driver>,
        /// The side that belongs to the driver. It is not driven itself.
        far: usize,
    },
    /// Its observer, within a process.
    Observer(Observed),
}
