//! Payloads that are counted while they are alive.

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::Arc;

/// A number that its sender counts, and the sender's own.
pub struct Payload {
    pub sender: usize,
    pub number: u32,
    living: Arc<AtomicI64>,
}

impl Payload {
    pub fn new(sender: usize, number: u32, living: &Arc<AtomicI64>) -> Payload {
        living.fetch_add(1, SeqCst);
        Payload {
            sender,
            number,
            living: living.clone(),
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.living.fetch_sub(1, SeqCst);
    }
}
