//! How much of the service its peers may use.

use std::time::Duration;

/// Limits that keep the memory of the service bounded, and jobs moving, whatever its peers do.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many jobs the queue holds: those that wait, those that workers have, and results that were not collected.
    pub jobs: usize,
    /// How many of them may belong to one session, so that no session takes them all.
    pub jobs_of_session: usize,
    /// The size of a message in bytes, most of which is a job's input or result.
    pub payload: u32,
    /// How many sessions may be open at once, at all addresses together.
    pub sessions: usize,
    /// When a submitter may try again if the queue is full.
    pub retry_after: Duration,
    /// How long a worker waits for a job before it has to ask again.
    pub wait: Duration,
    /// How long a worker that has a job may be silent. After that, another worker gets the job.
    pub silence: Duration,
    /// How many workers may fail to finish a job before it counts as failed: the job may be what makes them fail.
    pub attempts: u32,
    /// How long a shutdown waits for workers, and then for submitters.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            jobs: 1_000,
            jobs_of_session: 250,
            payload: 64 << 10,
            sessions: 1_024,
            retry_after: Duration::from_millis(100),
            wait: Duration::from_secs(20),
            silence: Duration::from_secs(60),
            attempts: 3,
            grace: Duration::from_secs(10),
        }
    }
}
