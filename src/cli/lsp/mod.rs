//! `duologue lsp`: a language server over standard input and output. What it answers is in the library's `lsp`; here are messages,
//! threads and files.
//!
//! One thread reads messages into a bounded queue, one answers them in order and checks texts while nothing waits, and one compares
//! with a git revision. A change marks its text; the check of a text always takes its newest version, so that changes that come
//! faster than checks are skipped without a delay.

mod capabilities;
mod convert;
mod documents;
mod edits;
mod files;
mod framing;
mod lens;
mod params;
mod queue;
mod reading;
mod requests;
mod server;
mod state;
mod uri;

use super::terminal::Terminal;
use super::{Failure, Outcome, needs_native};
use clap::Args;
use queue::{Incoming, Queue};
use std::io;
use std::sync::Arc;
use std::thread;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue lsp    what an editor starts; docs/editors.md has the settings for several editors
";

/// Serve an editor: a language server over standard input and output
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::TEMPLATE)]
pub struct Lsp {
    /// Accepted for editors that pass it: there is no other way to connect
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Types nest, so a check needs more stack than other threads have.
const STACK: usize = 16 << 20;

impl Lsp {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let Lsp { stdio: _ } = self;
        needs_native("`duologue lsp`", "threads")?;
        let queue = Arc::new(Queue::default());
        let output = framing::Output::new(io::stdout());
        let (input, answers) = (Arc::clone(&queue), output.clone());
        // It may wait for input indefinitely; the process ends without it.
        let read = move || {
            framing::read_all(&mut io::stdin().lock(), &input, &answers);
            input.push(Incoming::End);
        };
        let no_thread = |error| Failure::Environment(format!("cannot start a thread: {error}"));
        thread::Builder::new().spawn(read).map_err(no_thread)?;
        let served = thread::scope(|scope| {
            let serve = || server::serve(&queue, &output, terminal);
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
}
