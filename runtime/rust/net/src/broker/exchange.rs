//! A process at a broker: its sessions, and the processes at their other ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{channel, sync_channel, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::link::{cost, BrokerStream, Link, Peer, Ticked};
use super::options::ExchangeOptions;
use super::packet::{Kind, Packet};
use super::post::{self, Post};
use super::{Broker, Inbox, Servers, Subscription};
use crate::error::Verdict;
use crate::hello::{refusal, Hello};
use crate::stream::left;
use crate::{sync, Error, Fingerprint};

/// The token to which heartbeats go.
const ALIVE: &str = "alive";

/// A process whose last messages are older than this many heartbeats is gone.
const MISSED: u32 = 3;

/// How long the broker may take to deliver a message of this process to itself.
pub(super) const ECHO: Duration = Duration::from_secs(5);

/// The group of servers with one name and protocol, of which one gets each client.
pub(super) const GROUP: Option<&str> = Some("duo");

/// How many sessions a process may have, also such that are over and wait until their peers confirm that.
const MOST_LINKS: usize = 64 << 10;

/// For how many heartbeats a connection that programs use by its address is kept after its last session.
const KEPT: u32 = 5;

/// How long a thread sleeps that waits until the broker can be reached.
const PAUSE: Duration = Duration::from_millis(10);

/// A process at a broker. Clones are the same. The connection is closed when the last one and all sessions are gone.
#[derive(Clone)]
pub struct Exchange(pub(super) Arc<Hub>);

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exchange({})", self.0.post.process)
    }
}

pub(super) struct Hub {
    pub(super) post: Arc<Post>,
    table: Mutex<Table>,
    /// Where messages of this process to itself are awaited.
    echoes: Mutex<BTreeMap<String, SyncSender<()>>>,
    subscription: OnceLock<Subscription>,
    /// Whether the broker delivers nothing more.
    is_lost: AtomicBool,
    /// When this is dropped, the thread for heartbeats ends.
    _ticked: Sender<()>,
}

#[derive(Default)]
struct Table {
    /// The sessions by the last token of their addresses.
    links: BTreeMap<String, Entry>,
    /// The other sides' addresses of sessions that this process has accepted.
    openers: BTreeSet<String>,
    peers: BTreeMap<String, Weak<Peer>>,
}

struct Entry {
    link: Arc<Link>,
    opener: Option<String>,
}

impl Table {
    fn peer(&mut self, process: &str) -> Arc<Peer> {
        if let Some(peer) = self.peers.get(process).and_then(Weak::upgrade) {
            return peer;
        }
        let peer = Arc::new(Peer::new(process));
        self.peers.insert(process.to_owned(), Arc::downgrade(&peer));
        peer
    }

    fn remove(&mut self, token: &str) {
        let removed = self.links.remove(token);
        if let Some(opener) = removed.and_then(|entry| entry.opener) {
            self.openers.remove(&opener);
        }
    }
}

impl Exchange {
    /// Takes part through this broker.
    ///
    /// # Errors
    /// If the broker does not deliver to this process what it publishes itself.
    pub fn over(broker: impl Broker, options: &ExchangeOptions) -> Result<Exchange, Error> {
        Exchange::over_until(broker, options, Instant::now() + ECHO, false)
    }

    /// As [`over`](Exchange::over), but not after this time. `is_kept`: it stays for a while when nothing uses it.
    pub(super) fn over_until(
        broker: impl Broker,
        options: &ExchangeOptions,
        deadline: Instant,
        is_kept: bool,
    ) -> Result<Exchange, Error> {
        let failed = Error::io("take part in sessions over a broker");
        let random = post::random().map_err(failed)?;
        let process = match &options.prefix {
            Some(prefix) if !post::is_name(prefix) || prefix.len() > 128 => {
                return Err(Error::Name {
                    text: prefix.clone(),
                    problem: "a prefix has only tokens of letters, digits, `-` and `_`, separated by dots",
                });
            }
            Some(prefix) => format!("{prefix}.{random}"),
            None => random,
        };
        let (ticked, ends) = channel();
        let hub = Arc::new(Hub {
            post: Arc::new(Post::new(Box::new(broker), process)),
            table: Mutex::default(),
            echoes: Mutex::default(),
            subscription: OnceLock::new(),
            is_lost: AtomicBool::new(false),
            _ticked: ticked,
        });
        let failed = Error::io("subscribe to the messages for this process");
        let all = post::address(&hub.post.process, "*");
        let inbox = Arc::new(Arrivals(Arc::downgrade(&hub)));
        let subscribed = hub.post.broker.subscribe(&all, None, inbox);
        let _empty = hub.subscription.set(subscribed.map_err(failed)?);
        hub.settle(ECHO.min(deadline.saturating_duration_since(Instant::now())))?;
        let (ticking, every) = (Arc::downgrade(&hub), options.heartbeat);
        let mut kept = is_kept.then(|| Arc::clone(&hub));
        let thread = thread::Builder::new().name("duologue-broker".to_owned());
        let started = thread.spawn(move || {
            sync::never_wait();
            let mut unused = 0;
            while ends.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Some(hub) = ticking.upgrade() else { return };
                hub.tick();
                drop(hub);
                let is_used = |hub: &Arc<Hub>| Arc::strong_count(hub) > 1 && !hub.is_lost();
                unused = match &kept {
                    Some(hub) if !is_used(hub) => unused + 1,
                    Some(_) | None => 0,
                };
                if unused > KEPT {
                    // A thread may have begun to use it meanwhile: then it stays, and is not kept any longer.
                    kept = None;
                }
            }
        });
        started.map_err(Error::io("start the thread for heartbeats"))?;
        Ok(Exchange(hub))
    }
}

impl Hub {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to a subject, as a member of this group.
    pub(super) fn join(
        &self,
        subject: &str,
        group: Option<&str>,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Subscription, Error> {
        let subscribed = self.post.broker.subscribe(subject, group, inbox);
        subscribed.map_err(Error::io(format!("subscribe to {subject}")))
    }

    /// Subscribes to messages that begin sessions, and waits until the broker knows that.
    pub(super) fn listen(
        &self,
        subject: &str,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Subscription, Error> {
        let subscribed = self.join(subject, GROUP, inbox)?;
        self.settle(ECHO)?;
        match self.denied(subject) {
            Some(denied) => Err(denied),
            None => Ok(subscribed),
        }
    }

    /// What the broker does not permit, if it has recently rejected this subject.
    pub(super) fn denied(&self, subject: &str) -> Option<Error> {
        let denied = self.post.broker.denied();
        let denied = denied.filter(|text| text.contains(&format!("\"{subject}\"")))?;
        let denied = io::Error::new(io::ErrorKind::PermissionDenied, denied);
        Some(Error::io(format!(
            "use {subject} (docs/wire.md, \"Permissions\", lists what a user needs)"
        ))(denied))
    }

    /// Waits until the broker has handled everything that was requested before: until it has delivered a message of this process to itself.
    pub(super) fn settle(&self, patience: Duration) -> Result<(), Error> {
        let failed = |problem: &str| {
            Error::io(format!(
                "receive from the broker at duo.at.{}",
                self.post.process
            ))(io::Error::other(problem.to_owned()))
        };
        let token = post::random().map_err(Error::io("receive from the broker"))?;
        let (done, arrived) = sync_channel(1);
        let echoes = || self.echoes.lock().unwrap_or_else(PoisonError::into_inner);
        echoes().insert(token.clone(), done);
        let deadline = Instant::now() + patience;
        let mut result = Err(failed(
            "it did not deliver a message of this process to itself: check the permissions to publish and subscribe there",
        ));
        // The broker may lose it.
        while let Some(left) = left(deadline) {
            if self.is_lost.load(SeqCst) {
                result = Err(failed("the connection is closed"));
                break;
            }
            let packet = Packet::plain(Kind::Gone, &[]);
            self.post
                .publish(&post::address(&self.post.process, &token), None, &packet);
            if arrived
                .recv_timeout(left.min(Duration::from_millis(500)))
                .is_ok()
            {
                result = Ok(());
                break;
            }
        }
        echoes().remove(&token);
        result
    }

    /// Begins a session with the servers of a protocol.
    pub(super) fn open(
        self: &Arc<Hub>,
        subject: String,
        deadline: Instant,
    ) -> Result<BrokerStream, Error> {
        let failed = |problem: &str| {
            Error::io("begin a session over a broker")(io::Error::other(problem.to_owned()))
        };
        // What is published meanwhile would begin sessions that nobody waits for any longer.
        while !self.is_lost() && !self.post.broker.is_connected() {
            let left = left(deadline).ok_or_else(|| {
                failed("the connection to the broker was interrupted, and is not back in time: check that the broker is running")
            })?;
            thread::sleep(left.min(PAUSE));
        }
        if self.is_lost() {
            return Err(failed("the connection to the broker is closed"));
        }
        let window = self.post.window(0);
        let window = window.ok_or_else(|| failed("this process has too many sessions"))?;
        let token = post::random().map_err(Error::io("begin a session over a broker"))?;
        let address = post::address(&self.post.process, &token);
        let link = Link::open(&self.post, address, window, subject);
        let link = Arc::new(link);
        let entry = Entry {
            link: Arc::clone(&link),
            opener: None,
        };
        if self.table().links.len() >= MOST_LINKS {
            self.clean();
        }
        let mut table = self.table();
        if table.links.len() >= MOST_LINKS {
            return Err(failed("this process has too many sessions"));
        }
        table.links.insert(token, entry);
        drop(table);
        Ok(BrokerStream::of(link, Arc::clone(self) as _))
    }

    /// Accepts a session that a message begins, or refuses it. `None` if there is none: also if no correct peer has sent the
    /// message. What it contains has to be a hello and nothing else, so that it takes bounded memory, and no time to read.
    pub(super) fn accept(
        self: &Arc<Hub>,
        from: Option<&str>,
        message: &[u8],
        verdict: Option<Verdict>,
    ) -> Option<BrokerStream> {
        let packet = Packet::decode(message).filter(|packet| packet.kind == Kind::Open)?;
        let from = from?;
        let process = post::process_of_side(from)?;
        if !Hello::is_whole(packet.bytes) {
            return None;
        }
        let token = post::random().ok()?;
        let address = post::address(&self.post.process, &token);
        let cost = cost(packet.bytes.len());
        let mut table = self.table();
        // The broker has delivered it twice.
        if table.openers.contains(from) {
            return None;
        }
        if let Some(verdict) = verdict {
            drop(table);
            self.refuse(from, &address, cost, verdict);
            return None;
        }
        let window = match self.post.window(cost) {
            Some(window) if table.links.len() < MOST_LINKS => window,
            Some(_) | None => {
                drop(table);
                self.refuse(from, &address, cost, Verdict::Full);
                return None;
            }
        };
        let peer = table.peer(process);
        let link = Link::accept(&self.post, address, window, from, peer, &packet);
        let link = Arc::new(link?);
        table.openers.insert(from.to_owned());
        let entry = Entry {
            link: Arc::clone(&link),
            opener: Some(from.to_owned()),
        };
        table.links.insert(token, entry);
        drop(table);
        Some(BrokerStream::of(link, Arc::clone(self) as _))
    }

    /// Refuses a session from this address, and forgets it: if something of that is lost, the peer finds that there is no session.
    fn refuse(&self, from: &str, address: &str, cost: u64, verdict: Verdict) {
        let bytes = refusal(verdict, 0);
        let accept = Packet {
            kind: Kind::Accept,
            number: 1,
            received: 1,
            read: cost,
            window: cost,
            bytes: &bytes,
        };
        self.post.publish(from, Some(address), &accept);
        let end = Packet {
            kind: Kind::End,
            number: 2,
            window: 0,
            bytes: &[],
            ..accept
        };
        self.post.publish(from, None, &end);
    }

    fn arrived(&self, subject: &str, from: Option<&str>, message: &[u8]) {
        let Some((process, token)) = post::parts(subject) else {
            return;
        };
        let Some(packet) = Packet::decode(message).filter(|_| process == self.post.process) else {
            return;
        };
        if token == ALIVE {
            let sender = std::str::from_utf8(packet.bytes).unwrap_or_default();
            let peer = self.table().peers.get(sender).and_then(Weak::upgrade);
            if let Some(peer) = peer {
                peer.missed.store(0, SeqCst);
            }
            return;
        }
        let found = self
            .table()
            .links
            .get(token)
            .map(|entry| Arc::clone(&entry.link));
        if let Some(link) = found {
            link.arrived(&packet, from, |process| self.table().peer(process));
            if link.is_over() {
                self.table().remove(token);
            }
            return;
        }
        let echoes = self.echoes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(echo) = echoes.get(token) {
            let _known = echo.try_send(());
            return;
        }
        drop(echoes);
        let expects = matches!(packet.kind, Kind::Accept | Kind::Ask | Kind::Lost);
        let from = from.filter(|from| expects && post::process_of_side(from).is_some());
        if let Some(from) = from {
            self.post
                .publish(from, None, &Packet::plain(Kind::Gone, &[]));
        }
    }

    fn tick(&self) {
        let peers: Vec<_> = {
            let mut table = self.table();
            table.peers.retain(|_, peer| peer.strong_count() > 0);
            table.peers.values().filter_map(Weak::upgrade).collect()
        };
        for peer in &peers {
            peer.missed.fetch_add(1, SeqCst);
        }
        let publishes = self.post.broker.is_connected();
        let mut in_use = BTreeSet::new();
        for (token, link) in self.links() {
            let is_gone = |peer: &Peer| peer.missed.load(SeqCst) > MISSED;
            let Ticked { is_needed, peer } = link.tick(is_gone, publishes);
            if !is_needed {
                self.table().remove(&token);
            }
            in_use.extend(peer.map(|peer| peer.process.clone()));
        }
        let packet = Packet::plain(Kind::Alive, self.post.process.as_bytes());
        for process in in_use.iter().filter(|_| publishes) {
            let address = post::address(process, ALIVE);
            self.post.publish(&address, None, &packet);
        }
    }

    /// Forgets the sessions that are over, as the next heartbeat would.
    fn clean(&self) {
        let links = self.links();
        for (token, _) in links.iter().filter(|(_, link)| link.is_over()) {
            self.table().remove(token);
        }
    }

    /// The sessions. A link is never asked while the table is locked, because a link locks the table.
    fn links(&self) -> Vec<(String, Arc<Link>)> {
        let table = self.table();
        let links = table.links.iter();
        let links = links.map(|(token, entry)| (token.clone(), Arc::clone(&entry.link)));
        links.collect()
    }

    /// Waits for a short time until the system has what was published.
    pub(super) fn flush(&self) {
        self.post.broker.flush();
    }

    /// Whether the broker delivers nothing more.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(SeqCst)
    }

    fn each(&self, act: impl Fn(&Link)) {
        self.links().iter().for_each(|(_, link)| act(link));
    }
}

/// The subject of the servers of a protocol.
pub(super) fn subject(name: &str, fingerprint: Fingerprint, servers: Servers) -> String {
    match servers {
        Servers::Ready => format!("duo.{name}.{fingerprint}"),
        Servers::Full => format!("duo.{name}.full-{fingerprint}"),
    }
}

/// Takes what arrives for a process. It does not keep the process, which keeps the subscription.
struct Arrivals(Weak<Hub>);

impl Inbox for Arrivals {
    fn arrived(&self, subject: &str, reply: Option<&str>, message: &[u8]) {
        if let Some(hub) = self.0.upgrade() {
            hub.arrived(subject, reply, message);
        }
    }

    fn unanswered(&self, subject: &str) {
        let Some(hub) = self.0.upgrade() else { return };
        let token = post::parts(subject).map_or("", |(_, token)| token);
        let found = hub
            .table()
            .links
            .get(token)
            .map(|entry| Arc::clone(&entry.link));
        if let Some(link) = found {
            link.unanswered();
        }
    }

    fn lost(&self) {
        if let Some(hub) = self.0.upgrade() {
            hub.is_lost.store(true, SeqCst);
            hub.each(Link::lose);
        }
    }
}
