//! Sessions over a message broker, such as NATS.
//!
//! Processes that can reach a broker need not reach each other, and a client needs no address of a server: servers of one
//! name form a group, and the broker chooses one of them that understands the client. A broker delivers messages, not bytes, and it
//! may lose some, for example when it is restarted. So this module makes a [`Stream`](crate::Stream) of them: it numbers messages, and a
//! session with a gap is [`Lost`](duologue::Why::Lost) for both sides. Everything above, from the hello to the reasons, is
//! the same as over sockets.
//!
//! With the feature `nats`, `nats://host:port/name` is an address of [`connect`](crate::connect) and
//! [`Listener::bind`](crate::Listener::bind). For another broker, implement [`Broker`], and begin sessions with
//! [`Connector::connect_through`](crate::Connector::connect_through) and [`Listener::bind_through`](crate::Listener::bind_through).
//!
//! `docs/wire.md` specifies the messages.

mod discovery;
mod endpoint;
mod exchange;
mod incoming;
mod link;
#[cfg(feature = "nats")]
mod nats;
mod options;
mod packet;
mod post;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "nats")]
pub use async_nats::ConnectOptions;
pub use exchange::Exchange;
pub(crate) use incoming::{Opened, Openings};
pub(crate) use link::BrokerStream;
#[cfg(feature = "nats")]
use nats::shared;
pub use options::ExchangeOptions;

use crate::{Error, Fingerprint};

/// Ends when it is dropped.
type Subscription = Box<dyn Any + Send + Sync>;

/// A connection to a broker: it delivers messages to the subscriptions of their subjects, at most once each. What one
/// connection publishes to one subject arrives in order.
///
/// If it does not keep these promises, sessions are lost, but a message is never delivered twice or out of order.
pub trait Broker: Send + Sync + 'static {
    /// Publishes a message. `reply` is passed on with it. Neither waits nor calls an [`Inbox`]: the caller may hold locks. A message that
    /// cannot be published is dropped. While the broker cannot be reached, messages should be kept, in order. How many there can be is
    /// limited by the credit of the sessions, if [`is_connected`](Broker::is_connected) returns false then.
    fn publish(&self, subject: &str, reply: Option<&str>, message: Vec<u8>);

    /// Delivers the messages of a subject, of whose tokens some may be `*`, one after the other. Of the subscriptions with the
    /// same `group`, one gets each message. Dropping the result ends the subscription.
    ///
    /// # Errors
    /// If the broker does not accept the subscription.
    fn subscribe(
        &self,
        subject: &str,
        group: Option<&str>,
        inbox: Arc<dyn Inbox>,
    ) -> io::Result<Box<dyn Any + Send + Sync>>;

    /// Waits until the system has what was published, for a short time at most: the program may end after that. Called when a
    /// session ends. Does nothing if the messages need no thread of this process.
    fn flush(&self) {}

    /// Whether the broker can be reached at the moment. While it cannot, no session begins, and no heartbeats are published.
    fn is_connected(&self) -> bool {
        true
    }

    /// What the broker has last reported as not permitted, with the subject in double quotes, if it reports that.
    fn denied(&self) -> Option<String> {
        None
    }

    /// The longest message that can be published, in bytes; at least 8,192.
    fn max_message(&self) -> usize;
}

/// What takes the messages of a subscription. It does not wait.
pub trait Inbox: Send + Sync + 'static {
    /// A message has arrived.
    fn arrived(&self, subject: &str, reply: Option<&str>, message: &[u8]);

    /// Nothing has subscribed to the subject of a message that was published with `subject` as its `reply`.
    fn unanswered(&self, subject: &str);

    /// The broker will deliver nothing more. Not called if the connection was interrupted and may come back.
    fn lost(&self);
}

/// Which servers of a protocol a client asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// Those that can take a session.
    Ready,
    /// Those that have been full at some time. They can say so, while servers that nothing has subscribed for cannot.
    Full,
}

impl Exchange {
    /// Begins the stream of a session with the servers of this name and protocol.
    pub(crate) fn open(
        &self,
        name: &str,
        fingerprint: Fingerprint,
        servers: Servers,
        deadline: Instant,
    ) -> Result<BrokerStream, Error> {
        let subject = exchange::subject(name, fingerprint, servers);
        self.0.open(subject, deadline)
    }

    /// What the broker does not permit, if it has recently rejected a message to these servers.
    pub(crate) fn denied(
        &self,
        name: &str,
        fingerprint: Fingerprint,
        servers: Servers,
    ) -> Option<Error> {
        let subject = exchange::subject(name, fingerprint, servers);
        self.0.denied(&subject)
    }

    /// Where a listener of this name gets sessions from.
    pub(crate) fn listen(&self, name: &str) -> Result<Openings, Error> {
        Openings::new(&self.0, name)
    }
}

/// The connection to the server of a `nats://` address.
#[cfg(feature = "nats")]
pub(crate) fn of_server(server: &str, deadline: Instant) -> Result<Exchange, Error> {
    shared(server, deadline)
}

#[cfg(not(feature = "nats"))]
pub(crate) fn of_server(server: &str, _: Instant) -> Result<Exchange, Error> {
    Err(Error::NoNats {
        address: format!("nats://{server}"),
    })
}

/// What is wrong with the name of a group of servers.
pub(crate) fn name_problem(name: &str) -> Option<&'static str> {
    let first = name.split('.').next().unwrap_or_default();
    if !post::is_name(name) || name.len() > 128 {
        Some("a name has at most 128 letters, digits, `-`, `_` and dots between them")
    } else if first == "at" {
        Some("names that begin with `at` are for processes")
    } else {
        None
    }
}
