//! Destroying unread messages without recursion.
//!
//! Destroying a message destroys the endpoint inside it, which destroys the next message, and so on: a million unread
//! messages, or sessions nested in one another, would overflow the stack. Therefore an endpoint that is dropped while
//! this thread is already burying messages may be put on a list, and the burial that is under way does it next.
//!
//! # When an endpoint may be put on the list
//!
//! A listed endpoint is destroyed after its `drop` has returned, so everything that its messages borrow must live on.
//! That is so if its session is *older than the burial*: a destructor that runs during the burial and reaches such an
//! endpoint got it from the message being buried, whose borrows outlive the endpoint that is being buried (it has a
//! `Drop`, so the compiler demands that), or from a place that lives for ever, or from another thread, to which the same
//! applies. What the destructor borrows from its own locals can only be borrowed by sessions that began during
//! the burial. To tell them apart, burials are counted: a session notes the count when it begins, and a session that
//! began after (in the sense of happens-before) a burial has noted a count at least as high.
//!
//! Everything else is destroyed on the spot, in a burial of its own. So are the first few levels of older endpoints:
//! a destructor that drops an endpoint and then waits for the peer to notice is served at once.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::pipe::Pipe;

/// How many burials have begun. Relaxed: the argument needs only that a load which happens after an increment sees it.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Up to this depth endpoints inside messages are destroyed on the spot.
const DEPTH: u32 = 16;

#[cfg(not(duologue_loom))]
thread_local! {
    /// The innermost burial of this thread. It has no destructor, so it can be used while the thread ends.
    static CURRENT: Cell<*const Burial> = const { Cell::new(ptr::null()) };
}

#[cfg(duologue_loom)]
loom::thread_local! {
    static CURRENT: Cell<*const Burial> = Cell::new(ptr::null());
}

/// A burial under way, on the stack of the `drop` that began it.
struct Burial {
    number: u64,
    session: usize,
    depth: u32,
    outer: *const Burial,
    next: RefCell<Vec<Pipe>>,
}

/// How many burials had begun by now: what a session notes when it begins.
#[inline]
pub(crate) fn begun() -> u64 {
    BEGUN.load(Relaxed)
}

/// Destroys the message that waits at this pipe and everything behind it, now or as part of the burial under way.
pub(crate) fn bury(pipe: Pipe) {
    pipe.announce_leaving();
    let outer = CURRENT.with(Cell::get);
    // SAFETY: a burial is current only while `bury` below keeps it on this thread's stack.
    let depth = if let Some(burial) = unsafe { outer.as_ref() } {
        let older = pipe.born() < burial.number;
        if older && (burial.depth >= DEPTH || burial.session == pipe.session()) {
            burial.next.borrow_mut().push(pipe);
            return;
        }
        burial.depth + 1
    } else {
        0
    };
    let number = BEGUN.fetch_add(1, Relaxed) + 1;
    let burial = Burial {
        number,
        session: pipe.session(),
        depth,
        outer,
        next: RefCell::new(vec![pipe]),
    };
    CURRENT.with(|current| current.set(&raw const burial));
    let _cleanup = Cleanup(&burial);
    burial.finish();
}

impl Burial {
    fn finish(&self) {
        loop {
            let next = self.next.borrow_mut().pop();
            let Some(pipe) = next else { return };
            pipe.discard();
        }
    }
}

/// Ends a burial. It holds a shared reference, because endpoints that are dropped meanwhile reach the burial through
/// `CURRENT`: a `drop` of the burial itself would have it to itself.
struct Cleanup<'a>(&'a Burial);

impl Drop for Cleanup<'_> {
    /// Also when a destructor of a payload panicked: the rest is destroyed while the panic goes on.
    fn drop(&mut self) {
        self.0.finish();
        CURRENT.with(|current| current.set(self.0.outer));
    }
}
