//! Random numbers and delays.

use std::thread;
use std::time::Duration;

/// A small generator, so that a failure can be repeated from its seed.
pub(crate) struct Random(u64);

impl Random {
    /// Seeds that are near each other give numbers that are not.
    pub(crate) fn new(seed: u64) -> Random {
        Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Nothing, mostly; or a spin, a yield or a short sleep.
    pub(crate) fn delay(&mut self) {
        match self.below(2_000) {
            0 => thread::sleep(Duration::from_micros(20)),
            1..=20 => thread::yield_now(),
            21..=200 => (0..self.below(200)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
}
