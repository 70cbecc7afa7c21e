//! What the tests of a submitter's sessions share.

use duologue::Closed;
use jobs::protocols::Outcome;
use jobs::protocols::jobs::client::Idle;
use jobs::protocols::jobs::{Result as Collected, Ticket};

/// Submits a job that the queue has space for, and returns its number.
pub async fn submit(idle: Idle, kind: &str) -> Result<(u64, Idle), Closed> {
    let ticket = idle.submit(kind.to_owned(), b"x".to_vec())?;
    match ticket.recv_async().await? {
        Ticket::Accepted { number, next } => Ok((number, next)),
        Ticket::Full { .. } => panic!("the queue has room"),
    }
}

/// Collects a job that was submitted.
pub async fn collect(idle: Idle) -> Result<(u64, Outcome, Idle), Closed> {
    match idle.collect()?.recv_async().await? {
        Collected::Ended { number, how, next } => Ok((number, how, next)),
        Collected::Nothing(_) => panic!("a job was submitted"),
    }
}

/// A result.
#[must_use]
pub fn done(text: &str) -> Outcome {
    Outcome::Done(text.as_bytes().to_vec())
}
