//! A ring of tasks: each begins with a token, and passes on what it gets.

use super::{LEFT, OURS};
use crate::harness::{Case, Clock, Family, Job, Place};
use crate::payload::triangle;
use crate::peers::tasks::*;
use crate::protocols::stream::{Stream, init};
use duologue::Endpoint;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;

/// Rings of 4 to 10,000 tasks with a token each, with one worker and with two. The larger a ring, the longer its slices, because a
/// slice is many laps.
pub fn families() -> Vec<Family> {
    let sizes = [(4, 2, 1), (100, 2, 1), (1_000, 12, 4), (10_000, 100, 10)];
    let of = |workers, (tasks, milliseconds, thinned)| {
        let ring = Ring { workers, tasks };
        let name = format!("ring of {tasks} tasks, {}", ring.workers());
        ring.family(name, milliseconds, thinned)
    };
    let workers = [1, 2].into_iter();
    workers
        .flat_map(|workers| sizes.map(|size| of(workers, size)))
        .collect()
}

/// A task, and what its numbers add up to.
type Task = Pin<Box<dyn Future<Output = u64> + Send>>;

#[derive(Clone, Copy)]
struct Ring {
    workers: usize,
    tasks: u64,
}

impl Ring {
    fn workers(self) -> String {
        let plural = if self.workers == 1 { "" } else { "s" };
        format!("{} worker{plural}", self.workers)
    }

    fn family(self, name: String, milliseconds: u64, thinned: usize) -> Family {
        let tasks = self.tasks;
        // In a lap each token gets to one task. The token of a task is its number plus 1.
        let tokens = triangle(tasks + 1);
        let family = Family::new(name, "message", move |laps| tokens.wrapping_mul(laps));
        let family = family.units(tasks).slices(milliseconds, thinned);
        let family = if self.workers == 1 {
            family.steady()
        } else {
            family
        };
        family
            .case(self.case("yield_now", move |laps| {
                let yields = |task| -> Task {
                    Box::pin(async move {
                        for _ in 0..laps {
                            tokio::task::yield_now().await;
                        }
                        laps.wrapping_mul(task + 1)
                    })
                };
                (0..tasks).map(yields).collect()
            }))
            .case(self.case(OURS, move |laps| {
                let sessions = (0..tasks).map(|_| init::<u64>());
                let (mut servers, clients): (Vec<_>, Vec<_>) = sessions.unzip();
                servers.rotate_right(1);
                let pairs = (0..).zip(servers.into_iter().zip(clients));
                let tasks = pairs.map(|(task, (server, client))| -> Task {
                    Box::pin(session(server, client, task + 1, laps))
                });
                tasks.collect()
            }))
            .case(self.channels::<Tokio>())
            .case(self.channels::<Kanal>())
            .case(self.channels::<Flume>())
            .case(self.channels::<AsyncChannel>())
            .case(self.channels::<Thingbuf>())
    }

    fn case(self, name: &str, tasks: impl Fn(u64) -> Vec<Task> + 'static) -> Case {
        Case::new(name, move |laps| {
            let tasks = tasks(laps);
            let place = if self.workers == 1 {
                LEFT
            } else {
                Place::Anywhere
            };
            vec![Job::timed(place, move |clock| {
                run(self.workers, tasks, clock)
            })]
        })
    }

    fn channels<C: Channel<u64>>(self) -> Case {
        self.case(C::NAME, move |laps| {
            let channels = (0..self.tasks).map(|_| C::channel(4));
            let (txs, mut rxs): (Vec<_>, Vec<_>) = channels.unzip();
            rxs.rotate_right(1);
            let pairs = (0..).zip(rxs.into_iter().zip(txs));
            let tasks = pairs.map(|(task, (rx, tx))| -> Task {
                Box::pin(over_channels::<C>(rx, tx, task + 1, laps))
            });
            tasks.collect()
        })
    }
}

/// Spawns all tasks, and measures the time from when all have been spawned until all are done.
fn run(workers: usize, tasks: Vec<Task>, clock: &mut Clock) -> u64 {
    let runtime = runtime(workers);
    let sum = runtime.block_on(async {
        let all = Arc::new(Barrier::new(tasks.len()));
        let spawn = |task: Task| {
            let all = all.clone();
            tokio::spawn(async move {
                let is_last = all.wait().await.is_leader();
                let started = is_last.then(Instant::now);
                (started, task.await)
            })
        };
        let spawned: Vec<_> = tasks.into_iter().map(spawn).collect();
        let mut sum = 0_u64;
        for task in spawned {
            let (started, value) = task.await.expect("no task panics");
            if let Some(started) = started {
                clock.start_at(started);
            }
            sum = sum.wrapping_add(value);
        }
        sum
    });
    clock.stop();
    sum
}

/// A runtime with this many workers. With one it is the thread that waits for it.
fn runtime(workers: usize) -> Runtime {
    let built = match workers {
        1 => Builder::new_current_thread().build(),
        _ => Builder::new_multi_thread().worker_threads(workers).build(),
    };
    built.expect("threads can be started")
}

const OPEN: &str = "no task ends before the others";

/// Sends its token, then passes on what comes, and keeps the last one.
async fn session(
    server: crate::protocols::stream::server::Stream<u64>,
    client: crate::protocols::stream::client::Stream<u64>,
    token: u64,
    laps: u64,
) -> u64 {
    let (mut client, mut server, mut sum) = (client.send(token).expect(OPEN), server, 0_u64);
    for lap in 1..=laps {
        let Stream::Send(token, next) = server.recv_async().await.expect(OPEN);
        server = next;
        sum = sum.wrapping_add(token);
        if lap < laps {
            client.ready().await;
            client = client.send(token).expect(OPEN);
        }
    }
    sum
}

async fn over_channels<C: Channel<u64>>(
    mut rx: C::Rx,
    mut tx: C::Tx,
    token: u64,
    laps: u64,
) -> u64 {
    let mut sum = 0_u64;
    C::send(&mut tx, token).await;
    for lap in 1..=laps {
        let token = C::recv(&mut rx).await;
        sum = sum.wrapping_add(token);
        if lap < laps {
            C::send(&mut tx, token).await;
        }
    }
    sum
}
