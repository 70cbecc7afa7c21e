//! A bare ring of cache lines: what a stream with waiting can cost, without endpoints, an end, or tasks.
//!
//! Each line has a word that says how many of its values are published, so values are visible at once, and one transfer of the line
//! brings several of them. The receiver returns lines a quarter of the ring at a time. A side that waits spins, then sleeps.
#![allow(unsafe_code)]

use super::blocking::Channel;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

/// The words of a line that carry values; the other one says how many are published.
const WORDS: usize = 7;

#[repr(C, align(64))]
struct Line<T> {
    /// `8 * number of the line + values published in it`, where lines are counted over all laps: an older lap's word is smaller.
    published: AtomicU64,
    values: UnsafeCell<MaybeUninit<[u64; WORDS]>>,
    carried: PhantomData<T>,
}

impl<T> Line<T> {
    /// How many values fit into a line.
    const PER: u64 = {
        assert!(size_of::<T>() > 0 && size_of::<T>() <= WORDS * size_of::<u64>());
        assert!(align_of::<T>() <= align_of::<u64>());
        (WORDS * size_of::<u64>() / size_of::<T>()) as u64
    };

    /// How many values of this line are published, if more than `seen` are.
    #[inline]
    fn more(&self, number: u64, seen: u64) -> Option<u64> {
        let word = self.published.load(Ordering::Acquire);
        (word / 8 == number && word % 8 > seen).then_some(word % 8)
    }
}

/// How one side sleeps.
#[derive(Default)]
struct Parking {
    /// Set by the side that is about to sleep, reset by the side that wakes it.
    is_waiting: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Parking {
    /// Sleeps until woken, or for no reason. Sets the flag, calls `barrier`, and does not sleep if `is_ready`: either the other
    /// side sees the flag after its next step, or that step is seen here.
    #[cold]
    fn park(&self, barrier: impl Fn(), is_ready: impl Fn() -> bool) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        self.is_waiting.store(true, Ordering::SeqCst);
        barrier();
        if is_ready() {
            self.is_waiting.store(false, Ordering::Relaxed);
        } else {
            thread::park();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        self.is_waiting.store(false, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &*thread {
            thread.unpark();
        }
    }
}

#[repr(align(128))]
struct Apart<T>(T);

struct Shared<T> {
    receiver: Apart<Parking>,
    /// How many lines the receiver has returned, and where the sender sleeps until there are more.
    returned: Apart<(AtomicU64, Parking)>,
    lines: Box<[Line<T>]>,
    /// Whether the receiver may sleep: only if the system runs the sender's barrier for it.
    may_sleep: bool,
}

// SAFETY: a value is written by the sender before it publishes it, and read by the receiver afterwards, so no place is accessed from
// two threads at once and `T` only has to move between threads. There is one sender and one receiver, and neither can be cloned.
unsafe impl<T: Send> Sync for Shared<T> {}

/// What a side has to know of the ring for each message, without a detour through the shared part.
struct Side<T> {
    shared: Arc<Shared<T>>,
    first: *const Line<T>,
    /// The number of lines is a power of two, and this is one less.
    mask: u64,
}

// SAFETY: the pointer is to lines that the side owns together with the other one.
unsafe impl<T: Send> Send for Side<T> {}

impl<T> Side<T> {
    fn new(shared: Arc<Shared<T>>) -> Side<T> {
        let (first, mask) = (shared.lines.as_ptr(), shared.lines.len() as u64 - 1);
        Side {
            shared,
            first,
            mask,
        }
    }

    #[inline]
    fn line(&self, number: u64) -> &Line<T> {
        // SAFETY: the masked number is less than the number of lines, and the lines live as long as `shared`, which owns them.
        unsafe { &*self.first.add((number & self.mask) as usize) }
    }
}

/// How often a side polls before it sleeps.
const POLLS: u32 = 2_000;

/// The side that sends.
pub struct Sender<T> {
    side: Side<T>,
    line: u64,
    place: u64,
    returned: u64,
}

impl<T> Sender<T> {
    #[inline]
    fn send(&mut self, value: T) {
        if self.place == 0 && self.line - self.returned > self.side.mask {
            self.wait();
        }
        let line = self.side.line(self.line);
        let first = line.values.get().cast::<T>();
        // SAFETY: `place` is less than `PER`, so the value fits into the line, whose alignment is at least that of `T`. The receiver
        // does not read the place until the store below, and has returned the line since it read it in the lap before.
        unsafe { first.add(self.place as usize).write(value) };
        self.place += 1;
        let word = self.line * 8 + self.place;
        line.published.store(word, Ordering::Release);
        // The receiver sets its flag and then runs a barrier in this thread: either this load sees the flag, or the receiver sees
        // what was stored above.
        compiler_fence(Ordering::SeqCst);
        let receiver = &self.side.shared.receiver.0;
        if receiver.is_waiting.load(Ordering::Relaxed) {
            receiver.wake();
        }
        if self.place == Line::<T>::PER {
            self.place = 0;
            self.line += 1;
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(&mut self) {
        let (returned, parking) = &self.side.shared.returned.0;
        let mut polls = 0;
        loop {
            self.returned = returned.load(Ordering::Acquire);
            if self.line - self.returned <= self.side.mask {
                return;
            }
            spin_loop();
            polls += 1;
            if polls > POLLS {
                let is_free = || self.line - returned.load(Ordering::SeqCst) <= self.side.mask;
                parking.park(|| fence(Ordering::SeqCst), is_free);
            }
        }
    }
}

/// The side that receives.
pub struct Receiver<T> {
    side: Side<T>,
    line: u64,
    place: u64,
    published: u64,
}

impl<T> Receiver<T> {
    #[inline]
    fn recv(&mut self) -> T {
        let line = self.side.line(self.line);
        if self.place == self.published {
            self.published = match line.more(self.line, self.place) {
                Some(published) => published,
                None => Receiver::wait(&self.side.shared, line, self.line, self.place),
            };
        }
        let first = line.values.get().cast::<T>();
        // SAFETY: the load of the line's word has shown that this value was written before, and nothing reads it a second time,
        // because `place` and `line` only advance.
        let value = unsafe { first.add(self.place as usize).read() };
        self.place += 1;
        if self.place == Line::<T>::PER {
            self.place = 0;
            self.published = 0;
            self.line += 1;
            if self.line & (self.side.mask / 4) == 0 {
                let (returned, parking) = &self.side.shared.returned.0;
                returned.store(self.line, Ordering::Release);
                // The sender sets its flag, then a fence: either this load sees the flag, or the sender sees the store.
                fence(Ordering::SeqCst);
                if parking.is_waiting.load(Ordering::Relaxed) {
                    parking.wake();
                }
            }
        }
        value
    }

    #[inline(never)]
    fn wait(shared: &Shared<T>, line: &Line<T>, number: u64, seen: u64) -> u64 {
        let mut polls = 0;
        loop {
            if let Some(published) = line.more(number, seen) {
                return published;
            }
            spin_loop();
            polls += 1;
            if polls > POLLS && shared.may_sleep {
                let has_more = || line.more(number, seen).is_some();
                shared.receiver.0.park(barrier::heavy, has_more);
            } else if polls > POLLS {
                thread::yield_now();
            }
        }
    }
}

/// The ring as a channel. What is in it when both sides are dropped is leaked.
pub struct Lines;

impl<T: Send + 'static> Channel<T> for Lines {
    const NAME: &'static str = "bare ring of lines";
    type Tx = Sender<T>;
    type Rx = Receiver<T>;

    fn channel(capacity: usize) -> (Sender<T>, Receiver<T>) {
        let lines = capacity
            .div_ceil(Line::<T>::PER as usize)
            .next_power_of_two()
            .max(4);
        let line = |_| Line {
            published: AtomicU64::new(0),
            values: UnsafeCell::new(MaybeUninit::uninit()),
            carried: PhantomData,
        };
        let shared = Arc::new(Shared {
            receiver: Apart(Parking::default()),
            returned: Apart((AtomicU64::new(0), Parking::default())),
            lines: (0..lines).map(line).collect(),
            may_sleep: barrier::is_there(),
        });
        let sender = Sender {
            side: Side::new(shared.clone()),
            line: 0,
            place: 0,
            returned: 0,
        };
        let receiver = Receiver {
            side: Side::new(shared),
            line: 0,
            place: 0,
            published: 0,
        };
        (sender, receiver)
    }

    #[inline]
    fn send(tx: &mut Sender<T>, value: T) {
        tx.send(value);
    }

    #[inline]
    fn next(rx: &mut Receiver<T>) -> Option<T> {
        Some(rx.recv())
    }
}

/// A barrier in every running thread of the process, called by one of them.
#[cfg(target_os = "linux")]
mod barrier {
    use std::sync::OnceLock;

    fn call(command: libc::c_int) -> bool {
        // SAFETY: `membarrier` does not access the memory of the process.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn is_there() -> bool {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        *REGISTERED.get_or_init(|| call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
    }

    pub(super) fn heavy() {
        let is_done = call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        assert!(is_done, "the process has registered for it");
    }
}

#[cfg(not(target_os = "linux"))]
mod barrier {
    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn heavy() {}
}
