//! Other libraries, with the feature `peers`: each moves the numbers of a withdrawal between two tasks over a Unix socket.

pub mod channels;
pub mod grpc;
pub mod procedures;

use super::tasks::{run_in, socket};
use crate::machine::Cost;
use tokio::net::UnixStream;
use tokio::runtime::Builder;

/// The text of expectations of these cases.
const ANSWERS: &str = "the other task answers";

/// Two ends of a socket. They are given to a runtime with [`socket`].
fn ends() -> [std::os::unix::net::UnixStream; 2] {
    let (left, right) = std::os::unix::net::UnixStream::pair().expect("the system has sockets");
    [left, right]
}

/// Runs both tasks on one thread. These libraries also need timers.
fn run(
    customer: impl Future<Output = Cost> + Send + 'static,
    bank: impl Future<Output = ()> + Send + 'static,
) -> Cost {
    run_in(Builder::new_current_thread().enable_all(), customer, bank)
}
