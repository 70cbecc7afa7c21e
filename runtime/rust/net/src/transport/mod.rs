//! What carries the bytes: addresses, sockets and the program's own streams, and TLS around a socket. It knows nothing of
//! sessions.

pub(crate) mod address;
pub(crate) mod stream;
#[cfg(feature = "tls")]
pub(crate) mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
pub(crate) mod tls;
