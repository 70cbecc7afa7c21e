//! What is between a process and its NATS server, and fails on command.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

#[derive(Default)]
struct State {
    /// Both ends of each connection.
    open: Mutex<Vec<[TcpStream; 2]>>,
    is_silent: AtomicBool,
    is_closed: AtomicBool,
    /// What is done to the bytes that go to the NATS server.
    change: Option<fn(&mut [u8])>,
}

impl State {
    fn cut(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for end in open.drain(..).flatten() {
            let _gone = end.shutdown(Shutdown::Both);
        }
    }
}

/// A port on 127.0.0.1 whose connections go on to another one.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// Forwards to this port.
    pub fn start(to: u16) -> io::Result<Proxy> {
        Proxy::with(to, State::default())
    }

    /// Forwards to this port, and changes what goes there.
    pub fn changing(to: u16, change: fn(&mut [u8])) -> io::Result<Proxy> {
        let change = Some(change);
        Proxy::with(
            to,
            State {
                change,
                ..State::default()
            },
        )
    }

    fn with(to: u16, state: State) -> io::Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(state);
        let proxy = Proxy {
            port,
            state: Arc::clone(&state),
        };
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if state.is_closed.load(SeqCst) {
                    continue;
                }
                // Without a server, the connection is closed, as if it were refused.
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else {
                    continue;
                };
                let _forwarding = forward(&state, near, far);
            }
        });
        Ok(proxy)
    }

    /// The port to connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes all connections.
    pub fn cut(&self) {
        self.state.cut();
    }

    /// Forwards nothing for a while. Nothing is lost.
    pub fn silence(&self, time: Duration) {
        self.state.is_silent.store(true, SeqCst);
        thread::sleep(time);
        self.state.is_silent.store(false, SeqCst);
    }

    /// Closes all connections, and each new one, for a while.
    pub fn close(&self, time: Duration) {
        self.state.is_closed.store(true, SeqCst);
        self.state.cut();
        thread::sleep(time);
        self.state.is_closed.store(false, SeqCst);
    }
}

/// Forwards both directions, each in a thread.
fn forward(state: &Arc<State>, near: TcpStream, far: TcpStream) -> io::Result<()> {
    for end in [&near, &far] {
        end.set_nodelay(true)?;
    }
    let ways = [
        (near.try_clone()?, far.try_clone()?, state.change),
        (far.try_clone()?, near.try_clone()?, None),
    ];
    let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
    open.push([near, far]);
    drop(open);
    for (from, to, change) in ways {
        let state = Arc::clone(state);
        thread::spawn(move || {
            let _ended = copy(&state, &from, &to, change);
            for end in [from, to] {
                let _gone = end.shutdown(Shutdown::Both);
            }
        });
    }
    Ok(())
}

fn copy(
    state: &State,
    mut from: &TcpStream,
    mut to: &TcpStream,
    change: Option<fn(&mut [u8])>,
) -> io::Result<()> {
    let mut bytes = [0; 16 << 10];
    loop {
        let count = from.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        while state.is_silent.load(SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(change) = change {
            change(&mut bytes[..count]);
        }
        to.write_all(&bytes[..count])?;
    }
}
