//! Sessions over a Unix socket, over TLS, and in shared memory.

use crate::credentials::{HOST, credentials};
use crate::protocols::bank;
use crate::protocols::own::numbers;
use duologue_net::{Connector, Error, Listener, Open};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Mutex, OnceLock};
use std::task::{Context, Waker};
use std::thread;

/// The other side stays.
pub const OPEN: &str = "the other side stays to the end";

/// The socket of this process.
fn path() -> PathBuf {
    std::env::temp_dir().join(format!("duologue-bench-{}.sock", std::process::id()))
}

/// Begins a session. Both sides run in this process, and everything between them goes through the socket.
pub fn open<C: Open + Send, S: Open + Send>() -> (C, S) {
    static LISTENER: OnceLock<Mutex<Listener>> = OnceLock::new();
    let address = format!("unix:{}", path().display());
    let listener = LISTENER.get_or_init(|| {
        let listener = Listener::bind(&address).expect("the folder can be written");
        Mutex::new(listener)
    });
    meet(listener, || duologue_net::connect(&address))
}

/// The same over TLS.
pub fn open_with_tls<C: Open + Send, S: Open + Send>() -> (C, S) {
    static LISTENER: OnceLock<(Mutex<Listener>, String)> = OnceLock::new();
    let tls = &credentials().tls;
    let (listener, address) = LISTENER.get_or_init(|| {
        let listener = Listener::bind_tls(&format!("tls://{HOST}:0"), tls.clone());
        let listener = listener.expect("a port is free");
        let address = listener.address().to_string();
        (Mutex::new(listener), address)
    });
    meet(listener, || {
        Connector::new().tls(tls.clone()).connect(address)
    })
}

fn meet<C: Open + Send, S: Open + Send>(
    listener: &Mutex<Listener>,
    connect: impl FnOnce() -> Result<C, Error>,
) -> (C, S) {
    thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            let mut listener = listener.lock().expect("no thread has panicked");
            listener.accept().expect("the client connects")
        });
        let client = connect().expect("the listener accepts");
        (client, accepting.join().expect("accepting does not panic"))
    })
}

/// Begins a session in memory that both sides share. Each has a mapping of its own.
pub fn open_in_memory<C: Open + Send, S: Open + Send>() -> (C, S) {
    let region = duologue_shm::Region::create().expect("the system has memory");
    thread::scope(|scope| {
        let server = scope.spawn(|| duologue_shm::attach(&region).expect("its side is free"));
        let client = duologue_shm::attach(&region).expect("its side is free");
        (client, server.join().expect("attaching does not panic"))
    })
}

/// Removes the socket, which a static listener does not.
pub fn end() {
    let _gone = std::fs::remove_file(path());
}

/// Starts the threads of `duologue-net` that read for tasks and write what was collected. They may run on any processor, because this
/// thread may.
pub fn start_helpers() {
    let (_client, server) = open::<bank::client::Login, bank::server::Login>();
    let receiving = pin!(server.recv_async());
    let poll = Future::poll(receiving, &mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending(), "nothing was sent");
    let (client, _server) = open::<numbers::client::Adding, numbers::server::Adding>();
    drop(client.number(1.0).expect(OPEN));
}
