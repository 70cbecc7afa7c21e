//! Words that two sides share, as typed values in atomics.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use crate::floor::sync::AtomicU64;

/// A value of 64 bits whose bits have names in one place only: its type.
pub(crate) trait Word: Copy {
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

/// A word in memory that two sides share.
#[repr(transparent)]
pub(crate) struct Shared<W>(AtomicU64, PhantomData<W>);

impl<W: Word> Shared<W> {
    pub(crate) fn new(word: W) -> Shared<W> {
        Shared(AtomicU64::new(word.bits()), PhantomData)
    }

    #[inline(always)]
    pub(crate) fn load(&self, order: Ordering) -> W {
        W::from_bits(self.0.load(order))
    }

    #[inline(always)]
    pub(crate) fn store(&self, word: W, order: Ordering) {
        self.0.store(word.bits(), order);
    }

    #[inline(always)]
    pub(crate) fn swap(&self, word: W, order: Ordering) -> W {
        W::from_bits(self.0.swap(word.bits(), order))
    }

    #[inline(always)]
    pub(crate) fn compare_exchange(
        &self,
        old: W,
        new: W,
        order: Ordering,
        failure: Ordering,
    ) -> Result<W, W> {
        match (self.0).compare_exchange(old.bits(), new.bits(), order, failure) {
            Ok(old) => Ok(W::from_bits(old)),
            Err(now) => Err(W::from_bits(now)),
        }
    }

    /// Changes the word by `change`, as long as that returns a new value, and returns the old one.
    #[inline]
    pub(crate) fn update(
        &self,
        order: Ordering,
        mut change: impl FnMut(W) -> Option<W>,
    ) -> Option<W> {
        let mut old = self.load(Ordering::Relaxed);
        while let Some(new) = change(old) {
            match self.compare_exchange(old, new, order, Ordering::Relaxed) {
                Ok(old) => return Some(old),
                Err(now) => old = now,
            }
        }
        None
    }
}

/// Implements [`Word`] for a tuple struct of one `u64`.
macro_rules! word {
    ($word:ident) => {
        impl $crate::ring::word::Word for $word {
            #[inline(always)]
            fn from_bits(bits: u64) -> $word {
                $word(bits)
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self.0
            }
        }
    };
}

pub(crate) use word;
