//! What happens where the kernel refuses the barrier and a sender misses what its receiver set in the flags. No test
//! can rely on that happening by chance, so here a message is stored by hand, without reading the flags afterwards.
//! Each test runs in a process of its own, because the filter under which the kernel refuses the call cannot be
//! removed.

use std::future::Future;
use std::pin::Pin;
use std::process::Command;
use std::sync::atomic::Ordering::Acquire;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::filter::refuse_membarrier;
use crate::floor::barrier;
use crate::floor::layout::{Capacity, Layout, Slot};
use crate::floor::sync;
use crate::golden::stream::{self, Stream};
use crate::link::arming::Wait;
use crate::link::park;
use crate::link::publish::{Forwards, Sent, Then};
use crate::link::tests::{step, store_unseen};
use crate::ring::flags::Report;
use crate::ring::pipe::{Found, Pipe};
use crate::typed::futures::Endpoint;
use crate::PortSet;
use crate::Select;

const CHILD: &str = "DUOLOGUE_TEST_UNSEEN";

/// Runs the test, a closure in a function of this module, in a process of its own, which gives up after a minute.
fn alone<T: FnOnce()>(test: T) {
    if std::env::var_os(CHILD).is_some() {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(60));
            eprintln!("a thread sleeps forever");
            std::process::abort();
        });
        if barrier::is_there() {
            test();
        }
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("the path of this program"));
    let closure = std::any::type_name::<T>();
    let name = closure.split("::").skip(1).take(2).collect::<Vec<_>>();
    child.args([&name.join("::"), "--exact", "--nocapture"]);
    let output = child.env(CHILD, "1").output().expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && printed.contains("test result: ok. 1 passed"),
        "{printed}{errors}"
    );
}

/// Waits until the receiver of this sender has registered a waiter in its flags for the sender's position, and then
/// stores a number there without reading the flags. Returns the sender after the message.
fn store_when_awaited(sender: Pipe) -> Pipe {
    let flags = sender.flags(1 - sender.at().side());
    while !flags.load(Acquire).report(Report::Waiting) {
        thread::yield_now();
    }
    // Long enough for it to be asleep, most likely.
    thread::sleep(Duration::from_millis(20));
    assert!(barrier::is_lost());
    store_unseen(&sender, 0, 7_u64);
    let layout = *sender.layout();
    sender.stepped(&layout, Then::Stay)
}

/// Lets a receiver wait for a message that is stored without reading the flags.
fn receive_unseen(receive: impl FnOnce(stream::server::Stream<u64>) + Send + 'static) {
    let (server, mut client) = stream::init::<u64>();
    refuse_membarrier(libc::EPERM);
    let sender = client.watch().0.pipe().copy();
    // Its position is the one before the message.
    std::mem::forget(client);
    let receiver = thread::spawn(|| receive(server));
    store_when_awaited(sender).leave();
    receiver.join().expect("the message is received");
}

fn check(message: Stream<u64>) {
    assert!(matches!(message, Stream::Send(7, _)));
}

struct Unpark(sync::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(sync::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_thread_checks_again() {
    alone(|| {
        receive_unseen(|server| check(server.recv().expect("a message")));
    });
}

#[test]
fn a_thread_that_waits_not_for_long_checks_again() {
    alone(|| {
        receive_unseen(|server| {
            let received = server.recv_timeout(Duration::from_secs(1_000));
            check(received.expect("a message"));
        });
    });
}

#[test]
fn a_thread_that_waits_for_one_of_several_checks_again() {
    alone(|| {
        receive_unseen(|mut server| {
            let (mut other, _client) = stream::init::<u64>();
            let mut select = Select::new();
            select.add(&mut other);
            select.add(&mut server);
            assert_eq!(select.ready(), Ok(1));
            check(server.recv().expect("a message"));
        });
    });
}

#[test]
fn a_thread_with_a_set_checks_again() {
    alone(|| {
        receive_unseen(|server| {
            let (other, _client) = stream::init::<u64>();
            let mut set = PortSet::from_iter([(other, 1), (server, 2)]);
            let Some((2, Ok(message))) = set.recv() else {
                panic!("a message of the second")
            };
            check(message);
        });
    });
}

#[test]
fn a_task_checks_again() {
    alone(|| {
        receive_unseen(|server| check(block_on(server.recv_async()).expect("a message")));
    });
}

#[test]
fn a_task_that_waits_for_readiness_checks_again() {
    alone(|| {
        receive_unseen(|mut server| {
            block_on(server.ready());
            check(server.recv().expect("a message"));
        });
    });
}

#[test]
fn a_task_that_waits_for_one_of_several_checks_again() {
    alone(|| {
        receive_unseen(|mut server| {
            let (mut other, _client) = stream::init::<u64>();
            let mut select = Select::new();
            select.add(&mut other);
            select.add(&mut server);
            assert_eq!(block_on(select.ready_async()), Ok(1));
            check(server.recv().expect("a message"));
        });
    });
}

#[test]
fn a_task_with_a_set_checks_again() {
    alone(|| {
        receive_unseen(|server| {
            let (other, _client) = stream::init::<u64>();
            let mut set = PortSet::from_iter([(other, 1), (server, 2)]);
            let Some((2, Ok(message))) = block_on(set.recv_async()) else {
                panic!("a message of the second")
            };
            check(message);
        });
    });
}

/// A task whose sender knows that it is one waits in the word from then on, and does not have to check again.
#[test]
fn a_task_that_its_sender_knows_is_sure() {
    alone(|| {
        let (mut server, mut client) = stream::init::<u64>();
        refuse_membarrier(libc::ENOSYS);
        let waker = Waker::from(Arc::new(Unpark(sync::current())));
        let mut context = Context::from_waker(&waker);
        // At the beginning of a run, a sender checks whether its receiver is a task.
        client = client.send(0).expect("no disconnect");
        let Ok(Stream::Send(0, next)) = server.recv() else {
            panic!("a number")
        };
        server = next;
        let mut unsure = Vec::new();
        for number in 0..4 {
            let mut receiving = server.recv_async();
            for _ in 0..3 {
                assert!(Pin::new(&mut receiving).poll(&mut context).is_pending());
            }
            client = client.send(number).expect("no disconnect");
            let received = Pin::new(&mut receiving).poll(&mut context);
            let Poll::Ready(Ok(Stream::Send(_, mut next))) = received else {
                panic!("a number")
            };
            unsure.push(next.watch().0.needs_barrier());
            server = next;
        }
        assert!(barrier::is_lost());
        assert_eq!(unsure, [true, false, false, false]);
    });
}

/// A message with a destructor that owns no memory: the one that is stored without reading the flags is never received,
/// and is leaked.
struct Number(u64);

impl Drop for Number {
    fn drop(&mut self) {}
}

/// The sender of a session whose messages have destructors, and whose receiver has disconnected. After that, the sender
/// has stored a message without reading the flags, so it finds later that the receiver is gone.
fn left(then: Then) -> Pipe {
    let slot = Slot::new().messages(4).fit::<Number>();
    let (sender, receiver) = Pipe::pair(Layout::of(slot, Capacity::Bounded(9)));
    assert!(!sender.layout().forgets());
    let (sender, receiver) = (sender.sending(true), receiver.sending(true));
    refuse_membarrier(libc::ENOMEM);
    assert!(receiver.die(&mut None).is_ok());
    assert!(barrier::is_lost());
    assert!(sender.flags(1).load(Acquire).report(Report::Gone));
    store_unseen(&sender, 0, Number(1));
    let layout = *sender.layout();
    sender.stepped(&layout, then).sending(true)
}

/// The number in a message that was returned to the sender, which ends the session.
fn returned(sent: Sent<Number>) -> Option<u64> {
    let Sent::Noticed(Err(unsent)) = sent else {
        return None;
    };
    unsent.left.end();
    Some(unsent.payload.0)
}

#[test]
fn a_sender_finds_with_its_next_message_that_the_receiver_left() {
    alone(|| {
        let sender = left(Then::Stay);
        let layout = *sender.layout();
        let sent = sender.send(
            &layout,
            true,
            &step(0, Then::Stay),
            Number(2),
            Forwards::Sender,
        );
        assert_eq!(returned(sent), Some(2));
    });
}

#[test]
fn a_sender_finds_with_its_last_message_that_the_receiver_left() {
    alone(|| {
        let sender = left(Then::Stay);
        let layout = *sender.layout();
        let sent = sender.send(
            &layout,
            true,
            &step(0, Then::End),
            Number(2),
            Forwards::Sender,
        );
        assert_eq!(returned(sent), Some(2));
    });
}

#[test]
fn a_sender_that_waits_for_an_answer_finds_that_the_receiver_left() {
    alone(|| {
        let asking = left(Then::Turn);
        assert_eq!(park::for_message(asking.copy()), None);
        assert!(matches!(asking.find(), Found::Closed));
        asking.free();
    });
}

#[test]
fn a_task_that_waits_for_an_answer_finds_that_the_receiver_left() {
    alone(|| {
        let asking = left(Then::Turn);
        let waker = Waker::from(Arc::new(Unpark(sync::current())));
        assert!(!Wait::for_message(&asking).arm_task(&waker));
        // Also where it would wait in the word.
        let alternating = asking.sending(false);
        assert!(alternating.waits_in_word());
        assert!(!Wait::for_message(&alternating).arm_task(&waker));
        alternating.free();
    });
}

#[test]
fn a_sender_that_waited_for_an_answer_and_leaves_is_alone() {
    alone(|| assert!(left(Then::Turn).die(&mut None).is_ok()));
}

/// The block of the session is used for the next session only if the sender has ended this one.
#[test]
fn a_sender_that_leaves_ends_the_session_of_a_receiver_that_left() {
    alone(|| {
        let sender = left(Then::Stay);
        let (session, layout) = (sender.session(), *sender.layout());
        sender.leave();
        if cfg!(feature = "pool") {
            assert_eq!(Pipe::pair(layout).0.session(), session);
        }
    });
}
