//! Sessions over sockets in recorders and registries, as the side in this process sees them.

use duologue::observe::{Recorder, Registry, Side};
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

/// The side that sends, if this side does or does not.
fn sender(own: Side, sends: bool) -> Side {
    match sends {
        true => own,
        false => own.other(),
    }
}

/// Writes what the side in this process sends and receives. The session is called `socket-` and its number. If the module of the protocol
/// does not say which side this is, nothing is written; nor is it for sessions of [`health`].
impl Observer for Recorder {
    fn passed(&self, session: &Session, messages: &Messages) {
        let Some(at) = recorded(session) else { return };
        self.record(&Entry {
            session: (KIND, session.id),
            protocol: session.protocol,
            message: messages.name,
            from: sender(at, messages.sent),
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

/// Sessions are called `socket-` and their number. Those whose protocol's module does not say which side this is are left out.
impl Observer for Registry {
    fn began(&self, session: &Session) {
        if let Some(own) = session.side {
            let turn = sender(own, session.sends_first);
            self.begins((KIND, session.id), session.protocol, session.state, turn);
        }
    }

    fn passed(&self, session: &Session, messages: &Messages) {
        if let Some(own) = session.side {
            let turn = messages.next.map(|_| sender(own, messages.sends_next));
            let total = messages.number + messages.count;
            self.moves((KIND, session.id), messages.next, turn, total);
        }
    }

    fn ended(&self, session: &Session, _: &End) {
        self.ends((KIND, session.id));
    }
}
