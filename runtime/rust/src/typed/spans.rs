//! An observer for the crate `tracing`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use tracing::{debug, enabled, info, info_span, trace, Level, Span};

use crate::floor::waiting::lock;
use crate::ring::observer::{End, Message, Observer, Run, Session};

/// Opens a span for each session within this process, with the feature `tracing`.
///
/// The span is called `session` and has the level `INFO`. Its parent is the span in which the session begins. It has the
/// fields `id` and `protocol`, and when it is closed also `left` (the side that disconnected early), `state` (in which it
/// did), `sent_by_client` and `sent_by_server`.
///
/// Within the span, each message is an event at the level `TRACE`, with the fields `state`, `message` and `sender`. Each run
/// is an event at `DEBUG`, with `state`, `sender`, `messages` and `duration`. The end is an event at `INFO`.
#[derive(Default)]
pub struct Spans {
    open: Mutex<HashMap<u64, Arc<Span>>>,
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spans")
    }
}

impl Spans {
    /// An observer without open spans. Several sessions may share it.
    #[must_use]
    pub fn new() -> Spans {
        Spans::default()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Span>>> {
        lock(&self.open)
    }

    /// The span of a session. The lock is not held while the subscriber is called.
    fn span(&self, session: &Session) -> Option<Arc<Span>> {
        self.open().get(&session.id).cloned()
    }
}

impl Observer for Spans {
    fn began(&self, session: &Session) {
        let span = info_span!(
            "session",
            id = session.id,
            protocol = session.protocol,
            left = tracing::field::Empty,
            state = tracing::field::Empty,
            sent_by_client = tracing::field::Empty,
            sent_by_server = tracing::field::Empty,
        );
        self.open().insert(session.id, Arc::new(span));
    }

    fn sent(&self, session: &Session, message: &Message) {
        if !enabled!(Level::TRACE) {
            return;
        }
        if let Some(span) = self.span(session) {
            trace!(
                parent: &*span,
                state = message.state,
                message = message.name,
                sender = message.sender.name(),
            );
        }
    }

    fn turned(&self, session: &Session, run: &Run) {
        if !enabled!(Level::DEBUG) {
            return;
        }
        if let Some(span) = self.span(session) {
            debug!(
                parent: &*span,
                state = run.state,
                sender = run.sender.name(),
                messages = run.messages,
                duration = ?run.duration,
                "turned"
            );
        }
    }

    fn ended(&self, session: &Session, end: &End) {
        let Some(span) = self.open().remove(&session.id) else {
            return;
        };
        let left = end.left.map(|side| side.name());
        span.record("left", left);
        span.record("state", end.state);
        span.record("sent_by_client", end.sent_by_client);
        span.record("sent_by_server", end.sent_by_server);
        info!(parent: &*span, left, duration = ?end.duration, "ended");
    }
}
