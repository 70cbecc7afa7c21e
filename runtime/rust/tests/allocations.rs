//! At most one allocation per session, and one more when it grows, none per message, and nothing is kept after the thread has
//! exited.
#![cfg(not(duologue_loom))]

extern crate duologue_runtime as duologue;

#[path = "sessions/golden.rs"]
mod golden;

use std::alloc::{GlobalAlloc, Layout, System};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use golden::{stream, type_switch};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// How many bytes the blocks of sessions have that this thread has allocated and not freed.
    static BYTES: Cell<isize> = const { Cell::new(0) };
    /// Where this thread counts the blocks of sessions, which are those that are aligned to a cache line.
    static BLOCKS: Cell<Option<&'static AtomicIsize>> = const { Cell::new(None) };
}

fn count(layout: Layout, change: isize) {
    if layout.align() < 64 {
        LIVE.set(LIVE.get() + change);
        return;
    }
    BYTES.set(BYTES.get() + change * layout.size() as isize);
    if let Some(blocks) = BLOCKS.get() {
        blocks.fetch_add(change, Relaxed);
    }
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        count(layout, 1);
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout, -1);
        // SAFETY: by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How many allocations the work makes on a new thread: the first time, and the second time. Asserts that only blocks
/// of sessions are kept, and those only until the thread exits.
fn allocations(work: impl Fn() + Send + Sync) -> [usize; 2] {
    let blocks: &AtomicIsize = Box::leak(Box::default());
    let made = thread::scope(|scope| {
        let working = scope.spawn(|| {
            BLOCKS.set(Some(blocks));
            [(); 2].map(|()| {
                let (before, live) = (ALLOCATIONS.get(), LIVE.get());
                work();
                assert_eq!(LIVE.get(), live, "memory was kept");
                ALLOCATIONS.get() - before
            })
        });
        working.join().expect("no panic")
    });
    assert_eq!(blocks.load(Relaxed), 0, "blocks were kept");
    made
}

/// The first session of a thread also allocates the list of what has to be done when the thread exits.
fn once_and_never_again(made: [usize; 2]) {
    at_first_and_never_again(1, made);
}

fn at_first_and_never_again(blocks: usize, [first, again]: [usize; 2]) {
    assert!(
        (blocks..=blocks + 1).contains(&first) && again == 0,
        "{first} and {again}"
    );
}

#[test]
fn an_alternating_session_allocates_once() {
    once_and_never_again(allocations(|| {
        let (mut server, mut client) = type_switch::init();
        for number in 0..1_000 {
            let waiting = client.get_int().expect("the server is there");
            let Ok(type_switch::Start::GetInt(answer)) = server.recv() else {
                panic!("an int")
            };
            server = answer.thing(number).expect("the client is there");
            let Ok(type_switch::Wait::Thing(_, next)) = waiting.recv() else {
                panic!("a number")
            };
            client = next;
        }
    }));
}

#[test]
fn a_stream_allocates_once_and_when_it_grows() {
    at_first_and_never_again(
        2,
        allocations(|| {
            let (mut server, mut client) = stream::init::<[u64; 4]>();
            for number in 0..1_000 {
                client = client.send([number; 4]).expect("the server is there");
                (_, server) = server.recv().expect("a number").sent();
            }
            client.stop().expect("the server is there");
            assert!(matches!(server.recv(), Ok(stream::Stream::Stop)));
        }),
    );
}

/// The waker of a task that is polled by hand.
struct Unwoken;

impl Wake for Unwoken {
    fn wake(self: Arc<Unwoken>) {}
}

/// A number that a task waits for.
fn pass_awaited(
    server: stream::server::Stream<u64>,
    client: stream::client::Stream<u64>,
    number: u64,
) -> (stream::server::Stream<u64>, stream::client::Stream<u64>) {
    let waker = Waker::from(Arc::new(Unwoken));
    let mut context = Context::from_waker(&waker);
    let mut receiving = server.recv_async();
    assert!(Pin::new(&mut receiving).poll(&mut context).is_pending());
    let client = client.send(number).expect("the server is there");
    match Pin::new(&mut receiving).poll(&mut context) {
        Poll::Ready(Ok(stream::Stream::Send(got, server))) if got == number => (server, client),
        Poll::Ready(_) | Poll::Pending => panic!("the number"),
    }
}

/// With what an allocator adds, less than a kilobyte.
#[test]
fn a_session_whose_messages_are_waited_for_has_a_small_block() {
    const SESSIONS: isize = 100;
    // The pool rounds the size of a block up, as far as an allocator needs 16 bytes.
    let is_pooled = cfg!(all(feature = "pool", not(miri)));
    let [small, large] = match is_pooled {
        true => [944, 65_520],
        false => [6 * 64 + 8 * 64, 6 * 64 + 992 * 64],
    };
    let small = small * SESSIONS;
    let counting = thread::spawn(move || {
        let mut sessions: Vec<_> = (0..SESSIONS).map(|_| stream::init::<u64>()).collect();
        assert_eq!(BYTES.get(), small, "idle");
        for number in 0..1_000 {
            let passed = sessions.into_iter();
            let passed = passed.map(|(server, client)| pass_awaited(server, client, number));
            sessions = passed.collect();
        }
        assert_eq!(BYTES.get(), small, "with messages that are waited for");
        // As many as fit into 8 lines.
        let (mut server, mut client) = sessions.pop().expect("a session");
        for number in 0..56 {
            client = client.send(number).expect("the server is there");
        }
        assert_eq!(BYTES.get(), small + large, "both blocks");
        for _ in 0..56 {
            (_, server) = server.recv().expect("a number").sent();
        }
        sessions.push((server, client));
        // The small block is kept for the next session, or freed.
        let freed = if is_pooled { 0 } else { small / SESSIONS };
        assert_eq!(BYTES.get(), small + large - freed, "a large block");
    });
    counting.join().expect("no panic");
}

#[test]
fn a_session_that_is_dropped_gives_its_memory_back() {
    for (client_first, sent) in [(false, 0), (true, 0), (false, 3), (true, 3)] {
        let [_, made] = allocations(|| {
            let (server, mut client) = stream::init::<u8>();
            for number in 0..sent {
                client = client.send(number).expect("the server is there");
            }
            if client_first {
                drop(client);
                drop(server);
            } else {
                drop(server);
                drop(client);
            }
        });
        assert_eq!(made, 0);
    }
}

thread_local! {
    /// What is dropped when the thread exits, before or after the lists of its blocks.
    static HELD: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn sessions_that_end_with_their_thread_give_their_memory_back() {
    for lists_first in [false, true] {
        let blocks: &AtomicIsize = Box::leak(Box::default());
        let ended = thread::spawn(move || {
            BLOCKS.set(Some(blocks));
            if lists_first {
                drop(type_switch::init());
            }
            HELD.with_borrow_mut(|held| held.push(Box::new(type_switch::init())));
            // So few that none are left for other threads.
            let sessions = [(); 4].map(|()| type_switch::init());
            HELD.with_borrow_mut(|held| held.push(Box::new(sessions)));
            drop([(); 4].map(|()| type_switch::init()));
        });
        ended.join().expect("no panic");
        assert_eq!(blocks.load(Relaxed), 0, "blocks were kept");
    }
}
