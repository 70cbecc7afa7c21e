//! Services: sessions whose server runs on a thread or task of its own.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Begins a session and runs its server on a thread of its own. Returns the client's endpoint and the thread's handle.
///
/// `init` is the protocol's own function, as in `spawn_service(bank::init, serve)`. If the server returns or panics
/// while it still holds an endpoint, the session is closed, and the client then gets [`Closed`](crate::Closed).
///
/// # Panics
/// If the system cannot start a thread; [`try_spawn_service`] returns an error instead.
pub fn spawn_service<S, C, T>(
    init: impl FnOnce() -> (S, C),
    serve: impl FnOnce(S) -> T + Send + 'static,
) -> (C, JoinHandle<T>)
where
    S: Send + 'static,
    T: Send + 'static,
{
    match try_spawn_service(init, serve) {
        Ok(service) => service,
        Err(error) => panic!("cannot start a thread for the service: {error}"),
    }
}

/// Like [`spawn_service`], but returns an error if the system cannot start a thread.
pub fn try_spawn_service<S, C, T>(
    init: impl FnOnce() -> (S, C),
    serve: impl FnOnce(S) -> T + Send + 'static,
) -> io::Result<(C, JoinHandle<T>)>
where
    S: Send + 'static,
    T: Send + 'static,
{
    let (server, client) = init();
    let thread = Builder::new().spawn(move || serve(server))?;
    Ok((client, thread))
}

/// Begins a session and passes the server's future to `spawn`. Returns the client's endpoint and what `spawn` returned.
///
/// `spawn` can be that of any executor, as in `spawn_service_with(tokio::spawn, bank::init, serve)`, where `serve` is
/// an `async fn` that takes the server's endpoint.
///
/// # Cancel safety
///
/// If the server's future completes, panics or is dropped while it still holds an endpoint, the session is closed.
pub fn spawn_service_with<S, C, F, H>(
    spawn: impl FnOnce(F) -> H,
    init: impl FnOnce() -> (S, C),
    serve: impl FnOnce(S) -> F,
) -> (C, H) {
    let (server, client) = init();
    (client, spawn(serve(server)))
}
