//! The server's side of the protocol `work`.

use crate::protocols::work::{Busy, Idle, server};
use crate::queue::{Assigned, Queue};
use duologue::{Closed, SendError};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Why a session with a worker has ended early.
#[derive(Debug, thiserror::Error)]
pub enum Gone {
    /// The worker has left.
    #[error(transparent)]
    Left(#[from] Closed),
    /// The worker had a job and sent nothing for too long.
    #[error("the worker had job {number} and was silent for {silence:?}")]
    Silent {
        /// The job, which was given back.
        number: u64,
        /// For how long.
        silence: Duration,
    },
}

/// Lets `?` convert the error of any send.
impl<P> From<SendError<P>> for Gone {
    fn from(error: SendError<P>) -> Gone {
        Gone::Left(error.closed())
    }
}

/// Serves a session until the worker leaves, or the queue closes and no job is left.
///
/// # Errors
/// If the worker is gone. Its job, if it had one, was given back.
pub async fn serve(mut idle: server::Idle, queue: Arc<Queue>) -> Result<(), Gone> {
    loop {
        let Idle::Ask {
            kinds,
            next: assignment,
        } = idle.recv_async().await?
        else {
            return Ok(());
        };
        let kinds: HashSet<String> = kinds.into_iter().collect();
        idle = match timeout(queue.limits().wait, queue.take(&kinds)).await {
            Ok(Some(mut job)) => {
                let (kind, input) = (job.kind.clone(), std::mem::take(&mut job.input));
                // If the worker is gone, `?` drops the job here and in `finish`, which gives it back.
                let busy = assignment.job(job.number, kind, input)?;
                finish(busy, job, queue.limits().silence).await?
            }
            Ok(None) => return Ok(assignment.closing()?),
            Err(_elapsed) => assignment.nothing()?,
        };
    }
}

/// Waits until the worker has finished its job.
async fn finish(
    mut busy: server::Busy,
    job: Assigned,
    silence: Duration,
) -> Result<server::Idle, Gone> {
    loop {
        let Ok(message) = timeout(silence, busy.recv_async()).await else {
            let number = job.number;
            return Err(Gone::Silent { number, silence });
        };
        match message? {
            Busy::Progress { next, .. } => busy = next,
            Busy::Finish { how, next } => {
                job.finish(how);
                return Ok(next);
            }
        }
    }
}
