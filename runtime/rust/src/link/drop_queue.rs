//! Destroying unread messages without overflowing the stack.
//!
//! Destroying a message destroys the endpoint inside it, which destroys the next message, and so on: a million unread
//! messages, or sessions nested in one another, would overflow the stack. Two rules prevent that.
//!
//! # The messages of one session: a loop
//!
//! A message holds the endpoint that follows it, through which the next message of the same session is found. While a
//! drop queue destroys a message of a session, the messages of that endpoint are not destroyed inside the destructor of
//! its message, but by the same queue after the destructor has returned.
//!
//! What those messages borrow must live until then. It does: the queue runs inside the `drop` of an earlier endpoint of
//! the *same* session, and does not return before everything is destroyed. What that session's messages borrow lives as
//! long as that `drop`, by the lifetimes in the type of the endpoint that is dropped, which are those of all states
//! that follow. That also holds for self-referential values that own both the endpoint and what its messages borrow
//! (suspended futures, and the types that crates like `ouroboros` and `self_cell` generate): they free what is borrowed
//! only after the drop of that earlier endpoint has returned.
//!
//! Whether the endpoint belongs to the same session must not be guessed from the address of its block. The block may
//! have gone to a session that began inside the destructor, and that may borrow from that destructor's own locals.
//! Therefore the queue stores its own address in the session, and a new session has none there. Queues in use have
//! distinct addresses. So if an endpoint is in the block in which the queue began, and the block has the queue's
//! address, then either the queue marked this session, or an earlier queue did, which had the same address. In the
//! second case the session is older than the queue in use, and was in this block when that queue began there, so again
//! it is the same session.
//!
//! # Sessions inside messages of other sessions: another stack
//!
//! The messages of another session are destroyed before the `drop` of its endpoint returns, because they may borrow
//! from what is freed right after it. That takes stack space for each level. Beyond a certain depth, it is done by a
//! helper thread with a stack of its own, while this thread waits, and a panic resumes here. The helper hands over to
//! another helper when half of its stack is used. All payloads are `Send`, and so are endpoints.
//!
//! If the system provides no further thread, or no memory for its stack, destructors continue on the current stack.
//! Then the stack may overflow and the process aborts, as it does for boxes that are nested equally deeply.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::Builder;

use crate::ring::pipe::Pipe;

/// How deeply destructors nest on a stack before a helper takes over: in levels, and in bytes below the first level.
/// Bytes alone would not be enough, because the address sanitizer keeps locals elsewhere.
struct Limits {
    levels: u32,
    bytes: usize,
}

/// The limits on a thread whose stack may be small.
const ANY_THREAD: Limits = Limits {
    levels: 16,
    bytes: 64 * 1024,
};

/// The limits on a helper: the last level still has half of the stack.
const HELPER: Limits = Limits {
    levels: 4_000,
    bytes: STACK / 2,
};

/// The size of a helper's stack in bytes. The part that is not used takes no memory.
const STACK: usize = 16 * 1024 * 1024;

#[cfg(not(duologue_loom))]
thread_local! {
    /// The innermost queue of this thread. It has no destructor, so it can be used while the thread exits.
    static CURRENT: Cell<*const DropQueue> = const { Cell::new(ptr::null()) };
}

#[cfg(duologue_loom)]
loom::thread_local! {
    static CURRENT: Cell<*const DropQueue> = Cell::new(ptr::null());
}

/// A queue in use, on the stack of the `drop` that began it.
struct DropQueue {
    /// The block of the session: a large one replaces a small one.
    session: Cell<usize>,
    outer: *const DropQueue,
    limits: &'static Limits,
    /// How many queues are on this stack up to this one, and where the outermost one is.
    level: u32,
    bottom: usize,
    /// The endpoint of the session whose messages are destroyed next.
    next: Cell<Option<Pipe>>,
}

/// Ends the session of a receiver, which in most cases the peer has closed already. Unread messages are destroyed.
#[inline(never)]
pub(crate) fn stop_receiving(pipe: Pipe) {
    if pipe.is_closed() {
        pipe.free();
    } else {
        stop_first(pipe);
    }
}

/// Ends a session in which the peer has not published that it is closed.
#[inline(never)]
fn stop_first(pipe: Pipe) {
    let mut left = None;
    if let Err(pipe) = pipe.die(&mut left) {
        destroy(pipe);
    }
    drop(left);
}

/// Destroys the message that is at this pipe and everything after it: before this function returns or, if it is called
/// by the destructor of the session's previous message, right after that destructor.
fn destroy(pipe: Pipe) {
    let outer = CURRENT.with(Cell::get);
    // SAFETY: a queue is current only while `DropQueue::run` keeps it on this thread's stack.
    match unsafe { outer.as_ref() } {
        None => DropQueue::begin(None, &ANY_THREAD, pipe),
        Some(queue) if queue.is_of(&pipe) => queue.next.set(Some(pipe)),
        Some(queue) if queue.is_deepest() && hand_over(&pipe) => {}
        Some(queue) => DropQueue::begin(Some(queue), queue.limits, pipe),
    }
}

/// Destroys this on the stack of a helper, and waits for that. Returns false, and does nothing, if no thread can be
/// started.
#[cold]
fn hand_over(pipe: &Pipe) -> bool {
    struct Handed(Pipe);
    // SAFETY: the pipe is that of an endpoint, which is `Send`, and this thread does not use it in the meantime.
    unsafe impl Send for Handed {}

    if cfg!(duologue_loom) {
        return false;
    }
    let handed = Handed(pipe.copy());
    let helper = Builder::new()
        .name("duologue-drop".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let handed = handed;
            DropQueue::begin(None, &HELPER, handed.0);
        });
    let Ok(helper) = helper else { return false };
    if let Err(panic) = helper.join() {
        resume_unwind(panic);
    }
    true
}

/// If a queue of this thread destroys the messages of the session, it goes on in the large block that replaces the small one.
pub(super) fn continue_in(small: &Pipe, large: &Pipe) {
    let current = CURRENT.with(Cell::get);
    // SAFETY: as in `destroy`.
    let current = unsafe { current.as_ref() };
    if let Some(queue) = current.filter(|queue| queue.is_of(small)) {
        large.dropped_by().store(queue.address(), Relaxed);
        queue.session.set(large.session());
    }
}

impl DropQueue {
    /// Destroys this with a queue inside a destructor that the outer queue calls, or with the first one on this stack.
    fn begin(outer: Option<&DropQueue>, limits: &'static Limits, pipe: Pipe) {
        let mut queue = DropQueue {
            session: Cell::new(pipe.session()),
            outer: outer.map_or(ptr::null(), ptr::from_ref),
            limits,
            level: outer.map_or(1, |outer| outer.level + 1),
            bottom: 0,
            next: Cell::new(None),
        };
        queue.bottom = outer.map_or(queue.address(), |outer| outer.bottom);
        queue.run(pipe);
    }

    fn run(&self, pipe: Pipe) {
        pipe.dropped_by().store(self.address(), Relaxed);
        let sender = pipe.announce_leaving();
        self.next.set(Some(pipe));
        CURRENT.with(|current| current.set(self));
        // From here on, everything is destroyed even if something that this calls panics.
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

    /// Whether this queue destroys the messages of the session of this pipe.
    fn is_of(&self, pipe: &Pipe) -> bool {
        self.session.get() == pipe.session() && pipe.dropped_by().load(Relaxed) == self.address()
    }

    /// Whether no further queue fits onto this stack.
    fn is_deepest(&self) -> bool {
        let used = self.bottom.abs_diff(self.address());
        // An address that is further away than a whole stack is not on this one.
        let is_used_up = used >= self.limits.bytes && used <= STACK;
        self.level >= self.limits.levels || is_used_up
    }
}

/// Ends a queue. It holds a shared reference, because endpoints that are dropped in the meantime access the queue
/// through `CURRENT`: a `drop` of the queue itself would have exclusive access.
struct Cleanup<'a>(&'a DropQueue);

impl Drop for Cleanup<'_> {
    /// Also runs when a destructor of a payload panicked: the rest is destroyed while the panic unwinds.
    fn drop(&mut self) {
        self.0.finish();
        CURRENT.with(|current| current.set(self.0.outer));
    }
}
