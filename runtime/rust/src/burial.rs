//! Destroying unread messages without overflowing the stack.
//!
//! Destroying a message destroys the endpoint inside it, which destroys the next message, and so on: a million unread
//! messages, or sessions nested in one another, would overflow the stack. Two rules prevent that.
//!
//! # The messages of one session: a loop
//!
//! A message holds the endpoint that follows it, by which the next message of the same session is found. While a burial
//! destroys a message of a session, that endpoint is not buried inside the destructor of its message, but by the same
//! burial when the destructor has returned.
//!
//! So its messages are destroyed after its own `drop` has returned, and what they borrow must live until then. It does: the burial
//! runs inside the `drop` of an earlier endpoint of the *same* session, and does not return before all is destroyed. What that session's
//! messages borrow lives as long as that `drop`, by the lifetimes in the type of the endpoint that is dropped, which are
//! those of all states that follow. That holds for whatever owns both the endpoint and what its messages borrow, also for
//! self-referential values (suspended futures, and what crates like `ouroboros` and `self_cell` make): they too free what is borrowed
//! only after the drop of that earlier endpoint has returned.
//!
//! Whether it is the same session must not be guessed from the address of its block. The block may have gone to a session that
//! began inside the destructor, and may borrow from that destructor's own locals. Therefore the burial leaves its own address in
//! the session, and a session that begins has none there. A burial that is under way has an address of its own, so if
//! an endpoint is in the block in which the burial began, and the block has the burial's address, then either the burial marked this
//! session, or an earlier burial did, which had the same address; but then the session is older than the burial under
//! way, and was in this block when that burial began there: again it is the same one.
//!
//! # Sessions inside messages of others: another stack
//!
//! An endpoint of another session is buried before its `drop` returns, always: its messages may borrow from what is freed
//! right after it. That takes stack for each level. From a certain depth on it is done by a helper thread with a stack of its
//! own, for which this thread waits, and which hands over to a further one when most of its stack is used. All payloads are
//! `Send`, and so are endpoints. A panic of a destructor goes on in the thread that waits.
//!
//! If the system gives no further thread, or no memory for its stack, destructors go on where they are. Then the stack may
//! overflow, and the process aborts, as it does for boxes that are nested as deep.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::Builder;

use crate::pipe::Pipe;

/// How deep destructors go on a stack before a helper takes over: in levels, and in bytes below the first level. Bytes alone would
/// not do, because the address sanitizer keeps locals elsewhere.
struct Limits {
    levels: u32,
    bytes: usize,
}

/// Those of a thread whose stack may be small.
const ANY_THREAD: Limits = Limits {
    levels: 16,
    bytes: 64 * 1024,
};

/// Those of a helper: the last level still has half of the stack.
const HELPER: Limits = Limits {
    levels: 4_000,
    bytes: STACK / 2,
};

/// The stack of a helper. What is not used of it takes no memory.
const STACK: usize = 16 * 1024 * 1024;

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
    session: usize,
    outer: *const Burial,
    limits: &'static Limits,
    /// How many burials are around this one on this stack, and where the outermost one is.
    level: u32,
    bottom: usize,
    /// The endpoint of the session that is buried next.
    next: Cell<Option<Pipe>>,
}

/// Destroys the message that waits at this pipe and everything after it: before this returns, or, if this is called by the destructor of
/// the session's message before that one, right after that destructor.
pub(crate) fn bury(pipe: Pipe) {
    let outer = CURRENT.with(Cell::get);
    // SAFETY: a burial is current only while `Burial::run` keeps it on this thread's stack.
    match unsafe { outer.as_ref() } {
        None => Burial::outermost(pipe, &ANY_THREAD),
        Some(burial) if burial.is_of(&pipe) => burial.next.set(Some(pipe)),
        Some(burial) if burial.is_deepest() && hand_over(&pipe) => {}
        Some(burial) => Burial::inside(burial, pipe),
    }
}

/// Buries this on the stack of a helper, and waits for that. False, and nothing is done, if there is no thread to be had.
#[cold]
fn hand_over(pipe: &Pipe) -> bool {
    struct Handed(Pipe);
    // SAFETY: the pipe is that of an endpoint, which is `Send`, and this thread does not use it meanwhile.
    unsafe impl Send for Handed {}

    if cfg!(duologue_loom) {
        return false;
    }
    let handed = Handed(pipe.again());
    let helper = Builder::new()
        .name("duologue-drop".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let handed = handed;
            Burial::outermost(handed.0, &HELPER);
        });
    let Ok(helper) = helper else { return false };
    if let Err(panic) = helper.join() {
        resume_unwind(panic);
    }
    true
}

impl Burial {
    /// Buries as the first on this stack.
    fn outermost(pipe: Pipe, limits: &'static Limits) {
        let mut burial = Burial {
            session: pipe.session(),
            outer: ptr::null(),
            limits,
            level: 1,
            bottom: 0,
            next: Cell::new(None),
        };
        burial.bottom = burial.address();
        burial.run(pipe);
    }

    /// Buries inside a destructor that another burial calls.
    fn inside(outer: &Burial, pipe: Pipe) {
        let burial = Burial {
            session: pipe.session(),
            outer,
            limits: outer.limits,
            level: outer.level + 1,
            bottom: outer.bottom,
            next: Cell::new(None),
        };
        burial.run(pipe);
    }

    fn run(&self, pipe: Pipe) {
        pipe.buried_by().store(self.address(), Relaxed);
        let sender = pipe.announce_leaving();
        self.next.set(Some(pipe));
        CURRENT.with(|current| current.set(self));
        // From here on everything is destroyed also if what this calls panics.
        let _cleanup = Cleanup(self);
        if let Some(sender) = sender {
            sender.wake();
        }
        self.finish();
    }

    fn finish(&self) {
        while let Some(pipe) = self.next.take() {
            pipe.discard();
        }
    }

    fn address(&self) -> usize {
        ptr::from_ref(self) as usize
    }

    /// Whether this burial destroys the messages of the session of this pipe.
    fn is_of(&self, pipe: &Pipe) -> bool {
        self.session == pipe.session() && pipe.buried_by().load(Relaxed) == self.address()
    }

    /// Whether no further burial fits onto this stack.
    fn is_deepest(&self) -> bool {
        let used = self.bottom.abs_diff(self.address());
        // What is further away than a whole stack is not on this one.
        let is_used_up = used >= self.limits.bytes && used <= STACK;
        self.level >= self.limits.levels || is_used_up
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
