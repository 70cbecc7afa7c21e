//! Sessions over connections that accept nothing for a while, while the sender is inside a run.

use conversations::LONG;
use conversations::limits::pieces::file::{self, Pieces};
use conversations::protocols::numbers::{self, Stream as Numbers};
use conversations::sockets::{Hooked, over, socket_pair};
use conversations::waiting::spawn_until_asleep;
use duologue::TrySendError;
use duologue_net::{Connector, Open};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// What is collected before it is written inside a run.
const COLLECTED: usize = 64 << 10;

/// More than a connection and the library keep for a peer that does not read.
const MANY: u64 = 200_000;

/// Both endpoints of a session, whose client calls this function before it writes.
fn pair<S: Open, C: Open>(hook: impl Fn() + Send + Sync + 'static) -> (S, C) {
    let [socket, other] = socket_pair();
    over(&Connector::new(), Hooked { socket, hook }, other)
}

/// A session in whose client the thread that writes what was collected holds the session and is stopped, until the sender
/// that is returned is dropped.
fn stopped_while_it_writes() -> (file::server::Pieces, file::client::Pieces, mpsc::Sender<()>) {
    let is_stopped = Arc::new(AtomicUsize::new(0));
    let (go_on, waits) = mpsc::channel();
    let stops = {
        let (is_stopped, waits) = (Arc::clone(&is_stopped), Mutex::new(waits));
        move || {
            // Later writes of that thread, and all of others, are as fast as the connection.
            let is_first = is_stopped.compare_exchange(1, 2, SeqCst, SeqCst).is_ok();
            if is_first {
                let _gone = waits.lock().expect("nothing panics here").recv();
            }
        }
    };
    let (server, client): (file::server::Pieces, file::client::Pieces) = pair(stops);
    is_stopped.store(1, SeqCst);
    let client = client.piece(Vec::new()).expect("it is open");
    let until = Instant::now() + LONG;
    while is_stopped.load(SeqCst) != 2 {
        assert!(Instant::now() < until, "what was collected is written");
        thread::sleep(Duration::from_millis(1));
    }
    (server, client, go_on)
}

/// Reads to the end. Returns how many pieces there are.
fn pieces(mut server: file::server::Pieces) -> usize {
    let mut count = 0;
    while let Ok(Pieces::Piece(_, next)) = server.recv() {
        count += 1;
        server = next;
    }
    count
}

/// More messages than two lines of the ring have, and fewer than the ring has slots.
const TWO_LINES: usize = 16;

/// The memory of what senders are ahead is bounded, also while the session is held by a thread that does not go on.
#[test]
fn shared_senders_do_not_fill_the_ring_while_another_thread_forwards() {
    let (server, client, go_on) = stopped_while_it_writes();
    let shared = file::client::SharedPieces::from(client);
    let mut sent = 1;
    while sent < 10 * TWO_LINES && shared.try_piece(vec![7; COLLECTED]).is_ok() {
        sent += 1;
    }
    assert!(sent <= TWO_LINES, "{sent}");
    let full = shared.try_piece(vec![7; COLLECTED]);
    assert!(matches!(full, Err(TrySendError::Full(_))));
    let waiting = [1, 2].map(|_| {
        let shared = shared.clone();
        spawn_until_asleep(move || shared.piece(vec![7; COLLECTED]))
    });
    drop(shared);
    assert!(waiting.iter().all(|thread| !thread.is_finished()));
    drop(go_on);
    let reading = thread::spawn(|| pieces(server));
    for thread in waiting {
        thread.join().expect("no panic").expect("it is open");
    }
    assert_eq!(reading.join().expect("no panic"), sent + 2);
}

/// The same for one sender, which waits for that thread.
#[test]
fn a_sender_does_not_fill_the_ring_while_another_thread_forwards() {
    let (server, mut client, go_on) = stopped_while_it_writes();
    let sent = Arc::new(AtomicUsize::new(1));
    let sending = {
        let sent = Arc::clone(&sent);
        spawn_until_asleep(move || {
            for _ in 0..10 * TWO_LINES {
                client = client.piece(vec![7; COLLECTED]).expect("it is open");
                sent.fetch_add(1, SeqCst);
            }
        })
    };
    assert!(sent.load(SeqCst) <= TWO_LINES, "{sent:?}");
    drop(go_on);
    let reading = thread::spawn(|| pieces(server));
    sending.join().expect("no panic");
    assert_eq!(reading.join().expect("no panic"), 1 + 10 * TWO_LINES);
}

/// A sender that waits for the connection does not hold up others that share its endpoint and must not wait.
#[test]
fn a_shared_sender_that_waits_holds_up_no_other() {
    let (server, client): (numbers::server::Stream, numbers::client::Stream) = pair(|| ());
    let shared = numbers::client::SharedStream::from(client);
    let waiting = {
        let shared = shared.clone();
        spawn_until_asleep(move || {
            for _ in 0..MANY {
                shared.send(1).expect("it is open");
            }
        })
    };
    let (done, is_done) = mpsc::channel();
    let trying = thread::spawn(move || {
        let mut sent = 0;
        while let Ok(()) = shared.try_send(1) {
            sent += 1;
        }
        assert!(matches!(shared.try_send(1), Err(TrySendError::Full(1))));
        done.send(sent).expect("it is awaited");
    });
    let sent = is_done.recv_timeout(LONG).expect("it does not wait");
    let count = count(server);
    waiting.join().expect("it does not panic");
    trying.join().expect("it does not panic");
    assert_eq!(count, MANY + sent);
}

/// How many messages there are.
fn count(mut server: numbers::server::Stream) -> u64 {
    let mut count = 0;
    while let Ok(Numbers::Send(_, next)) = server.recv() {
        count += 1;
        server = next;
    }
    count
}

/// A waker that uses what its task shares with others.
struct Sends {
    shared: Mutex<Option<numbers::client::SharedStream>>,
    has_sent: mpsc::Sender<bool>,
}

impl Wake for Sends {
    fn wake(self: Arc<Sends>) {
        let shared = self.shared.lock().expect("nothing panics here").take();
        if let Some(shared) = shared {
            let sent = shared.try_send(2);
            // The test may be over.
            let _ended = self.has_sent.send(sent.is_ok());
        }
    }
}

/// The waker of a task that waits for space may use the shared sender: it is called where no lock is held.
#[test]
fn wakers_may_use_a_shared_sender() {
    let (server, client): (numbers::server::Stream, numbers::client::Stream) = pair(|| ());
    let shared = numbers::client::SharedStream::from(client);
    let (has_sent, sent) = mpsc::channel();
    let waker = Waker::from(Arc::new(Sends {
        shared: Mutex::new(Some(shared.clone())),
        has_sent,
    }));
    let mut context = Context::from_waker(&waker);
    let mut expected = 0;
    let counting = loop {
        let mut sending = pin!(shared.send_async(1));
        expected += 1;
        if let Poll::Ready(sent) = sending.as_mut().poll(&mut context) {
            sent.expect("it is open");
            continue;
        }
        let counting = thread::spawn(|| count(server));
        let has_sent = sent.recv_timeout(LONG).expect("the waker is called");
        expected += u64::from(has_sent);
        while sending.as_mut().poll(&mut context).is_pending() {
            thread::sleep(Duration::from_millis(1));
        }
        break counting;
    };
    drop((waker, shared));
    assert_eq!(counting.join().expect("it does not panic"), expected);
}
