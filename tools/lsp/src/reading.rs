//! Reading the files of the workspace, on a thread of its own, and what waits for it.

use crate::files::{Index, MOST, index};
use duologue_project::config::Exclude;
use lsp_server::Request;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::thread;

/// The reading that is in progress, if there is one.
#[derive(Default)]
pub struct Reading {
    /// The number of the newest reading. What an older one finds is not used.
    newest: u64,
    is_running: bool,
    /// Files that have changed on disk since the newest reading began; what is known about them is newer than what it finds.
    changed: BTreeSet<PathBuf>,
    pub waiting: Vec<Request>,
}

impl Reading {
    /// Begins to read folders. What is found is handed over with the number of the reading.
    pub fn start<F>(&mut self, folders: Vec<(PathBuf, Exclude)>, hand_over: F)
    where
        F: Fn(u64, Index) + Clone + Send + 'static,
    {
        self.newest += 1;
        self.is_running = true;
        self.changed.clear();
        let number = self.newest;
        let found = hand_over.clone();
        let read = move || {
            let mut all = Index::new();
            for (folder, exclude) in folders {
                let most = MOST.saturating_sub(all.len());
                let read = catch_unwind(AssertUnwindSafe(|| index(&folder, &exclude, most)));
                all.extend(read.unwrap_or_default());
            }
            found(number, all);
        };
        if thread::Builder::new().spawn(read).is_err() {
            hand_over(number, Index::new());
        }
    }

    /// A file has changed on disk, and what is known about it is up to date.
    pub fn has_changed(&mut self, path: PathBuf) {
        if self.is_running {
            self.changed.insert(path);
        }
    }

    /// Takes over what a reading found. Returns the requests that waited for it; `None` if there is a newer reading.
    pub fn finish(&mut self, number: u64, found: Index, known: &mut Index) -> Option<Vec<Request>> {
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
            "textDocument/references"
                | "textDocument/rename"
                | "textDocument/codeAction"
                | "workspace/symbol"
                | "workspace/diagnostic"
        );
        self.is_running && needs_all
    }

    /// Removes the requests that are meant.
    pub fn remove(&mut self, is_meant: impl Fn(&Request) -> bool) -> Vec<Request> {
        self.waiting
            .extract_if(.., |asked| is_meant(asked))
            .collect()
    }
}
