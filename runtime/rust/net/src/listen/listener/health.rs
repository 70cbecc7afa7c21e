//! Serving the health of the server, next to the protocols of the program.

use std::sync::Arc;

use super::Listener;
use crate::health::Health;

impl Listener {
    /// Serves the protocol of [`health`](crate::health): clients can ask which services of this server can be used. A listener
    /// that drains says so as soon as [`Drain::begin`](crate::Drain::begin) is called, and so does one that is dropped. Such sessions count toward the limits of the
    /// listener, and each has a thread. Only [`run`](Listener::run) serves them: a listener that accepts sessions one by one
    /// refuses them.
    pub fn health(&mut self, health: &Health) -> &mut Listener {
        self.shared.state().health.push(health.clone());
        let (health, shared) = (health.clone(), Arc::clone(&self.shared));
        self.serve(move |ask| health.serve(ask, &|| shared.state().is_draining))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::{Arc, Health, Listener};
    use crate::health::Status;

    /// Longer than anything takes on a busy machine, and the time after which a client that waits is answered anyway.
    const LONG: Duration = Duration::from_secs(60);
    const NEVER: Duration = Duration::from_secs(1 << 20);

    #[test]
    fn a_listener_that_is_dropped_wakes_the_clients_that_watch() {
        let name = format!("duologue-dropped-{}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let listening = Listener::bind(&format!("unix:{}", path.display()));
        let mut listener = listening.expect("the folder can be written");
        let health = Health::new();
        listener.health(&health);
        let shared = Arc::clone(&listener.shared);
        let (answer, answered) = channel();
        thread::spawn(move || {
            let is_draining = || shared.state().is_draining;
            // The handler of a client that watches.
            let next = health.next("bank", Some(&Status::Unknown), NEVER, &is_draining);
            answer.send(next)
        });
        // It has time to wait.
        thread::sleep(Duration::from_millis(50));
        drop(listener);
        assert_eq!(answered.recv_timeout(LONG), Ok(None));
    }
}
