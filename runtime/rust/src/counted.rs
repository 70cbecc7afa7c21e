//! What messages cost, in read-modify-writes and system calls, on one thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::floor::barrier;
use crate::floor::sync::count::so_far;
use crate::golden::{bank, greeting, stream, type_switch};
use crate::Closed;
use crate::Receiver;

/// The read-modify-writes and system calls that the work makes.
fn cost(work: impl FnOnce() -> Result<(), Closed>) -> (usize, usize) {
    let before = so_far();
    work().expect("no disconnect");
    let after = so_far();
    (after.0 - before.0, after.1 - before.1)
}

/// What it costs to drop the endpoints at the end of the work: one side announces that it disconnects, and the other
/// side finds that out.
const LEAVING: usize = 1;

/// What this many messages in runs cost.
fn in_runs(messages: usize) -> usize {
    if barrier::is_there() {
        0
    } else {
        messages
    }
}

/// What it costs to move to a large block, after the first 8 lines of a run: in a run, to announce that the next
/// message is the last in the block.
fn growing() -> usize {
    usize::from(barrier::is_there())
}

#[test]
fn an_alternating_message_is_one_swap() {
    let (mut server, mut client) = type_switch::init();
    let made = cost(|| {
        for number in 0..100 {
            let waiting = client.get_int()?;
            let type_switch::Start::GetInt(answer) = server.recv()? else {
                panic!("an int")
            };
            server = answer.thing(number)?;
            let type_switch::Wait::Thing(_, next) = waiting.recv()?;
            client = next;
        }
        Ok(())
    });
    assert_eq!(made, (200 + LEAVING, 0));
}

#[test]
fn a_message_of_a_stream_costs_nothing() {
    let (mut server, mut client) = stream::init::<u64>();
    let made = cost(|| {
        for number in 0..300 {
            client = client.send(number)?;
        }
        for _ in 0..300 {
            (_, server) = server.recv()?.sent();
        }
        Ok(())
    });
    // After 8 lines the session grows, and the next 32 lines, which hold 224 messages, are reported free.
    assert_eq!(made, (in_runs(300) + growing() + 1 + LEAVING, 0));
}

/// Sends `lines` blocks of one line each and then reads them, and repeats this `times` times.
fn stream_of_lines(times: usize, lines: usize) -> (usize, usize) {
    let (mut server, mut client) = stream::init::<[u64; 7]>();
    cost(|| {
        for _ in 0..times {
            for number in 0..lines {
                client = client.send([number as u64; 7])?;
            }
            for _ in 0..lines {
                (_, server) = server.recv()?.sent();
            }
        }
        Ok(())
    })
}

#[cfg(target_pointer_width = "64")]
#[test]
fn laps_are_reported_free_in_two_parts_up_to_each_end() {
    // 4 KiB are 64 lines, which are reported after 32 and all lines. 10,000 lines are 8 in the small block, 156 times that, and 8.
    let short = stream_of_lines(10_000, 1);
    assert_eq!(short, (in_runs(10_000) + growing() + 156 * 2 + LEAVING, 0));
    // A whole lap has 992 lines, which are also reported after 512 and all lines. 1,500 lines end in the second lap
    // after line 500.
    let long = stream_of_lines(3, 500);
    assert_eq!(long, (in_runs(1_500) + growing() + 6 + LEAVING, 0));
}

#[test]
fn a_run_of_two_and_a_reply_are_one_swap() {
    let (mut server, mut client) = greeting::init();
    let made = cost(|| {
        for _ in 0..100 {
            let reply = server.welcome(String::new())?.advice(String::new())?;
            let greeting::Hello::Welcome(_, more) = client.recv()?;
            let greeting::More::Advice(_, answer) = more.recv()?;
            client = answer.again()?;
            let greeting::Reply::Again(next) = reply.recv()? else {
                panic!("again")
            };
            server = next;
        }
        Ok(())
    });
    assert_eq!(made, (in_runs(200) + 100 + LEAVING, 0));
}

#[test]
fn a_session_at_the_bank_is_three_swaps() {
    let made = cost(|| {
        let (server, client) = bank::init();
        let answer = client.login(String::new(), String::new())?;
        let bank::Login::Login { next: server, .. } = server.recv()?;
        let server = server.ok()?;
        let bank::LoginResponse::Ok(client) = answer.recv()? else {
            panic!("accepted")
        };
        let answer = client.deposit(1.0)?.withdrawal(1.0)?;
        let bank::Connected::Deposit(_, server) = server.recv()? else {
            panic!("a deposit")
        };
        let bank::Connected::Withdrawal { next: server, .. } = server.recv()? else {
            panic!("a withdrawal")
        };
        let server = server.money(1.0)?;
        let bank::WithdrawalResponse::Money(_, client) = answer.recv()? else {
            panic!("money")
        };
        drop((client, server));
        Ok(())
    });
    // Login, its answer, and money.
    assert_eq!(made, (in_runs(2) + 3 + LEAVING, 0));
}

/// Counts how many times it is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Polls a future. Returns its output if it is ready.
fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Option<F::Output> {
    match Pin::new(future).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A task that waits for each message of a stream announces at the first one that it is a task, and yields. Then its
/// sender knows, and the task waits in the word.
#[test]
fn a_task_that_waits_in_a_run_calls_no_kernel_where_messages_keep_coming() {
    let (mut server, mut client) = stream::init::<u64>();
    let waker = Waker::from(Arc::new(Wakes::default()));
    let made = cost(|| {
        for number in 0..100 {
            let mut receiving = server.recv_async();
            assert!(poll(&mut receiving, &waker).is_none());
            client = client.send(number)?;
            let Some(Ok(stream::Stream::Send(_, next))) = poll(&mut receiving, &waker) else {
                panic!("a number")
            };
            server = next;
        }
        drop(client);
        Ok(())
    });
    // A swap and a flag for each message; no segment is empty yet. The first flag is set in the flags,
    // from where it is taken separately, and in a run a sender announces that it disconnects before it does.
    let apart = if barrier::is_there() { 2 } else { 0 };
    assert_eq!(made, (200 + LEAVING + apart, 0));
}

#[test]
fn one_run_of_the_barrier_serves_all_tasks_that_wait_for_one() {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let (servers, clients): (Vec<_>, Vec<_>) = (0..100).map(|_| stream::init::<u64>()).unzip();
    let mut receiving: Vec<_> = servers.into_iter().map(Receiver::recv_async).collect();
    let (_, calls) = cost(|| {
        for task in &mut receiving {
            assert!(poll(task, &waker).is_none());
        }
        for task in &mut receiving {
            assert!(poll(task, &waker).is_none());
        }
        Ok(())
    });
    // This thread makes no call if that of another test came in time.
    assert!(calls <= usize::from(barrier::is_there()));
    let before = wakes.0.load(Relaxed);
    for client in clients {
        drop(client.send(1).expect("no disconnect"));
    }
    assert_eq!(wakes.0.load(Relaxed) - before, 100);
    for task in &mut receiving {
        let found = poll(task, &waker);
        assert!(matches!(found, Some(Ok(stream::Stream::Send(1, _)))));
    }
}

/// A receiver that disconnects in a run needs the barrier only if messages that it might not see have destructors.
#[test]
fn leaving_a_run_calls_the_kernel_only_where_messages_have_destructors() {
    let (server, client) = stream::init::<u64>();
    let made = cost(|| {
        drop(server);
        assert!(client.send(1).is_err());
        Ok(())
    });
    assert_eq!(made.1, 0);
    let (server, client) = stream::init::<String>();
    let made = cost(|| {
        drop(server);
        assert!(client.send(String::new()).is_err());
        Ok(())
    });
    assert_eq!(made.1, usize::from(barrier::is_there()));
}
