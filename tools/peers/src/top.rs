//! What a program's registry says about its sessions. It comes from outside, so its size is bounded, and nothing in it is obeyed.

#[cfg(unix)]
use crate::socket;
use duologue_project::Failure;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
#[cfg(unix)]
use std::time::{Duration, Instant};

/// The largest document.
const MOST_BYTES: usize = 32 << 20;

/// How long a program may take to send one.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(10);

/// The format that this version reads. Within it, members are only added.
const FORMAT: u64 = 1;

/// The sessions of a program that have not ended.
#[derive(Debug, Deserialize, Serialize)]
pub struct Document {
    /// The version of the format.
    pub format: u64,
    /// The language of the program.
    #[serde(default)]
    pub language: String,
    /// Its process id; 0 if it does not say.
    #[serde(default)]
    pub process: u64,
    /// How often sessions were used that are not among these, because the registry has no place for them.
    #[serde(default)]
    pub missing: u64,
    /// Its sessions.
    pub sessions: Vec<Session>,
    /// Found here if the program does not say.
    #[serde(default)]
    pub deadlocks: Option<Vec<Deadlock>>,
}

/// A session that has not ended. Times are in milliseconds.
#[derive(Debug, Deserialize, Serialize)]
pub struct Session {
    /// Its name.
    pub session: String,
    /// The protocol.
    pub protocol: String,
    /// The state, if it is known.
    #[serde(default)]
    pub state: Option<String>,
    /// The side whose turn it is.
    pub turn: String,
    /// For how long nothing has happened.
    pub waits: u64,
    /// How many messages were sent.
    #[serde(default)]
    pub messages: u64,
    /// Its sides; empty if the program does not say.
    #[serde(default, deserialize_with = "both_sides")]
    pub sides: Vec<Side>,
}

/// Reads at most two sides: small sides in a long list would take many times the memory of their text.
fn both_sides<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Side>, D::Error> {
    struct Both;

    impl<'de> Visitor<'de> for Both {
        type Value = Vec<Side>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of both sides, or an empty list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Side>, A::Error> {
            let mut sides = Vec::new();
            while let Some(side) = list.next_element()? {
                match sides.len() {
                    0 => sides.reserve_exact(2),
                    1 => {}
                    _ => return Err(A::Error::custom("a session has more than two sides")),
                }
                sides.push(side);
            }
            Ok(sides)
        }
    }

    from.deserialize_seq(Both)
}

/// A side of a session.
#[derive(Debug, Deserialize, Serialize)]
pub struct Side {
    /// `client` or `server`.
    pub side: String,
    /// The state, if it is known.
    #[serde(default)]
    pub state: Option<String>,
    /// The thread or task that has the endpoint.
    #[serde(default)]
    pub owner: Option<String>,
    /// For how long that has been waiting here.
    #[serde(default)]
    pub waits: Option<u64>,
    /// What it waits for.
    #[serde(default, rename = "for")]
    pub awaits: Option<String>,
    /// How many messages to this side it has not received.
    #[serde(default)]
    pub in_flight: u64,
    /// Whether it has left.
    #[serde(default)]
    pub left: bool,
}

/// Threads and tasks that wait for each other.
#[derive(Debug, Deserialize, Serialize)]
pub struct Deadlock {
    /// Each waits for the next, and the last for the first.
    pub waits: Vec<Blocked>,
}

/// A thread or task that waits for the next one.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Blocked {
    /// The thread or task.
    pub owner: String,
    /// The session in which it waits.
    pub session: String,
    /// Its side there.
    pub side: String,
    /// The state, if it is known.
    #[serde(default)]
    pub state: Option<String>,
    /// For how long, in milliseconds.
    pub waits: u64,
    /// The one that it waits for.
    pub awaited: String,
}

/// Reads the document of a file, of standard input for `-`, or of the socket at `unix:PATH`.
pub fn read(source: &str) -> Result<Document, Failure> {
    let failed = |error: io::Error| environment!("cannot read {source}: {error}");
    let bytes = match (source, source.strip_prefix("unix:")) {
        ("-", _) => bounded(io::stdin().lock()),
        (_, Some(path)) => from_socket(path),
        (_, None) => File::open(source).and_then(bounded),
    };
    let bytes = bytes.map_err(failed)?;
    let wrong = |words: String| environment!("cannot read {source}: {words}");
    let document = serde_json::from_slice::<Document>(&bytes).map_err(|error| {
        wrong(format!(
            "{error}. It is not what a registry writes, which `duologue explain trace` describes"
        ))
    })?;
    match document.format {
        FORMAT => Ok(document),
        other => Err(wrong(format!(
            "its format is {other}, but this version of duologue reads format {FORMAT}; use the version that the program was built with"
        ))),
    }
}

fn bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    input.take(most + 1).read_to_end(&mut bytes)?;
    within_bounds(bytes)
}

fn within_bounds(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match bytes.len() > MOST_BYTES {
        true => Err(io::Error::other("it has more than 32 MiB")),
        false => Ok(bytes),
    }
}

#[cfg(unix)]
fn from_socket(path: &str) -> io::Result<Vec<u8>> {
    let mut socket = std::os::unix::net::UnixStream::connect(path)?;
    let deadline = Instant::now() + PATIENCE;
    let late = || io::Error::other("the program did not send its sessions within 10 s");
    let mut bytes = Vec::new();
    let mut part = vec![0; 64 << 10];
    loop {
        match socket::read(&mut socket, &mut part, deadline) {
            Ok(0) => return Ok(bytes),
            Ok(count) => {
                bytes.extend_from_slice(&part[..count]);
                bytes = within_bounds(bytes)?;
            }
            Err(error) if socket::is_late(&error) => return Err(late()),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(not(unix))]
fn from_socket(_: &str) -> io::Result<Vec<u8>> {
    Err(io::Error::other(
        "there are no Unix sockets here; let the program write a file",
    ))
}

/// A wait of a thread or task: what it waits for, if that is known.
type Waits<'d> = BTreeMap<&'d str, Vec<(Blocked, Option<&'d str>)>>;

/// The deadlocks among these sessions: threads and tasks of which each waits for the next.
///
/// One that waits in several sessions goes on as soon as one of them is ready. So what may still go on is left out first, and of the
/// others each waits only for others.
pub fn deadlocks(sessions: &[Session]) -> Vec<Deadlock> {
    let mut waiting = Waits::new();
    for session in sessions {
        let [first, second] = &session.sides[..] else {
            continue;
        };
        for (side, other) in [(first, second), (second, first)] {
            let is_stuck = match side.awaits.as_deref() {
                Some("space") => other.in_flight > 0,
                _ => side.in_flight == 0,
            };
            if let (Some(owner), Some(waits), true) = (&side.owner, side.waits, is_stuck)
                && !side.left
                && !other.left
            {
                let blocked = Blocked {
                    owner: owner.clone(),
                    session: session.session.clone(),
                    side: side.side.clone(),
                    state: side.state.clone(),
                    waits,
                    awaited: other.owner.clone().unwrap_or_default(),
                };
                let all = waiting.entry(owner).or_default();
                all.push((blocked, other.owner.as_deref()));
            }
        }
    }
    leave_out(&mut waiting);
    circles(&waiting)
}

/// Leaves out what may still go on.
fn leave_out(waiting: &mut Waits<'_>) {
    let mut waiters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut free = Vec::new();
    for (owner, waits) in &*waiting {
        for (_, awaited) in waits {
            match awaited {
                Some(awaited) if waiting.contains_key(awaited) => {
                    waiters.entry(awaited).or_default().push(owner);
                }
                _ => free.push(*owner),
            }
        }
    }
    while let Some(owner) = free.pop() {
        if waiting.remove(owner).is_some() {
            free.extend(waiters.remove(owner).unwrap_or_default());
        }
    }
}

fn circles(waiting: &Waits<'_>) -> Vec<Deadlock> {
    let first = |owner: &str| waiting.get(owner).and_then(|waits| waits.first());
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for start in waiting.keys() {
        let mut path: Vec<&Blocked> = Vec::new();
        let mut owner = *start;
        while let (true, Some((blocked, Some(awaited)))) = (seen.insert(owner), first(owner)) {
            path.push(blocked);
            owner = awaited;
        }
        if let Some(at) = path.iter().position(|one| one.owner == owner) {
            let waits = path[at..].iter().copied().cloned().collect();
            found.push(Deadlock { waits });
        }
    }
    found
}
