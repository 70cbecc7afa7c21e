//! Sessions whose handler gets what the program has found out about the peer.

use std::sync::Arc;
use std::time::Duration;

use duologue::transport::Open;

use super::{Handler, Listener};
use crate::listen::handshake::{Peer, Served};
use crate::remote::session;
use crate::Error;

impl Listener {
    /// Like [`serve`](Listener::serve), but lets `admit` decide about each peer, and passes what it returns on to the handler.
    /// A peer for which it returns `None` is refused as [`NotAdmitted`](crate::Verdict::NotAdmitted). It is called only for
    /// peers that the function of [`admit`](Listener::admit) admits, on the connection's thread, and its time counts as that
    /// of the handshake. If it panics, the connection is closed.
    ///
    /// ```no_run
    /// # use std::collections::HashMap;
    /// # struct Account;
    /// # fn teller<E>(_: E, _: Account) {}
    /// # fn find(_: &[u8]) -> Option<Account> { None }
    /// # fn show<Login: duologue_net::Open + 'static>() -> Result<(), duologue_net::Error> {
    /// let mut listener = duologue_net::Listener::bind("unix:/run/bank.sock")?;
    /// listener.serve_admitted(
    ///     |peer| find(peer.token?),
    ///     |login: Login, account| teller(login, account),
    /// );
    /// listener.run()
    /// # }
    /// ```
    pub fn serve_admitted<E: Open + 'static, V: Send + 'static>(
        &mut self,
        admit: impl Fn(&Peer<'_>) -> Option<V> + Send + Sync + 'static,
        handler: impl Fn(E, V) + Send + Sync + 'static,
    ) -> &mut Listener {
        self.serve_side(Served::of::<E>(&[]).admitting(admit), handler)
    }

    /// Like [`accept`](Listener::accept), but lets `admit` decide about each peer, as
    /// [`serve_admitted`](Listener::serve_admitted) does, and returns what it returned for this one. Waits at most for this
    /// duration, if there is one.
    ///
    /// A peer whose connection arrived during an earlier call is asked about with the function of that call. Its session
    /// waits for a call whose function returns the same type.
    ///
    /// # Errors
    /// As for [`accept_within`](Listener::accept_within).
    pub fn accept_admitted<E: Open, V: Send + 'static>(
        &mut self,
        admit: impl Fn(&Peer<'_>) -> Option<V> + Send + Sync + 'static,
        patience: Option<Duration>,
    ) -> Result<(E, V), Error> {
        self.accept_side(&Served::of::<E>(&[]).admitting(admit), patience)
    }

    /// Serves this side, whose first endpoint is `E` and to whose peers its function gives a `V`.
    pub(super) fn serve_side<E: Open + 'static, V: 'static>(
        &mut self,
        served: Served,
        handler: impl Fn(E, V) + Send + Sync + 'static,
    ) -> &mut Listener {
        self.handlers.push(Arc::new(Handler {
            served,
            start: Box::new(move |(stream, terms, seen, held), value| {
                // It is always a `V`: it comes from the function of `served`.
                if let Ok(value) = value.downcast() {
                    handler(session::open::<E>(stream, terms, seen, held), *value);
                }
            }),
        }));
        self
    }
}
