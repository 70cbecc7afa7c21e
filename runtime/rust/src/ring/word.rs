//! Words that two sides share, as typed values in atomics.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use crate::floor::sync::AtomicU64;

/// A value of 64 bits whose bits have names in one place only: its type.
pub(crate) trait Word: Copy {
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

/// The side that set it waits for the other side to change the word.
const AWAITED: u64 = 1;

/// A word for whose change a side can wait.
pub(crate) trait Awaitable: Word {
    /// Whether a side waits for a change of this word.
    #[inline]
    fn is_awaited(self) -> bool {
        self.bits() & AWAITED != 0
    }

    #[inline]
    fn awaited(self) -> Self {
        Self::from_bits(self.bits() | AWAITED)
    }

    #[inline]
    fn not_awaited(self) -> Self {
        Self::from_bits(self.bits() & !AWAITED)
    }
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

impl<W: Awaitable> Shared<W> {
    /// Announces in the word, which had this value, that this side waits for its change. False if it has changed.
    #[inline]
    pub(crate) fn raise(&self, value: W) -> bool {
        self.compare_exchange(value, value.awaited(), Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Takes that back. False if it was not announced, or the word has changed: then the other side has seen it.
    #[inline]
    pub(crate) fn lower(&self, value: W) -> bool {
        value.is_awaited()
            && self
                .compare_exchange(
                    value,
                    value.not_awaited(),
                    Ordering::AcqRel,
                    Ordering::Acquire,
                )
                .is_ok()
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
