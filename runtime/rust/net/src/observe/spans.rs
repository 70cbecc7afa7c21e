//! An observer for the crate `tracing`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use duologue::Why;
use tracing::{debug, info, info_span, warn, Span};

use super::{End, Observer, Refusal, Run, Session};
use crate::{sync, Address};

/// Opens a span for each session, with the feature `tracing`.
///
/// The span is called `session` and has the level `INFO`. Its parent is the span in which the session begins: the one
/// in which the program connects or accepts. It has the fields `id`, `protocol`, `peer`, `accepted`, `peer_is_older` and
/// `trace`, if the connecting side has sent a trace context, and when it is closed also `why`, `state` (in which the session ended early), `sent`, `sent_bytes`, `received` and
/// `received_bytes`.
///
/// Within the span, each run is an event at the level `DEBUG`. The end is an event at `INFO`, or at `WARN` if the session
/// did not end because a side left. A session that does not begin is an event at `WARN`, without a span.
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
    /// An observer without open spans. Several listeners and connectors may share it.
    #[must_use]
    pub fn new() -> Spans {
        Spans::default()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Span>>> {
        sync::lock(&self.open)
    }
}

fn text(peer: Option<&Address>) -> Option<String> {
    peer.map(Address::to_string)
}

impl Observer for Spans {
    fn began(&self, session: &Session) {
        let span = info_span!(
            "session",
            id = session.id,
            protocol = session.protocol,
            peer = text(session.peer.as_ref()),
            accepted = session.accepted,
            peer_is_older = session.peer_is_older,
            trace = session.trace.map(|trace| trace.to_string()),
            why = tracing::field::Empty,
            state = tracing::field::Empty,
            sent = tracing::field::Empty,
            sent_bytes = tracing::field::Empty,
            received = tracing::field::Empty,
            received_bytes = tracing::field::Empty,
        );
        self.open().insert(session.id, Arc::new(span));
    }

    fn turned(&self, session: &Session, run: &Run) {
        // The lock is not held while the subscriber is called.
        let Some(span) = self.open().get(&session.id).cloned() else {
            return;
        };
        debug!(
            parent: &*span,
            state = run.state,
            sent = run.sent,
            messages = run.count.messages,
            bytes = run.count.bytes,
            duration = ?run.duration,
            "turned"
        );
    }

    fn ended(&self, session: &Session, end: &End) {
        let Some(span) = self.open().remove(&session.id) else {
            return;
        };
        let why = format!("{:?}", end.why);
        span.record("why", why.as_str());
        span.record("state", end.state);
        span.record("sent", end.sent.messages);
        span.record("sent_bytes", end.sent.bytes);
        span.record("received", end.received.messages);
        span.record("received_bytes", end.received.bytes);
        if end.why == Why::Left {
            info!(parent: &*span, why, duration = ?end.duration, "ended");
        } else {
            warn!(parent: &*span, why, duration = ?end.duration, "ended");
        }
    }

    fn refused(&self, refusal: &Refusal<'_>) {
        warn!(
            protocol = refusal.protocol,
            peer = text(refusal.peer),
            accepted = refusal.accepted,
            cause = %refusal.cause,
            "no session"
        );
    }
}
