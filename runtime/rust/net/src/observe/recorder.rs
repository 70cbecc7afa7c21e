//! Recording sessions over sockets, as the side in this process sees them.

use duologue::observe::{Recorder, Side};
use duologue::transport::Entry;

use super::{End, Messages, Observer, Session};
use crate::health;

/// Sessions over sockets have names of their own: both kinds are numbered from 1.
const KIND: &str = "socket-";

/// The side of a session that is recorded. Health checks are not: a log would have sessions whose protocol the program does not have.
fn recorded(session: &Session) -> Option<Side> {
    session
        .side
        .filter(|_| session.fingerprint != health::fingerprint())
}

/// Writes what the side in this process sends and receives. The session is called `socket-` and its number. If the module of the protocol
/// does not say which side this is, nothing is written; nor is it for sessions of [`health`].
impl Observer for Recorder {
    fn passed(&self, session: &Session, messages: &Messages) {
        let Some(at) = recorded(session) else { return };
        let from = match (at, messages.sent) {
            (at, true) => at,
            (Side::Client, false) => Side::Server,
            (Side::Server, false) => Side::Client,
        };
        self.record(&Entry {
            session: (KIND, session.id),
            protocol: session.protocol,
            message: messages.name,
            from,
            at: Some(at),
            number: messages.number,
            count: messages.count,
        });
    }

    fn ended(&self, session: &Session, end: &End) {
        let Some(at) = recorded(session) else { return };
        let total = end.sent.messages + end.received.messages;
        let why = end.state.map(|_| format!("{:?}", end.why));
        let number = (KIND, session.id);
        self.record_end(number, session.protocol, total, Some(at), why.as_deref());
    }
}
