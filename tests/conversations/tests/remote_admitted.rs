//! Listeners that decide which peers they admit, and hand what they have found about them to the program.

use conversations::LONG;
use conversations::protocols::bank::{client, server};
use conversations::sockets::{HELLO, listener, serving, unhex};
use duologue_net::{Connector, Error, Peer, Verdict};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The owner of an account, whose token is its number.
struct Owner(&'static str, Arc<()>);

/// The accounts, and a count of the owners that were found and have not been dropped.
fn accounts() -> (
    Arc<()>,
    impl Fn(&Peer<'_>) -> Option<Owner> + Clone + Send + Sync + 'static,
) {
    let count = Arc::new(());
    let found = Arc::clone(&count);
    let find = move |peer: &Peer<'_>| {
        let name = match peer.token? {
            b"1" => "holk",
            b"2" => "hans",
            _ => return None,
        };
        Some(Owner(name, Arc::clone(&found)))
    };
    (count, find)
}

/// Waits until all owners are dropped, and the function, of which the threads of handshakes have a copy until they end.
fn await_drops(count: &Arc<()>) {
    let began = Instant::now();
    while Arc::strong_count(count) > 1 {
        assert!(began.elapsed() < LONG, "one is kept");
        thread::yield_now();
    }
}

fn is_not_admitted(connected: Result<client::Login, Error>) -> bool {
    let verdict = Verdict::NotAdmitted;
    matches!(connected, Err(Error::Refused { verdict: refused, .. }) if refused == verdict)
}

#[test]
fn handlers_get_what_was_found_about_the_peer() {
    let (mut listener, address) = listener("admitted");
    let (count, find) = accounts();
    let (sender, served) = mpsc::channel();
    // Both functions have to admit a peer.
    listener.admit(|peer| peer.token != Some(b"2"));
    listener.serve_admitted(find, move |login: server::Login, owner: Owner| {
        drop(login);
        sender.send(owner).expect("the test waits");
    });
    serving(listener, || {
        let connect = |token: &[u8]| Connector::new().token(token).connect(&address);
        for _ in 0..2 {
            assert!(is_not_admitted(connect(b"2")));
            assert!(is_not_admitted(connect(b"3")));
            assert!(is_not_admitted(duologue_net::connect(&address)));
            drop(connect(b"1").expect("it is admitted"));
            let Owner(name, found) = served.recv_timeout(LONG).expect("it is served");
            assert_eq!(name, "holk");
            drop(found);
        }
    });
    await_drops(&count);
}

#[test]
fn accepting_returns_what_was_found_about_the_peer() {
    let (mut listener, address) = listener("admitted-one");
    let (count, find) = accounts();
    thread::scope(|scope| {
        let clients = scope.spawn(|| {
            let connect = |token: &[u8]| Connector::new().token(token).connect(&address);
            assert!(is_not_admitted(connect(b"3")));
            connect(b"2").expect("it is admitted")
        });
        let accepted = listener.accept_admitted::<server::Login, Owner>(find.clone(), Some(LONG));
        let (login, Owner(name, _)) = accepted.expect("one is admitted");
        assert_eq!(name, "hans");
        drop((login, clients.join().expect("it does not panic")));
    });

    // A peer that connected while another type was wanted waits for a call that wants this type, and no other gets it.
    let path = address.strip_prefix("unix:").expect("a Unix socket");
    let mut raw = UnixStream::connect(path).expect("it listens");
    let name = |peer: &Peer<'_>| Some(peer.protocol.to_owned());
    let short = Some(Duration::from_millis(50));
    let none = listener.accept_admitted::<server::Login, String>(name, short);
    assert!(matches!(none, Err(Error::TimedOut)));
    raw.write_all(&unhex(HELLO)).expect("it is read");
    let none = listener.accept_admitted::<server::Login, Owner>(find.clone(), short);
    assert!(matches!(none, Err(Error::TimedOut)));
    let mut answer = [0; 38];
    raw.read_exact(&mut answer).expect("the session begins");
    let none = listener.accept_within::<server::Login>(Duration::ZERO);
    assert!(matches!(none, Err(Error::TimedOut)));
    let found = listener.accept_admitted::<server::Login, String>(|_| None, Some(LONG));
    assert_eq!(found.expect("it has begun").1, "bank");
    drop((listener, find));
    await_drops(&count);
}
