//! Listeners with peers that take more than their share: connections that send nothing, too many from one peer, and sessions in
//! which nothing happens.

use conversations::LONG;
use conversations::protocols::bank::{Login, LoginResponse, client, server};
use conversations::sockets::{accepted, listener, log_in, serving};
use duologue::Closed;
use duologue_net::{Connector, Error, Listener, Verdict};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// How many connections send nothing, and how many of them may wait.
const SILENT: usize = 300;
const WAITING: usize = 100;

/// How many clients come afterwards.
const VISITS: usize = 20;

/// How many threads handle connections.
fn threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("this is Linux");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names
        .filter(|name| name.trim() == "duologue-sessio")
        .count()
}

/// Logs in, and ends the session.
fn visit(login: client::Login) -> Result<(), Closed> {
    match log_in(login)? {
        LoginResponse::Ok(connected) => Ok(connected.quit()?),
        LoginResponse::Invalid(_) => panic!("it is ok"),
    }
}

fn welcome(login: server::Login) {
    let Ok(Login::Login { next: answer, .. }) = login.recv() else {
        return;
    };
    // The client may be gone.
    let _left = answer.ok().map(|connected| connected.recv().map(drop));
}

/// Serves while `act` runs.
fn serve(mut listener: Listener, act: impl FnOnce()) {
    listener.serve(welcome);
    serving(listener, act);
}

/// How many of these connections have been closed by now.
fn closed_of(silent: &[UnixStream]) -> usize {
    let is_closed = |mut one: &UnixStream| {
        one.set_nonblocking(true).expect("it is a socket");
        one.read(&mut [0]).is_ok_and(|count| count == 0)
    };
    silent.iter().filter(|one| is_closed(one)).count()
}

/// Reads until the connection is closed.
fn expect_end(mut one: UnixStream) {
    one.set_nonblocking(false).expect("it is a socket");
    one.set_read_timeout(Some(LONG)).expect("it is not zero");
    let mut rest = Vec::new();
    one.read_to_end(&mut rest).expect("it is closed");
    assert!(rest.is_empty(), "{rest:?}");
}

/// Those that came first give way to those that come later, which wait. None of them has a thread, and honest clients are served
/// in the meantime.
fn silent_connections_give_way() {
    let (mut listener, address) = listener("silent");
    listener.max_silent(WAITING).max_handshakes(4);
    listener.hello_timeout(10 * LONG);
    let path = address.strip_prefix("unix:").expect("a Unix socket");
    let connect = |_| UnixStream::connect(path).expect("it listens");
    let mut silent = Vec::new();
    serve(listener, || {
        silent.extend((0..SILENT).map(connect));
        let connector = Connector::new().timeout(LONG);
        for _ in 0..VISITS {
            let login = connector.connect(&address).expect("it is accepted");
            visit(login).expect("it is open");
        }
        // Those of clients that have just ended.
        let until = Instant::now() + LONG;
        while threads() > 0 {
            assert!(Instant::now() < until, "silent connections have threads");
            thread::yield_now();
        }
        let closed = closed_of(&silent);
        // A client that has sent nothing yet may have taken a place, too.
        let expected = SILENT - WAITING..=SILENT - WAITING + VISITS;
        assert!(expected.contains(&closed), "{closed} are closed");
    });
    silent.into_iter().for_each(expect_end);
}

fn verdict(refused: Result<client::Login, Error>) -> Option<Verdict> {
    match refused {
        Err(Error::Refused { verdict, .. }) => Some(verdict),
        Ok(_) | Err(_) => None,
    }
}

/// Connects as soon as a place is free again.
fn connect_again(address: &str) -> client::Login {
    let until = Instant::now() + LONG;
    loop {
        match duologue_net::connect(address) {
            Ok(login) => return login,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        thread::yield_now();
    }
}

fn a_peer_has_a_limit(mut listener: Listener) {
    let address = listener.address().to_string();
    listener.max_per_peer(2);
    serve(listener, || {
        let first: client::Login = duologue_net::connect(&address).expect("it is accepted");
        let second: client::Login = duologue_net::connect(&address).expect("it is accepted");
        for _ in 0..3 {
            let third = verdict(duologue_net::connect(&address));
            assert_eq!(third, Some(Verdict::Full), "{address}");
        }
        visit(first).expect("it is open");
        drop(connect_again(&address));
        // A connection that sends nothing counts, too, unless it was refused because a place is not free yet.
        drop(second);
        let again = (connect_again(&address), connect_again(&address));
        drop(again.0);
        let until = Instant::now() + LONG;
        let silent = loop {
            let mut silent = connect_silently(&address);
            let third = verdict(duologue_net::connect(&address));
            if third == Some(Verdict::Full) && is_open(&mut silent) {
                break silent;
            }
            assert!(Instant::now() < until, "no place is free");
        };
        drop(silent);
        drop(connect_again(&address));
    });
}

/// A connection that sends nothing.
fn connect_silently(address: &str) -> Box<dyn Read> {
    match address.strip_prefix("unix:") {
        Some(path) => {
            let stream = UnixStream::connect(path).expect("it listens");
            stream.set_nonblocking(true).expect("it is a socket");
            Box::new(stream)
        }
        None => {
            let host = address.strip_prefix("tcp://").expect("it is TCP");
            let stream = TcpStream::connect(host).expect("it listens");
            stream.set_nonblocking(true).expect("it is a socket");
            Box::new(stream)
        }
    }
}

/// Whether the listener has neither refused nor closed it by now.
fn is_open(silent: &mut dyn Read) -> bool {
    let read = silent.read(&mut [0]);
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// Sessions that `accept` returns count toward the limit until they are over.
fn accepted_sessions_have_a_limit() {
    let (mut listener, address) = listener("accepted");
    listener.max_sessions(1);
    let (server, client): (server::Login, client::Login) = accepted(&mut listener, &address);
    let refused = |listener: &mut Listener| {
        thread::scope(|scope| {
            let connecting = scope.spawn(|| verdict(duologue_net::connect(&address)));
            let none = listener.accept_within::<server::Login>(Duration::from_millis(100));
            assert!(matches!(none, Err(Error::TimedOut)));
            connecting.join().expect("it does not panic")
        })
    };
    assert_eq!(refused(&mut listener), Some(Verdict::Full));
    let load = listener.load();
    assert_eq!(
        (load.sessions, load.is_full, load.is_draining),
        (1, true, false)
    );
    drop((server, client));
    let ends: (server::Login, client::Login) = accepted(&mut listener, &address);
    drop(ends);
    listener.drain().begin();
    assert!(listener.load().is_draining);
}

#[test]
fn peers_that_take_more_than_their_share() {
    crate::alone!(alone_peers_that_take_more_than_their_share);
}

fn alone_peers_that_take_more_than_their_share() {
    silent_connections_give_way();
    a_peer_has_a_limit(listener("peer").0);
    a_peer_has_a_limit(Listener::bind("tcp://127.0.0.1:0").expect("a port is free"));
    accepted_sessions_have_a_limit();
}
