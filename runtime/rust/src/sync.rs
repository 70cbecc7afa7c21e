//! The atomics and thread calls of the standard library, or loom's when the pipe is being model-checked.

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        atomic::{AtomicBool, AtomicPtr, AtomicU64},
        Mutex, MutexGuard,
    },
    thread::{current, park, yield_now, Thread},
};

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        atomic::{AtomicBool, AtomicPtr, AtomicU64},
        Mutex, MutexGuard,
    },
    thread::{current, park, yield_now, Thread},
};
