//! The futures of the runtime on three executors: tokio, the pool of `futures`, and one of ten lines.

use conversations::block_on;
use conversations::protocols::numbers::{self, Stream};
use conversations::protocols::pingpong::{self, Ping, Pong};
use duologue::{Closed, Endpoint, PortSet, Select, select, spawn_service_with};
use futures_executor::ThreadPool;
use futures_util::FutureExt;
use std::future::Future;
use std::pin::Pin;
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Starts a task and returns a future that completes when the task ends.
trait Spawn {
    fn spawn<F>(&self, future: F) -> Pin<Box<dyn Future<Output = F::Output> + Send>>
    where
        F: Future<Output: Send> + Send + 'static;
}

struct Tokio;
struct Pool(ThreadPool);
struct Threads;

impl Spawn for Tokio {
    fn spawn<F>(&self, future: F) -> Pin<Box<dyn Future<Output = F::Output> + Send>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let task = tokio::spawn(future);
        Box::pin(async { task.await.expect("no panic") })
    }
}

impl Spawn for Pool {
    fn spawn<F>(&self, future: F) -> Pin<Box<dyn Future<Output = F::Output> + Send>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (done, result) = oneshot::channel();
        self.0.spawn_ok(async move {
            let _gone = done.send(future.await);
        });
        Box::pin(async { result.await.expect("no panic") })
    }
}

impl Spawn for Threads {
    fn spawn<F>(&self, future: F) -> Pin<Box<dyn Future<Output = F::Output> + Send>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let task = thread::spawn(|| block_on(future));
        Box::pin(async { task.join().expect("no panic") })
    }
}

/// Runs a conversation on each executor, in tasks that may move between threads.
macro_rules! on_every_executor {
    ($conversation:ident) => {
        mod $conversation {
            use super::*;

            #[test]
            fn on_tokio() -> Result<(), Closed> {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(2)
                    .build()
                    .expect("threads can be started");
                runtime.block_on(super::$conversation(Tokio))
            }

            #[test]
            fn on_one_thread_of_tokio() -> Result<(), Closed> {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .expect("it needs nothing");
                runtime.block_on(super::$conversation(Tokio))
            }

            #[test]
            fn on_a_pool() -> Result<(), Closed> {
                let pool = ThreadPool::builder().pool_size(2).create();
                let pool = Pool(pool.expect("threads can be started"));
                futures_executor::block_on(super::$conversation(pool))
            }

            #[test]
            fn on_threads() -> Result<(), Closed> {
                block_on(super::$conversation(Threads))
            }
        }
    };
}

const MESSAGES: u64 = 1_000;

async fn count(mut client: numbers::client::Stream, first: u64) -> Result<(), Closed> {
    for number in (first..MESSAGES).step_by(2) {
        client = client.send_async(number).await?;
    }
    Ok(())
}

/// A stream whose sender waits for free slots, and a service that answers requests.
async fn streams_and_services(executor: impl Spawn) -> Result<(), Closed> {
    let (mut server, client) = numbers::init();
    let sending = executor.spawn(count(client, 0));
    let mut expected = 0;
    while let Ok(Stream::Send(number, next)) = server.recv_async().await {
        assert_eq!(number, expected);
        expected += 2;
        server = next;
    }
    assert_eq!(expected, MESSAGES);
    sending.await?;

    async fn serve(mut server: pingpong::server::Ping) -> u32 {
        let mut pings = 0;
        while let Ok(Ping::Ping(answer)) = server.recv_async().await {
            pings += 1;
            match answer.pong() {
                Ok(next) => server = next,
                Err(_) => break,
            }
        }
        pings
    }
    let (mut client, serving) =
        spawn_service_with(|task| executor.spawn(task), pingpong::init, serve);
    for _ in 0..100 {
        let Pong::Pong(next) = client.ping()?.recv_async().await?;
        client = next;
    }
    drop(client);
    assert_eq!(serving.await, 100);
    Ok(())
}
on_every_executor!(streams_and_services);

/// `select!`, `Select` and `PortSet` in a task that is spawned, so their futures are `Send`.
async fn waiting_on_several(executor: impl Spawn) -> Result<(), Closed> {
    let (mut evens, even) = numbers::init();
    let (mut odds, odd) = numbers::init();
    let senders = [
        executor.spawn(count(even, 0)),
        executor.spawn(count(odd, 1)),
    ];
    let selecting = executor.spawn(async move {
        let (mut sum, mut open) = (0, 2);
        // Until the first of the two ends.
        while open == 2 {
            select! { async;
                evens => {
                    Stream::Send(number) -> next => { sum += number; evens = next }
                    closed => { open = 1; evens = numbers::init().0 }
                }
                odds => {
                    Stream::Send(number) -> next => { sum += number; odds = next }
                    closed => { open = 0; odds = numbers::init().0 }
                }
            }
        }
        let mut rest = if open == 1 { odds } else { evens };
        loop {
            let ready = Select::from_iter([&mut rest]).ready_async().await;
            assert_eq!(ready, Ok(0));
            match rest.recv() {
                Ok(Stream::Send(number, next)) => (sum, rest) = (sum + number, next),
                Err(_) => return sum,
            }
        }
    });
    assert_eq!(selecting.await, MESSAGES * (MESSAGES - 1) / 2);
    for sender in senders {
        sender.await?;
    }

    let mut set = PortSet::new();
    let mut senders = Vec::new();
    for first in [0, 1] {
        let (port, client) = numbers::init();
        set.insert(port, first);
        senders.push(executor.spawn(count(client, first)));
    }
    let receiving = executor.spawn(async move {
        let mut sum = 0;
        while let Some((first, message)) = set.recv_async().await {
            if let Ok(Stream::Send(number, next)) = message {
                assert_eq!(number % 2, first);
                sum += number;
                set.insert(next, first);
            }
        }
        sum
    });
    assert_eq!(receiving.await, MESSAGES * (MESSAGES - 1) / 2);
    for sender in senders {
        sender.await?;
    }
    Ok(())
}
on_every_executor!(waiting_on_several);

/// Futures that are dropped repeatedly in the middle of a wait, by tokio's own select and timeouts.
#[tokio::test]
async fn a_cancelled_wait_loses_no_message_and_no_endpoint() -> Result<(), Closed> {
    let (mut server, client) = numbers::init();
    let sending = tokio::spawn(count(client, 0));
    let mut expected = 0;
    let mut receiving = server.recv_async();
    loop {
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => {
                // The future returns its endpoint, and another one continues with it.
                if let Some(same) = receiving.into_inner() {
                    server = same;
                    receiving = server.recv_async();
                } else {
                    unreachable!("a message that was delivered came out of the other arm");
                }
            }
            message = &mut receiving => match message {
                Ok(Stream::Send(number, next)) => {
                    assert_eq!(number, expected);
                    expected += 2;
                    receiving = next.recv_async();
                }
                Err(_) => break,
            },
        }
    }
    assert_eq!(expected, MESSAGES);
    sending.await.expect("no panic")
}

/// Sends that are given up repeatedly while the ring is full.
#[tokio::test]
async fn a_cancelled_send_loses_no_payload_and_no_endpoint() -> Result<(), Closed> {
    const MANY: u64 = 30_000;
    let (mut server, mut client) = numbers::init();
    let sending = tokio::spawn(async move {
        let (mut number, mut given_up) = (0, 0);
        while number < MANY {
            let mut sending = client.send_async(number);
            match (&mut sending).now_or_never() {
                Some(sent) => {
                    client = sent?;
                    number += 1;
                }
                None => {
                    let (same, payload) = sending.into_inner().expect("it was not sent");
                    assert_eq!(payload, number);
                    client = same;
                    given_up += 1;
                    tokio::task::yield_now().await;
                }
            }
        }
        Ok::<u64, Closed>(given_up)
    });
    let mut expected = 0;
    while let Ok(Stream::Send(number, next)) = server.recv_async().await {
        assert_eq!(number, expected);
        expected += 1;
        server = next;
    }
    assert_eq!(expected, MANY);
    // Both run on one thread, so the ring was full.
    assert!(sending.await.expect("no panic")? > 0);
    Ok(())
}

#[tokio::test]
async fn a_select_with_a_limit_keeps_its_endpoints() -> Result<(), Closed> {
    let (mut server, client) = numbers::init();
    let mut set = PortSet::new();
    let (port, other) = numbers::init();
    set.insert(port, ());
    let late = select! { async;
        server => {
            Stream::Send(..) => panic!("no message was sent"),
            closed(why) => return Err(why),
        }
        after(tokio::task::yield_now()) => 0,
    };
    assert_eq!(late, 0);
    let limited = tokio::time::timeout(Duration::ZERO, set.recv_async()).await;
    assert!(limited.is_err());
    let _kept = (client.send(1)?, other.send(2)?);
    assert!(matches!(
        set.recv_async().await,
        Some(((), Ok(Stream::Send(2, _))))
    ));
    server.ready().await;
    assert!(matches!(server.recv()?, Stream::Send(1, _)));
    Ok(())
}
