//! Heartbeats: a peer that is stopped is lost, and one that only says nothing is not. The peers are processes of their own, which this
//! program starts: they run the test `peer` of it.

use conversations::protocols::bank::{self, Connected, Login, LoginResponse};
use conversations::protocols::numbers;
use conversations::sockets::{listener, log_in};
use conversations::{LONG, why};
use duologue::{Closed, PortSet, TryRecvError, Why};
use duologue_net::{Connector, Open};
use std::env;
use std::error::Error;
use std::io::{Write, stdin};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const ADDRESS: &str = "DUOLOGUE_TEST_ADDRESS";
const KIND: &str = "DUOLOGUE_TEST_KIND";
const SECONDS: &str = "DUOLOGUE_TEST_SECONDS";

/// What the other process does.
fn peer(address: &str) {
    let kind = env::var(KIND).expect("the test sets it");
    let seconds = env::var(SECONDS).expect("the test sets it");
    let connector = Connector::new().heartbeat(seconds.parse().expect("a number"));
    match &kind[..] {
        "customer" => customer(connector.connect(address).expect("it is accepted")),
        "deaf" => deaf(&connector, address),
        _ => panic!("there is no peer `{kind}`"),
    }
}

/// Logs in, is silent until it may go on, and quits.
fn customer(login: bank::client::Login) {
    let Ok(LoginResponse::Ok(connected)) = log_in(login) else {
        panic!("it is ok")
    };
    await_line();
    connected.quit().expect("it is open");
}

/// Reads nothing.
fn deaf(connector: &Connector, address: &str) {
    let stream: numbers::server::Stream = connector.connect(address).expect("it is accepted");
    await_line();
    drop(stream);
}

fn await_line() {
    let mut line = String::new();
    stdin().read_line(&mut line).expect("it is text");
}

/// Another process. It is killed when this is dropped.
struct Peer(Child);

impl Peer {
    /// Starts one with this heartbeat, and accepts its session.
    fn start<E: Open>(kind: &str, name: &str, seconds: u16) -> (Peer, E) {
        let (mut listener, address) = listener(name);
        listener.heartbeat(seconds);
        let child = Command::new(env::current_exe().expect("there is one"))
            .args([
                "--exact",
                "remote_heartbeat::a_peer_that_says_nothing_is_there",
            ])
            .env(ADDRESS, &address)
            .env(KIND, kind)
            .env(SECONDS, seconds.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let peer = Peer(child.expect("it can be started"));
        let end = listener.accept_within(LONG).expect("it connects");
        (peer, end)
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.0.id());
        let status = Command::new("sh").args(["-c", &kill]).status();
        assert!(status.expect("there is a shell").success());
    }

    fn stop(&self) {
        self.signal("STOP");
    }

    fn go_on(&mut self) {
        let input = self.0.stdin.as_mut().expect("it is piped");
        input.write_all(b"go on\n").expect("it reads");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Lets a customer log in.
fn admit(login: bank::server::Login) -> Result<bank::server::Connected, Closed> {
    let Login::Login { next: answer, .. } = login.recv()?;
    Ok(answer.ok()?)
}

#[test]
fn a_peer_that_says_nothing_is_there() -> Result<(), Box<dyn Error>> {
    // In the process that this and other tests start, this one is the other side.
    if let Ok(address) = env::var(ADDRESS) {
        peer(&address);
        return Ok(());
    }
    let (mut peer, login) = Peer::start("customer", "silent", 2);
    let connected = admit(login)?;
    // Longer than a peer without a sign of life would have.
    let Err(TryRecvError::Empty(connected)) = connected.recv_timeout(Duration::from_secs(7)) else {
        panic!("it says nothing, and is there")
    };
    peer.go_on();
    assert!(matches!(connected.recv(), Ok(Connected::Quit)));
    Ok(())
}

/// For a thread that waits, and for one that looks now and then.
#[test]
fn a_peer_that_is_stopped_is_lost() -> Result<(), Closed> {
    for name in ["waits", "polls"] {
        let (peer, login) = Peer::start("customer", name, 1);
        let mut connected = admit(login)?;
        peer.stop();
        let until = Instant::now() + LONG;
        let closed = loop {
            assert!(Instant::now() < until, "it is not lost");
            let received = match name {
                "waits" => connected.recv_timeout(LONG),
                _ => {
                    thread::sleep(Duration::from_millis(100));
                    connected.try_recv()
                }
            };
            connected = match received {
                Err(TryRecvError::Empty(connected)) => connected,
                Err(TryRecvError::Closed(closed)) => break closed,
                Ok(message) => panic!("unexpected: {message:?}"),
            };
        };
        assert_eq!(closed.why(), Why::Lost);
    }
    Ok(())
}

#[test]
fn a_peer_that_is_stopped_is_lost_in_a_set() -> Result<(), Closed> {
    let (peer, login) = Peer::start("customer", "set", 1);
    let (mut other, other_login) = Peer::start("customer", "set-other", 1);
    let mut set = PortSet::new();
    set.insert(admit(login)?, "stopped");
    set.insert(admit(other_login)?, "other");
    peer.stop();
    let Some(("stopped", Err(closed))) = set.recv_timeout(LONG) else {
        panic!("the other one says nothing")
    };
    assert_eq!(closed.why(), Why::Lost);
    other.go_on();
    match set.recv_timeout(LONG) {
        Some(("other", Ok(Connected::Quit))) => {}
        other => panic!("unexpected: {other:?}"),
    }
    Ok(())
}

#[tokio::test]
async fn a_peer_that_is_stopped_is_lost_for_a_task() -> Result<(), Closed> {
    let (peer, login) = Peer::start("customer", "task", 1);
    let connected = admit(login)?;
    peer.stop();
    let waited = tokio::time::timeout(LONG, connected.recv_async()).await;
    assert_eq!(why(waited.expect("it is lost")), Why::Lost);
    Ok(())
}

/// A sender waits for a peer that reads nothing, as long as it is there.
#[test]
fn a_peer_that_is_stopped_is_lost_for_a_sender_that_waits() {
    let (peer, mut stream) = Peer::start::<numbers::client::Stream>("deaf", "deaf", 1);
    let sending = thread::spawn(move || {
        loop {
            match stream.send(1) {
                Ok(next) => stream = next,
                Err(error) => return error.closed().why(),
            }
        }
    });
    thread::sleep(Duration::from_secs(4));
    assert!(!sending.is_finished(), "it is there");
    peer.stop();
    assert_eq!(sending.join().expect("no panic"), Why::Lost);
}
