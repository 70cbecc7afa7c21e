//! What is shown on a terminal while something takes long: from the second second on, a line on standard error that replaces itself.

use crate::terminal::Terminal;
use duologue::compile::{Compilation, Files, Request};
use duologue::files::Disk;
use duologue::report::counted;
use duologue_project::Failure;
use duologue_project::baseline::checked;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// What takes less long is not worth a line.
const SHORT: Duration = Duration::from_secs(1);
/// How often the line is written.
const TICK: Duration = Duration::from_millis(200);

/// What the thread that writes the line has to know.
struct Shared {
    done: AtomicU64,
    /// Words about how much has been done.
    words: Box<dyn Fn(u64) -> String + Send + Sync>,
    is_over: Mutex<bool>,
    ended: Condvar,
}

/// The line of something that goes on. It is removed when this is dropped; nothing else is printed before.
pub struct Progress(Option<(Arc<Shared>, JoinHandle<()>)>);

impl Progress {
    /// Something begins. `words` describe how much of it has been done.
    pub fn start(
        terminal: &Terminal,
        words: impl Fn(u64) -> String + Send + Sync + 'static,
    ) -> Progress {
        let is_dumb = env::var_os("TERM").is_none_or(|name| name == "dumb");
        if terminal.quiet || is_dumb || !io::stderr().is_terminal() {
            return Progress(None);
        }
        let shared = Arc::new(Shared {
            done: AtomicU64::new(0),
            words: Box::new(words),
            is_over: Mutex::new(false),
            ended: Condvar::new(),
        });
        let thread_shared = Arc::clone(&shared);
        let thread = Builder::new().spawn(move || write(&thread_shared));
        Progress(thread.ok().map(|thread| (shared, thread)))
    }

    /// So much more has been done.
    pub fn add(&self, more: u64) {
        if let Some((shared, _)) = &self.0 {
            shared.done.fetch_add(more, Ordering::Relaxed);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((shared, thread)) = self.0.take() {
            *shared
                .is_over
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = true;
            shared.ended.notify_all();
            let _ = thread.join();
        }
    }
}

/// Writes the line until the end, and removes it.
fn write(shared: &Shared) {
    let started = Instant::now();
    let mut wait = SHORT;
    let mut is_shown = false;
    let mut is_over = shared
        .is_over
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        let waited = shared.ended.wait_timeout(is_over, wait);
        is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !*is_over && started.elapsed() >= SHORT {
            let words = (shared.words)(shared.done.load(Ordering::Relaxed));
            let seconds = started.elapsed().as_secs();
            let _ = write!(io::stderr(), "\r\x1b[2K{words}, {seconds} s");
            (wait, is_shown) = (TICK, true);
        }
    }
    if is_shown {
        let _ = write!(io::stderr(), "\r\x1b[2K");
    }
}

/// The files on disk, each of which is counted.
impl Files for Progress {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.add(1);
        Disk.read(path)
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        Disk.identity(path)
    }
}

/// Checks the files of a request, and shows how far that is.
pub fn check(request: &Request, terminal: &Terminal) -> Result<Compilation, Failure> {
    let all = request.inputs.len() as u64;
    let progress = Progress::start(terminal, move |read| match read < all {
        true => format!("checking: {read} of {all} files are read"),
        false => format!("checking {}", counted(read as usize, "file")),
    });
    checked(request, &progress)
}
