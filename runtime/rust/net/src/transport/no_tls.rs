//! Without the feature `tls` there are no certificates, so there is no connection over TLS.

use std::io;
use std::time::Instant;

use crate::transport::stream::{Socket, Stream};
use crate::Error;

#[derive(Clone, Debug)]
pub(crate) enum Tls {}

impl Tls {
    pub(crate) fn connect(
        &self,
        _socket: Socket,
        _host: &str,
        _deadline: Instant,
    ) -> Result<Box<dyn Stream>, Error> {
        match *self {}
    }

    pub(crate) fn accept(
        &self,
        _socket: Socket,
        _deadline: Instant,
    ) -> Result<Box<dyn Stream>, Error> {
        match *self {}
    }
}

pub(crate) fn failure(_error: &io::Error) -> Option<Error> {
    None
}
