//! The job queue as a program: the service, a worker, and a submitter.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use duologue::spawn_service_with;
use jobs::client;
use jobs::limits::Limits;
use jobs::protocols::{Outcome, work};
use jobs::server::Server;
use jobs::workers;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often a worker reports its progress.
const EVERY: Duration = Duration::from_secs(10);

/// A job queue.
#[derive(Debug, Parser)]
enum Command {
    /// Serves submitters and workers until standard input ends or the program is interrupted, then shuts down gracefully.
    ///
    /// Prints `listening` and the addresses once it accepts connections.
    Serve {
        /// `unix:PATH` or `tcp://HOST:PORT`; port 0 asks for a free one.
        #[arg(required = true)]
        addresses: Vec<String>,
        /// Does jobs of these kinds itself: the result is the kind, `: ` and the input.
        #[arg(long, value_name = "KINDS", value_delimiter = ',')]
        work: Vec<String>,
        /// How many jobs the queue holds.
        #[arg(long, value_name = "COUNT", default_value_t = Limits::default().jobs)]
        jobs: usize,
    },
    #[command(flatten)]
    Client(Client),
}

#[derive(Debug, Subcommand)]
enum Client {
    /// Does jobs, as `serve --work` does, until the queue closes.
    Work {
        /// The address of the queue.
        address: String,
        /// The kinds of jobs to do.
        #[arg(required = true)]
        kinds: Vec<String>,
    },
    /// Submits a job for each input, and prints how each has ended.
    Submit {
        /// The address of the queue.
        address: String,
        /// The kind of the jobs.
        kind: String,
        /// The inputs.
        inputs: Vec<String>,
    },
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Without `log_internal_errors`, the program does not fail if nothing reads its standard error.
    let log = tracing_subscriber::fmt().with_writer(io::stderr);
    log.log_internal_errors(false).init();
    match Command::parse() {
        Command::Serve {
            addresses,
            work,
            jobs,
        } => {
            let limits = Limits {
                jobs,
                ..Limits::default()
            };
            serve(&addresses, work, limits).await
        }
        Command::Client(Client::Work { address, kinds }) => {
            let queue = client::connect(address).await?;
            Ok(client::work(queue, &kinds, EVERY, client::echo).await?)
        }
        Command::Client(Client::Submit {
            address,
            kind,
            inputs,
        }) => {
            let queue = client::connect(address).await?;
            let inputs = inputs.into_iter().map(String::into_bytes);
            let all = inputs.map(|input| (kind.clone(), input));
            for outcome in client::run(queue, all).await? {
                match outcome {
                    Outcome::Done(output) => print(&String::from_utf8_lossy(&output))?,
                    Outcome::Failed(why) => print(&format!("failed: {why}"))?,
                }
            }
            Ok(())
        }
    }
}

async fn serve(addresses: &[String], kinds: Vec<String>, limits: Limits) -> anyhow::Result<()> {
    let server = Server::bind(addresses, limits)?;
    if !kinds.is_empty() {
        // A session within the process: the same handler as for sessions over sockets, and the same client.
        let queue = Arc::clone(server.queue());
        let serve = |idle| workers::serve(idle, queue);
        let (worker, _served) = spawn_service_with(tokio::spawn, work::init, serve);
        tokio::spawn(async move {
            if let Err(closed) = client::work(worker, &kinds, EVERY, client::echo).await {
                tracing::error!(%closed, "the service's own worker ended early");
            }
        });
    }
    print(&format!("listening {}", server.addresses().join(" ")))?;
    let end = end_of_input()?;
    let stop = async {
        tokio::select! {
            _ended = end => {}
            _interrupted = tokio::signal::ctrl_c() => {}
        }
    };
    Ok(server.run(stop).await?)
}

/// Completes when standard input ends. A thread reads it instead of a tokio task, because a read cannot be canceled.
fn end_of_input() -> io::Result<oneshot::Receiver<()>> {
    let (sender, end) = oneshot::channel();
    let name = "jobs-input".to_owned();
    let reading = std::thread::Builder::new().name(name).spawn(move || {
        let mut buffer = [0; 1024];
        while io::stdin().read(&mut buffer).is_ok_and(|count| count > 0) {}
        let _stopped = sender.send(());
    });
    reading.map(|_thread| end)
}

/// Prints a line and flushes it, because the output may be a pipe.
fn print(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}
