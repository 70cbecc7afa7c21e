//! What the machine can do: shared memory without any channel, used directly. All of it spins.

use std::hint::spin_loop;
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
