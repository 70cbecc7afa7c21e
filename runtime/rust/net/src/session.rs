//! One session over a connection: it moves messages between the far end and the stream.
//!
//! # Threads
//!
//! There is no thread per session. The thread that sends also writes: it wakes the far end, whose waker is the session
//! itself, so the session runs on the sender's thread, right after the message was published. The thread that waits for a
//! message also reads: it calls [`Driver::wait`]. Only for tasks, and for threads that wait for several sessions, the
//! process has one thread that reads (`watch`). Another writes what a sender has collected for too long (`flush`).
//!
//! # Locks
//!
//! `input` is held while the connection is read, which may take as long as the peer lets it; `core` is held for a short
//! time, or while the connection is written. A thread that needs both takes `input` first. A waker may be called inside the
//! session's own work, by any thread, so it never waits for `core`: it sets `again`, and the holder of the lock works
//! once more. Code of others (wakers, destructors of endpoints) is called when no lock is held: it is collected in an
//! [`After`].

use std::mem;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use duologue::transport::{Arrival, Driver, Encoder, FarEnd, Forwarded, Open, Role, Why, Woken};

use crate::flush;
use crate::frame::{self, Frame};
use crate::input::Input;
use crate::stream::{is_early, Stream};
use crate::watch::{Watch, Watched};

/// A run is written when this much has been collected.
pub(crate) const COLLECTED: usize = 64 << 10;
/// How long the last bytes of a session that is left may take to write.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// What both sides agreed on, and how much memory a payload may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The largest payload that the peer accepts.
    pub(crate) theirs: usize,
    /// The largest payload that this side accepts.
    pub(crate) ours: usize,
    /// How much memory the values of one payload may take.
    pub(crate) memory: usize,
}

pub(crate) struct Session {
    stream: Box<dyn Stream>,
    limits: Limits,
    input: Mutex<Input>,
    core: Mutex<Core>,
    /// The thread that holds `core` has to work once more.
    again: AtomicBool,
    /// The side in this process has disconnected while it was to receive.
    is_abandoned: AtomicBool,
    /// Whether complete frames may be waiting in the input because the ring is full.
    is_full: AtomicBool,
    why: AtomicU8,
    /// Whether `flush` will look after this session.
    pub(crate) is_due: AtomicBool,
    watch: Watch,
}

struct Core {
    far: FarEnd,
    /// What was not written yet, after the first `written` bytes.
    out: Encoder,
    written: usize,
    /// The session itself, as the far end's waker; until the session is over.
    waker: Option<Waker>,
    /// Whether the connection was closed for writing.
    is_closed: bool,
}

/// What has to be done when no lock is held.
#[derive(Default)]
struct After {
    woken: Vec<Woken>,
    /// A far end that disconnects.
    far: Option<FarEnd>,
    closes: bool,
    flushes: bool,
}

impl After {
    fn is_empty(&self) -> bool {
        self.woken.is_empty() && self.far.is_none() && !self.closes && !self.flushes
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Begins a session over a connection on which both sides have agreed. `early` was read after the hello or answer.
pub(crate) fn open<E: Open>(stream: Box<dyn Stream>, limits: Limits, early: Vec<u8>) -> E {
    let mut session = None;
    let end = E::open(|far| {
        let begun = Arc::new(Session {
            stream,
            limits,
            input: Mutex::new(Input::of(early)),
            core: Mutex::new(Core {
                far,
                out: Encoder::new(),
                written: 0,
                waker: None,
                is_closed: false,
            }),
            again: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            why: AtomicU8::new(code(Why::Left)),
            is_due: AtomicBool::new(false),
            watch: Watch::new(),
        });
        lock(&begun.core).waker = Some(Waker::from(Arc::clone(&begun)));
        session = Some(Arc::clone(&begun));
        Arc::new(Driven(begun))
    });
    if let Some(session) = session {
        session.run();
    }
    end
}

fn code(why: Why) -> u8 {
    match why {
        Why::Left => 0,
        Why::Lost => 1,
        Why::Broken => 2,
        Why::Late => 3,
        Why::TooLarge => 4,
        _ => 1,
    }
}

impl Session {
    /// Works off what the side in this process has done, unless another thread already does: then that one does.
    fn run(self: &Arc<Session>) {
        self.again.store(true, SeqCst);
        while self.again.load(SeqCst) {
            let Some(core) = try_lock(&self.core) else {
                return;
            };
            let after = self.work(core, |_, _| {});
            self.finish_once(after);
        }
    }

    /// Does something, and works off what the side in this process has done in the meantime. The caller has to
    /// [`finish`](Session::finish), without a lock.
    fn with_core(&self, act: impl FnOnce(&mut Core, &mut After)) -> After {
        self.work(lock(&self.core), act)
    }

    fn work(
        &self,
        mut core: MutexGuard<'_, Core>,
        act: impl FnOnce(&mut Core, &mut After),
    ) -> After {
        let mut after = After::default();
        act(&mut core, &mut after);
        while self.again.swap(false, SeqCst) {
            self.forward(&mut core, &mut after);
        }
        after
    }

    /// Does what has to be done without a lock, and works once more if another thread found the lock taken.
    fn finish(self: &Arc<Session>, after: After) {
        self.finish_once(after);
        if self.again.load(SeqCst) {
            self.run();
        }
    }

    fn finish_once(self: &Arc<Session>, after: After) {
        let After {
            woken,
            far,
            closes,
            flushes,
        } = after;
        if closes {
            if let Some(mut input) = try_lock(&self.input) {
                input.read_off(&*self.stream);
            }
            self.stream.close();
        }
        if flushes && !self.is_due.swap(true, Relaxed) {
            flush::later(self);
        }
        drop(far);
        for woken in woken {
            woken.wake();
        }
    }

    /// Forwards what the side in this process has sent, and arms the far end for what it sends next.
    fn forward(&self, core: &mut Core, after: &mut After) {
        while core.far.role() == Role::Receives {
            let (forwarded, woken) = core.far.forward(&mut core.out, self.limits.theirs);
            after.woken.extend(woken);
            match forwarded {
                Forwarded::Message => {
                    if core.far.role() != Role::Receives || core.out.bytes().len() >= COLLECTED {
                        self.write(core, after);
                    }
                }
                Forwarded::Nothing => {
                    let Some(waker) = &core.waker else { return };
                    if core.far.arm(waker) {
                        break;
                    }
                }
                Forwarded::Left => return self.leave(core, after, Why::Left, &frame::LEFT),
                Forwarded::TooLarge => return self.leave(core, after, Why::TooLarge, &frame::LEFT),
            }
        }
        match core.far.role() {
            Role::Over => self.end(core, after),
            Role::Sends if self.is_abandoned.load(SeqCst) => {
                self.leave(core, after, Why::Left, &frame::LEFT);
            }
            Role::Sends => {}
            Role::Receives => after.flushes |= !core.out.bytes().is_empty(),
        }
    }

    /// Writes everything.
    fn write(&self, core: &mut Core, after: &mut After) {
        while core.written < core.out.bytes().len() {
            match self.stream.write(&core.out.bytes()[core.written..], None) {
                Ok(count) if count > 0 => core.written += count,
                Ok(_) | Err(_) => return self.write_failed(core, after),
            }
        }
        core.written = 0;
        core.out.clear(COLLECTED);
    }

    /// Writes as much as is possible without waiting. Returns whether that was everything.
    fn write_some(&self, core: &mut Core, after: &mut After) -> bool {
        while core.written < core.out.bytes().len() {
            let now = Some(Instant::now());
            match self.stream.write(&core.out.bytes()[core.written..], now) {
                Ok(count) if count > 0 => core.written += count,
                Err(error) if is_early(&error) => return false,
                Ok(_) | Err(_) => {
                    self.write_failed(core, after);
                    return true;
                }
            }
        }
        core.written = 0;
        core.out.clear(COLLECTED);
        true
    }

    /// The connection does not take anything more. The peer may have said why.
    fn write_failed(&self, core: &mut Core, after: &mut After) {
        let mut why = Why::Lost;
        if let Some(mut input) = try_lock(&self.input) {
            while input.ended.is_none() && input.read(&*self.stream, Some(Instant::now())) {}
            why = input.said().or(input.ended).unwrap_or(Why::Lost);
        }
        core.out.clear(0);
        core.written = 0;
        self.close(core, after, why);
    }

    /// Ends the session early, with a last frame for the peer.
    fn leave(&self, core: &mut Core, after: &mut After, why: Why, last: &[u8]) {
        core.out.put(last);
        let deadline = Some(Instant::now() + LAST_WRITE);
        while core.written < core.out.bytes().len() {
            match self
                .stream
                .write(&core.out.bytes()[core.written..], deadline)
            {
                Ok(count) if count > 0 => core.written += count,
                Ok(_) | Err(_) => break,
            }
        }
        self.close(core, after, why);
    }

    /// After the last message of the protocol.
    fn end(&self, core: &mut Core, after: &mut After) {
        if !core.is_closed {
            self.write(core, after);
        }
        self.close(core, after, Why::Left);
    }

    fn close(&self, core: &mut Core, after: &mut After, why: Why) {
        if mem::replace(&mut core.is_closed, true) {
            return;
        }
        self.why.store(code(why), SeqCst);
        after.far = Some(mem::replace(&mut core.far, FarEnd::over()));
        core.waker = None;
        core.out.clear(0);
        core.written = 0;
        after.closes = true;
    }

    /// Publishes what was read, as long as there are complete frames and free slots.
    fn publish(&self, input: &mut Input, core: &mut Core, after: &mut After) {
        self.is_full.store(false, SeqCst);
        while !core.is_closed {
            let bytes = &input.bytes[input.start..input.end];
            let size = |tag| core.far.size(tag);
            match frame::first(bytes, self.limits.ours, size) {
                Frame::Message { tag, payload } => {
                    if !core.far.has_room() {
                        self.is_full.store(true, SeqCst);
                        let Some(waker) = &core.waker else { return };
                        if core.far.arm(waker) {
                            return;
                        }
                        continue;
                    }
                    let length = payload.end;
                    let arrived = core.far.arrive(tag, &bytes[payload], self.limits.memory);
                    input.start += length;
                    match arrived {
                        Ok(Arrival::Published(woken)) => {
                            after.woken.extend(woken);
                            if core.far.role() != Role::Sends {
                                self.forward(core, after);
                            }
                        }
                        Ok(Arrival::Gone) => {
                            return self.leave(core, after, Why::Left, &frame::LEFT);
                        }
                        Err(_) => return self.leave(core, after, Why::Broken, &frame::BROKEN),
                    }
                }
                Frame::Ignored(length) => input.start += length,
                Frame::Leave(why) => {
                    input.ended = Some(why);
                    return self.close(core, after, why);
                }
                Frame::Broken => return self.leave(core, after, Why::Broken, &frame::BROKEN),
                Frame::Incomplete => {
                    if let Some(why) = input.ended {
                        self.close(core, after, why);
                    }
                    return;
                }
            }
        }
    }

    /// Publishes what was read before and could not be published then.
    fn resume(self: &Arc<Session>) {
        if let Some(mut input) = try_lock(&self.input) {
            let after = self.with_core(|core, after| self.publish(&mut input, core, after));
            drop(input);
            self.finish(after);
        }
    }

    /// Writes what was collected, without waiting. Returns whether something is left.
    pub(crate) fn flush(self: &Arc<Session>) -> bool {
        let Some(core) = try_lock(&self.core) else {
            // Another thread works at the moment, and may collect more without writing it.
            return true;
        };
        let mut is_left = false;
        let after = self.work(core, |core, after| {
            is_left = !core.is_closed && !self.write_some(core, after);
        });
        self.finish(after);
        is_left
    }

    fn wait_until(
        self: &Arc<Session>,
        is_ready: &dyn Fn() -> bool,
        deadline: Option<Instant>,
    ) -> bool {
        loop {
            // What this side has sent is written before it waits.
            let after = self.with_core(|core, after| {
                self.forward(core, after);
                if !core.is_closed {
                    self.write(core, after);
                }
            });
            self.finish(after);
            if is_ready() {
                return true;
            }
            let mut input = lock(&self.input);
            let mut is_open = input.ended.is_none();
            let after = self.with_core(|core, after| {
                self.publish(&mut input, core, after);
                is_open &= !core.is_closed;
            });
            if !is_ready() && is_open && after.is_empty() {
                if !input.read(&*self.stream, deadline) {
                    return is_ready();
                }
                continue;
            }
            drop(input);
            self.finish(after);
            if !is_open {
                return is_ready();
            }
        }
    }
}

impl Watched for Session {
    fn stream(&self) -> &dyn Stream {
        &*self.stream
    }

    fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Reads what has arrived and publishes it. Returns whether to watch further.
    fn arrived(self: &Arc<Session>, deadline: Option<Instant>) -> bool {
        let Some(mut input) = try_lock(&self.input) else {
            return false;
        };
        let mut has_woken = false;
        let mut is_over = false;
        let has_room = !self.is_full.load(SeqCst);
        if has_room && input.ended.is_none() {
            input.read(&*self.stream, deadline);
        }
        let after = self.with_core(|core, after| {
            self.publish(&mut input, core, after);
            has_woken = !after.woken.is_empty();
            is_over = core.is_closed || core.far.role() != Role::Sends;
        });
        drop(input);
        self.finish(after);
        !has_woken && !is_over
    }
}

/// The session as its far end's waker.
impl Wake for Session {
    fn wake(self: Arc<Session>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Session>) {
        self.run();
        if self.is_full.load(SeqCst) {
            self.resume();
        }
    }
}

/// The session as its side in this process sees it.
pub(crate) struct Driven(pub(crate) Arc<Session>);

impl Driver for Driven {
    fn wait(&self, is_ready: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool {
        self.0.wait_until(is_ready, deadline)
    }

    fn armed(&self) {
        crate::watch::watch(&self.0, self.0.is_full.load(SeqCst));
    }

    fn abandoned(&self) {
        self.0.is_abandoned.store(true, SeqCst);
        self.0.run();
    }

    fn why(&self) -> Why {
        match self.0.why.load(SeqCst) {
            0 => Why::Left,
            2 => Why::Broken,
            3 => Why::Late,
            4 => Why::TooLarge,
            _ => Why::Lost,
        }
    }
}
