//! A service of two versions, whose servers are found with NATS, and its clients. The same programs are in `desk.c` and `Desk.scala`. What follows
//! `NATS` is the address of the NATS server, `host:port`, or `user:password@host:port`.
//!
//! * `desk serve VERSION NATS NAME TAG SESSIONS` announces a server of at most so many sessions, which answers each question with its tag. It prints
//!   `ready`, or `failed` and why. It reads lines: `drain` begins to drain, and `withdraw` ends the announcement; each prints the same word. The end of
//!   the input ends the program.
//! * `desk ask VERSION NATS NAME SECONDS [OLDER]` prints `ready` or `failed`, and reads lines. `open` begins a session, which may take so many seconds, and
//!   prints `open` and the tag of the server, or `failed` and why. `ask` asks in each session and prints `asked` and in how many there was an answer; the
//!   others are over. `close` ends all and prints `closed`. OLDER is the fingerprint of a version that the client also understands.
//!
//! A version is `first` or `second`. A server of `second` also understands clients of `first`.
#![forbid(unsafe_code)]

mod versions {
    #![allow(missing_docs)]
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

/// What `docs/targets/rust-sockets.md` shows.
mod shown {
    #![allow(dead_code, missing_docs)]
    mod protocols {
        include!(concat!(env!("OUT_DIR"), "/bank/mod.rs"));
    }
    include!(concat!(env!("OUT_DIR"), "/shown.rs"));
}

use duologue::Closed;
use duologue_nats::{Announcement, ConnectOptions, Directory};
use duologue_net::{Connector, Fingerprint, Listener};
use std::error::Error;
use std::io::{BufRead, stdin};
use std::thread;
use std::time::Duration;
use versions::versions::{first, second};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn answer_first(mut asking: first::server::Asking, tag: &str) -> Result<(), Closed> {
    while let first::Asking::Ask { next, .. } = asking.recv()? {
        asking = next.answer(tag.to_owned())?;
    }
    Ok(())
}

fn answer_second(mut asking: second::server::Asking, tag: &str) -> Result<(), Closed> {
    loop {
        match asking.recv()? {
            second::Asking::Ask { next, .. } => asking = next.answer(tag.to_owned())?,
            second::Asking::Count { next, .. } => asking = next.counted(0)?,
            second::Asking::Leave => return Ok(()),
        }
    }
}

/// The client finds out how a session ends.
fn ignore(_: Result<(), Closed>) {}

/// A session of a client.
enum Session {
    First(first::client::Asking),
    Second(second::client::Asking),
}

impl Session {
    fn ask(self) -> Result<(String, Session), Closed> {
        match self {
            Session::First(asking) => {
                let first::Answering::Answer { text, next } = asking.ask(String::new())?.recv()?;
                Ok((text, Session::First(next)))
            }
            Session::Second(asking) => {
                let second::Answering::Answer { text, next } = asking.ask(String::new())?.recv()?;
                Ok((text, Session::Second(next)))
            }
        }
    }

    fn close(self) {
        // The server may be gone.
        let _gone = match self {
            Session::First(asking) => asking.leave().is_err(),
            Session::Second(asking) => asking.leave().is_err(),
        };
    }
}

fn open(nats: &str) -> Outcome<Directory> {
    let (options, server) = match nats.split_once('@') {
        Some((user, server)) => {
            let (user, password) = user.split_once(':').ok_or("no password")?;
            let options = ConnectOptions::with_user_and_password(user.into(), password.into());
            (options, server)
        }
        None => (ConnectOptions::new(), nats),
    };
    Ok(Directory::open(server, options)?)
}

fn announce(words: &[&str]) -> Outcome<(Listener, Announcement)> {
    let [version, nats, name, tag, sessions] = words else {
        return Err("serve VERSION NATS NAME TAG SESSIONS".into());
    };
    let directory = open(nats)?;
    let mut listener = Listener::bind("tcp://127.0.0.1:0")?;
    listener.max_sessions(sessions.parse()?);
    let tag = (*tag).to_owned();
    let announcement = match *version {
        "first" => {
            listener.serve(move |asking| ignore(answer_first(asking, &tag)));
            directory.announce::<first::server::Asking>(name, &listener, &[], None)?
        }
        _ => {
            listener.serve(move |asking| ignore(answer_second(asking, &tag)));
            directory.announce::<second::server::Asking>(name, &listener, &[], None)?
        }
    };
    Ok((listener, announcement))
}

fn serve(words: &[&str]) -> Outcome<()> {
    let (mut listener, announcement) = announce(words)?;
    let drain = listener.drain();
    println!("ready");
    thread::spawn(move || listener.run());
    let mut announcement = Some(announcement);
    for line in stdin().lock().lines() {
        let line = line?;
        match line.as_str() {
            "drain" => drain.begin(),
            _ => announcement = None,
        }
        println!("{line}");
    }
    drop(announcement);
    Ok(())
}

fn connect(
    directory: &Directory,
    version: &str,
    name: &str,
    with: &Connector,
) -> Outcome<(String, Session)> {
    let session = match version {
        "first" => Session::First(directory.connect(name, with)?),
        _ => Session::Second(directory.connect(name, with)?),
    };
    Ok(session.ask()?)
}

fn ask(words: &[&str]) -> Outcome<()> {
    let [version, nats, name, seconds, older @ ..] = words else {
        return Err("ask VERSION NATS NAME SECONDS [OLDER]".into());
    };
    let mut connector = Connector::new().timeout(Duration::from_secs(seconds.parse()?));
    for older in older {
        connector = connector.accepts(older.parse::<Fingerprint>()?);
    }
    let directory = open(nats)?;
    println!("ready");
    let mut sessions = Vec::new();
    for line in stdin().lock().lines() {
        match line?.as_str() {
            "open" => match connect(&directory, version, name, &connector) {
                Ok((tag, session)) => {
                    sessions.push(session);
                    println!("open {tag}");
                }
                Err(error) => println!("failed {}", text(&*error)),
            },
            "ask" => {
                let asked = sessions
                    .drain(..)
                    .filter_map(|session: Session| session.ask().ok());
                sessions = asked.map(|(_, session)| session).collect();
                println!("asked {}", sessions.len());
            }
            _ => {
                sessions.drain(..).for_each(Session::close);
                println!("closed");
            }
        }
    }
    Ok(())
}

/// An error with what has caused it.
fn text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match &words[..] {
        ["serve", words @ ..] => serve(words),
        ["ask", words @ ..] => ask(words),
        _ => Err("desk serve or desk ask".into()),
    };
    if let Err(error) = outcome {
        println!("failed {}", text(&*error));
    }
}
