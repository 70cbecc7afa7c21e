//! Heartbeats: a peer that is stopped is lost, and one that only says nothing is not.

use conversations::protocols::bank::{Connected, client, server};
use conversations::sockets::{logged_in, over, socket_pair};
use conversations::{LONG, block_on, why};
use duologue::{PortSet, TryRecvError, Why};
use duologue_net::{Connector, Socket, Stream};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// The connection of a peer that can be stopped: what it writes does not arrive then, not even that its connection ends.
struct Stoppable {
    socket: Socket,
    is_stopped: Arc<AtomicBool>,
}

impl Stream for Stoppable {
    fn read(&self, to: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        self.socket.read(to, deadline)
    }

    fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<usize> {
        match self.is_stopped.load(SeqCst) {
            true => Ok(bytes.len()),
            false => self.socket.write(bytes, deadline),
        }
    }

    fn close(&self) {
        if !self.is_stopped.load(SeqCst) {
            self.socket.close();
        }
    }
}

/// Both endpoints of a session in which the connecting side has promised a heartbeat of a second, and what stops it.
fn connected() -> (server::Connected, client::Connected, Arc<AtomicBool>) {
    let [socket, other] = socket_pair();
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stops = Arc::clone(&is_stopped);
    let stoppable = Stoppable { socket, is_stopped };
    let connector = Connector::new().heartbeat(1);
    let (server, client) = logged_in(over(&connector, stoppable, other));
    (server, client, stops)
}

#[test]
fn a_peer_that_says_nothing_is_there() {
    let (server, client, _) = connected();
    // Longer than a peer without a sign of life would have.
    let Err(TryRecvError::Empty(server)) = server.recv_timeout(Duration::from_secs(4)) else {
        panic!("it says nothing, and is there")
    };
    client.quit().expect("it is open");
    assert!(matches!(server.recv(), Ok(Connected::Quit)));
}

/// For a thread that waits, for one that looks now and then, for a task, and in a set.
#[test]
fn a_peer_that_is_stopped_is_lost() {
    let ways: [fn(server::Connected) -> Why; 4] = [
        |server| why(server.recv()),
        |mut server| loop {
            thread::sleep(Duration::from_millis(100));
            server = match server.try_recv() {
                Err(TryRecvError::Empty(server)) => server,
                Err(TryRecvError::Closed(closed)) => return closed.why(),
                Ok(message) => panic!("unexpected: {message:?}"),
            };
        },
        |server| why(block_on(server.recv_async())),
        |server| {
            let mut set = PortSet::new();
            set.insert(server, ());
            let (_, received) = set.recv_timeout(LONG).expect("it is lost");
            why(received)
        },
    ];
    let waits = ways.map(|way| {
        let (server, client, stops) = connected();
        stops.store(true, SeqCst);
        thread::spawn(move || (way(server), client))
    });
    for wait in waits {
        assert_eq!(wait.join().expect("no panic").0, Why::Lost);
    }
}
