//! A recorder: an observer that writes the events of sessions as JSON lines.
//!
//! Sessions put lines into a buffer, and a thread of the recorder writes them. A session of which an event is lost, because the
//! buffer is full or the observer was not called, is *cut*: its log ends there with `ended`, so what is written is a part of a session that
//! its protocol allows.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use crate::floor::waiting;
use crate::floor::waiting::{discard, guarded};
use crate::ring::observer::{End, Message, Observer, Session, Side};

/// How many bytes of lines may wait for the writer, unless the program says otherwise.
const BUFFER: usize = 1 << 20;

/// The most bytes of the prefix of a session's name, which may have 256 bytes in all.
const PREFIX: usize = 200;

/// An observer that writes the messages of sessions as lines of JSON, which `duologue trace` reads.
///
/// It writes the names of messages, not their values. A thread of the recorder writes what waits in a buffer of limited size, so a slow
/// destination does not hold up sessions. If the buffer is full, the rest of a session is left out: its log ends with an event `ended`,
/// and [`dropped`](Recorder::dropped) counts what is missing.
///
/// Clones record to the same destination. When the last one is dropped, and with it the sessions that it observes, everything is written.
/// To be checked, a session has to be recorded from its beginning.
///
/// ```
/// # use duologue_runtime as duologue;
/// use duologue::observe::Recorder;
/// use std::sync::Arc;
///
/// # fn show<S: duologue::observe::Observable, C: duologue::observe::Observable>(init: fn() -> (S, C)) -> std::io::Result<()> {
/// let recorder = Recorder::new(std::fs::File::create("sessions.jsonl")?)?;
/// let (server, client) = duologue::observed(init(), Arc::new(recorder.clone()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Inner>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// Messages of one name that one side sent in a row, as a transport's observer reports them.
#[doc(hidden)]
#[derive(Debug)]
pub struct Entry<'a> {
    /// What sessions of the transport are called, and the number of this one.
    pub session: (&'static str, u64),
    /// The protocol, with its package.
    pub protocol: &'a str,
    /// The name of the message.
    pub message: &'a str,
    /// The sender.
    pub from: Side,
    /// The side that records; `None` for both.
    pub at: Option<Side>,
    /// How many messages the session had before.
    pub number: u64,
    /// How many there are.
    pub count: u64,
}

struct Inner {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    /// Something was added, or the recorder ends, or everything is written.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    prefix: String,
    most: usize,
    lines: String,
    /// The lines of sessions that were cut. Each has a line that waits or was written, so there are not many.
    cut: String,
    sessions: HashMap<(&'static str, u64), Seen>,
    dropped: u64,
    /// How many bytes were added, and how many of them the destination has.
    added: u64,
    written: u64,
    is_closed: bool,
    failed: Option<(io::ErrorKind, String)>,
}

/// What is known about an open session.
#[derive(Default)]
struct Seen {
    /// How many messages it has.
    number: u64,
    is_written: bool,
    is_cut: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        waiting::lock(&self.queue)
    }

    fn wait<'a>(&'a self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        waiting::wait(&self.queue, &self.changed, queue, None)
    }

    /// Writes what is added, until the recorder ends.
    fn write(&self, out: &mut dyn Write) {
        let mut queue = self.queue();
        loop {
            let mut lines = mem::take(&mut queue.lines);
            let events = count(&lines);
            lines += &mem::take(&mut queue.cut);
            if lines.is_empty() && queue.is_closed {
                return;
            }
            if lines.is_empty() {
                queue = self.wait(queue);
                continue;
            }
            drop(queue);
            let write = || out.write_all(lines.as_bytes()).and_then(|()| out.flush());
            let written = guarded(write);
            let written = written.unwrap_or_else(|| Err(io::Error::other("the writer panicked")));
            queue = self.queue();
            match written {
                Ok(()) => queue.written += lines.len() as u64,
                Err(error) => queue.fail(&error, events),
            }
            self.changed.notify_all();
        }
    }
}

/// How many lines a text has.
fn count(lines: &str) -> u64 {
    lines.bytes().filter(|byte| *byte == b'\n').count() as u64
}

impl Queue {
    /// The destination has failed while it wrote this many events.
    fn fail(&mut self, error: &io::Error, events: u64) {
        self.failed = Some((error.kind(), error.to_string()));
        // Lines of sessions that were cut are no events: they stand for what is counted already.
        self.dropped += events + count(&self.lines);
        self.lines.clear();
        self.cut.clear();
    }

    /// Appends a line, unless the buffer is full.
    fn add(&mut self, line: &str) -> bool {
        let has_space = self.failed.is_none() && self.lines.len() + line.len() <= self.most;
        if has_space {
            self.lines += line;
            self.added += line.len() as u64;
        }
        has_space
    }

    /// What the lines of a session begin with.
    fn head(&self, (kind, id): (&str, u64)) -> String {
        let mut line = "{\"session\":".to_owned();
        quote(&mut line, &format!("{}{kind}{id}", self.prefix));
        line
    }

    fn entry(&mut self, entry: &Entry<'_>) {
        let mut seen = self.sessions.remove(&entry.session).unwrap_or_default();
        if entry.number > seen.number {
            self.dropped += entry.number - seen.number;
            self.cut(&mut seen, entry.session, entry.at);
        }
        for left in (1..=entry.count).rev() {
            if seen.is_cut {
                self.dropped += left;
                break;
            }
            let mut line = self.head(entry.session);
            if !seen.is_written {
                line += ",\"protocol\":";
                quote(&mut line, entry.protocol);
            }
            if let Some(at) = entry.at {
                let kind = if at == entry.from { "send" } else { "receive" };
                let _always = write!(line, ",\"at\":\"{at}\",\"kind\":\"{kind}\"");
            } else {
                let _always = write!(line, ",\"from\":\"{}\"", entry.from);
            }
            line += ",\"message\":";
            quote(&mut line, entry.message);
            line += "}\n";
            match self.add(&line) {
                true => seen.is_written = true,
                false => {
                    self.dropped += 1;
                    self.cut(&mut seen, entry.session, entry.at);
                }
            }
        }
        seen.number = entry.number + entry.count;
        self.sessions.insert(entry.session, seen);
    }

    /// Leaves out what follows in a session.
    fn cut(&mut self, seen: &mut Seen, session: (&'static str, u64), at: Option<Side>) {
        if !mem::replace(&mut seen.is_cut, true) && seen.is_written && self.failed.is_none() {
            let mut line = self.head(session);
            if let Some(at) = at {
                let _always = write!(line, ",\"at\":\"{at}\"");
            }
            line += ",\"kind\":\"ended\",\"dropped\":true}\n";
            self.cut += &line;
            self.added += line.len() as u64;
        }
    }

    /// The session is over.
    fn end(
        &mut self,
        session: (&'static str, u64),
        protocol: &str,
        total: u64,
        (kind, side): (&str, Option<Side>),
        why: Option<&str>,
    ) {
        let mut seen = self.sessions.remove(&session).unwrap_or_default();
        if total > seen.number {
            self.dropped += total - seen.number;
            let at = side.filter(|_| kind == "ended");
            self.cut(&mut seen, session, at);
        }
        if kind.is_empty() || seen.is_cut {
            return;
        }
        let mut line = self.head(session);
        if !seen.is_written {
            line += ",\"protocol\":";
            quote(&mut line, protocol);
        }
        if let Some(side) = side {
            let part = if kind == "left" { "from" } else { "at" };
            let _always = write!(line, ",\"{part}\":\"{side}\"");
        }
        let _always = write!(line, ",\"kind\":\"{kind}\"");
        if let Some(why) = why {
            line += ",\"why\":";
            quote(&mut line, why);
        }
        line += "}\n";
        // Without it the session looks unfinished, which it is.
        if !self.add(&line) {
            self.dropped += 1;
        }
    }
}

impl Recorder {
    /// Records to this destination. Up to 1 MiB waits for it.
    ///
    /// # Errors
    ///
    /// If the system starts no thread.
    pub fn new(out: impl Write + Send + 'static) -> io::Result<Recorder> {
        Recorder::with_buffer(out, BUFFER)
    }

    /// The same with a buffer of this many bytes.
    ///
    /// # Errors
    ///
    /// If the system starts no thread.
    pub fn with_buffer(out: impl Write + Send + 'static, bytes: usize) -> io::Result<Recorder> {
        let queue = Queue {
            most: bytes,
            ..Queue::default()
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
        });
        let (own, mut out) = (Arc::clone(&shared), out);
        let writer = thread::Builder::new().name("duologue-recorder".to_owned());
        let writer = writer.spawn(move || own.write(&mut out))?;
        let writer = Some(writer);
        let inner = Arc::new(Inner { shared, writer });
        Ok(Recorder { inner })
    }

    /// Writes this before the number of each session. The logs of several processes, or of several runs of a program, need different names
    /// of sessions if they are checked together. Call it before the first session begins.
    ///
    /// # Panics
    ///
    /// If the text has more than 200 bytes.
    #[must_use]
    pub fn prefix(self, text: &str) -> Recorder {
        assert!(
            text.len() <= PREFIX,
            "the prefix has more than {PREFIX} bytes"
        );
        text.clone_into(&mut self.inner.shared.queue().prefix);
        self
    }

    /// How many events are missing, because the buffer was full or the destination failed. Of the events that were being written when it
    /// failed, all count.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.inner.shared.queue().dropped
    }

    /// Waits until everything that has been recorded so far is written.
    ///
    /// # Errors
    ///
    /// What the destination has reported. After an error nothing more is recorded.
    pub fn flush(&self) -> io::Result<()> {
        let mut queue = self.inner.shared.queue();
        // Sessions may add more without an end.
        let until = queue.added;
        loop {
            if let Some((kind, text)) = &queue.failed {
                return Err(io::Error::new(*kind, text.clone()));
            }
            if queue.written >= until {
                return Ok(());
            }
            queue = self.inner.shared.wait(queue);
        }
    }

    /// Records messages.
    #[doc(hidden)]
    pub fn record(&self, entry: &Entry<'_>) {
        self.inner.shared.queue().entry(entry);
        self.inner.shared.changed.notify_all();
    }

    /// Records that the session is over for the side at `at` after a total of messages, early if there is a reason.
    #[doc(hidden)]
    pub fn record_end(
        &self,
        session: (&'static str, u64),
        protocol: &str,
        total: u64,
        at: Option<Side>,
        why: Option<&str>,
    ) {
        let kind = why.map_or("", |_| "ended");
        let mut queue = self.inner.shared.queue();
        queue.end(session, protocol, total, (kind, at), why);
        drop(queue);
        self.inner.shared.changed.notify_all();
    }
}

impl Observer for Recorder {
    fn sent(&self, session: &Session, message: &Message) {
        self.record(&Entry {
            session: ("", session.id),
            protocol: session.protocol,
            message: message.name,
            from: message.sender,
            at: None,
            number: message.number,
            count: 1,
        });
    }

    fn ended(&self, session: &Session, end: &End) {
        let kind = match (end.state, end.left) {
            (None, _) => "",
            (Some(_), Some(_)) => "left",
            (Some(_), None) => "ended",
        };
        let why = end.stopped.as_deref();
        let total = end.sent_by_client + end.sent_by_server;
        let mut queue = self.inner.shared.queue();
        let sides = (kind, end.left);
        queue.end(("", session.id), session.protocol, total, sides, why);
        drop(queue);
        self.inner.shared.changed.notify_all();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.queue().is_closed = true;
        self.shared.changed.notify_all();
        if let Some(writer) = self.writer.take() {
            // Only the destructor of the destination can panic.
            if let Err(panic) = writer.join() {
                discard(panic);
            }
        }
    }
}

/// Appends a string of JSON.
pub(super) fn quote(line: &mut String, text: &str) {
    line.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => line.extend(['\\', letter]),
            letter if u32::from(letter) < 0x20 => {
                let _always = write!(line, "\\u{:04x}", u32::from(letter));
            }
            letter => line.push(letter),
        }
    }
    line.push('"');
}
