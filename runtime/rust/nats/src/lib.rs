//! Finds servers of [Duologue](https://github.com/duologue/duologue) with [NATS](https://nats.io).
//!
//! A server listens on a socket, and announces its address under a name. A client asks for the name, gets the address of a server that
//! understands it and has space, and connects to it. The session runs over TCP or TLS, and does not need NATS any longer.
//!
//! ```no_run
//! # mod bank {
//! #     pub mod client { pub trait Login: duologue_net::Open {} }
//! # }
//! # fn teller<E>(_: E) {}
//! # fn show<Client: duologue_net::Open, Server: duologue_net::Open + 'static>() -> Result<(), Box<dyn std::error::Error>> {
//! use duologue_nats::{ConnectOptions, Directory};
//! use duologue_net::Connector;
//!
//! // Each server:
//! let directory = Directory::open("nats.example:4222", ConnectOptions::new())?;
//! let mut listener = duologue_net::Listener::bind("tcp://0.0.0.0:7000")?;
//! listener.serve(|login: Server /* bank::server::Login */| teller(login));
//! let announcement = directory.announce::<Server>("bank", &listener, &[], Some("tcp://10.0.0.7:7000"))?;
//! listener.run()?;
//! drop(announcement);
//!
//! // Each client:
//! let directory = Directory::open("nats.example:4222", ConnectOptions::new())?;
//! let client: Client /* bank::client::Login */ = directory.connect("bank", &Connector::new())?;
//! # drop(client);
//! # Ok(())
//! # }
//! ```
//!
//! A certificate is checked for the name of the service, here `bank`, and not for the host of the address.
//!
//! The subjects are specified in `docs/wire.md`, so servers and clients may be written in other languages.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod announce;
mod error;
mod find;

use std::future::{pending, Future};
use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use async_nats::{Client, Event, ServerError};
use duologue_net::Fingerprint;
use tokio::runtime::{Builder, Handle};
use tokio::sync::broadcast;

pub use announce::Announcement;
pub use async_nats::ConnectOptions;
pub use error::Error;

/// How many reports of the NATS server are kept for a thread that waits for one.
const REPORTS: usize = 64;

/// How long the client library waits before it connects again.
const PAUSE: Duration = Duration::from_millis(250);

/// A connection to NATS, with which servers are announced and found. Clones share it. Functions that use it block the thread.
#[derive(Clone, Debug)]
pub struct Directory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    client: Client,
    /// As the program has written it.
    server: String,
    /// What the NATS server reports as not permitted.
    denials: broadcast::Sender<String>,
}

impl Directory {
    /// Connects to a NATS server, `host:port`, with options of the client library: credentials, certificates and others. Two of them are replaced:
    /// `event_callback` and `reconnect_delay_callback`. If the connection is interrupted, the library connects again.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub fn open(server: &str, options: ConnectOptions) -> Result<Directory, Error> {
        let denials = broadcast::Sender::new(REPORTS);
        let reports = denials.clone();
        let options = options.reconnect_delay_callback(|_| PAUSE);
        let options = options.event_callback(move |event| {
            if let Event::ServerError(ServerError::Other(text)) = event {
                // Nothing may wait for it.
                let _unread = reports.send(text);
            }
            async {}
        });
        let url = format!("nats://{server}");
        let connected = wait(async move { options.connect(url).await });
        let server = server.to_owned();
        let client = match connected.and_then(|connected| connected.map_err(io::Error::other)) {
            Ok(client) => client,
            Err(source) => return Err(Error::Unreachable { server, source }),
        };
        Ok(Directory(Arc::new(Inner {
            client,
            server,
            denials,
        })))
    }
}

impl Inner {
    /// Fails if a report of the NATS server is about one of these subjects.
    fn check(&self, report: &str, subjects: &[String]) -> Result<(), Error> {
        let names = |subject: &String| report.contains(&format!("\"{subject}\""));
        if !subjects.iter().any(names) {
            return Ok(());
        }
        Err(Error::Denied {
            server: self.server.clone(),
            report: report.to_owned(),
        })
    }

    fn unreachable(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Unreachable {
            server: self.server.clone(),
            source: io::Error::other(source),
        }
    }
}

/// The subjects of the servers of a name that understand these protocols.
fn subjects(name: &str, fingerprints: &[Fingerprint]) -> Result<Vec<String>, Error> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_token = |token: &str| !token.is_empty() && token.bytes().all(is_plain);
    if name.len() > 128 || !name.split('.').all(is_token) {
        return Err(Error::Name(name.to_owned()));
    }
    let subject = |fingerprint| format!("duologue.{name}.{fingerprint}");
    Ok(fingerprints.iter().map(subject).collect())
}

/// The runtime of all connections, which has one thread. Programs need none of their own.
fn runtime() -> io::Result<&'static Handle> {
    static RUNTIME: OnceLock<io::Result<Handle>> = OnceLock::new();
    let start = || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let thread = thread::Builder::new().name("duologue-nats".to_owned());
        thread.spawn(move || runtime.block_on(pending::<()>()))?;
        Ok(handle)
    };
    let started = RUNTIME.get_or_init(start).as_ref();
    started.map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

/// Runs a future on that thread, and waits for its result.
fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
    let (done, result) = sync_channel(1);
    drop(runtime()?.spawn(async move {
        let _gone = done.send(future.await);
    }));
    // Without a result the future has panicked.
    result.recv().map_err(io::Error::other)
}
