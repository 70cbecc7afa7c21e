//! How much memory sessions over sockets take, counted in the allocator: many that do nothing, and one whose reader sleeps.

use crate::counted::{BYTES, HIGHEST};
use conversations::certificates::Certificates;
use conversations::protocols::acme::files::file_server::{self, Piece, Reading};
use conversations::protocols::telemetry::{self, Echo, Report};
use conversations::sockets::{opened, over_sockets};
use duologue::{Closed, Endpoint};
use duologue_net::{Connector, Listener};
use file_server::{client, server};
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

type Ends = (server::Reading, client::Reading);

/// Connects sessions over TLS.
fn over_tls() -> impl FnMut() -> (server::Idle, client::Idle) {
    let files = Certificates::new();
    let tls = files.tls("ca", "server");
    let mut listener = Listener::bind_tls("tls://127.0.0.1:0", tls).expect("a port is free");
    let address = listener.address().to_string();
    let connector = Connector::new().tls(files.tls("ca", "client"));
    move || {
        thread::scope(|scope| {
            let connecting = scope.spawn(|| connector.connect(&address));
            let server = listener.accept().expect("it connects");
            let client = connecting.join().expect("it does not panic");
            (server, client.expect("it is accepted"))
        })
    }
}

/// Sends a piece of this size.
async fn answer(server: server::Reading, size: usize) -> Result<server::Reading, Closed> {
    match server.recv_async().await? {
        Reading::Read { next: answer, .. } => Ok(answer.data(vec![7; size])?),
        Reading::Close(_) => panic!("the client goes on"),
    }
}

async fn read(client: client::Reading, size: usize) -> Result<client::Reading, Closed> {
    match client.read(0, None)?.recv_async().await? {
        Piece::Data(data, client) => {
            assert_eq!(data.len(), size);
            Ok(client)
        }
        Piece::EndOfFile(_) => panic!("there is more"),
    }
}

/// A turn in every session, each side in a task.
fn turns(all: Vec<Ends>, size: usize) -> Vec<Ends> {
    let runtime = Builder::new_current_thread().enable_io().build();
    let runtime = runtime.expect("the system has what tokio needs");
    runtime.block_on(async {
        let begin = |(server, client)| {
            let server = tokio::spawn(answer(server, size));
            (server, tokio::spawn(read(client, size)))
        };
        let tasks: Vec<_> = all.into_iter().map(begin).collect();
        let mut all = Vec::new();
        for (server, client) in tasks {
            let server = server.await.expect("no panic").expect("it is open");
            let client = client.await.expect("no panic").expect("it is open");
            all.push((server, client));
        }
        all
    })
}

/// Few enough for the descriptors that a process usually has.
const SESSIONS: usize = 200;

/// A piece that is much larger than what a side may keep.
const LARGE: usize = 200 << 10;

/// What a side may keep, in bytes.
const SIDE: usize = 4 << 10;

/// The same over TLS.
const SIDE_OVER_TLS: usize = 12 << 10;

fn idle_sessions_take_little(
    most: usize,
    mut connect: impl FnMut() -> (server::Idle, client::Idle),
) {
    let mut opened = || opened(connect()).expect("it is open");
    // The threads and tables of the library, which are not counted.
    drop(turns(vec![opened()], LARGE));
    let before = BYTES.load(SeqCst);
    let of_side = || BYTES.load(SeqCst).saturating_sub(before) / (2 * SESSIONS);

    let all = (0..SESSIONS).map(|_| opened()).collect();
    let all = turns(all, 100);
    println!("{} bytes for each side of an idle session", of_side());
    assert!(of_side() <= most, "{} bytes", of_side());

    // After more has been sent at once, the memory for that is returned, though nothing else happens in the session.
    let all = turns(all, LARGE);
    let until = Instant::now() + Duration::from_secs(60);
    while of_side() > most {
        assert!(Instant::now() < until, "{} bytes", of_side());
        thread::sleep(Duration::from_millis(10));
    }
    drop(turns(all, 100));
    let left = of_side();
    // Rings are kept for later sessions, up to a limit.
    assert!(left < 512, "{left} bytes of each session are left");
}

/// What is sent to the reader that sleeps, in messages and bytes, by threads and by tasks.
const SENT: [(usize, usize); 2] = [(1 << 30, 64 << 10), (1 << 28, 6_000)];

/// What both sides together may take, in bytes. A message is in a few buffers at once, which may be growing.
fn most(message: usize) -> usize {
    (8 << 20).max(32 * message)
}

/// How a side sends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sends {
    InThread,
    /// In a task that awaits `ready` before each message.
    WhenReady,
    /// In a task that does not.
    Always,
}

fn read_and_sleep(mut server: telemetry::server::Report, messages: usize) -> Result<usize, Closed> {
    let mut count = 0;
    loop {
        if count % (messages / 16) == 0 {
            thread::sleep(Duration::from_millis(20));
        }
        server = match server.recv()? {
            Report::Raw { next, .. } => {
                count += 1;
                next
            }
            Report::Flush(echo) => {
                echo.enough()?;
                return Ok(count);
            }
            other @ (Report::Unsigned(..)
            | Report::Signed(..)
            | Report::Real { .. }
            | Report::Old(..)) => {
                panic!("it sends bytes, not {other:?}")
            }
        }
    }
}

fn a_reader_that_sleeps_takes_little(sends: Sends, bytes: usize, message: usize) {
    let messages = bytes / message;
    let (server, mut client): (telemetry::server::Report, telemetry::client::Report) =
        over_sockets(&Connector::new());
    let before = BYTES.load(SeqCst);
    HIGHEST.store(before, SeqCst);
    let reading = thread::spawn(move || read_and_sleep(server, messages));
    let runtime = Builder::new_current_thread().enable_io().build();
    let runtime = runtime.expect("the system has what tokio needs");
    let sent = runtime.block_on(async {
        for number in 0..messages {
            // A side that has awaited an endpoint is a task.
            if sends == Sends::WhenReady || sends == Sends::Always && number == 0 {
                client.ready().await;
            }
            client = client.raw(true, String::new(), vec![7; message])?;
        }
        let Echo::Enough = client.flush()?.recv_async().await? else {
            panic!("the server has read everything")
        };
        Ok::<(), Closed>(())
    });
    sent.expect("it is open");
    let count = reading.join().expect("no panic").expect("it is open");
    assert_eq!(count, messages);
    let highest = HIGHEST.load(SeqCst) - before;
    assert!(
        highest <= most(message),
        "{highest} bytes for messages of {message}, {sends:?}"
    );
}

/// In one test, because the memory of all threads of the process is counted.
#[test]
fn memory_is_bounded() {
    crate::alone!(alone_memory_is_bounded);
}

fn alone_memory_is_bounded() {
    idle_sessions_take_little(SIDE, || over_sockets(&Connector::new()));
    idle_sessions_take_little(SIDE_OVER_TLS, over_tls());
    for sends in [Sends::InThread, Sends::WhenReady, Sends::Always] {
        for (bytes, message) in SENT {
            a_reader_that_sleeps_takes_little(sends, bytes, message);
        }
    }
}
