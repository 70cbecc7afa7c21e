//! The server's side of the protocol `jobs`.

use crate::protocols::jobs::{Idle, server};
use crate::queue::{Ended, Full, Queue};
use duologue::Closed;
use std::sync::Arc;

/// Serves a session until the peer leaves, or the queue closes and the peer has collected everything.
///
/// # Errors
/// If the peer is gone.
pub async fn serve(mut idle: server::Idle, queue: Arc<Queue>) -> Result<(), Closed> {
    let mut submitter = queue.submitter();
    loop {
        let message = tokio::select! {
            message = idle.recv_async() => message?,
            // Drops the future of the first arm, which owns the endpoint: the peer finds its session closed.
            () = submitter.dismissed() => return Ok(()),
        };
        idle = match message {
            Idle::Submit {
                kind,
                input,
                next: ticket,
            } => match submitter.submit(kind, input) {
                Ok(number) => ticket.accepted(number)?,
                Err(Full { retry_after }) => {
                    let milliseconds = retry_after.as_millis().try_into();
                    ticket.full(milliseconds.unwrap_or(u32::MAX))?
                }
            },
            Idle::Collect(result) => match submitter.next().await {
                Some(Ended { number, how, .. }) => result.ended(number, how)?,
                None => result.nothing()?,
            },
            Idle::Leave => return Ok(()),
        };
    }
}
