//! Replaces `tls` where there are no sockets.

use crate::socket::{Credentials, Socket};
use duologue_project::Failure;
use std::io;
use std::net::TcpStream;
use std::time::Instant;

/// TLS, which does not exist here.
pub enum Tls {}

impl Tls {
    /// Says so.
    pub fn new(_: &str, _: &Credentials) -> Result<Tls, Failure> {
        Err(usage!("there is no TLS on this system: use `tcp://`"))
    }
}

/// Is never called: there is no value of its first argument.
pub fn connect(tls: &Tls, _: TcpStream, _: Instant) -> io::Result<Box<dyn Socket>> {
    match *tls {}
}

/// Is never called either.
pub fn accept(tls: &Tls, _: TcpStream, _: Instant) -> io::Result<Box<dyn Socket>> {
    match *tls {}
}
