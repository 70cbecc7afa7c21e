//! Serving the health of the server, next to the protocols of the program.

use std::sync::Arc;

use super::Listener;
use crate::health::Health;

impl Listener {
    /// Serves the protocol of [`health`](crate::health): clients can ask which services of this server can be used. A listener
    /// that drains says so, from [`Drain::begin`](crate::Drain::begin) on. Such sessions count toward the limits of the
    /// listener, and each has a thread. Only [`run`](Listener::run) serves them: a listener that accepts sessions one by one
    /// refuses them.
    pub fn health(&mut self, health: &Health) -> &mut Listener {
        self.shared.state().health.push(health.clone());
        let (health, shared) = (health.clone(), Arc::clone(&self.shared));
        self.serve(move |ask| health.serve(ask, &|| shared.state().is_draining))
    }
}
