//! The messages that wait to be handled. Reading stops while there are too many.

use crate::files::Index;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many messages may wait.
const MOST: usize = 1024;
/// How many bytes of messages may wait; one message may be larger.
const MOST_BYTES: usize = 64 << 20;

/// What the server handles.
pub enum Incoming {
    /// A request, or, without an id, a notification.
    Message {
        id: Option<Value>,
        method: String,
        params: Value,
        size: usize,
    },
    /// The files of the workspace have been read, by the reading with this number.
    Indexed(u64, Index),
    /// The client has closed the stream.
    End,
}

#[derive(Default)]
struct Waiting {
    list: VecDeque<Incoming>,
    bytes: usize,
}

/// A queue between the thread that reads and the one that answers.
#[derive(Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

fn size(incoming: &Incoming) -> usize {
    match incoming {
        Incoming::Message { size, .. } => *size,
        Incoming::Indexed(..) | Incoming::End => 0,
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message; waits while there are too many.
    pub fn push(&self, incoming: Incoming) {
        let size = size(&incoming);
        let is_full = |waiting: &mut Waiting| {
            let is_large = waiting.bytes > 0 && waiting.bytes + size > MOST_BYTES;
            size > 0 && (waiting.list.len() >= MOST || is_large)
        };
        let waiting = self.lock();
        let waiting = self.changed.wait_while(waiting, is_full);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.bytes += size;
        waiting.list.push_back(incoming);
        self.changed.notify_all();
    }

    /// The next message; waits for one.
    pub fn pop(&self) -> Incoming {
        let waiting = self.lock();
        let is_empty = |waiting: &mut Waiting| waiting.list.is_empty();
        let waiting = self.changed.wait_while(waiting, is_empty);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let next = waiting.list.pop_front().unwrap_or(Incoming::End);
        waiting.bytes -= size(&next);
        self.changed.notify_all();
        next
    }

    /// Whether a message waits.
    pub fn has_more(&self) -> bool {
        !self.lock().list.is_empty()
    }

    /// Whether a change of a text waits, so that what is known about the text is stale.
    pub fn has_change(&self) -> bool {
        let waiting = self.lock();
        let mut waiting = waiting.list.iter();
        waiting.any(|incoming| {
            matches!(incoming, Incoming::Message { method, .. } if method == "textDocument/didChange")
        })
    }

    /// Removes a request that has not been handled yet. Returns whether it was there.
    pub fn cancel(&self, wanted: &Value) -> bool {
        let mut waiting = self.lock();
        let is_it = |incoming: &Incoming| matches!(incoming, Incoming::Message { id: Some(id), .. } if id == wanted);
        let Some(at) = waiting.list.iter().position(is_it) else {
            return false;
        };
        if let Some(removed) = waiting.list.remove(at) {
            waiting.bytes -= size(&removed);
        }
        self.changed.notify_all();
        true
    }
}
