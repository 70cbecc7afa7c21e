//! The service: sessions at addresses, each served by a task.

use crate::limits::Limits;
use crate::protocols::{jobs, work};
use crate::queue::Queue;
use crate::{submitters, workers};
use duologue_net::observe::Spans;
use duologue_net::{Drain, Error, Listener};
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

/// A session that has begun.
enum Session {
    Jobs(jobs::server::Idle),
    Work(work::server::Idle),
}

/// A session, and the permit that it holds while it exists.
type Begun = (Session, OwnedSemaphorePermit);

/// A service that listens, and does not accept sessions yet.
#[derive(Debug)]
pub struct Server {
    queue: Arc<Queue>,
    listeners: Vec<Listener>,
}

impl Server {
    /// Listens at these addresses. Each serves both protocols: the fingerprint says which protocol a session uses.
    ///
    /// # Errors
    /// If an address cannot be used.
    pub fn bind(addresses: &[String], limits: Limits) -> Result<Server, Error> {
        let listeners = addresses.iter().map(|address| Listener::bind(address));
        Ok(Server {
            listeners: listeners.collect::<Result<_, _>>()?,
            queue: Queue::new(limits),
        })
    }

    /// The queue, for sessions within this process.
    #[must_use]
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Where it listens, in the form that `connect` takes: port 0 is replaced by the actual port.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        let addresses = self.listeners.iter();
        addresses
            .map(|listener| listener.address().to_string())
            .collect()
    }

    /// Serves until `stop` completes, and then shuts down: jobs are done, workers get `closing`, and submitters collect results,
    /// each for as long as the limits allow.
    ///
    /// # Errors
    /// If the system can no longer accept connections. The service has shut down in this case, too.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let Server { queue, listeners } = self;
        let limits = queue.limits();
        let permits = Arc::new(Semaphore::new(limits.sessions));
        let (begun, mut begins) = mpsc::channel(1);
        let spans = Arc::new(Spans::new());
        let mut accepting = JoinSet::new();
        let mut drains: Vec<Drain> = Vec::new();
        for mut listener in listeners {
            let left = Arc::clone(&permits);
            listener
                .max_payload(limits.payload)
                .observer(Arc::clone(&spans) as _)
                .admit(move |_peer| left.available_permits() > 0)
                .serve(begin(&begun, &permits, Session::Jobs))
                .serve(begin(&begun, &permits, Session::Work));
            drains.push(listener.drain());
            // A listener blocks its thread while it waits for connections.
            accepting.spawn_blocking(move || listener.run());
        }
        drop(begun);

        let mut sessions = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let failure = loop {
            tokio::select! {
                Some(begun) = begins.recv() => {
                    sessions.spawn(serve(begun, Arc::clone(&queue)));
                }
                Some(ended) = sessions.join_next() => report(&ended),
                Some(failure) = accepting.join_next() => break Some(failure),
                () = &mut stop => break None,
            }
        };

        drains.iter().for_each(Drain::begin);
        queue.drain();
        // Sessions that began before the listeners were drained are served, too.
        while let Some(begun) = begins.recv().await {
            sessions.spawn(serve(begun, Arc::clone(&queue)));
        }
        if timeout(limits.grace, queue.done()).await.is_err() {
            tracing::warn!("not all jobs were done in time");
            queue.close();
        }
        let ending = async {
            while let Some(ended) = sessions.join_next().await {
                report(&ended);
            }
        };
        if timeout(limits.grace, ending).await.is_err() {
            tracing::warn!(sessions = sessions.len(), "sessions did not end in time");
            sessions.shutdown().await;
        }
        match failure {
            Some(Ok(ended)) => ended,
            Some(Err(bug)) => {
                tracing::error!(%bug, "a listener failed");
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// The handler of a protocol: passes each session to the task that runs the service. It runs in a thread of the listener,
/// and the thread ends when it returns.
fn begin<E>(
    begun: &mpsc::Sender<Begun>,
    permits: &Arc<Semaphore>,
    session: fn(E) -> Session,
) -> impl Fn(E) + Send + Sync + 'static
where
    E: Send + 'static,
{
    let (begun, permits) = (begun.clone(), Arc::clone(permits));
    move |endpoint| {
        // Without a permit, or if the service has stopped, the endpoint is dropped, and the peer finds its session closed.
        if let Ok(permit) = Arc::clone(&permits).try_acquire_owned() {
            let _stopped = begun.blocking_send((session(endpoint), permit));
        }
    }
}

/// Serves a session, and returns why it ended early, if it did.
async fn serve((session, _permit): Begun, queue: Arc<Queue>) -> Option<String> {
    fn early<E: Display>(result: Result<(), E>) -> Option<String> {
        result.err().map(|error| error.to_string())
    }
    match session {
        Session::Jobs(idle) => early(submitters::serve(idle, queue).await),
        Session::Work(idle) => early(workers::serve(idle, queue).await),
    }
}

/// Reports a session's task that has ended. What a peer does is not a failure of the service, and a bug that ends one session does not
/// end the others.
fn report(ended: &Result<Option<String>, JoinError>) {
    match ended {
        Ok(None) => {}
        Ok(Some(why)) => tracing::info!(why, "a session ended early"),
        Err(bug) => tracing::error!(%bug, "a session's task failed"),
    }
}
