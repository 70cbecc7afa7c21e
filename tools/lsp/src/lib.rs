//! `duologue lsp`: a language server over standard input and output. What it answers is in [`answer`]; the rest is
//! messages, threads and files.
//!
//! One thread reads messages into a bounded queue, one answers them in order and checks texts while nothing waits, and one compares
//! with a git revision. A change marks its text; the check of a text always takes its newest version, so that changes that come
//! faster than checks are skipped without a delay.

#[macro_use]
extern crate duologue_project;

pub mod answer;
mod closed;
mod convert;
mod documents;
mod files;
mod handlers;
mod lens;
mod reading;
mod server;
mod state;
mod transport;
mod uri;

use duologue_project::terminal::Terminal;
use duologue_project::{Failure, Outcome};
use server::Incoming;
use std::io;
use std::sync::mpsc::sync_channel;
use std::thread;
use transport::Output;

/// Types nest, so a check needs more stack than other threads have.
const STACK: usize = 16 << 20;
/// How many messages may wait in the queue; the server takes them out before it begins something that takes long.
const QUEUE: usize = 16;

/// Serves an editor until it ends the session.
///
/// # Errors
/// The editor ended the connection without ending the session, or there are no threads.
pub fn run(terminal: &Terminal) -> Outcome {
    let (queue, incoming) = sync_channel(QUEUE);
    let output = Output::new(io::stdout());
    let (input, log) = (queue.clone(), output.clone());
    // It may wait for input indefinitely; the process ends without it.
    let read = move || {
        transport::read_all(io::stdin().lock(), &log, |message| {
            let _ = input.send(Incoming::Message(message));
        });
        let _ = input.send(Incoming::End);
    };
    let no_thread = |error| environment!("cannot start a thread: {error}");
    thread::Builder::new().spawn(read).map_err(no_thread)?;
    let served = thread::scope(|scope| {
        let serve = || server::serve(queue, incoming, &output, terminal);
        let serving = thread::Builder::new().stack_size(STACK);
        let serving = serving.spawn_scoped(scope, serve);
        serving.map(|thread| thread.join().unwrap_or(false))
    });
    match served {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::Findings),
        Err(error) => Err(no_thread(error)),
    }
}
