//! A session over a NATS server as a connection: a thread takes what arrives, and says that this side is there.

use super::nats::{Delivered, Event, NO_RESPONDERS, Reader, Server, Writer};
use super::socket::{Socket, is_late};
use duologue::fingerprint::Fingerprint;
use duologue::talk::{Fate, Link, Packet, PacketKind, address, process_of_side};
use std::any::Any;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a process says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// A first message that no server has confirmed after this time is lost.
const UNHEARD: Duration = Duration::from_secs(1);

/// How long the thread reads what still arrives after the end, so that the system does not discard what was written last.
const LAST_LOOK: Duration = Duration::from_secs(2);

/// How many bytes of a message are its head at most.
const HEAD: usize = 64;

/// Where the servers of a name are.
pub struct Group {
    pub server: Server,
    pub name: String,
    /// What the subjects of this process begin with.
    pub prefix: Option<String>,
}

/// A session that begins with the first bytes that are written.
pub struct NatsSocket {
    shared: Arc<Shared>,
    timeout: Duration,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

pub struct State {
    pub link: Link,
    writer: Writer,
    process: String,
    /// The subjects to which the first message goes, one after the other, if nothing has subscribed: at first, servers that can take a session.
    subjects: [String; 2],
    is_second: bool,
    /// The first message, and when it was sent.
    hello: Vec<u8>,
    opened: Option<Instant>,
    is_unanswered: bool,
    /// Why nothing can arrive any more.
    failure: Option<(io::ErrorKind, String)>,
    /// A token to which servers answer, and whether they have.
    probe: Option<(String, bool)>,
    /// How many messages of each kind have arrived for this side, in the order of the codes.
    pub seen: [u32; 9],
    pub is_mute: bool,
    is_dropped: bool,
}

/// 32 hexadecimal digits that nobody can predict.
pub fn random() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut text = String::new();
    for byte in bytes {
        // Writing into memory does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

impl NatsSocket {
    /// Connects to the NATS server. The session begins with the servers of this fingerprint.
    pub fn connect(
        group: &Group,
        fingerprint: Fingerprint,
        deadline: Instant,
    ) -> io::Result<NatsSocket> {
        let (mut process, token) = (random()?, random()?);
        if let Some(prefix) = &group.prefix {
            process = format!("{prefix}.{process}");
        }
        let subjects = ["", "full-"].map(|kind| format!("duo.{}.{kind}{fingerprint}", group.name));
        let all = address(&process, "*");
        let (writer, reader) = group.server.connect(&all, deadline)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                link: Link::new(&process, &token, subjects[0].clone()),
                writer,
                process,
                subjects,
                is_second: false,
                hello: Vec::new(),
                opened: None,
                is_unanswered: false,
                failure: None,
                probe: None,
                seen: [0; 9],
                is_mute: false,
                is_dropped: false,
            }),
            changed: Condvar::new(),
        });
        let reading = Arc::clone(&shared);
        thread::Builder::new().spawn(move || reading.receive(reader))?;
        let timeout = deadline.saturating_duration_since(Instant::now());
        Ok(NatsSocket { shared, timeout })
    }

    /// Does something with the session, and publishes what follows from it.
    pub fn with<T>(&mut self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.shared.state();
        let result = act(&mut state);
        state.publish();
        drop(state);
        self.shared.changed.notify_all();
        result
    }

    /// Waits until this returns something; `None` if it does not in time.
    pub fn wait_for<T>(
        &mut self,
        deadline: Instant,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.shared.state();
        loop {
            if let Some(found) = look(&mut state) {
                return Some(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.failure.is_some() {
                return None;
            }
            state = self.shared.wait(state, left);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, left: Duration) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout(state, left);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes what arrives, until the connection ends.
    fn receive(&self, mut reader: Reader) {
        let mut next = Instant::now() + HEARTBEAT;
        let mut end = None;
        loop {
            let event = reader.next(end.unwrap_or(next));
            let mut state = self.state();
            if state.is_dropped && end.is_none() {
                end = Some(Instant::now() + LAST_LOOK);
            }
            let is_past = end.is_some_and(|end| Instant::now() >= end);
            match event {
                _ if is_past => return,
                Ok(_) if state.is_dropped => continue,
                Ok(Event::Message(message)) => state.arrived(&message),
                Ok(Event::Ping) => state.send(b"PONG\r\n"),
                Ok(Event::Rejected(words)) => {
                    state.fail(io::ErrorKind::PermissionDenied, words);
                }
                Ok(Event::Pong | Event::Other) => {}
                Err(error) if is_late(&error) => {}
                Err(error) => {
                    state.fail(error.kind(), error.to_string());
                    drop(state);
                    self.changed.notify_all();
                    return;
                }
            }
            if Instant::now() >= next {
                next = Instant::now() + HEARTBEAT;
                state.tick();
            }
            state.publish();
            drop(state);
            self.changed.notify_all();
        }
    }
}

impl State {
    fn fail(&mut self, kind: io::ErrorKind, words: String) {
        if self.failure.is_none() {
            self.failure = Some((kind, words));
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        if let Err(error) = self.writer.send(bytes) {
            self.fail(error.kind(), error.to_string());
        }
    }

    /// Publishes what the link has to publish.
    fn publish(&mut self) {
        for message in self.link.take_outgoing() {
            if !self.is_mute {
                self.publish_raw(
                    &message.subject,
                    message.reply.as_deref(),
                    "",
                    &message.body,
                );
            }
        }
    }

    /// Publishes something, whatever it is.
    pub fn publish_raw(&mut self, subject: &str, reply: Option<&str>, headers: &str, body: &[u8]) {
        if let Err(error) = self.writer.publish(subject, reply, headers, body) {
            self.fail(error.kind(), error.to_string());
        }
    }

    /// The longest message of the broker, without its head.
    pub fn longest(&self) -> usize {
        self.writer.longest() - HEAD
    }

    /// The subject of the servers.
    pub fn subject(&self) -> &str {
        &self.subjects[usize::from(self.is_second)]
    }

    /// Whether a server has answered what was published last.
    pub fn is_probed(&self) -> bool {
        self.probe
            .as_ref()
            .is_some_and(|(_, is_answered)| *is_answered)
    }

    /// Why nothing can arrive any more.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_ref().map(|(_, words)| words.as_str())
    }

    fn arrived(&mut self, message: &Delivered) {
        let token = message
            .subject
            .rsplit_once('.')
            .map_or("", |(_, token)| token);
        let is_own = message.subject == self.link.address();
        if message.status == Some(NO_RESPONDERS) {
            self.is_unanswered |= is_own;
            return;
        }
        let Some(packet) = Packet::decode(&message.body) else {
            return;
        };
        let reply = message.reply.as_deref();
        if is_own {
            let kind = &mut self.seen[packet.kind as usize];
            *kind = kind.saturating_add(1);
            return self.link.arrived(&packet, reply);
        }
        if token == "alive" {
            return self.link.is_alive();
        }
        if let Some((probe, is_answered)) = &mut self.probe
            && probe == token
        {
            *is_answered = true;
        }
        // This process does not know the session.
        let is_question = matches!(
            packet.kind,
            PacketKind::Accept | PacketKind::Ask | PacketKind::Lost
        );
        if let Some(from) = reply.filter(|from| is_question && process_of_side(from).is_some()) {
            self.publish_raw(
                from,
                None,
                "",
                &Packet::plain(PacketKind::Gone, &[]).encode(),
            );
        }
    }

    fn tick(&mut self) {
        if self.is_mute {
            return;
        }
        if let Some(process) = self.link.tick() {
            let subject = address(process, "alive");
            let alive = Packet::plain(PacketKind::Alive, self.process.as_bytes());
            self.publish_raw(&subject, None, "", &alive.encode());
        }
    }

    /// Publishes the first message, with a new token if it was published before.
    fn open(&mut self) -> io::Result<()> {
        if self.opened.is_some() {
            let subject = self.subject().to_owned();
            self.link = Link::new(&self.process, &random()?, subject);
        }
        self.is_unanswered = false;
        self.opened = Some(Instant::now());
        self.link.open(&self.hello);
        self.publish();
        Ok(())
    }

    /// Publishes a hello of a version that does not exist after the first message. Servers refuse it at once. So if they have not confirmed
    /// the first message until then, they have ignored it.
    pub fn probe(&mut self) -> io::Result<()> {
        let token = random()?;
        let reply = address(&self.process, &token);
        self.probe = Some((token, false));
        let hello = b"duologue\xff\x00\x00\x00";
        let open = self.link.packet(PacketKind::Open, hello);
        let open = Packet {
            number: 1,
            received: 0,
            read: 0,
            ..open
        };
        let subject = self.subject().to_owned();
        self.publish_raw(&subject, Some(&reply), "", &open.encode());
        Ok(())
    }

    /// Why the session cannot go on.
    fn broken(&self) -> Option<io::Error> {
        if let Some((kind, words)) = &self.failure {
            return Some(io::Error::new(*kind, words.clone()));
        }
        let fate = self.link.fate()?;
        let kind = match fate {
            Fate::Silent => io::ErrorKind::ConnectionAborted,
            Fate::Gap | Fate::Lost | Fate::Gone => io::ErrorKind::ConnectionReset,
        };
        Some(io::Error::new(kind, fate.words()))
    }

    /// What to do if no server has confirmed the first message: publish it again, or give up. Returns how long to wait at most.
    fn retry(&mut self) -> io::Result<Option<Duration>> {
        let Some(opened) = self.opened.filter(|_| !self.link.is_heard()) else {
            return Ok(None);
        };
        if self.is_unanswered && self.is_second {
            let words = format!(
                "no server has subscribed to `{}`, for this protocol in this version",
                self.subjects[0]
            );
            return Err(io::Error::new(io::ErrorKind::NotConnected, words));
        }
        if self.is_unanswered {
            self.is_second = true;
            self.open()?;
        } else if opened.elapsed() >= UNHEARD {
            self.open()?;
        }
        Ok(Some(UNHEARD))
    }
}

impl Read for NatsSocket {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.timeout;
        let mut state = self.shared.state();
        loop {
            let count = state.link.read(to);
            state.publish();
            if count > 0 {
                return Ok(count);
            }
            if state.link.has_ended() {
                return Ok(0);
            }
            if let Some(error) = state.broken() {
                return Err(error);
            }
            let mut left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match state.probe {
                Some((_, true)) if !state.link.is_heard() => return Ok(0),
                Some(_) => {}
                None => left = state.retry()?.map_or(left, |most| most.min(left)),
            }
            state = self.shared.wait(state, left);
        }
    }
}

impl Write for NatsSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.timeout;
        let mut state = self.shared.state();
        if state.opened.is_none() {
            let count = bytes.len().min(state.longest());
            state.hello = bytes[..count].to_vec();
            state.open()?;
            return Ok(count);
        }
        loop {
            if let Some(error) = state.broken() {
                return Err(error);
            }
            let most = state.longest();
            let count = state.link.write(bytes, most);
            state.publish();
            if count > 0 {
                return Ok(count);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.link.has_ended() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            state = self.shared.wait(state, left);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket for NatsSocket {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.timeout = timeout;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.with(|state| state.link.end());
        Ok(())
    }

    fn broker(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

impl Drop for NatsSocket {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_mute = false;
        state.link.forget();
        state.publish();
        state.is_dropped = true;
        state.writer.end();
    }
}
