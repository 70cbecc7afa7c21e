//! Destroying unread messages without overflowing the stack.
//!
//! Destroying a message destroys the endpoint inside it, which destroys the next message, and so on: a million unread
//! messages, or sessions nested in one another, would overflow the stack. Two rules prevent that.
//!
//! # The messages of one session: a loop
//!
//! A message holds the endpoint that follows it, through which the next message of the same session is found. While a
//! burial destroys a message of a session, that endpoint is not buried inside the destructor of its message, but by the
//! same burial after the destructor has returned.
//!
//! So the messages of that endpoint are destroyed after its own `drop` has returned, and what they borrow must live
//! until then. It does: the burial runs inside the `drop` of an earlier endpoint of the *same* session, and does not
//! return before everything is destroyed. What that session's messages borrow lives as long as that `drop`, by the
//! lifetimes in the type of the endpoint that is dropped, which are those of all states that follow. That holds for
//! anything that owns both the endpoint and what its messages borrow, including self-referential values (suspended
//! futures, and the types that crates like `ouroboros` and `self_cell` generate): they too free what is borrowed only
//! after the drop of that earlier endpoint has returned.
//!
//! Whether the endpoint belongs to the same session must not be guessed from the address of its block. The block may
//! have gone to a session that began inside the destructor, and that may borrow from that destructor's own locals.
//! Therefore the burial stores its own address in the session, and a new session has none there. Burials in progress
//! have distinct addresses. So if an endpoint is in the block in which the burial began, and the block has the burial's
//! address, then either the burial marked this session, or an earlier burial did, which had the same address. In the
//! second case the session is older than the burial in progress, and was in this block when that burial began there, so
//! again it is the same session.
//!
//! # Sessions inside messages of other sessions: another stack
//!
//! An endpoint of another session is always buried before its `drop` returns, because its messages may borrow from what
//! is freed right after it. That takes stack space for each level. From a certain depth on, it is done by a helper
//! thread with a stack of its own, while this thread waits. The helper hands over to another helper when half of its
//! stack is used. All payloads are `Send`, and so are endpoints. If a destructor panics, the panic resumes in the
//! thread that waits.
//!
//! If the system provides no further thread, or no memory for its stack, destructors continue on the current stack.
//! Then the stack may overflow and the process aborts, as it does for boxes that are nested equally deep.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::Builder;

use crate::pipe::Pipe;

/// How deep destructors go on a stack before a helper takes over: in levels, and in bytes below the first level. Bytes
/// alone would not be enough, because the address sanitizer keeps locals elsewhere.
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
    /// The innermost burial of this thread. It has no destructor, so it can be used while the thread exits.
    static CURRENT: Cell<*const Burial> = const { Cell::new(ptr::null()) };
}

#[cfg(duologue_loom)]
loom::thread_local! {
    static CURRENT: Cell<*const Burial> = Cell::new(ptr::null());
}

/// A burial in progress, on the stack of the `drop` that began it.
struct Burial {
    session: usize,
    outer: *const Burial,
    limits: &'static Limits,
    /// How many burials are on this stack up to this one, and where the outermost one is.
    level: u32,
    bottom: usize,
    /// The endpoint of the session that is buried next.
    next: Cell<Option<Pipe>>,
}

/// Destroys the message that is at this pipe and everything after it: before this function returns or, if it is called
/// by the destructor of the session's previous message, right after that destructor.
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

/// Buries this on the stack of a helper, and waits for that. Returns false, and does nothing, if no thread can be
/// started.
#[cold]
fn hand_over(pipe: &Pipe) -> bool {
    struct Handed(Pipe);
    // SAFETY: the pipe is that of an endpoint, which is `Send`, and this thread does not use it in the meantime.
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
    /// Buries as the outermost burial on this stack.
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

    /// Whether this burial destroys the messages of the session of this pipe.
    fn is_of(&self, pipe: &Pipe) -> bool {
        self.session == pipe.session() && pipe.buried_by().load(Relaxed) == self.address()
    }

    /// Whether no further burial fits onto this stack.
    fn is_deepest(&self) -> bool {
        let used = self.bottom.abs_diff(self.address());
        // An address that is further away than a whole stack is not on this one.
        let is_used_up = used >= self.limits.bytes && used <= STACK;
        self.level >= self.limits.levels || is_used_up
    }
}

/// Ends a burial. It holds a shared reference, because endpoints that are dropped in the meantime access the burial
/// through `CURRENT`: a `drop` of the burial itself would have exclusive access.
struct Cleanup<'a>(&'a Burial);

impl Drop for Cleanup<'_> {
    /// Also runs when a destructor of a payload panicked: the rest is destroyed while the panic unwinds.
    fn drop(&mut self) {
        self.0.finish();
        CURRENT.with(|current| current.set(self.0.outer));
    }
}
