//! The jobs: which wait, which worker has which, and where their results go.
//!
//! Everything that could be forgotten is released by dropping a value: a worker that leaves drops its [`Assigned`], which gives
//! the job back, and a result that is never collected drops its place in the queue. So no error path has to clean up.

use crate::limits::Limits;
use crate::protocols::Outcome;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// A job queue, which submitters and workers share.
#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    /// A permit for each further job that the queue may hold.
    places: Arc<Semaphore>,
    state: Mutex<State>,
    /// Wakes every task that waits for a change of `state`.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    last_number: u64,
    waiting: VecDeque<Job>,
    /// The jobs that workers have, by number.
    assigned: HashMap<u64, Job>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// Takes no more jobs. Those that it has are done.
    Draining,
    /// Only workers that have a job may still finish it.
    Closed,
}

#[derive(Debug)]
struct Job {
    number: u64,
    kind: String,
    input: Vec<u8>,
    /// How many workers have left without finishing it.
    attempts: u32,
    place: OwnedSemaphorePermit,
    /// A slot for the result in the channel of the session that submitted the job. It was reserved when the job was accepted, so
    /// a result never waits for a session.
    result: OwnedPermit<Ended>,
}

impl Job {
    fn end(self, how: Outcome) {
        self.result.send(Ended {
            number: self.number,
            how,
            _place: self.place,
        });
    }
}

/// How a job has ended.
#[derive(Debug)]
pub struct Ended {
    /// The number with which it was accepted.
    pub number: u64,
    /// What became of it.
    pub how: Outcome,
    /// The result keeps the job's place until it is collected.
    _place: OwnedSemaphorePermit,
}

/// The queue takes no further job at the moment, from this session or from any.
#[derive(Debug, thiserror::Error)]
#[error("the queue is full; try again after {retry_after:?}")]
pub struct Full {
    /// When to try again.
    pub retry_after: Duration,
}

impl State {
    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.assigned.is_empty()
    }
}

impl Queue {
    /// An empty queue.
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Queue> {
        Arc::new(Queue {
            places: Arc::new(Semaphore::new(limits.jobs)),
            limits,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// The limits that it was made with.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// No method panics while it holds the lock, so the state is consistent even if a thread has panicked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something in the state.
    async fn find<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            // Created before the call of `look`, so that no later change is missed.
            let changed = self.changed.notified();
            if let Some(found) = look(&mut self.state()) {
                return found;
            }
            changed.await;
        }
    }

    /// A submitter, which gets the results of its own jobs and no others.
    #[must_use]
    pub fn submitter(self: &Arc<Queue>) -> Submitter {
        let (slots, results) = mpsc::channel(self.limits.jobs_of_session.max(1));
        Submitter {
            queue: Arc::clone(self),
            slots,
            results,
            uncollected: 0,
        }
    }

    /// Waits for a job of one of these kinds, and assigns the oldest. `None` if the queue closes and no job is left, not even one
    /// that another worker may give back.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: a job is assigned only when it completes.
    pub async fn take(self: &Arc<Queue>, kinds: &HashSet<String>) -> Option<Assigned> {
        let (number, kind, input) = self
            .find(|state| {
                let is_of_kind = |job: &Job| kinds.contains(&job.kind);
                let at = state.waiting.iter().position(is_of_kind);
                let Some(job) = at.and_then(|at| state.waiting.remove(at)) else {
                    return (state.phase != Phase::Open && state.is_done()).then_some(None);
                };
                let copy = (job.number, job.kind.clone(), job.input.clone());
                state.assigned.insert(job.number, job);
                Some(Some(copy))
            })
            .await?;
        Some(Assigned {
            queue: Arc::clone(self),
            number,
            kind,
            input,
        })
    }

    fn give_back(&self, number: u64) {
        let mut state = self.state();
        // It is not there if it was finished.
        let Some(mut job) = state.assigned.remove(&number) else {
            return;
        };
        job.attempts += 1;
        let has_failed = if state.phase == Phase::Closed {
            Some((job, CLOSED.to_owned()))
        } else if job.attempts >= self.limits.attempts {
            let why = format!("{} workers have left with this job", job.attempts);
            Some((job, why))
        } else {
            // It has waited longer than all others.
            state.waiting.push_front(job);
            None
        };
        drop(state);
        if let Some((job, why)) = has_failed {
            job.end(Outcome::Failed(why));
        }
        self.changed.notify_waiters();
    }

    /// Takes no further job. Those that it has are done.
    pub fn drain(&self) {
        let mut state = self.state();
        if state.phase == Phase::Open {
            state.phase = Phase::Draining;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until the queue takes no further job.
    pub async fn draining(&self) {
        self.find(|state| (state.phase != Phase::Open).then_some(()))
            .await;
    }

    /// Waits until every job has ended.
    pub async fn done(&self) {
        self.find(|state| state.is_done().then_some(())).await;
    }

    /// Fails the jobs that are waiting. Those that workers have can still be finished.
    pub fn close(&self) {
        let mut state = self.state();
        state.phase = Phase::Closed;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for job in waiting {
            job.end(Outcome::Failed(CLOSED.to_owned()));
        }
        self.changed.notify_waiters();
    }
}

const CLOSED: &str = "the queue has closed";

/// A job that a worker has. Dropping it gives the job back.
#[derive(Debug)]
pub struct Assigned {
    queue: Arc<Queue>,
    /// The job's number.
    pub number: u64,
    /// Its kind.
    pub kind: String,
    /// What the worker needs to do it.
    pub input: Vec<u8>,
}

impl Assigned {
    /// Ends the job.
    pub fn finish(self, how: Outcome) {
        let job = self.queue.state().assigned.remove(&self.number);
        if let Some(job) = job {
            job.end(how);
        }
        self.queue.changed.notify_waiters();
    }
}

impl Drop for Assigned {
    fn drop(&mut self) {
        self.queue.give_back(self.number);
    }
}

/// A submitter of jobs. Accepted jobs are done even if the submitter is dropped; their results are then dropped, too.
#[derive(Debug)]
pub struct Submitter {
    queue: Arc<Queue>,
    slots: mpsc::Sender<Ended>,
    results: mpsc::Receiver<Ended>,
    /// How many accepted jobs were not collected.
    uncollected: usize,
}

impl Submitter {
    /// Adds a job to the queue, and returns its number.
    ///
    /// # Errors
    /// If the queue or this submitter's share of it is full, or the queue takes no further job.
    pub fn submit(&mut self, kind: String, input: Vec<u8>) -> Result<u64, Full> {
        let queue = &*self.queue;
        let retry_after = queue.limits.retry_after;
        let full = || Full { retry_after };
        let place = Arc::clone(&queue.places).try_acquire_owned();
        let place = place.map_err(|_| full())?;
        let result = self.slots.clone().try_reserve_owned();
        let result = result.map_err(|_| full())?;
        let mut state = queue.state();
        if state.phase != Phase::Open {
            return Err(full());
        }
        state.last_number += 1;
        let number = state.last_number;
        state.waiting.push_back(Job {
            number,
            kind,
            input,
            attempts: 0,
            place,
            result,
        });
        drop(state);
        queue.changed.notify_waiters();
        self.uncollected += 1;
        Ok(number)
    }

    /// Waits for the next job that ends. `None` if all were collected.
    pub async fn next(&mut self) -> Option<Ended> {
        if self.uncollected == 0 {
            return None;
        }
        let ended = self.results.recv().await?;
        self.uncollected -= 1;
        Some(ended)
    }

    /// Waits until this submitter has nothing left to do: the queue takes no further job, and all results were collected.
    pub async fn dismissed(&self) {
        if self.uncollected > 0 {
            future::pending().await
        }
        self.queue.draining().await;
    }
}
