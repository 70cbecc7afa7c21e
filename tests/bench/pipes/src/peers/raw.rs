//! What the machine can do: shared memory without any channel, used by hand. All of it spins.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One cache line that two threads hand to each other, with room for a word.
#[derive(Default)]
#[repr(align(64))]
pub struct Line {
    turn: AtomicU64,
    value: AtomicU64,
}

impl Line {
    /// Puts a word into the line and says that it is now turn `turn`.
    #[inline]
    pub fn hand_over(&self, turn: u64, value: u64) {
        self.value.store(value, Ordering::Relaxed);
        self.turn.store(turn, Ordering::Release);
    }

    /// Spins until it is turn `turn` and takes the word.
    #[inline]
    pub fn take(&self, turn: u64) -> u64 {
        while self.turn.load(Ordering::Acquire) != turn {
            spin_loop();
        }
        self.value.load(Ordering::Relaxed)
    }
}

/// The slots of a [`Ring`].
pub const SLOTS: usize = 1024;

struct Slot<const WORDS: usize> {
    /// The number of the message in the slot, counted from 1.
    number: AtomicU64,
    words: [AtomicU64; WORDS],
}

#[repr(align(128))]
struct Apart(AtomicU64);

/// A ring for one sender and one receiver, in which each slot says itself which message it holds: one line carries both, and the
/// receiver says only every half ring how far it is.
pub struct Ring<const WORDS: usize> {
    slots: Box<[Slot<WORDS>]>,
    read: Apart,
}

impl<const WORDS: usize> Ring<WORDS> {
    /// An empty ring for both sides.
    pub fn new() -> Arc<Ring<WORDS>> {
        let slot = |_| Slot {
            number: AtomicU64::new(0),
            words: [const { AtomicU64::new(0) }; WORDS],
        };
        Arc::new(Ring {
            slots: (0..SLOTS).map(slot).collect(),
            read: Apart(AtomicU64::new(0)),
        })
    }

    /// Sends the blocks that belong to the numbers below `count`.
    pub fn send_all(&self, count: u64, block: impl Fn(u64) -> [u64; WORDS]) {
        let mut room = SLOTS as u64;
        for n in 0..count {
            while n >= room {
                room = self.read.0.load(Ordering::Acquire) + SLOTS as u64;
                spin_loop();
            }
            let slot = &self.slots[n as usize % SLOTS];
            for (place, word) in slot.words.iter().zip(block(n)) {
                place.store(word, Ordering::Relaxed);
            }
            slot.number.store(n + 1, Ordering::Release);
        }
    }

    /// Receives `count` blocks and adds up their words.
    pub fn recv_all(&self, count: u64) -> u64 {
        let mut sum = 0_u64;
        for n in 0..count {
            let slot = &self.slots[n as usize % SLOTS];
            while slot.number.load(Ordering::Acquire) != n + 1 {
                spin_loop();
            }
            for word in &slot.words {
                sum = sum.wrapping_add(word.load(Ordering::Relaxed));
            }
            if (n + 1).is_multiple_of(SLOTS as u64 / 2) {
                self.read.0.store(n + 1, Ordering::Release);
            }
        }
        sum
    }
}
