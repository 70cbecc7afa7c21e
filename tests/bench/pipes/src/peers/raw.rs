//! What the machine can do: shared memory without any channel, used directly. All of it spins.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One cache line that two threads hand to each other, with space for a word.
#[derive(Default)]
#[repr(align(64))]
pub struct Line {
    turn: AtomicU64,
    value: AtomicU64,
}

impl Line {
    /// Puts a word into the line and sets the turn to `turn`.
    #[inline]
    pub fn hand_over(&self, turn: u64, value: u64) {
        self.value.store(value, Ordering::Relaxed);
        self.turn.store(turn, Ordering::Release);
    }

    /// Spins until it is turn `turn` and takes the word.
    #[inline]
    pub fn take(&self, turn: u64) -> u64 {
        self.take_with(turn, spin_loop)
    }

    /// Takes the word when it is turn `turn`, and calls `meanwhile` repeatedly until then.
    #[inline]
    pub fn take_with(&self, turn: u64, meanwhile: impl Fn()) -> u64 {
        while self.turn.load(Ordering::Acquire) != turn {
            meanwhile();
        }
        self.value.load(Ordering::Relaxed)
    }
}

/// The number of slots of a [`Ring`].
pub const SLOTS: usize = 1024;

/// The number of words in a cache line.
const LINE: usize = 8;

#[derive(Default)]
#[repr(align(64))]
struct Words([AtomicU64; LINE]);

#[repr(align(128))]
struct Apart(AtomicU64);

/// A ring for one sender and one receiver, in which each slot contains the number of its message: one cache line carries both, and
/// the receiver publishes its position only every half ring.
pub struct Ring<const WORDS: usize> {
    /// Each slot consists of the number of its message, counted from 1, and the words of the message. No slot spans two lines.
    lines: Box<[Words]>,
    read: Apart,
}

impl<const WORDS: usize> Ring<WORDS> {
    /// An empty ring for both sides.
    pub fn new() -> Arc<Ring<WORDS>> {
        const { assert!(LINE.is_multiple_of(WORDS + 1)) };
        let lines = SLOTS * (WORDS + 1) / LINE;
        Arc::new(Ring {
            lines: (0..lines).map(|_| Words::default()).collect(),
            read: Apart(AtomicU64::new(0)),
        })
    }

    /// The slot of the message with this number: its own number, and its words.
    fn slot(&self, n: u64) -> (&AtomicU64, &[AtomicU64]) {
        let first = n as usize % SLOTS * (WORDS + 1);
        let slot = &self.lines[first / LINE].0[first % LINE..][..WORDS + 1];
        (&slot[0], &slot[1..])
    }

    /// Sends the blocks that belong to the numbers below `count`.
    pub fn send_all(&self, count: u64, block: impl Fn(u64) -> [u64; WORDS]) {
        let mut room = SLOTS as u64;
        for n in 0..count {
            while n >= room {
                room = self.read.0.load(Ordering::Acquire) + SLOTS as u64;
                spin_loop();
            }
            let (number, words) = self.slot(n);
            for (place, word) in words.iter().zip(block(n)) {
                place.store(word, Ordering::Relaxed);
            }
            number.store(n + 1, Ordering::Release);
        }
    }

    /// Receives `count` blocks and adds up their words.
    pub fn recv_all(&self, count: u64) -> u64 {
        let mut sum = 0_u64;
        for n in 0..count {
            let (number, words) = self.slot(n);
            while number.load(Ordering::Acquire) != n + 1 {
                spin_loop();
            }
            for word in words {
                sum = sum.wrapping_add(word.load(Ordering::Relaxed));
            }
            if (n + 1).is_multiple_of(SLOTS as u64 / 2) {
                self.read.0.store(n + 1, Ordering::Release);
            }
        }
        sum
    }
}
