//! An observer for the crate `metrics`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use metrics::{counter, gauge, histogram};

use super::{Cause, Count, End, Observer, Refusal, Run, Session};
use crate::{sync, Verdict};

/// Counts sessions with the crate `metrics`, with the feature `metrics`.
///
/// | name | kind | labels |
/// | --- | --- | --- |
/// | `duologue_sessions` | gauge: open sessions | `protocol` |
/// | `duologue_messages`, `duologue_bytes` | counters | `protocol`, `direction`: `sent` or `received` |
/// | `duologue_state_seconds` | histogram: how long runs took | `protocol`, `state`: the one that was left |
/// | `duologue_ended` | counter | `protocol`, `why` |
/// | `duologue_refused` | counter | `side`: `accepting` or `connecting`; `cause`: a verdict, `NoHello` or `Error` |
///
/// Messages and bytes are added when a run or its session ends. No label contains text from a peer.
#[derive(Default)]
pub struct Metrics {
    /// What was added for each open session: sent and received.
    open: Mutex<HashMap<u64, [Count; 2]>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    /// An observer without open sessions. Several listeners and connectors may share it.
    #[must_use]
    pub fn new() -> Metrics {
        Metrics::default()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, [Count; 2]>> {
        sync::lock(&self.open)
    }
}

fn add(session: &Session, sent: bool, count: Count) {
    let direction = if sent { "sent" } else { "received" };
    let protocol = session.protocol;
    if count.messages > 0 {
        counter!("duologue_messages", "protocol" => protocol, "direction" => direction)
            .increment(count.messages);
        counter!("duologue_bytes", "protocol" => protocol, "direction" => direction)
            .increment(count.bytes);
    }
}

impl Observer for Metrics {
    fn began(&self, session: &Session) {
        self.open().insert(session.id, [Count::default(); 2]);
        gauge!("duologue_sessions", "protocol" => session.protocol).increment(1.0);
    }

    fn turned(&self, session: &Session, run: &Run) {
        let mut open = self.open();
        // Without an entry, nobody has called `began`.
        let Some([sent, received]) = open.get_mut(&session.id) else {
            return;
        };
        let added = if run.sent { sent } else { received };
        added.messages += run.count.messages;
        added.bytes += run.count.bytes;
        // The lock is not held while the recorder is called.
        drop(open);
        add(session, run.sent, run.count);
        histogram!("duologue_state_seconds", "protocol" => session.protocol, "state" => run.state)
            .record(run.duration.as_secs_f64());
    }

    fn ended(&self, session: &Session, end: &End) {
        let Some([sent, received]) = self.open().remove(&session.id) else {
            return;
        };
        for (is_sent, all, added) in [(true, end.sent, sent), (false, end.received, received)] {
            let rest = Count {
                messages: all.messages.saturating_sub(added.messages),
                bytes: all.bytes.saturating_sub(added.bytes),
            };
            add(session, is_sent, rest);
        }
        let why = format!("{:?}", end.why);
        counter!("duologue_ended", "protocol" => session.protocol, "why" => why).increment(1);
        gauge!("duologue_sessions", "protocol" => session.protocol).decrement(1.0);
    }

    fn refused(&self, refusal: &Refusal<'_>) {
        let cause = match refusal.cause {
            // The other side must not choose the values of a label.
            Cause::Verdict(Verdict::Other(_)) => "Other".to_owned(),
            Cause::Verdict(verdict) => format!("{verdict:?}"),
            Cause::NoHello => "NoHello".to_owned(),
            Cause::Error(_) => "Error".to_owned(),
        };
        let side = if refusal.accepted {
            "accepting"
        } else {
            "connecting"
        };
        counter!("duologue_refused", "side" => side, "cause" => cause).increment(1);
    }
}
