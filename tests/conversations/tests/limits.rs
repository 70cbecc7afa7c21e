//! Limits of protocols over sockets.
#![cfg(feature = "sockets")]
#![forbid(unsafe_code)]

mod limited;

use conversations::sockets::pair;
