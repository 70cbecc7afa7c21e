//! Sessions in shared memory with a program that is killed, stopped, or leaves: the program is `side`.

use conversations::wire::payloads::{All, client, server};
use conversations::{block_on, why};
use duologue::{Closed, Endpoint, PortSet, TryRecvError, Why};
use duologue_shm::{Attach, Open, Region};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A program that runs; it is killed when this is dropped.
struct Side {
    child: Child,
    socket: UnixStream,
}

impl Side {
    fn start() -> Side {
        Side::start_as(&[])
    }

    fn start_as(arguments: &[&str]) -> Side {
        let (socket, other) = UnixStream::pair().expect("there are sockets");
        let mut command = Command::new(env!("CARGO_BIN_EXE_side"));
        let child = command
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(other)))
            .spawn();
        let child = child.expect("it runs");
        Side { child, socket }
    }

    /// A session with the program as its other side.
    fn begin<E: Open>(&mut self) -> E {
        let region = Region::with_space(4096).expect("there is memory");
        region.send(&self.socket).expect("the program receives it");
        let options = Attach::new().peer(self.child.id());
        let client = options.attach(&region).expect("the program attaches");
        let mut answer = [0];
        self.socket.read_exact(&mut answer).expect("it answers");
        assert_eq!(&answer, b"a");
        client
    }

    fn say(&mut self, command: u8) {
        self.socket.write_all(&[command]).expect("it listens");
    }

    /// How its session is, and how many messages it has received.
    fn answer(&mut self) -> (char, u32) {
        let mut answer = [0; 5];
        self.socket.read_exact(&mut answer).expect("it answers");
        let [how, count @ ..] = answer;
        (char::from(how), u32::from_le_bytes(count))
    }

    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is a child");
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends until the session is over. Returns how many messages were sent, and why it is over.
fn send_on(mut client: client::All, text: &str) -> (u32, Why) {
    let mut sent = 0;
    loop {
        let result = match text {
            "" => client.u64(7).map_err(|error| error.closed().why()),
            text => (client.str(text.to_owned())).map_err(|error| error.closed().why()),
        };
        match result {
            Ok(next) => client = next,
            Err(why) => return (sent, why),
        }
        sent += 1;
    }
}

/// Whether it reads in a thread, in a set, or as a task, a program receives what was sent before, and the end.
#[test]
fn a_program_reads_to_the_end() {
    let mut side = Side::start();
    for how in *b"rsf" {
        let mut client: client::All = side.begin();
        side.say(how);
        for n in 0..5_000 {
            client = client.u64(n).expect("it is open");
        }
        let client = client.str("x".repeat(60_000)).expect("it is open");
        client.over().expect("it is open");
        assert_eq!(side.answer(), ('o', 5_002));
        side.say(b'q');
        // The same, without the last message.
        let client: client::All = side.begin();
        side.say(how);
        drop(client.u64(1).expect("it is open"));
        assert_eq!(side.answer(), ('l', 1));
        side.say(b'q');
    }
}

#[test]
fn a_sender_notices_that_its_peer_was_killed() {
    for text in ["", "x", &"x".repeat(1_500)] {
        let mut side = Side::start();
        let client: client::All = side.begin();
        side.say(b'w');
        let killing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            side.kill();
        });
        let (sent, why) = send_on(client, text);
        assert!(sent > 0);
        assert_eq!(why, Why::Lost);
        killing.join().expect("it does not panic");
    }
}

/// A sender learns that its peer has been dead for a while before the region is full.
#[test]
fn a_sender_notices_before_the_region_is_full() {
    let mut side = Side::start();
    let client = side.begin::<client::All>().u64(1).expect("it is open");
    side.say(b'w');
    side.kill();
    thread::sleep(Duration::from_millis(150));
    let (sent, why) = send_on(client, "");
    assert_eq!(why, Why::Lost);
    // What the ring has, and the lines between two checks.
    assert!(sent < 2_000, "{sent}");
}

/// A task that waits for space, and a session that is written by the helper.
#[test]
fn a_task_notices_that_its_peer_was_killed() {
    let mut side = Side::start();
    let mut client: client::All = side.begin();
    side.say(b'w');
    let killing = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        side.kill();
    });
    let why = block_on(async {
        loop {
            client.ready().await;
            client = match client.u64(7) {
                Ok(client) => client,
                Err(error) => break error.closed().why(),
            };
        }
    });
    assert_eq!(why, Why::Lost);
    killing.join().expect("it does not panic");
}

#[test]
fn the_program_of_the_page_runs() {
    let run = Command::new(env!("CARGO_BIN_EXE_shared_memory")).output();
    let run = run.expect("it runs");
    assert!(run.status.success(), "{run:?}");
    assert_eq!(run.stdout, b"an answer from another process\n");
}

/// What was sent before is received, by a thread, a task, a set, or one attempt after another.
#[test]
fn a_receiver_notices_that_its_peer_was_killed() {
    for how in 0..4 {
        let mut side = Side::start_as(&["client"]);
        let mut server: server::All = side.begin();
        side.kill();
        for n in 0..100 {
            let Ok(All::U64(found, next)) = receive(how, server) else {
                panic!("{n} was sent")
            };
            assert_eq!(found, n);
            server = next;
        }
        assert_eq!(why(receive(how, server)), Why::Lost);
    }
}

/// Receives a message in one of several ways.
fn receive(how: u32, mut end: server::All) -> Result<All, Closed> {
    match how {
        0 => end.recv(),
        1 => block_on(end.recv_async()),
        2 => {
            let mut set = PortSet::new();
            set.insert(end, ());
            set.recv().expect("there is an endpoint").1
        }
        _ => loop {
            end = match end.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Empty(end)) => end,
                Err(TryRecvError::Closed(closed)) => return Err(closed),
            };
        },
    }
}
