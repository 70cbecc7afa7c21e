//! Services: sessions whose server runs on a thread or task of its own.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Begins a session, runs its server on a thread of its own, and gives the client's endpoint and the thread.
///
/// `init` is the protocol's own, as in `spawn_service(bank::init, serve)`. The session is closed when the server returns or
/// panics with an endpoint in hand, and the client then gets [`Closed`](crate::Closed).
///
/// # Panics
/// If the system cannot start a thread; [`try_spawn_service`] gives an error instead.
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
        Err(error) => panic!("a service needs a thread: {error}"),
    }
}

/// Like [`spawn_service`], for systems that may run out of threads.
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

/// Begins a session, hands the server's future to `spawn`, and gives the client's endpoint and what `spawn` gave.
///
/// `spawn` is that of any executor, as in `spawn_service_with(tokio::spawn, bank::init, serve)` where `serve` is an
/// `async fn` of the server's endpoint. The session is closed when the future ends, panics or is dropped with an endpoint
/// in hand.
pub fn spawn_service_with<S, C, F, H>(
    spawn: impl FnOnce(F) -> H,
    init: impl FnOnce() -> (S, C),
    serve: impl FnOnce(S) -> F,
) -> (C, H) {
    let (server, client) = init();
    (client, spawn(serve(server)))
}
