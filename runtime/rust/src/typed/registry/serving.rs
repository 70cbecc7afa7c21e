//! A registry at a Unix socket, for `duologue top`.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Registry;

/// How long a client may take to read a document.
const LIMIT: Duration = Duration::from_secs(5);

/// Serves a [`Registry`] until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it stops the server"]
pub struct Serving {
    path: PathBuf,
    is_over: Arc<AtomicBool>,
}

impl Registry {
    /// Serves [`json`](Registry::json) at a Unix socket: each connection gets one document. `duologue top unix:PATH` shows it. A thread
    /// serves one connection after another, each for at most 5 s.
    ///
    /// The socket is readable for the users who may write to it, which the process's umask and the folder's permissions decide. One that an
    /// earlier process has left is replaced. Fails if the path exists otherwise.
    pub fn serve(&self, path: impl AsRef<Path>) -> io::Result<Serving> {
        let path = path.as_ref();
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
                fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        let is_over = Arc::new(AtomicBool::new(false));
        let (registry, ends) = (self.clone(), Arc::clone(&is_over));
        let serve = move || {
            for client in listener.incoming() {
                if ends.load(Ordering::Acquire) {
                    return;
                }
                match client {
                    Ok(client) => drop(answer(client, &registry.json())),
                    // For example, because the process has too many files open.
                    Err(_) => thread::sleep(Duration::from_millis(50)),
                }
            }
        };
        let thread = thread::Builder::new().name("duologue-registry".to_owned());
        let _runs_alone = thread.spawn(serve)?;
        Ok(Serving {
            path: path.to_owned(),
            is_over,
        })
    }
}

/// Whether this is a socket that nothing listens at.
fn is_left(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    let refuses = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).err().is_some_and(refuses)
}

fn answer(mut client: UnixStream, json: &str) -> io::Result<()> {
    let began = Instant::now();
    let mut rest = json.as_bytes();
    while !rest.is_empty() {
        let left = LIMIT.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_write_timeout(Some(left))?;
        let written = client.write(rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Its thread may be busy with a slow client, so nothing waits for it.
        if UnixStream::connect(&self.path).is_ok() {
            let _removed = fs::remove_file(&self.path);
        }
    }
}
