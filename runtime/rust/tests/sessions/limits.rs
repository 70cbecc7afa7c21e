//! Time limits of a side, which bound all of its waits.

use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use duologue::generated::{session, Slot};
use duologue::observe::Observer;
use duologue::{
    Capacity, Closed, Endpoint, PortSet, Select, SharedSender, TryRecvError, TrySendError, Why,
};

use crate::futures::block_on;
use crate::golden::{bank, stream};

/// Ends long before the test gives up.
const SHORT: Duration = Duration::from_millis(20);

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

fn late(result: Result<impl Sized, Closed>) {
    let closed = result.err().expect("it is late");
    assert_eq!(closed.why(), Why::Late, "{closed}");
}

fn left(result: Result<impl Sized, Closed>) {
    let closed = result.err().expect("it is closed");
    assert_eq!(closed.why(), Why::Left, "{closed}");
}

#[test]
fn a_wait_ends_at_the_limit_and_closes_the_session() -> Result<(), Closed> {
    let began = Instant::now();
    let (server, client) = bank::init();
    let client = client.within(SHORT).login("holk".into(), "1234".into())?;
    late(client.recv());
    assert!(began.elapsed() >= SHORT);
    let bank::Login::Login { next: answer, .. } = server.recv()?;
    left(answer.ok().map_err(Closed::from));
    Ok(())
}

#[test]
fn a_message_that_has_arrived_is_received_however_late() -> Result<(), Closed> {
    let (server, client) = stream::init::<u32>();
    let server = server.until(Instant::now());
    let client = client.send(1)?;
    let server = server.recv()?.sent_is(1);
    // Nothing is sent, and nothing is waited for.
    assert!(server.is_ready());
    match server.try_recv() {
        Err(TryRecvError::Closed(closed)) => assert_eq!(closed.why(), Why::Late),
        Err(TryRecvError::Empty(_)) => panic!("it is late"),
        Ok(_) => panic!("nothing was sent"),
    }
    left(client.send(2).map_err(Closed::from));
    Ok(())
}

#[test]
fn a_limit_can_be_replaced_and_removed() -> Result<(), Closed> {
    let (server, client) = stream::init::<u32>();
    let mut server = server
        .until(Instant::now())
        .within(LONG)
        .unlimited()
        .within(LONG);
    assert!(!server.ready_within(SHORT));
    let Err(TryRecvError::Empty(server)) = server.until(Instant::now()).unlimited().try_recv()
    else {
        panic!("it has no limit")
    };
    // A limit that is never reached is none.
    let server = server.within(Duration::MAX);
    let client = client.send(7)?;
    assert!(matches!(server.recv()?, stream::Stream::Send(7, _)));
    drop(client);
    Ok(())
}

/// Sends until that fails.
fn fill<T: Send>(
    mut client: stream::client::Stream<T>,
    payload: impl Fn() -> T,
) -> duologue::SendError<T> {
    loop {
        client = match client.send(payload()) {
            Ok(next) => next,
            Err(error) => return error,
        }
    }
}

#[test]
fn a_sender_that_waits_for_space_gets_its_payload_back() {
    for capacity in [
        Capacity::Unbounded,
        Capacity::Bounded(1),
        Capacity::Bounded(2),
    ] {
        let (mut server, client) = stream::init_with::<Box<u32>>(capacity);
        let error = fill(client.within(SHORT), || Box::new(5));
        assert_eq!(error.closed().why(), Why::Late);
        assert_eq!(*error.into_payload(), 5);
        // What was sent before is read.
        let mut count = 0;
        let closed = loop {
            match server.recv() {
                Ok(stream::Stream::Send(_, next)) => server = next,
                Ok(stream::Stream::Stop) => panic!("nobody sent it"),
                Err(closed) => break closed,
            }
            count += 1;
        };
        assert!(count >= 1);
        assert_eq!(closed.why(), Why::Left);
    }
}

#[test]
fn a_shared_sender_is_late_for_all_who_use_it() {
    let slot = const { Slot::new().messages(2).fit::<u32>() };
    let (client, _server) = session::<stream::state::Stream<u32>>(slot, Capacity::Bounded(2));
    let shared = SharedSender::new(client.within(SHORT));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || loop {
                if let Err(error) = shared.send::<0>(1) {
                    return error.closed().why();
                }
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().expect("no panic"), Why::Late);
    }
    assert!(matches!(
        shared.try_send::<0>(1),
        Err(TrySendError::Closed(_))
    ));
}

#[test]
fn tasks_are_woken_at_the_limit() {
    for capacity in [Capacity::Unbounded, Capacity::Bounded(3)] {
        // A run, where a task waits in its flags first.
        let (server, client) = stream::init_with::<u32>(capacity);
        late(block_on(server.within(SHORT).recv_async()));
        left(client.send(1).map_err(Closed::from));
    }
    // A dialogue.
    let (server, client) = bank::init();
    late(block_on(server.within(SHORT).recv_async()));
    left(
        client
            .login("holk".into(), "1234".into())
            .map_err(Closed::from),
    );
    // A sender.
    let (_server, client) = stream::init_with::<u32>(Capacity::Bounded(2));
    let mut client = client.within(SHORT);
    let error = block_on(async {
        loop {
            client.ready().await;
            client = match client.send(1) {
                Ok(next) => next,
                Err(error) => return error,
            }
        }
    });
    assert_eq!(error.closed().why(), Why::Late);
}

/// A task that waits for two sessions in runs runs the barrier for both when it waits for the first.
#[test]
fn a_task_is_woken_at_the_earlier_of_two_limits() {
    let (one, _first) = stream::init::<u32>();
    let (other, _second) = stream::init::<u32>();
    // If the task misses the earlier limit, the later one ends the test.
    let mut one = one.within(Duration::from_secs(20)).recv_async();
    let mut other = other.within(SHORT).recv_async();
    late(block_on(poll_fn(|context| {
        assert!(Pin::new(&mut one).poll(context).is_pending());
        Pin::new(&mut other).poll(context)
    })));
}

/// Several tasks and threads wait at the same time, and each has its own limit.
#[test]
fn each_side_has_its_own_limit() {
    let threads: Vec<_> = (1..=20)
        .map(|number| {
            thread::spawn(move || {
                let began = Instant::now();
                let limit = Duration::from_millis(number % 7 * 5);
                let (server, client) = stream::init::<u32>();
                let (server, client) = (server.within(limit), client.within(LONG));
                match number % 2 {
                    0 => late(server.recv()),
                    _ => late(block_on(server.recv_async())),
                }
                assert!(began.elapsed() >= limit);
                left(client.send(1).map_err(Closed::from));
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
}

#[test]
fn selects_end_with_the_endpoint_that_is_late() {
    let (one, _first) = stream::init::<u32>();
    let (other, _second) = stream::init::<u32>();
    let (mut one, mut other) = (one, other.within(SHORT));
    let mut select = Select::new();
    let (_, late_one) = (select.add(&mut one), select.add(&mut other));
    assert_eq!(select.ready(), Ok(late_one));
    assert_eq!(block_on(select.ready_async()), Ok(late_one));
    drop(select);
    late(other.recv());

    let (other, _third) = stream::init::<u32>();
    let mut other = other.within(SHORT);
    let mut select = Select::new();
    let (_, late_one) = (select.add(&mut one), select.add(&mut other));
    assert_eq!(block_on(select.ready_async()), Ok(late_one), "by the alarm");
}

#[test]
fn a_set_reports_the_endpoint_that_is_late() {
    for by_task in [false, true] {
        let mut set = PortSet::new();
        let mut peers = Vec::new();
        for number in 0..5 {
            let (server, client) = stream::init::<u32>();
            peers.push(client);
            let limit = if number == 3 { SHORT } else { LONG };
            set.insert(server.within(limit), number);
        }
        let (number, result) = match by_task {
            false => set.recv().expect("it is not empty"),
            true => block_on(set.recv_async()).expect("it is not empty"),
        };
        assert_eq!(number, 3);
        late(result);
        assert_eq!(set.len(), 4);
    }
}

#[test]
fn a_limit_stays_with_its_side() -> Result<(), Closed> {
    struct Nothing;
    impl Observer for Nothing {}

    // In an observed session, whichever comes first.
    let (server, client) = stream::init::<u32>();
    let pair = (server.within(SHORT), client);
    let (server, _client) = duologue::observed(pair, Arc::new(Nothing));
    late(server.recv());

    // In a message.
    let (inner, _peer) = stream::init::<u32>();
    let (server, client) = stream::init::<stream::server::Stream<u32>>();
    let _client = client.send(inner.within(SHORT))?;
    let (inner, server) = server.recv()?.sent();
    late(inner.recv());
    assert!(matches!(server.try_recv(), Err(TryRecvError::Empty(_))));
    Ok(())
}

/// The memory of a session with a limit is used for another one, which has none.
#[test]
fn a_limit_ends_with_its_session() -> Result<(), Closed> {
    for _ in 0..100 {
        let (server, client) = stream::init::<u32>();
        let (server, client) = (server.until(Instant::now()), client.until(Instant::now()));
        late(server.recv());
        left(client.send(1).map_err(Closed::from));
        let (server, client) = stream::init::<u32>();
        let Err(TryRecvError::Empty(_)) = server.try_recv() else {
            panic!("it has no limit")
        };
        drop(client);
    }
    Ok(())
}
