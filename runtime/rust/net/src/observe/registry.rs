//! Sessions over sockets in a registry.

use duologue::observe::{Registry, Side};

use super::{End, Messages, Observer, Session};

/// As for a recorder.
const KIND: &str = "socket-";

/// The side that sends, if this side does or does not.
fn turn(own: Side, sends: bool) -> Side {
    match (own, sends) {
        (own, true) => own,
        (Side::Client, false) => Side::Server,
        (Side::Server, false) => Side::Client,
    }
}

/// Sessions are called `socket-` and their number. Those whose protocol's module does not say which side this is are left out.
impl Observer for Registry {
    fn began(&self, session: &Session) {
        if let Some(own) = session.side {
            let turn = turn(own, session.sends_first);
            self.begins((KIND, session.id), session.protocol, session.state, turn);
        }
    }

    fn passed(&self, session: &Session, messages: &Messages) {
        if let Some(own) = session.side {
            let turn = messages.next.map(|_| turn(own, messages.sends_next));
            let total = messages.number + messages.count;
            self.moves((KIND, session.id), messages.next, turn, total);
        }
    }

    fn ended(&self, session: &Session, _: &End) {
        self.ends((KIND, session.id));
    }
}
