//! Numbers in one direction. At the end of a slice the receiver answers with their sum, so what is measured ends when all have arrived.

use crate::ends::{LONG, OPEN, clients, new_subject, open, runtime, subscribe};
use crate::harness::{Bar, Case, Clock, Family, triangle};
use crate::machine::{Cost, Start};
use crate::protocols::own::numbers::{self, Adding, Result as Sum};
use crate::withdrawal::{LENGTH, OURS};
use async_nats::Subscriber;
use futures_util::StreamExt;
use std::ops::Deref;
use std::thread;

const LIMIT: &str = "publish of async-nats, 64 KiB each";
const SINGLE: &str = "publish of async-nats, each number";

/// A number in a batch: a tag and the number, as in a session.
const FRAME: usize = 9;

/// How much a session may send before the receiver has read half of it, so a batch of a session is not longer.
const BATCH: usize = 64 << 10;

/// How many numbers precede a slice.
const WARM_UP: u64 = 1_000;

pub fn family() -> Family {
    Family {
        name: "stream over NATS, f64",
        unit: "number",
        cases: vec![
            Case {
                name: LIMIT,
                run: |count| publish(count, BATCH / FRAME),
            },
            Case {
                name: OURS,
                run: ours,
            },
            Case {
                name: SINGLE,
                run: |count| publish(count, 1),
            },
        ],
        bars: vec![Bar(LIMIT, 1.0), Bar(SINGLE, 1.0)],
        clock: Clock::Cpu,
    }
}

/// Publishes numbers, this many in a message. Nothing limits how many are on their way but the server and the client library.
fn publish(count: u64, batch: usize) -> Cost {
    thread::scope(|scope| {
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let (to, back) = (new_subject(), new_subject());
        let (at, answer) = (to.clone(), back.clone());
        scope.spawn(|| runtime().block_on(add_messages(ready, at, answer)));
        runtime().block_on(async {
            is_ready.await.expect(OPEN);
            let [client, _] = clients();
            let mut sums = subscribe(client, &back).await;
            let mut send = async |count: u64| {
                let mut values = (0..count).map(|value| value as f64).peekable();
                while values.peek().is_some() {
                    // A single number is as long as one that a session sends alone.
                    let length = if batch == 1 { LENGTH } else { FRAME };
                    let mut message = Vec::with_capacity(batch * length);
                    for value in values.by_ref().take(batch) {
                        message.resize(message.len() + length - 8, 1);
                        message.extend_from_slice(&value.to_le_bytes());
                    }
                    client
                        .publish(to.clone(), message.into())
                        .await
                        .expect(OPEN);
                }
                let none = Vec::new().into();
                client.publish(to.clone(), none).await.expect(OPEN);
                client.flush().await.expect(OPEN);
                let sum = arrived(&mut sums).await;
                f64::from_le_bytes(sum[..].try_into().expect("it is a number"))
            };
            send(WARM_UP).await;
            let start = Start::now();
            let sum = send(count).await;
            let cost = start.cost(count);
            assert_eq!(sum, triangle(count), "every number arrives");
            cost
        })
    })
}

/// The next message. The library alone may lose some, and reports nothing.
async fn arrived(messages: &mut Subscriber) -> impl Deref<Target = [u8]> {
    let message = tokio::time::timeout(LONG, messages.next()).await;
    let message = message.expect("a message was lost, or the machine is too busy");
    message.expect(OPEN).payload
}

/// Adds up what arrives, and answers with the sum to an empty message. After two answers it ends.
async fn add_messages(ready: tokio::sync::oneshot::Sender<()>, at: String, answer: String) {
    let [_, client] = clients();
    let mut numbers = subscribe(client, &at).await;
    ready.send(()).expect(OPEN);
    for _warm_up_and_slice in 0..2 {
        let mut sum = 0.0;
        loop {
            let message = arrived(&mut numbers).await;
            let length = if message.len() == LENGTH {
                LENGTH
            } else {
                FRAME
            };
            if message.is_empty() {
                break;
            }
            for frame in message.chunks_exact(length) {
                let number = frame[length - 8..].try_into();
                sum += f64::from_le_bytes(number.expect("it has 8 bytes"));
            }
        }
        let sum = sum.to_le_bytes().to_vec().into();
        client.publish(answer.clone(), sum).await.expect(OPEN);
        client.flush().await.expect(OPEN);
    }
    numbers.unsubscribe().await.expect(OPEN);
    client.flush().await.expect(OPEN);
}

fn ours(count: u64) -> Cost {
    let (client, server) = open();
    thread::scope(|scope| {
        scope.spawn(|| add(server));
        let send = |mut client: numbers::client::Adding, count| {
            for value in 0..count {
                client = client.number(value as f64).expect(OPEN);
            }
            let Sum::Sum(sum, client) = client.all().expect(OPEN).recv().expect(OPEN);
            (client, sum)
        };
        let (client, _) = send(client, WARM_UP);
        let start = Start::now();
        let (client, sum) = send(client, count);
        let cost = start.cost(count);
        drop(client);
        assert_eq!(sum, triangle(count), "every number arrives");
        cost
    })
}

/// Adds up what arrives until the sender disconnects.
fn add(mut server: numbers::server::Adding) {
    let mut sum = 0.0;
    while let Ok(message) = server.recv() {
        server = match message {
            Adding::Number(value, next) => {
                sum += value;
                next
            }
            Adding::All(asking) => asking.sum(std::mem::take(&mut sum)).expect(OPEN),
        };
    }
}
