//! What the tests of sessions over sockets share.

use crate::protocols::acme::File;
use crate::protocols::acme::files::Mode;
use crate::protocols::acme::files::file_server::{self, Idle, Opening};
use crate::protocols::bank::{Login, LoginResponse, client, server};
use duologue::Closed;
use duologue_net::{Connector, Drain, Listener, Open, Socket, Stream};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The hello of a client of the bank.
pub const HELLO: &str =
    "64756f6c6f677565010020006b4021487a63e0618d274211e3ebd7c9000010000000000000000462616e6b00";
/// The answer to it.
pub const ANSWER: &str =
    "64756f6c6f67756501001a006b4021487a63e0618d274211e3ebd7c900001000000000000000";

/// The path of a socket, another one for each call.
pub fn path(name: &str) -> PathBuf {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let call = CALLS.fetch_add(1, Relaxed);
    let process = std::process::id();
    std::env::temp_dir().join(format!("duologue-{process}-{call}-{name}.sock"))
}

/// A listener that no other test uses, and its address.
pub fn listener(name: &str) -> (Listener, String) {
    let address = format!("unix:{}", path(name).display());
    let listener = Listener::bind(&address).expect("no other listener is here");
    (listener, address)
}

/// Both endpoints of a session over a Unix socket.
pub fn pair<S: Open, C: Open>(name: &str) -> (S, C) {
    let (mut listener, address) = listener(name);
    accepted(&mut listener, &address)
}

/// Both endpoints of a session that this listener accepts.
pub fn accepted<S: Open, C: Open>(listener: &mut Listener, address: &str) -> (S, C) {
    thread::scope(|scope| {
        let client = scope.spawn(|| duologue_net::connect(address).expect("it is accepted"));
        let server = listener.accept().expect("it connects");
        (server, client.join().expect("it does not panic"))
    })
}

/// Drains a listener when it is dropped. If that is because a test panics, ends its sessions: the test would wait for them.
struct Drained(Drain);

impl Drop for Drained {
    fn drop(&mut self) {
        match thread::panicking() {
            true => drop(self.0.within(Duration::ZERO)),
            false => self.0.begin(),
        }
    }
}

/// Runs this listener on a thread of its own during `act`, and drains it then.
pub fn serving<T>(mut listener: Listener, act: impl FnOnce() -> T) -> T {
    let drained = Drained(listener.drain());
    thread::scope(|scope| {
        let running = scope.spawn(move || listener.run());
        let result = act();
        drop(drained);
        let served = running.join().expect("it does not panic");
        served.expect("it accepts");
        result
    })
}

/// Two sockets that are connected.
pub fn socket_pair() -> [Socket; 2] {
    let (one, other) = UnixStream::pair().expect("there are descriptors");
    [one, other].map(|end| Socket::of(end.into()))
}

/// A socket that calls the test before it writes. It shows no descriptor, so a thread reads it.
pub struct Hooked<H> {
    /// The socket.
    pub socket: Socket,
    /// What is called.
    pub hook: H,
}

impl<H> Stream for Hooked<H>
where
    H: Fn() + Send + Sync + 'static,
{
    fn read(&self, to: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        self.socket.read(to, deadline)
    }

    fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<usize> {
        (self.hook)();
        self.socket.write(bytes, deadline)
    }

    fn close(&self) {
        self.socket.close();
    }
}

/// Both endpoints of a session over the two ends of a connection, which this connector begins.
pub fn over<S: Open, C: Open>(
    connector: &Connector,
    client: impl Stream,
    server: impl Stream,
) -> (S, C) {
    thread::scope(|scope| {
        let accepting = scope.spawn(|| duologue_net::accept_over(server).expect("it connects"));
        let client = connector.connect_over(client).expect("it is accepted");
        (accepting.join().expect("it does not panic"), client)
    })
}

/// The same over a pair of sockets.
pub fn over_sockets<S: Open, C: Open>(connector: &Connector) -> (S, C) {
    let [client, server] = socket_pair();
    over(connector, client, server)
}

/// Logs in, and waits for the answer.
pub fn log_in(client: client::Login) -> Result<LoginResponse, Closed> {
    client.login("holk".into(), "1234".into())?.recv()
}

/// Both endpoints of a session with a bank, after the login.
pub fn logged_in(
    (server, client): (server::Login, client::Login),
) -> (server::Connected, client::Connected) {
    let waiting = client
        .login("holk".into(), "1234".into())
        .expect("it is open");
    let Ok(Login::Login { next: answer, .. }) = server.recv() else {
        panic!("the client logs in")
    };
    let server = answer.ok().expect("it is open");
    let Ok(LoginResponse::Ok(client)) = waiting.recv() else {
        panic!("it is ok")
    };
    (server, client)
}

/// A session with a file server, in which a file is open. Its runs are of one message.
///
/// # Errors
/// If the session is closed.
pub fn opened(
    (server, client): (file_server::server::Idle, file_server::client::Idle),
) -> Result<(file_server::server::Reading, file_server::client::Reading), Closed> {
    let waiting = client.open("log".to_owned(), Mode::Read)?;
    let Idle::Open(name, _, answer) = server.recv()? else {
        panic!("the client opens a file")
    };
    let file = File {
        name,
        size: 0,
        owner: None,
        checksum: Vec::new(),
    };
    let server = answer.opened(file)?;
    let Opening::Opened(_, client) = waiting.recv()? else {
        panic!("it is there")
    };
    Ok((server, client))
}

/// The bytes of a text of hexadecimal digits.
pub fn unhex(hex: &str) -> Vec<u8> {
    let digits = (0..hex.len()).step_by(2);
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    digits.map(byte).collect()
}
