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

/// How many clients may be slow at the same time.
const MOST: usize = 64;

/// Between two looks for new clients while there are slow ones, and after an error.
const PAUSE: Duration = Duration::from_millis(20);

/// Serves a [`Registry`] until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it stops the server"]
pub struct Serving {
    path: PathBuf,
    is_over: Arc<AtomicBool>,
}

impl Registry {
    /// Serves [`json`](Registry::json) at a Unix socket: each connection gets one document. `duologue top unix:PATH` shows it. One
    /// thread serves all connections, each for at most 5 s.
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
        let thread = thread::Builder::new().name("duologue-registry".to_owned());
        let _runs_alone = thread.spawn(move || serve(&registry, &listener, &ends))?;
        Ok(Serving {
            path: path.to_owned(),
            is_over,
        })
    }
}

/// A client that has not taken its whole document yet.
struct Client {
    socket: UnixStream,
    json: String,
    taken: usize,
    since: Instant,
}

impl Client {
    fn new(socket: UnixStream, json: String) -> io::Result<Client> {
        socket.set_nonblocking(true)?;
        Ok(Client {
            socket,
            json,
            taken: 0,
            since: Instant::now(),
        })
    }

    /// Writes what the client takes. Returns whether it needs more, and has time left.
    fn write(&mut self) -> bool {
        while self.taken < self.json.len() {
            match self.socket.write(&self.json.as_bytes()[self.taken..]) {
                Ok(0) => return false,
                Ok(count) => self.taken += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.since.elapsed() < LIMIT;
                }
                Err(_) => return false,
            }
        }
        false
    }
}

/// Serves clients until it is over. One that does not read holds up no other. While one is slow, the thread looks again after pauses.
fn serve(registry: &Registry, listener: &UnixListener, is_over: &AtomicBool) {
    let mut slow: Vec<Client> = Vec::new();
    loop {
        let accepted = listener
            .set_nonblocking(!slow.is_empty())
            .and_then(|()| listener.accept());
        if is_over.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((socket, _)) => {
                let client = Client::new(socket, registry.json());
                slow.extend(
                    client
                        .ok()
                        .into_iter()
                        .filter_map(|mut client| client.write().then_some(client)),
                );
                // The one that has had the most time makes space.
                slow.drain(..slow.len().saturating_sub(MOST));
            }
            // For example, because the process has too many files open.
            Err(_) => thread::sleep(PAUSE),
        }
        slow.retain_mut(Client::write);
    }
}

/// Whether this is a socket that nothing listens at.
fn is_left(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    let refuses = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).err().is_some_and(refuses)
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
