//! Each language writes and reads the sessions of `tests/wire/sessions.txt` byte for byte, as client and as server. The other side is this
//! test, which knows nothing but the bytes.

use super::programs::Language;
use super::{Sockets, expected, unix};
use crate::support::repository;
use crate::support::running::{Outcome, Running};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

/// No program on a busy machine needs this long for a message.
const PATIENCE: Duration = Duration::from_secs(60);

/// A sign of life, which may be between any two messages.
const ALIVE: [u8; 2] = [0, 1];

/// The bytes of one side until the other one's turn.
struct Turn {
    is_of_client: bool,
    bytes: Vec<u8>,
    /// What the bytes say, for reports.
    text: String,
}

/// A case of `tests/run`, with the hello and the answer as its first turns.
struct Session {
    case: String,
    turns: Vec<Turn>,
}

fn sessions() -> Vec<Session> {
    let path = repository().join("tests/wire/sessions.txt");
    let text = fs::read_to_string(path).expect("the file is in the repository");
    let mut sessions: Vec<Session> = Vec::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(case) = line.strip_prefix("session ") {
            let (case, turns) = (case.to_owned(), Vec::new());
            sessions.push(Session { case, turns });
            continue;
        }
        let mut words = line.splitn(3, ' ');
        let (side, hex) = (words.next(), words.next().expect("there are bytes"));
        let digits = hex.as_bytes().chunks(2);
        let bytes = digits.map(|digits| {
            let digits = std::str::from_utf8(digits).expect("the file is text");
            u8::from_str_radix(digits, 16).expect("bytes are hexadecimal")
        });
        let session = sessions.last_mut().expect("a session begins with its name");
        session.turns.push(Turn {
            is_of_client: side == Some(">"),
            bytes: bytes.collect(),
            text: words.next().unwrap_or_default().to_owned(),
        });
    }
    assert_eq!(sessions.len(), 4, "the sessions are read wrongly");
    sessions
}

/// Is one side of a session: writes its turns, and compares the others. Returns what is not as in the file.
fn play(
    mut socket: UnixStream,
    session: &Session,
    is_client: bool,
    adds_signs: bool,
) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    for (number, turn) in session.turns.iter().enumerate() {
        if turn.is_of_client == is_client {
            // The hello and the answer come first.
            if adds_signs && number > 1 {
                socket.write_all(&ALIVE).map_err(failed)?;
            }
            socket.write_all(&turn.bytes).map_err(failed)?;
            continue;
        }
        let mut bytes = vec![0; turn.bytes.len()];
        let read = socket.read_exact(&mut bytes);
        if read.is_err() || bytes != turn.bytes {
            return Err(format!(
                "{}: {read:?}\n{bytes:?}\n{:?}",
                turn.text, turn.bytes
            ));
        }
    }
    // Nothing follows but the end. The next session could follow in the same connection, so a server closes it when it likes.
    socket.shutdown(Shutdown::Write).map_err(failed)?;
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).map_err(failed)?;
    match rest.is_empty() {
        true => Ok(()),
        false => Err(format!("{rest:?} after the end")),
    }
}

/// The connection of a client, which comes soon or not at all.
fn accept(listener: &UnixListener) -> UnixStream {
    listener.set_nonblocking(true).expect("it is open");
    let end = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false).expect("it is open");
                return socket;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < end => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("no client connects: {error}"),
        }
    }
}

fn compare(played: Result<(), String>, outcome: &Outcome, case: &str, role: &str, what: &str) {
    let Outcome {
        lines,
        code,
        errors,
    } = outcome;
    assert_eq!(played, Ok(()), "{what}: {lines:#?}\n{errors}");
    assert_eq!(*code, Some(0), "{what}: {lines:#?}\n{errors}");
    assert_eq!(*lines, expected(case, role), "{what}: {errors}");
}

fn check(language: Language) {
    for session in sessions() {
        for adds_signs in [false, true] {
            let case = session.case.as_str();
            let sockets = Sockets::new();
            let path = sockets.path("s");
            let what = format!("{case}, a server in {language:?}, signs of life: {adds_signs}");
            let mut server =
                Running::start(language.command().args(["server", case, &unix(&path)]));
            let listening = server.line();
            assert!(listening.starts_with("listening "), "{what}: {listening}");
            let socket = UnixStream::connect(&path).expect("the server listens");
            let played = play(socket, &session, true, adds_signs);
            compare(played, &server.end(), case, "server", &what);

            let what = format!("{case}, a client in {language:?}, signs of life: {adds_signs}");
            let path = sockets.path("c");
            let listener = UnixListener::bind(&path).expect("the folder is ours");
            let client = Running::start(language.command().args(["client", case, &unix(&path)]));
            let socket = accept(&listener);
            let played = play(socket, &session, false, adds_signs);
            compare(played, &client.end(), case, "client", &what);
        }
    }
}

#[test]
fn rust_writes_and_reads_whole_sessions() {
    check(Language::Rust);
}

#[test]
fn c_writes_and_reads_whole_sessions() {
    check(Language::C);
}

#[test]
fn scala_writes_and_reads_whole_sessions() {
    check(Language::Scala);
}
