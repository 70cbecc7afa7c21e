//! A ring of tasks: each passes on what it gets. There are as many tokens as tasks, or only one, as in the thread-ring of the
//! Computer Language Benchmarks Game.

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
        let ring = Ring {
            workers,
            tasks,
            tokens: tasks,
        };
        let name = format!("ring of {tasks} tasks, {}", ring.workers());
        ring.family(name, milliseconds, thinned)
    };
    let workers = [1, 2].into_iter();
    workers
        .flat_map(|workers| sizes.map(|size| of(workers, size)))
        .collect()
}

/// The thread-ring: 503 tasks, with one token and with a token each.
pub fn thread_rings() -> Vec<Family> {
    const TASKS: u64 = 503;
    let of = |(workers, tokens)| {
        let ring = Ring {
            workers,
            tasks: TASKS,
            tokens,
        };
        let plural = if tokens == 1 { "" } else { "s" };
        let name = format!(
            "thread-ring of {TASKS}, {tokens} token{plural}, {}",
            ring.workers()
        );
        let family = ring.family(name, 10, 4);
        #[cfg(feature = "peers")]
        let family = family.case(crate::peers::actors::ring(workers, TASKS, tokens));
        family
    };
    [(1, 1), (2, 1), (1, TASKS), (2, TASKS)].map(of).into()
}

/// A ring of this many tasks with one token and two workers. An operation is a lap.
pub fn with_one_token(tasks: u64) -> Vec<Case> {
    let ring = Ring {
        workers: 2,
        tasks,
        tokens: 1,
    };
    vec![
        ring.ours(),
        ring.channels::<Tokio>(),
        ring.channels::<Kanal>(),
        #[cfg(feature = "peers")]
        crate::peers::actors::ring(2, tasks, 1),
    ]
}

/// A task, and what its numbers add up to.
pub type Task = Pin<Box<dyn Future<Output = u64> + Send>>;

#[derive(Clone, Copy)]
struct Ring {
    workers: usize,
    tasks: u64,
    /// How many of the tasks begin with a token: all, or the first.
    tokens: u64,
}

impl Ring {
    fn workers(self) -> String {
        let plural = if self.workers == 1 { "" } else { "s" };
        format!("{} worker{plural}", self.workers)
    }

    /// The token of a task. It is its number plus 1.
    fn token(self, task: u64) -> Option<u64> {
        (task < self.tokens).then_some(task + 1)
    }

    fn family(self, name: String, milliseconds: u64, thinned: usize) -> Family {
        let tasks = self.tasks;
        // In a lap each token gets to each task once.
        let tokens = triangle(self.tokens + 1);
        let laps_of_all = if self.tokens == 1 { tasks } else { 1 };
        let family = Family::new(name, "message", move |laps| {
            tokens.wrapping_mul(laps).wrapping_mul(laps_of_all)
        });
        let family = family.units(tasks).slices(milliseconds, thinned);
        let family = if self.workers == 1 {
            family.steady()
        } else {
            family
        };
        family
            .case(self.case("yield_now", move |laps| {
                let yields = |task| -> Task {
                    // A lap of one token runs each task once, as one of all tokens does.
                    let turns = if self.tokens == 1 { laps * tasks } else { laps };
                    Box::pin(async move {
                        for _ in 0..turns {
                            tokio::task::yield_now().await;
                        }
                        turns.wrapping_mul(task + 1)
                    })
                };
                (0..self.tokens).map(yields).collect()
            }))
            .case(self.ours())
            .case(self.channels::<Tokio>())
            .case(self.channels::<Kanal>())
            .case(self.channels::<Flume>())
    }

    fn case(self, name: &str, tasks: impl Fn(u64) -> Vec<Task> + 'static) -> Case {
        as_tasks(self.workers, name, tasks)
    }

    fn ours(self) -> Case {
        self.case(OURS, move |laps| {
            let sessions = (0..self.tasks).map(|_| init::<u64>());
            let (mut servers, clients): (Vec<_>, Vec<_>) = sessions.unzip();
            servers.rotate_right(1);
            let pairs = (0..).zip(servers.into_iter().zip(clients));
            let tasks = pairs.map(|(task, (server, client))| -> Task {
                Box::pin(session(server, client, self.token(task), laps))
            });
            tasks.collect()
        })
    }

    fn channels<C: Channel<u64>>(self) -> Case {
        self.case(C::NAME, move |laps| {
            let channels = (0..self.tasks).map(|_| C::channel(4));
            let (txs, mut rxs): (Vec<_>, Vec<_>) = channels.unzip();
            rxs.rotate_right(1);
            let pairs = (0..).zip(rxs.into_iter().zip(txs));
            let tasks = pairs.map(|(task, (rx, tx))| -> Task {
                Box::pin(over_channels::<C>(rx, tx, self.token(task), laps))
            });
            tasks.collect()
        })
    }
}

/// A case of this many workers, from a function that makes the tasks for a number of operations.
pub fn as_tasks(
    workers: usize,
    name: impl Into<String>,
    tasks: impl Fn(u64) -> Vec<Task> + 'static,
) -> Case {
    Case::new(name, move |operations| {
        let tasks = tasks(operations);
        let place = if workers == 1 { LEFT } else { Place::Anywhere };
        vec![Job::timed(place, move |clock| run(workers, tasks, clock))]
    })
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
pub fn runtime(workers: usize) -> Runtime {
    let built = match workers {
        1 => Builder::new_current_thread().build(),
        _ => Builder::new_multi_thread().worker_threads(workers).build(),
    };
    built.expect("threads can be started")
}

const OPEN: &str = "no task ends before the others";

/// Sends its token, then passes on what comes. A task that began with a token keeps the last one.
async fn session(
    server: crate::protocols::stream::server::Stream<u64>,
    client: crate::protocols::stream::client::Stream<u64>,
    token: Option<u64>,
    laps: u64,
) -> u64 {
    let (mut client, mut server, mut sum) = (client, server, 0_u64);
    let kept = token.is_some();
    if let Some(token) = token {
        client = client.send(token).expect(OPEN);
    }
    for lap in 1..=laps {
        let Stream::Send(token, next) = server.recv_async().await.expect(OPEN);
        server = next;
        sum = sum.wrapping_add(token);
        if lap < laps || !kept {
            client.ready().await;
            client = client.send(token).expect(OPEN);
        }
    }
    sum
}

async fn over_channels<C: Channel<u64>>(
    mut rx: C::Rx,
    tx: C::Tx,
    token: Option<u64>,
    laps: u64,
) -> u64 {
    let mut sum = 0_u64;
    let kept = token.is_some();
    if let Some(token) = token {
        C::send(&tx, token).await;
    }
    for lap in 1..=laps {
        let token = C::recv(&mut rx).await;
        sum = sum.wrapping_add(token);
        if lap < laps || !kept {
            C::send(&tx, token).await;
        }
    }
    sum
}
