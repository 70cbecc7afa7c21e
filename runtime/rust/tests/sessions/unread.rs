//! Messages that are not read are destroyed exactly once, and without recursion.

use std::future::{pending, Future};
use std::marker::PhantomData;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

use duologue::generated::{session, End, Slot, Stay};
use duologue::{Capacity, Closed, Endpoint, Receiver, TryRecvError};

use crate::golden::{nest, stream};
use crate::unpark::Unpark;

/// Counts how often it is destroyed.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn with_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new()
        .stack_size(192 * 1024)
        .spawn(work)
        .expect("a thread");
    assert!(thread.join().is_ok());
}

#[test]
fn unread_messages_are_destroyed_exactly_once() -> Result<(), Closed> {
    let rings = [
        (Capacity::Unbounded, 40),
        (Capacity::Bounded(3), 13),
        (Capacity::Bounded(7), 41),
    ];
    for (capacity, most) in rings {
        for (sends, reads) in
            (0..most).flat_map(|sends| (0..=sends).map(move |reads| (sends, reads)))
        {
            let drops = Arc::new(AtomicUsize::new(0));
            let (mut server, mut client) = stream::init_with::<Counted>(capacity);
            let (mut sent, mut read) = (0, 0);
            // A full ring is read, as far as it may be.
            while sent < sends && client.is_ready() || read < reads.min(sent) {
                if sent < sends && client.is_ready() {
                    client = client.send(Counted(drops.clone()))?;
                    sent += 1;
                    continue;
                }
                (_, server) = server.recv()?.sent();
                read += 1;
            }
            assert_eq!(drops.load(Relaxed), read);
            if sends % 2 == 0 {
                drop(client);
                drop(server);
            } else {
                drop(server);
                assert_eq!(drops.load(Relaxed), sent);
                assert!(client.send(Counted(Arc::default())).is_err());
            }
            assert_eq!((drops.load(Relaxed), Arc::strong_count(&drops)), (sent, 1));
        }
    }
    Ok(())
}

/// `swing:send<T, U> { next(T) -> swing<U, T> }`: each message leads to the same state with other arguments.
struct Swing<T, U>(PhantomData<fn(T) -> U>);

state! {
    [T: Send, U: Send] Swing<T, U>, "swing" of "", stays: true, (T, Receiver<Swing<U, T>>), |branch| branch.take::<0>();
    0 "next"(T) => Stay<Swing<U, T>>;
}

/// Has its [`Counted`] at another offset in the slot than a [`Counted`] alone.
#[repr(C)]
struct Large {
    _before: [u64; 3],
    _counted: Counted,
}

#[test]
fn unread_messages_are_destroyed_as_what_they_are() -> Result<(), Closed> {
    for sent in 0..20 {
        for read in 0..=sent {
            for reads_half in [false, read < sent] {
                let drops = Arc::new(AtomicUsize::new(0));
                let slot = Slot::new().fit::<Counted>().fit::<Large>();
                let (mut client, mut server) =
                    session::<Swing<Counted, Large>>(slot, Capacity::Unbounded);
                for _ in 0..sent {
                    let half = client.send::<0>(Counted(drops.clone()))?;
                    client = half.send::<0>(Large {
                        _before: [u64::MAX; 3],
                        _counted: Counted(drops.clone()),
                    })?;
                }
                for _ in 0..read {
                    let (_, half) = server.recv()?;
                    (_, server) = half.recv()?;
                }
                if reads_half {
                    drop(server.recv()?);
                } else {
                    drop(server);
                }
                drop(client);
                assert_eq!(
                    (drops.load(Relaxed), Arc::strong_count(&drops)),
                    (2 * sent, 1)
                );
            }
        }
    }
    Ok(())
}

#[test]
fn endpoints_inside_messages_close_in_turn() -> Result<(), Closed> {
    let (inner, inner_client) = stream::init::<u8>();
    let (outer, outer_client) = stream::init::<stream::server::Stream<u8>>();
    let outer_client = outer_client.send(inner)?;
    assert!(inner_client.is_ready());
    drop(outer);
    assert!(inner_client.send(1).is_err());
    drop(outer_client);
    Ok(())
}

#[test]
fn a_million_unread_messages() {
    with_small_stack(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (server, mut client) = stream::init_with(Capacity::Bounded(1_000_000));
        for _ in 0..1_000_000 {
            client = client
                .send(Counted(drops.clone()))
                .expect("the server is there");
        }
        drop(server);
        assert_eq!(drops.load(Relaxed), 1_000_000);
        drop(client);
    });
}

#[test]
fn sessions_nested_200_000_deep() {
    with_small_stack(|| {
        let (mut outermost, innermost) = nest::init();
        for _ in 0..200_000 {
            let (server, client) = nest::init();
            client.inner(outermost).expect("the server is there");
            outermost = server;
        }
        drop(outermost);
        let (orphan, _peer) = nest::init();
        assert!(innermost.inner(orphan).is_err());
    });
}

#[test]
fn messages_nested_in_a_list_200_000_deep() {
    struct Node(#[allow(dead_code)] Option<stream::server::Stream<Node>>);
    with_small_stack(|| {
        let mut chain = Node(None);
        let mut clients = Vec::new();
        for _ in 0..200_000 {
            let (server, client) = stream::init_with(Capacity::Bounded(1));
            clients.push(client.send(chain).expect("the server is there"));
            chain = Node(Some(server));
        }
        drop(chain);
    });
}

/// Counts how often it is destroyed, and may panic then.
struct Bomb(Arc<AtomicUsize>, bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        assert!(!self.1, "bang");
    }
}

#[test]
fn a_panicking_destructor_does_not_keep_the_rest() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (server, mut client) = stream::init();
    for number in 0..10 {
        client = client
            .send(Bomb(drops.clone(), number == 3))
            .expect("the server is there");
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(server))).is_err());
    assert_eq!(drops.load(Relaxed), 10);
    assert!(client.stop().is_err());
}

#[test]
fn what_a_destructor_borrows_from_itself_is_destroyed_before_it_returns() {
    /// Begins a session that borrows from the destructor's own frame, and leaves a message unread in it.
    struct Borrower(Arc<AtomicUsize>);
    struct Noted<'a>(&'a Vec<usize>, Arc<AtomicUsize>);
    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.1.fetch_add(self.0[2], Relaxed);
        }
    }
    impl Drop for Borrower {
        fn drop(&mut self) {
            let local = vec![1, 2, 3];
            let (server, client) = stream::init();
            let client = client
                .send(Noted(&local, self.0.clone()))
                .expect("the server is there");
            drop(server);
            assert_eq!(self.0.load(Relaxed) % 3, 0);
            assert!(self.0.load(Relaxed) > 0);
            drop(client);
        }
    }
    let total = Arc::new(AtomicUsize::new(0));
    // Deep enough that older endpoints are handled by the drop queue in progress.
    let (mut chain, client) = stream::init::<Borrower>();
    drop(
        client
            .send(Borrower(total.clone()))
            .expect("the server is there"),
    );
    struct Link(
        #[allow(dead_code)] stream::server::Stream<Borrower>,
        #[allow(dead_code)] Option<Box<Holder>>,
    );
    struct Holder(#[allow(dead_code)] stream::server::Stream<Link>);
    let mut holder = None;
    for _ in 0..40 {
        let (server, client) = stream::init::<Link>();
        drop(
            client
                .send(Link(chain, holder))
                .expect("the server is there"),
        );
        holder = Some(Box::new(Holder(server)));
        let (next, client) = stream::init::<Borrower>();
        drop(
            client
                .send(Borrower(total.clone()))
                .expect("the server is there"),
        );
        chain = next;
    }
    drop(holder);
    drop(chain);
    assert_eq!(total.load(Relaxed), 3 * 41);
}

/// A text, and whether it is alive, which can be checked even when it is not.
struct Text {
    text: String,
    lives: Arc<AtomicBool>,
}

impl Drop for Text {
    fn drop(&mut self) {
        self.lives.store(false, Relaxed);
    }
}

/// Reads a text when it is destroyed.
struct Reader<'a> {
    text: &'a Text,
    lives: Arc<AtomicBool>,
    read: Arc<AtomicUsize>,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        assert!(self.lives.load(Relaxed), "the text is gone");
        assert_eq!(self.text.text, "on the heap, and alive");
        self.read.fetch_add(1, Relaxed);
    }
}

/// Owns a text, and a session with unread messages that borrow it.
async fn suspended(messages: usize, read: Arc<AtomicUsize>) {
    let lives = Arc::new(AtomicBool::new(true));
    let text = Text {
        text: String::from("on the heap, and alive"),
        lives: lives.clone(),
    };
    let (_server, mut client) = stream::init_with::<Reader<'_>>(Capacity::Bounded(messages.max(1)));
    for _ in 0..messages {
        let (lives, read) = (lives.clone(), read.clone());
        let text = &text;
        let sent = client.send(Reader { text, lives, read });
        client = sent.expect("the server is there");
    }
    pending::<()>().await;
}

/// What is at the end of a chain of sessions inside messages.
enum Chain {
    Session(#[allow(dead_code)] stream::server::Stream<Chain>),
    Future(#[allow(dead_code)] Pin<Box<dyn Future<Output = ()> + Send>>),
    Bomb(#[allow(dead_code)] Bomb),
}

/// A session inside the message of a session and so on, this many levels deep, with this value in the innermost
/// message.
fn chain(depth: usize, innermost: Chain) -> stream::server::Stream<Chain> {
    let link = |inside| {
        let (server, client) = stream::init_with(Capacity::Bounded(1));
        drop(client.send(inside).expect("the server is there"));
        server
    };
    let mut outermost = link(innermost);
    for _ in 1..depth {
        outermost = link(Chain::Session(outermost));
    }
    outermost
}

#[test]
fn a_suspended_future_outlives_what_borrows_from_it_at_any_depth() {
    let waker = Waker::from(Unpark::current());
    for depth in [1, 2, 15, 16, 17, 18, 19, 100, 1_000] {
        for messages in [1, 2, 20] {
            let read = Arc::new(AtomicUsize::new(0));
            let mut future: Pin<Box<dyn Future<Output = ()> + Send>> =
                Box::pin(suspended(messages, read.clone()));
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            drop(chain(depth, Chain::Future(future)));
            assert_eq!(read.load(Relaxed), messages, "at depth {depth}");
        }
    }
}

#[test]
fn a_panic_deep_inside_reaches_the_drop_and_all_else_is_destroyed() {
    for depth in [1, 16, 17, 40, 10_000] {
        let drops = Arc::new(AtomicUsize::new(0));
        let bomb = Chain::Bomb(Bomb(drops.clone(), true));
        let (server, client) = stream::init();
        let client = client.send(Chain::Session(chain(depth, bomb)));
        let client = client.expect("the server is there");
        let other = Chain::Bomb(Bomb(drops.clone(), false));
        let client = client.send(other).expect("the server is there");
        let panic = catch_unwind(AssertUnwindSafe(|| drop(server))).expect_err("it panics");
        assert_eq!(panic.downcast_ref(), Some(&"bang"));
        assert_eq!(drops.load(Relaxed), 2, "at depth {depth}");
        assert!(client.stop().is_err());
    }
}

/// `last<T> { only(T) -> ! }`
struct Last<T>(PhantomData<fn(T)>);

state! {
    [T: Send] Last<T>, "last.only" of "", stays: true, T, |branch| branch.take::<0>().0;
    0 "only"(T) => End;
}

#[test]
fn a_session_in_the_memory_of_one_that_is_being_destroyed_is_another_one() {
    /// Begins a session when the last message of another one is destroyed: in the memory of that session, which is free
    /// by then.
    struct Heir(Arc<AtomicUsize>);
    impl Drop for Heir {
        fn drop(&mut self) {
            let lives = Arc::new(AtomicBool::new(true));
            let text = Text {
                text: String::from("on the heap, and alive"),
                lives: lives.clone(),
            };
            let read = self.0.clone();
            let text = &text;
            let (client, server) = session::<Last<Reader<'_>>>(
                Slot::new().fit::<Reader<'_>>().fit::<Heir>(),
                Capacity::Bounded(1),
            );
            let sent = client.send::<0>(Reader { text, lives, read });
            sent.expect("the server is there");
            drop(server);
        }
    }
    let read = Arc::new(AtomicUsize::new(0));
    let (client, server) = session::<Last<Heir>>(
        Slot::new().fit::<Reader<'_>>().fit::<Heir>(),
        Capacity::Bounded(1),
    );
    let sent = client.send::<0>(Heir(read.clone()));
    sent.expect("the server is there");
    drop(server);
    assert_eq!(read.load(Relaxed), 1);
}

#[test]
fn a_receiver_that_leaves_is_not_fed_for_ever() {
    for _ in 0..20 {
        let (server, mut client) = stream::init::<Box<u32>>();
        let sender = thread::spawn(move || loop {
            match client.send(Box::new(5)) {
                Ok(next) => client = next,
                Err(_) => return,
            }
        });
        let mut server = server;
        for _ in 0..100 {
            server = match server.try_recv() {
                Ok(stream::Stream::Send(_, next)) => next,
                Err(TryRecvError::Empty(same)) => same,
                _ => panic!("the sender lives"),
            };
        }
        drop(server);
        assert!(sender.join().is_ok());
    }
}
