//! Tasks of tokio, whose runtime reads their connections.

use conversations::protocols::bank::{Connected, Login, WithdrawalResponse, client, server};
use conversations::protocols::telemetry::{self, Echo, Report};
use conversations::sockets::{logged_in, over, pair};
use conversations::why;
use duologue::{Closed, PortSet, Why};
use duologue_net::{Connector, Socket, Stream};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Instant;
use std::{fs, thread};
use tokio::runtime::{Builder, Runtime};

/// A session after the login.
fn connected(name: &str) -> (server::Connected, client::Connected) {
    logged_in(pair(name))
}

/// Whether the thread runs that reads for all other executors.
fn has_reader() -> bool {
    let tasks = fs::read_dir("/proc/self/task").expect("this is Linux");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names
        .into_iter()
        .any(|name| name.trim() == "duologue-watch")
}

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_io().build();
    runtime.expect("the system has what tokio needs")
}

async fn serve(mut server: server::Connected, most: u32) -> Result<server::Connected, Closed> {
    for _ in 0..most {
        let Connected::Withdrawal {
            amount,
            next: answer,
        } = server.recv_async().await?
        else {
            panic!("the client withdraws")
        };
        server = answer.money(amount)?;
    }
    Ok(server)
}

async fn withdraw(mut client: client::Connected, most: u32) -> Result<client::Connected, Closed> {
    for amount in 0..most {
        let waiting = client.withdrawal(f64::from(amount))?;
        let WithdrawalResponse::Money(money, next) = waiting.recv_async().await? else {
            panic!("the bank has money")
        };
        assert_eq!(money, f64::from(amount));
        client = next;
    }
    Ok(client)
}

/// Both sides on one thread of a runtime.
fn talk(
    runtime: &Runtime,
    (server, client): (server::Connected, client::Connected),
) -> (server::Connected, client::Connected) {
    runtime.block_on(async {
        let serving = tokio::spawn(serve(server, 100));
        let client = withdraw(client, 100).await.expect("it is open");
        let server = serving.await.expect("it does not panic");
        (server.expect("it is open"), client)
    })
}

#[test]
fn the_runtime_reads_for_its_tasks() {
    crate::alone!(alone_the_runtime_reads_for_its_tasks);
}

fn alone_the_runtime_reads_for_its_tasks() {
    let ends = talk(&runtime(), connected("first"));
    assert!(!has_reader(), "a thread of its own has read");

    // The first runtime is gone, and the sessions are used in another one, while a third never runs.
    let idle = runtime();
    let waits = idle.spawn(async {});
    let ends = talk(&runtime(), ends);
    let (server, client) = talk(&idle, ends);
    drop(waits);
    assert!(!has_reader(), "a thread of its own has read");

    // A task learns that its peer is gone, and gets what was sent before.
    let client = client.deposit(3.0).expect("it is open");
    drop(client);
    let runtime = runtime();
    runtime.block_on(async {
        let Ok(Connected::Deposit(3.0, server)) = server.recv_async().await else {
            panic!("it was sent before the peer left")
        };
        assert_eq!(why(server.recv_async().await), Why::Left);
    });
    assert!(!has_reader(), "a thread of its own has read");

    what_a_stream_has_read_ahead_is_read(&runtime);
    many_sessions_are_armed_at_once();
    assert!(!has_reader(), "a thread of its own has read");

    a_peer_that_sends_without_end_leaves_time_for_other_tasks(&runtime);
    what_is_written_late_is_answered(&runtime);
    threads_take_over(&runtime);
    a_runtime_without_io_is_served_by_the_process();
}

/// A thread that waits for several sessions does not depend on the runtime in which a session was used before.
fn threads_take_over(idle: &Runtime) {
    let (server, client) = talk(idle, connected("set"));
    let client = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut set = PortSet::new();
            set.insert(server, ());
            let ((), said) = set.recv().expect("it has a member");
            let Ok(Connected::Withdrawal {
                amount,
                next: answer,
            }) = said
            else {
                panic!("it is a withdrawal")
            };
            answer.money(amount).expect("it is open")
        });
        let waiting = client.withdrawal(7.0).expect("it is open");
        let Ok(WithdrawalResponse::Money(7.0, client)) = waiting.recv() else {
            panic!("the bank answers")
        };
        let server = sending.join().expect("it does not panic");
        // And back to tasks.
        talk(idle, (server, client)).1
    });
    drop(client);
}

/// Frames that say only that the peer is there wake nobody. After some reads in a row the runtime's thread goes back to its
/// tasks, and the thread that reads for other executors continues.
fn a_peer_that_sends_without_end_leaves_time_for_other_tasks(runtime: &Runtime) {
    const ALIVE: [u8; 2] = [0, 1];
    let (one, other) = UnixStream::pair().expect("there are descriptors");
    let mut raw = one.try_clone().expect("there are descriptors");
    let one = Socket::of(one.into());
    let (server, client): (server::Login, client::Login) =
        over(&Connector::new(), one, Ahead::new(other));
    raw.write_all(&ALIVE.repeat(1000)).expect("it is open");
    let waiting = client.login("holk".into(), "1234".into());
    let login = runtime.block_on(server.recv_async());
    assert!(matches!(login, Ok(Login::Login { .. })), "{login:?}");
    drop((login, waiting));
    assert!(has_reader(), "the runtime's thread has read everything");
}

/// A task sends more than the connection accepts, and then waits for the answer: its last messages are written later.
fn what_is_written_late_is_answered(runtime: &Runtime) {
    const MANY: u32 = 40;
    let (server, client): (telemetry::server::Report, telemetry::client::Report) = pair("late");
    runtime.block_on(async {
        let serving = tokio::spawn(async move {
            let mut server = server;
            loop {
                let sent = match server.recv_async().await {
                    Ok(Report::Raw { next, .. }) => Ok(next),
                    Ok(Report::Flush(answer)) => answer.received(0, None),
                    Ok(other) => panic!("{other:?}"),
                    Err(closed) => return closed,
                };
                server = sent.expect("the client waits");
            }
        });
        let mut client = client;
        for round in 0..3 {
            for _ in 0..round * MANY / 2 {
                let data = vec![7; 16 << 10];
                client = client.raw(true, String::new(), data).expect("it is open");
            }
            let waiting = client.flush().expect("it is open");
            client = match waiting.recv_async().await {
                Ok(Echo::Received {
                    last: None, next, ..
                }) => next,
                other => panic!("{other:?}"),
            };
        }
        drop(client);
        let closed = serving.await.expect("it does not panic");
        assert_eq!(closed.why(), Why::Left);
    });
}

/// A stream that reads ahead, like one with encryption, and returns single bytes.
struct Ahead {
    socket: Socket,
    read: Mutex<VecDeque<u8>>,
}

impl Ahead {
    fn new(end: UnixStream) -> Ahead {
        Ahead {
            socket: Socket::of(end.into()),
            read: Mutex::default(),
        }
    }
}

impl Stream for Ahead {
    fn read(&self, to: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        let mut read = self.read.lock().expect("nobody panics");
        if read.is_empty() {
            let mut bytes = [0; 4096];
            let count = self.socket.read(&mut bytes, deadline)?;
            read.extend(&bytes[..count]);
        }
        let Some(first) = read.pop_front() else {
            return Ok(0);
        };
        to[0] = first;
        Ok(1)
    }

    fn write(&self, bytes: &[u8], deadline: Option<Instant>) -> io::Result<usize> {
        self.socket.write(bytes, deadline)
    }

    fn close(&self) {
        self.socket.close();
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket.descriptor()
    }

    fn has_more(&self) -> bool {
        !self.read.lock().expect("nobody panics").is_empty()
    }
}

fn what_a_stream_has_read_ahead_is_read(runtime: &Runtime) {
    let (one, other) = UnixStream::pair().expect("there are descriptors");
    let [one, other] = [one, other].map(Ahead::new);
    let ends = logged_in(over(&Connector::new(), one, other));
    drop(talk(runtime, ends));
}

/// The future of `block_on` is no task of a runtime with several threads, and has a limited share of time all the same.
fn many_sessions_are_armed_at_once() {
    /// More than what tokio lets a task do at a time.
    const MANY: usize = 140;
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_io()
        .build();
    runtime
        .expect("the system has what tokio needs")
        .block_on(async {
            let mut set = PortSet::new();
            let mut clients = Vec::new();
            for number in 0..MANY {
                let (server, client) = connected(&format!("many{number}"));
                set.insert(server, ());
                clients.push(client);
            }
            for _ in 0..3 {
                let waiting: Vec<_> = (clients.drain(..))
                    .map(|client| client.withdrawal(1.0).expect("it is open"))
                    .collect();
                for _ in 0..MANY {
                    let Some((
                        (),
                        Ok(Connected::Withdrawal {
                            amount,
                            next: answer,
                        }),
                    )) = set.recv_async().await
                    else {
                        panic!("each client withdraws")
                    };
                    set.insert(answer.money(amount).expect("it is open"), ());
                }
                for waiting in waiting {
                    let Ok(WithdrawalResponse::Money(_, client)) = waiting.recv() else {
                        panic!("the bank answers")
                    };
                    clients.push(client);
                }
            }
        });
}

fn a_runtime_without_io_is_served_by_the_process() {
    let runtime = Builder::new_current_thread().build();
    let runtime = runtime.expect("the system has what tokio needs");
    drop(talk(&runtime, connected("without")));
}
