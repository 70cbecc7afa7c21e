//! The client's side of both protocols. It is the same whether the session is within a process or over a socket.

use crate::protocols::Outcome;
use crate::protocols::jobs::{self, Result as Collected, Ticket};
use crate::protocols::work::{self, Assignment};
use anyhow::Context;
use duologue::Closed;
use duologue_net::Open;
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Begins a session with the queue at an address. Connecting blocks until the peer answers, so it runs on a thread of its own.
///
/// # Errors
/// If the queue is not there, or refuses the session.
pub async fn connect<E: Open + Send + 'static>(address: String) -> anyhow::Result<E> {
    let failed = format!("no session with the queue at {address}");
    let connecting = tokio::task::spawn_blocking(move || duologue_net::connect(&address));
    connecting.await?.context(failed)
}

/// A job that a worker does.
#[derive(Debug)]
pub struct Job {
    /// Its kind.
    pub kind: String,
    /// What the worker needs to do it.
    pub input: Vec<u8>,
    /// How much of it is done. This is reported to the queue from time to time.
    pub percent: Arc<AtomicU8>,
}

/// Does jobs of these kinds until the queue closes. While a job runs, reports its progress each time that `every` has passed,
/// so that the queue does not give the job to another worker.
///
/// # Errors
/// If the queue is gone.
pub async fn work<F: Future<Output = Outcome>>(
    mut idle: work::client::Idle,
    kinds: &[String],
    every: Duration,
    mut perform: impl FnMut(Job) -> F,
) -> Result<(), Closed> {
    loop {
        let (kind, input, mut busy) = match idle.ask(kinds.to_vec())?.recv_async().await? {
            Assignment::Job {
                kind, input, next, ..
            } => (kind, input, next),
            Assignment::Nothing(next) => {
                idle = next;
                continue;
            }
            Assignment::Closing => return Ok(()),
        };
        let percent = Arc::new(AtomicU8::new(0));
        let job = Job {
            kind,
            input,
            percent: Arc::clone(&percent),
        };
        let mut performing = std::pin::pin!(perform(job));
        let how = loop {
            match timeout(every, &mut performing).await {
                Ok(how) => break how,
                Err(_elapsed) => busy = busy.progress_async(percent.load(Relaxed)).await?,
            }
        };
        idle = busy.finish_async(how).await?;
    }
}

/// What workers of the program `jobs` do with every job.
pub async fn echo(job: Job) -> Outcome {
    Outcome::Done([job.kind.as_bytes(), b": ", &job.input].concat())
}

/// Submits jobs, given by kind and input, and returns how each has ended, in the same order.
///
/// # Errors
/// If the queue is gone.
pub async fn run(
    mut idle: jobs::client::Idle,
    all: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> Result<Vec<Outcome>, Closed> {
    let mut numbers = Vec::new();
    let mut ended = HashMap::new();
    for (kind, input) in all {
        loop {
            let ticket = idle.submit(kind.clone(), input.clone())?;
            let retry_after = match ticket.recv_async().await? {
                Ticket::Accepted { number, next } => {
                    numbers.push(number);
                    idle = next;
                    break;
                }
                Ticket::Full {
                    retry_after_ms,
                    next,
                } => {
                    idle = next;
                    Duration::from_millis(retry_after_ms.into())
                }
            };
            // Collecting a result frees a slot. If there is none to collect, only waiting helps.
            idle = match idle.collect()?.recv_async().await? {
                Collected::Ended { number, how, next } => {
                    ended.insert(number, how);
                    next
                }
                Collected::Nothing(next) => {
                    sleep(retry_after).await;
                    next
                }
            };
        }
    }
    loop {
        match idle.collect()?.recv_async().await? {
            Collected::Ended { number, how, next } => {
                ended.insert(number, how);
                idle = next;
            }
            Collected::Nothing(next) => {
                next.leave()?;
                break;
            }
        }
    }
    let mut how = |number| {
        let missing = || Outcome::Failed("the queue has lost it".to_owned());
        ended.remove(&number).unwrap_or_else(missing)
    };
    Ok(numbers.into_iter().map(&mut how).collect())
}
