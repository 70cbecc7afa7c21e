//! Many sessions of `pingpong` at once, with a task of tokio for each: `load client|server ADDRESS SESSIONS TURNS`.
//!
//! The client begins the sessions, and plays one turn in each. Then it prints `open`, waits until a line is written to its
//! input, and plays until the server ends the sessions. The server prints `listening ADDRESS`, then how much memory a session
//! takes once each has had its first turn, then how many turns half of the sessions and all of them have had at most when each has had
//! `TURNS` further turns. Then it drains: the drain ends all sessions, whose tasks find that they are lost. It prints
//! how many milliseconds that took, and how many of them it used a processor. The servers in C and Scala print the same. The environment variable `DUOLOGUE_TLS` is a
//! folder that the program `certificates` has written, for addresses `tls://`.
//!
//! `load library - CONNECTIONS 0` has connections of the TLS library alone, with the certificates of that folder and without sockets
//! and sessions, and prints how much memory the accepting side of one takes.
#![forbid(unsafe_code)]

use conversations::certificates;
use conversations::protocols::pingpong::{Ping, Pong, client, server};
use duologue::{Closed, Why};
use duologue_net::{Connector, Error, Listener, Tls};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use std::error::Error as Failure;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The size of a page of memory on every system that these programs measure.
const PAGE: usize = 4 << 10;

/// How long connecting may take, while thousands do.
const LONG: Duration = Duration::from_secs(60);

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().build()
}

/// Prints a line at once, also into a pipe.
fn print(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// How many bytes of memory the process has.
fn memory() -> io::Result<usize> {
    let sizes = fs::read_to_string("/proc/self/statm")?;
    let pages = sizes.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    Ok(PAGE * pages.unwrap_or(0))
}

/// How long the threads of the process have run.
fn processor_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(used).expect("it has run")
}

/// What the tasks of a server count.
struct Counts {
    turns: u32,
    of_session: Vec<AtomicU32>,
    /// How many sessions have not had their first turn, and all their turns.
    behind: [AtomicUsize; 2],
    /// What the main task waits for: 1 after all first turns, and 2 after all others.
    reached: watch::Sender<usize>,
}

impl Counts {
    fn add(&self, session: usize) {
        let had = self.of_session[session].fetch_add(1, Relaxed);
        for (step, turns) in [0, self.turns].into_iter().enumerate() {
            if had == turns && self.behind[step].fetch_sub(1, Relaxed) == 1 {
                self.reached.send_replace(step + 1);
            }
        }
    }

    async fn reach(&self, step: usize) {
        let mut reached = self.reached.subscribe();
        let reached = reached.wait_for(|reached| *reached >= step).await;
        reached.expect("the sender is here");
    }
}

async fn answer(mut ping: server::Ping, session: usize, counts: Arc<Counts>) -> Result<(), Closed> {
    loop {
        let Ping::Ping(pong) = ping.recv_async().await?;
        counts.add(session);
        ping = pong.pong()?;
    }
}

/// The certificates of a client or a server, if the environment variable `DUOLOGUE_TLS` names a folder with them.
fn tls(party: &str) -> Option<Tls> {
    let folder = env::var_os("DUOLOGUE_TLS")?;
    Some(certificates::tls(folder.as_ref(), "ca", party))
}

fn serve(address: &str, sessions: usize, turns: u32) -> Result<(), Box<dyn Failure>> {
    let mut listener = match tls("server") {
        Some(tls) => Listener::bind_tls(address, tls)?,
        None => Listener::bind(address)?,
    };
    listener.max_sessions(sessions);
    print(&format!("listening {}", listener.address()))?;
    let runtime = runtime()?;
    let counts = Arc::new(Counts {
        turns,
        of_session: (0..sessions).map(|_| AtomicU32::new(0)).collect(),
        behind: [sessions, sessions].map(AtomicUsize::new),
        reached: watch::Sender::new(0),
    });
    let before = memory()?;
    let drain = listener.drain();
    let mut tasks = JoinSet::new();
    // The thread waits for connections, while the runtime has a thread of its own.
    thread::scope(|scope| {
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let accepting = scope.spawn(move || -> Result<(), Error> {
            loop {
                match listener.accept::<server::Ping>() {
                    Ok(session) => drop(begun.send(session)),
                    Err(Error::Drained) => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        });
        let ended = runtime.block_on(async {
            for session in 0..sessions {
                let ping = begins.recv().await.ok_or("the listener has failed")?;
                tasks.spawn(answer(ping, session, Arc::clone(&counts)));
            }
            counts.reach(1).await;
            let each = memory()?.saturating_sub(before) / sessions;
            print(&format!("memory {each}"))?;
            counts.reach(2).await;
            let all = counts.of_session.iter().map(|count| count.load(Relaxed));
            let mut all: Vec<u32> = all.collect();
            all.sort_unstable();
            let [half, last] = [sessions / 2, sessions - 1].map(|at| all[at]);
            print(&format!("turns {half} {last}"))?;
            let (start, used, mut lost) = (Instant::now(), processor_time(), 0);
            // The drain ends the sessions, and the tasks find that.
            let had_ended = drain.within(Duration::ZERO);
            while let Some(task) = tasks.join_next().await {
                lost += usize::from(task?.is_err_and(|closed| closed.why() == Why::Lost));
            }
            if had_ended || lost != sessions || !drain.within(LONG) {
                return Err(format!("the drain ended {lost} sessions").into());
            }
            let used = processor_time().saturating_sub(used).as_millis();
            print(&format!("drained {} {used}", start.elapsed().as_millis()))?;
            Ok(())
        });
        accepting.join().expect("it does not panic")?;
        ended
    })
}

/// The settings of both sides, as sessions have them.
fn settings() -> Result<(Arc<ClientConfig>, Arc<ServerConfig>), Box<dyn Failure>> {
    let folder = PathBuf::from(env::var_os("DUOLOGUE_TLS").ok_or("certificates")?);
    let chain = |name: &str| CertificateDer::from_pem_file(folder.join(format!("{name}.pem")));
    let key = |name: &str| PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key")));
    let mut roots = RootCertStore::empty();
    roots.add(chain("ca")?)?;
    let roots = Arc::new(roots);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![chain("client")?], key("client")?)?;
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier.build()?)
        .with_single_cert(vec![chain("server")?], key("server")?)?;
    server.send_tls13_tickets = 0;
    Ok((Arc::new(client), Arc::new(server)))
}

/// Passes on what one side of a connection has to send.
fn pass(
    from: &mut rustls::Connection,
    to: &mut rustls::Connection,
) -> Result<(), Box<dyn Failure>> {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes)?;
    }
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest)?;
        to.process_new_packets()?;
    }
    Ok(())
}

/// One byte in a record of its own.
fn say(from: &mut rustls::Connection, to: &mut rustls::Connection) -> Result<(), Box<dyn Failure>> {
    from.writer().write_all(&[1])?;
    pass(from, to)?;
    Ok(to.reader().read_exact(&mut [0])?)
}

fn connect_alone(connections: usize) -> Result<(), Box<dyn Failure>> {
    let (clients, servers) = settings()?;
    let mut all = Vec::with_capacity(connections);
    let before = memory()?;
    for _ in 0..connections {
        let name = ServerName::try_from("localhost")?;
        let client = ClientConnection::new(Arc::clone(&clients), name)?;
        let mut client = rustls::Connection::from(client);
        let server = ServerConnection::new(Arc::clone(&servers))?;
        let mut server = rustls::Connection::from(server);
        while client.is_handshaking() || server.is_handshaking() {
            pass(&mut client, &mut server)?;
            pass(&mut server, &mut client)?;
        }
        say(&mut client, &mut server)?;
        say(&mut server, &mut client)?;
        all.push(server);
    }
    let each = memory()?.saturating_sub(before) / connections;
    print(&format!("memory {each}"))?;
    Ok(())
}

async fn play(mut ping: client::Ping, most: usize) -> Result<client::Ping, Closed> {
    for _ in 0..most {
        let Pong::Pong(next) = ping.ping()?.recv_async().await?;
        ping = next;
    }
    Ok(ping)
}

fn connect(address: &str, sessions: usize) -> Result<Vec<client::Ping>, Error> {
    const THREADS: usize = 4;
    let mut connector = Connector::new().timeout(LONG);
    if let Some(tls) = tls("client") {
        connector = connector.tls(tls);
    }
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let count = (number..sessions).step_by(THREADS).count();
                let connector = &connector;
                scope.spawn(move || (0..count).map(|_| connector.connect(address)).collect())
            })
            .collect();
        let mut all = Vec::new();
        for connecting in threads {
            let some: Result<Vec<client::Ping>, Error> = connecting.join().expect("no panic");
            all.extend(some?);
        }
        Ok(all)
    })
}

fn play_all(address: &str, sessions: usize) -> Result<(), Box<dyn Failure>> {
    let all = connect(address, sessions)?;
    let runtime = runtime()?;
    let all = runtime.block_on(async {
        let tasks: Vec<_> = all
            .into_iter()
            .map(|one| runtime.spawn(play(one, 1)))
            .collect();
        let mut all = Vec::new();
        for task in tasks {
            all.push(task.await.expect("it does not panic")?);
        }
        Ok::<_, Closed>(all)
    })?;
    print("open")?;
    io::stdin().read_line(&mut String::new())?;
    let left = Arc::new(AtomicUsize::new(0));
    runtime.block_on(async {
        let tasks: Vec<_> = all
            .into_iter()
            .map(|one| {
                let left = Arc::clone(&left);
                runtime.spawn(async move {
                    let closed = play(one, usize::MAX).await.map(drop);
                    if closed.is_err_and(|closed| closed.why() == Why::Left) {
                        left.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("it does not panic");
        }
    });
    print(&format!("left {}", left.load(SeqCst)))?;
    Ok(())
}

/// Lets this process have as many descriptors as the system allows it.
fn raise_limit() -> io::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?)
}

fn main() -> Result<(), Box<dyn Failure>> {
    raise_limit()?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [role, address, sessions, turns] = &arguments[..] else {
        return Err("load client|server|library ADDRESS SESSIONS TURNS".into());
    };
    let (sessions, turns) = (sessions.parse()?, turns.parse()?);
    match &role[..] {
        "server" => serve(address, sessions, turns),
        "library" => connect_alone(sessions),
        _ => play_all(address, sessions),
    }
}
