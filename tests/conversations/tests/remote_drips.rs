//! Peers that send something all the time and never come to an end: hellos and answers of which a byte comes now and then, and signs of life.
//! Each is given up in time.

use conversations::limits::timed::visit as timed;
use conversations::observing::{Event, observer};
use conversations::protocols::bank::{Login, LoginResponse, client, server};
use conversations::sockets::{ANSWER, listener, log_in, path, serving, unhex};
use conversations::{LONG, why};
use duologue::Why;
use duologue_net::{Connector, Error, Listener};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

/// Between two bytes.
const PAUSE: Duration = Duration::from_millis(50);

/// The head of a hello of 1,024 bytes.
const LONG_HEAD: &str = "64756f6c6f67756501000004";

fn connect(address: &str) -> UnixStream {
    let path = address.strip_prefix("unix:").expect("a Unix socket");
    let raw = UnixStream::connect(path).expect("it listens");
    raw.set_read_timeout(Some(LONG)).expect("it is not zero");
    raw
}

/// Others are served in the meantime.
#[test]
fn a_hello_that_drips_is_given_up() {
    let (mut listener, address) = listener("drip-hello");
    let (observing, told) = observer();
    listener.observer(observing);
    listener.hello_timeout(Duration::from_secs(3));
    listener.serve(|login: server::Login| {
        if let Ok(Login::Login { next: answer, .. }) = login.recv() {
            // The client may be gone.
            let _left = answer.invalid();
        }
    });
    serving(listener, || {
        let mut raw = connect(&address);
        raw.write_all(&unhex(LONG_HEAD)).expect("it is read");
        // On a busy machine its hello may be late, too.
        let honest: client::Login = std::iter::repeat_with(|| duologue_net::connect(&address))
            .find_map(Result::ok)
            .expect("one is accepted");
        assert!(matches!(log_in(honest), Ok(LoginResponse::Invalid(_))));
        raw.set_read_timeout(Some(PAUSE)).expect("it is not zero");
        // Until an end, or a reset because of what was not read; but no answer.
        let is_open = |read: io::Result<usize>| {
            read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        let waits =
            (0..1023).take_while(|_| raw.write_all(&[0]).is_ok() && is_open(raw.read(&mut [0])));
        assert!(waits.count() < 1023, "it took the whole hello");
        assert!(!raw.read(&mut [0]).is_ok_and(|count| count > 0));
        let cause = loop {
            if let Event::Refused(_, _, _, cause) = told.next() {
                break cause;
            }
        };
        let is_late = cause.contains("Late") || cause.contains("TimedOut");
        assert!(is_late, "{cause}");
    });
}

#[test]
fn an_answer_that_drips_is_given_up() {
    let path = path("drip-answer");
    let listener = UnixListener::bind(&path).expect("free");
    let dripping = thread::spawn(move || {
        let (mut raw, _) = listener.accept().expect("it connects");
        let answer = unhex(ANSWER);
        // All but the last byte.
        for byte in &answer[..answer.len() - 1] {
            if raw.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(PAUSE);
        }
        // Until the client ends the connection.
        while raw.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
    });
    let connector = Connector::new().timeout(Duration::from_millis(300));
    let address = format!("unix:{}", path.display());
    let error = connector.connect::<client::Login>(&address).map(drop);
    assert!(matches!(error, Err(Error::TimedOut)), "{error:?}");
    dripping.join().expect("it does not panic");
    let _removed = std::fs::remove_file(&path);
}

/// The hello of a client of `visit`: what a real one sends.
fn hello() -> Vec<u8> {
    let path = path("drip-recorded");
    let listener = UnixListener::bind(&path).expect("free");
    let recording = thread::spawn(move || {
        let (mut raw, _) = listener.accept().expect("it connects");
        let mut hello = vec![0; 12];
        raw.read_exact(&mut hello).expect("it sends a head");
        let length = usize::from(u16::from_le_bytes([hello[10], hello[11]]));
        hello.resize(12 + length, 0);
        raw.read_exact(&mut hello[12..]).expect("it sends a hello");
        hello
    });
    let none = duologue_net::connect::<timed::client::Choose>(&format!("unix:{}", path.display()));
    assert!(none.is_err());
    let _removed = std::fs::remove_file(&path);
    recording.join().expect("it does not panic")
}

/// A server that waits for a message that has to come quickly, and the socket of its peer.
fn hurried(name: &str) -> (timed::server::Quick, UnixStream) {
    let (mut listener, address): (Listener, String) = listener(name);
    let mut raw = connect(&address);
    raw.write_all(&hello()).expect("it is read");
    let server: timed::server::Choose = listener.accept().expect("the hello is whole");
    raw.read_exact(&mut [0; 38]).expect("it answers");
    raw.write_all(&[1]).expect("it is read");
    let Ok(timed::Choose::Hurry(server)) = server.recv() else {
        panic!("it arrives")
    };
    (server, raw)
}

/// Half of the hello comes while the program accepts, and the other half when it does not any more.
#[test]
fn a_session_that_is_not_accepted_ends_with_its_listener() {
    let (mut listener, address) = listener("drip-unaccepted");
    let mut raw = connect(&address);
    let hello = hello();
    let (first, second) = hello.split_at(hello.len() / 2);
    raw.write_all(first).expect("it is read");
    let accepted = listener.accept_within::<timed::server::Choose>(Duration::from_millis(300));
    assert!(matches!(accepted, Err(Error::TimedOut)));
    raw.write_all(second).expect("it is read");
    raw.read_exact(&mut [0; 38]).expect("it answers");
    // What the program keeps of the listener does not keep the session.
    let drain = listener.drain();
    drop(listener);
    let ended = raw.read(&mut [0; 64]);
    assert!(matches!(ended, Ok(0)), "{ended:?}");
    drop(drain);
}

/// A peer that sends without end, but no message, is late.
#[test]
fn signs_of_life_do_not_extend_a_time_limit() {
    /// 2,048 of them.
    const ALIVE: [u8; 4096] = {
        let mut alive = [0; 4096];
        let mut at = 1;
        while at < alive.len() {
            alive[at] = 1;
            at += 2;
        }
        alive
    };
    let (server, mut raw) = hurried("drip-alive");
    // Until the connection is closed.
    let sending = thread::spawn(move || while raw.write_all(&ALIVE).is_ok() {});
    assert_eq!(why(server.recv()), Why::Late);
    sending.join().expect("it does not panic");
}
