//! Recording sessions over sockets, as the side in this process sees them.

use duologue::observe::{Recorder, Side};
use duologue::transport::Entry;

use super::{End, Messages, Observer, Session};

/// Sessions over sockets have names of their own: both kinds are numbered from 1.
const KIND: &str = "socket-";

/// Writes what the side in this process sends and receives. The session is called `socket-` and its number. If the module of the protocol
/// does not say which side this is, nothing is written.
impl Observer for Recorder {
    fn passed(&self, session: &Session, messages: &Messages) {
        let Some(at) = session.side else { return };
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
        if session.side.is_none() {
            return;
        }
        let total = end.sent.messages + end.received.messages;
        let why = end.state.map(|_| format!("{:?}", end.why));
        let number = (KIND, session.id);
        self.record_end(
            number,
            session.protocol,
            total,
            session.side,
            why.as_deref(),
        );
    }
}
