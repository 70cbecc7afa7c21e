//! Listening through a broker.

use std::sync::Arc;

use super::Listener;
use crate::address::Bound;
use crate::broker::{self, Exchange};
use crate::handshake::Served;
use crate::Error;

impl Listener {
    /// Listens for clients of servers with this name, through a broker. Otherwise as [`bind`](Listener::bind). The listener
    /// subscribes when it [runs](Listener::run) or accepts a session for the first time.
    ///
    /// # Errors
    /// If the name cannot be part of a subject.
    pub fn bind_through(exchange: &Exchange, name: &str) -> Result<Listener, Error> {
        if let Some(problem) = broker::name_problem(name) {
            let text = name.to_owned();
            return Err(Error::Name { text, problem });
        }
        let openings = exchange.listen(name)?;
        Listener::bind_to(Bound::Broker(Arc::new(openings), None), None)
    }

    /// Lets programs find this listener with the service discovery of NATS, such as `nats micro ls`, while it runs or after it has first
    /// accepted sessions. Its user needs further permissions: `docs/wire.md`, "Discovery", lists them. At an address of a socket this does nothing.
    pub fn discoverable(&mut self) -> &mut Listener {
        if let Some(openings) = &self.shared.openings {
            openings.set_discoverable();
        }
        self
    }

    /// At a broker, subscribes to what is served: this side, or those of the handlers.
    pub(super) fn subscribe(&self, bound: &Bound, served: Option<&Served>) -> Result<(), Error> {
        let Bound::Broker(openings, _) = bound else {
            return Ok(());
        };
        let handlers = self.handlers.iter().map(|handler| &handler.served);
        let all: Vec<&Served> = match served {
            Some(served) => vec![served],
            None => handlers.collect(),
        };
        openings.serve(all.iter().flat_map(|served| served.versions()))
    }
}
