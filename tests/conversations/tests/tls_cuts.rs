//! A connection with TLS that breaks after any byte: nothing hangs, and each side gets what arrived before, and then `lost`.

use conversations::Transcript;
use conversations::certificates::Certificates;
use conversations::protocols::bank::client::Login;
use duologue::Why;
use duologue_net::{Connector, Error, Listener, Tls};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

/// After how many bytes of the client, or of the server, a connection breaks.
#[derive(Clone, Copy, Debug)]
struct Cut {
    client: usize,
    server: usize,
}

const NEVER: usize = usize::MAX;

/// More bytes than hello, answer, session and its end are in either direction. Those before are the handshake with its certificates.
const SESSION: usize = 450;

/// The conversation of `tests/run/bank`.
mod bank {
    pub mod client {
        include!("../../run/bank/client.rs");
    }
    pub mod server {
        include!("../../run/bank/server.rs");
    }
}

/// Passes bytes on until one side ends, or up to the limit, which ends both directions; returns how many it passed.
fn pass(mut from: TcpStream, mut to: TcpStream, limit: usize) -> usize {
    let mut passed = 0;
    let mut buffer = [0; 4096];
    loop {
        let space = buffer.len().min(limit - passed);
        if space == 0 {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return passed;
        }
        let read = match from.read(&mut buffer[..space]) {
            Ok(0) | Err(_) => {
                let _ = to.shutdown(Shutdown::Write);
                return passed;
            }
            Ok(read) => read,
        };
        if to.write_all(&buffer[..read]).is_err() {
            let _ = from.shutdown(Shutdown::Read);
            return passed;
        }
        passed += read;
    }
}

/// How a session through the proxy went.
struct Run {
    /// How many bytes passed from the client, and from the server.
    passed: [usize; 2],
    /// Whether the client could begin it.
    began: Result<(), Error>,
    /// How the sides ended that had a session.
    ends: Vec<Result<(), Why>>,
}

/// Holds a session through a connection that breaks.
fn through(cut: Cut, tls: &[Tls; 2]) -> Run {
    let [for_client, for_server] = tls.clone();
    let mut listener = Listener::bind_tls("tls://127.0.0.1:0", for_server).expect("a port is free");
    let far = listener.address().to_string();
    let far = far.strip_prefix("tls://").expect("it is TLS").to_owned();
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("tls://{}", proxy.local_addr().expect("it is bound"));
    let (sender, ends) = mpsc::channel();
    let at_client = sender.clone();
    listener.serve(move |login| {
        let end = bank::server::run(login, &Transcript::default());
        let end = end.map_err(|closed| closed.why());
        sender.send(end).expect("the test waits");
    });
    let drain = listener.drain();
    thread::scope(|scope| {
        let serving = scope.spawn(move || listener.run());
        let passing = scope.spawn(move || {
            let (client, _) = proxy.accept().expect("the client connects");
            let server = TcpStream::connect(far).expect("the server listens");
            let copy = |stream: &TcpStream| stream.try_clone().expect("a descriptor is free");
            let (from, to) = (copy(&server), copy(&client));
            let back = thread::spawn(move || pass(from, to, cut.server));
            let there = pass(client, server, cut.client);
            [there, back.join().expect("it does not panic")]
        });
        let connector = Connector::new().tls(for_client);
        let began = match connector.connect::<Login>(&address) {
            Ok(login) => {
                let end = bank::client::run(login, &Transcript::default());
                let end = end.map_err(|closed| closed.why());
                at_client.send(end).expect("the test waits");
                Ok(())
            }
            Err(error) => Err(error),
        };
        drop(at_client);
        let passed = passing.join().expect("it does not panic");
        drain.begin();
        let served = serving.join().expect("it does not panic");
        served.expect("the listener works");
        Run {
            passed,
            began,
            ends: ends.iter().collect(),
        }
    })
}

/// Cuts one direction after each of its bytes; in the handshake, after some.
fn cut_each(of: impl Fn(usize) -> Cut, direction: usize) {
    let files = Certificates::new();
    let tls = [files.tls("ca", "client"), files.tls("ca", "server")];
    let never = Cut {
        client: NEVER,
        server: NEVER,
    };
    let whole = through(never, &tls);
    whole.began.expect("nothing is cut");
    assert_eq!(whole.ends, [Ok(()), Ok(())]);
    let whole = whole.passed[direction];
    let session = whole.saturating_sub(SESSION);
    let cuts = (0..session).step_by(41).chain(session..whole);
    for at in cuts {
        let Run { began, ends, .. } = through(of(at), &tls);
        if let Err(error) = began {
            let is_known = matches!(error, Error::Tls { .. } | Error::NoAnswer);
            assert!(is_known, "after {at}: {error:?}");
        }
        for end in ends {
            assert!(
                matches!(end, Ok(()) | Err(Why::Lost)),
                "after {at}: {end:?}"
            );
        }
    }
}

#[test]
fn what_the_client_sends_is_cut() {
    cut_each(
        |client| Cut {
            client,
            server: NEVER,
        },
        0,
    );
}

#[test]
fn what_the_server_sends_is_cut() {
    cut_each(
        |server| Cut {
            client: NEVER,
            server,
        },
        1,
    );
}
