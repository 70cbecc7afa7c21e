//! Tasks: a future that waits for a message or for space, is woken, or is dropped while it waits.

use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::atomic::AtomicUsize;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use duologue::generated::{Slot, State};
use duologue::{Capacity, Endpoint, Receiver, SharedSender};
use loom::thread::{self, Thread};

use super::golden::{
    greeting,
    stream::{self, state, Stream},
};
use super::{long_model, model, numbers, Counted};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(thread::current())))
}

/// A task that is a thread of its own: it sleeps until it is woken, so a lost waker is a deadlock.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = waker();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// Polls as often as a task that finds nothing must poll until it waits: the first time it may only yield.
fn wait<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    let mut context = Context::from_waker(waker);
    if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut context) {
        return Poll::Ready(output);
    }
    Pin::new(future).poll(&mut context)
}

/// Begins to wait, like a task whose future is then given up. Returns the message or the endpoint.
pub fn look<S: State>(receiver: Receiver<S>) -> Result<S::Message, Receiver<S>> {
    let mut receiving = receiver.recv_async();
    match wait(&mut receiving, &waker()) {
        Poll::Ready(received) => Ok(received.expect("no disconnect before the end")),
        Poll::Pending => Err(receiving.into_inner().expect("nothing was delivered")),
    }
}

#[test]
fn a_task_is_woken_in_a_run() {
    model(|| {
        let (mut server, client) = numbers(3);
        let sending = thread::spawn(move || drop(client.send(0).map(|client| client.send(1))));
        for expected in 0..2 {
            server = block_on(server.recv_async())
                .expect("a number")
                .sent_is(expected);
        }
        assert!(block_on(server.recv_async()).is_err());
        sending.join().expect("no panic");
    });
}

#[test]
fn a_task_finds_the_last_message_of_a_session_behind_a_run() {
    for sent in 0..=1 {
        model(move || {
            let (mut server, mut client) = numbers(3);
            let sending = thread::spawn(move || {
                for number in 0..sent {
                    client = client.send(number).expect("no disconnect");
                }
                client.stop().expect("no disconnect");
            });
            for expected in 0..sent {
                server = block_on(server.recv_async())
                    .expect("a number")
                    .sent_is(expected);
            }
            assert!(matches!(block_on(server.recv_async()), Ok(Stream::Stop)));
            sending.join().expect("no panic");
        });
    }
}

#[test]
fn tasks_on_both_sides_of_a_turn() {
    model(|| {
        let (server, client) = greeting::init();
        let serving = thread::spawn(move || {
            let reply = server.welcome("a".into())?.advice("b".into())?;
            assert!(matches!(
                block_on(reply.recv_async())?,
                greeting::Reply::Bye
            ));
            Ok::<_, duologue::Closed>(())
        });
        let Ok(greeting::Hello::Welcome(_, more)) = block_on(client.recv_async()) else {
            panic!("no disconnect")
        };
        let Ok(greeting::More::Advice(_, answer)) = block_on(more.recv_async()) else {
            panic!("no disconnect")
        };
        answer.bye().expect("no disconnect");
        serving.join().expect("no panic").expect("no disconnect");
    });
}

#[test]
fn a_task_waits_for_room_and_is_woken() {
    long_model(|| {
        let (mut server, client) = numbers(1);
        let sending = thread::spawn(move || {
            block_on(async {
                let mut client = client;
                for number in 0..2 {
                    client.ready().await;
                    client = client.send(number).expect("no disconnect");
                }
            })
        });
        for expected in 0..2 {
            server = server.recv().expect("a number").sent_is(expected);
        }
        assert!(server.recv().is_err());
        sending.join().expect("no panic");
    });
}

#[test]
fn a_future_that_is_given_up_gives_its_endpoint_back_and_loses_nothing() {
    model(|| {
        let (server, client) = numbers(3);
        let sending = thread::spawn(move || drop(client.send(0).map(|client| client.send(1))));
        // Given up as a task, waited for by the thread, and as a task again.
        let server = match look(server) {
            Ok(Stream::Send(0, next)) => next,
            Ok(_) => panic!("0"),
            Err(same) => match same.recv() {
                Ok(Stream::Send(0, next)) => next,
                _ => panic!("0"),
            },
        };
        let server = match look(server) {
            Ok(Stream::Send(1, next)) => next,
            Ok(_) => panic!("1"),
            Err(same) => match block_on(same.recv_async()) {
                Ok(Stream::Send(1, next)) => next,
                _ => panic!("1"),
            },
        };
        assert!(server.recv().is_err());
        sending.join().expect("no panic");
    });
}

#[test]
fn a_future_that_is_dropped_leaves_and_loses_no_payload() {
    for sent in 1..=2 {
        model(move || {
            let drops = Arc::new(AtomicUsize::new(0));
            let (server, client) = stream::init_with::<Counted>(Capacity::Bounded(3));
            let counter = drops.clone();
            let sending = thread::spawn(move || {
                let payloads = (0..sent).map(|_| Counted(counter.clone()));
                let _ = payloads
                    .into_iter()
                    .try_fold(client, |client, payload| client.send(payload));
            });
            let mut receiving = server.recv_async();
            let polled = wait(&mut receiving, &waker());
            drop(receiving);
            drop(polled);
            sending.join().expect("no panic");
            assert_eq!(Arc::strong_count(&drops), 1, "one was lost");
        });
    }
}

#[test]
fn a_waker_is_replaced_by_a_newer_one() {
    model(|| {
        let (server, client) = numbers(2);
        let sending = thread::spawn(move || drop(client.send(1)));
        let mut receiving = server.recv_async();
        // This waker wakes nothing.
        let received = match wait(&mut receiving, Waker::noop()) {
            Poll::Ready(received) => received,
            Poll::Pending => block_on(receiving),
        };
        assert!(matches!(received, Ok(Stream::Send(1, _))));
        sending.join().expect("no panic");
    });
}

#[test]
fn a_shared_sender_that_gives_up_passes_the_room_on() {
    long_model(|| {
        let slot = Slot::new().fit::<u32>();
        let (end, server) =
            duologue::generated::session::<state::Stream<u32>>(slot, Capacity::Bounded(1));
        let shared = SharedSender::new(end);
        shared.send::<0>(0).expect("there is room");
        let other = shared.clone();
        let sending = thread::spawn(move || {
            block_on(other.send_async::<0>(1)).expect("receiver is open");
        });
        let reading = thread::spawn(move || {
            let mut server = server;
            let mut sum = 0;
            while let Ok(Stream::Send(number, next)) = server.recv() {
                sum += number;
                server = next;
            }
            sum
        });
        let mut given_up = shared.send_async::<0>(2);
        let polled = Pin::new(&mut given_up).poll(&mut Context::from_waker(Waker::noop()));
        drop(given_up);
        drop(shared);
        let expected = if polled.is_ready() { 3 } else { 1 };
        sending.join().expect("no panic");
        assert_eq!(reading.join().expect("no panic"), expected);
    });
}
