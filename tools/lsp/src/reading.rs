//! Reading the files of the workspace, on a thread of its own, and what waits for it.

use crate::files::{Index, MOST, index};
use crate::handlers::params;
use crate::queue::{Incoming, Queue};
use duologue_project::config::Exclude;
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

/// How many requests may wait.
const WAITING: usize = 64;

/// A request whose answer depends on all files of the workspace.
pub struct Asked {
    pub id: Value,
    pub method: String,
    pub params: Value,
}

/// The reading that is in progress, if there is one.
#[derive(Default)]
pub struct Reading {
    /// The number of the newest reading. What an older one finds is not used.
    newest: u64,
    is_running: bool,
    /// Files that have changed on disk since the newest reading began; what is known about them is newer than what it finds.
    changed: BTreeSet<PathBuf>,
    waiting: Vec<Asked>,
}

impl Reading {
    /// Begins to read folders. Their files arrive in the queue.
    pub fn start(&mut self, folders: Vec<(PathBuf, Exclude)>, queue: &Arc<Queue>) {
        self.newest += 1;
        self.is_running = true;
        self.changed.clear();
        let number = self.newest;
        let thread_queue = Arc::clone(queue);
        let read = move || {
            let mut all = Index::new();
            for (folder, exclude) in folders {
                let most = MOST.saturating_sub(all.len());
                let found = catch_unwind(AssertUnwindSafe(|| index(&folder, &exclude, most)));
                all.extend(found.unwrap_or_default());
            }
            thread_queue.push(Incoming::Indexed(number, all));
        };
        if thread::Builder::new().spawn(read).is_err() {
            queue.push(Incoming::Indexed(number, Index::new()));
        }
    }

    /// A file has changed on disk, and what is known about it is up to date.
    pub fn has_changed(&mut self, path: PathBuf) {
        if self.is_running {
            self.changed.insert(path);
        }
    }

    /// Takes over what a reading found. Returns the requests that waited for it; `None` if there is a newer reading.
    pub fn finish(&mut self, number: u64, found: Index, known: &mut Index) -> Option<Vec<Asked>> {
        if number != self.newest {
            return None;
        }
        self.is_running = false;
        let mut before = std::mem::replace(known, found);
        for path in std::mem::take(&mut self.changed) {
            match before.remove(&path) {
                Some(heads) => known.insert(path, heads),
                None => known.remove(&path),
            };
        }
        Some(std::mem::take(&mut self.waiting))
    }

    /// Whether a request has to wait.
    pub fn delays(&self, method: &str) -> bool {
        let needs_all = matches!(
            method,
            "textDocument/references" | "textDocument/rename" | "workspace/symbol"
        );
        self.is_running && needs_all
    }

    /// Lets a request wait. Returns it if too many wait already.
    pub fn delay(&mut self, asked: Asked) -> Option<Asked> {
        if self.waiting.len() >= WAITING {
            return Some(asked);
        }
        self.waiting.push(asked);
        None
    }

    /// Removes the requests about a text.
    pub fn remove_about(&mut self, uri: &str) -> Vec<Asked> {
        let is_about = |asked: &mut Asked| params::uri(&asked.params) == Some(uri);
        self.waiting.extract_if(.., is_about).collect()
    }

    /// Removes a request.
    pub fn remove(&mut self, id: &Value) -> Option<Asked> {
        let at = self.waiting.iter().position(|asked| asked.id == *id)?;
        Some(self.waiting.remove(at))
    }

    /// Removes all requests.
    pub fn remove_all(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.waiting)
    }
}
