//! A process at a broker: its sessions, and the processes at their other ends.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::link::{BrokerStream, Link, Peer};
use super::packet::{Kind, Packet};
use super::post::{self, Post};
use super::{Broker, Inbox};
use crate::stream::left;
use crate::{Error, Fingerprint};

/// The token to which heartbeats go.
const ALIVE: &str = "alive";

/// A process whose last messages are older than this many heartbeats is gone.
const MISSED: u32 = 3;

/// How long the broker may take to deliver a message of this process to itself.
const ECHO: Duration = Duration::from_secs(5);

/// How a process takes part in sessions over a broker.
#[derive(Clone, Debug)]
pub struct ExchangeOptions {
    heartbeat: Duration,
    prefix: Option<String>,
}

impl Default for ExchangeOptions {
    fn default() -> ExchangeOptions {
        ExchangeOptions::new()
    }
}

impl ExchangeOptions {
    /// The defaults: a heartbeat of 2 seconds.
    #[must_use]
    pub fn new() -> ExchangeOptions {
        ExchangeOptions {
            heartbeat: Duration::from_secs(2),
            prefix: None,
        }
    }

    /// How often this process notifies the others that it is there, and asks what has arrived. A process from which nothing arrives
    /// for four times as long is gone. All processes need the same value.
    #[must_use]
    pub fn heartbeat(mut self, every: Duration) -> ExchangeOptions {
        self.heartbeat = every.max(Duration::from_millis(1));
        self
    }

    /// What the subjects of this process begin with, after `duo.at.`: tokens of letters, digits, `-` and `_`, separated by dots. With a
    /// prefix for each user, a broker can deny users each other's messages.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> ExchangeOptions {
        self.prefix = Some(prefix.into());
        self
    }
}

/// A process at a broker. Clones are the same. The connection is closed when the last one and all sessions are gone.
#[derive(Clone)]
pub struct Exchange(pub(super) Arc<Hub>);

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exchange({})", self.0.post.process)
    }
}

pub(super) struct Hub {
    post: Arc<Post>,
    table: Mutex<Table>,
    /// Where messages of this process to itself are awaited.
    echoes: Mutex<BTreeMap<String, SyncSender<()>>>,
    subscription: OnceLock<Box<dyn Any + Send + Sync>>,
    /// Whether the broker delivers nothing more.
    is_lost: AtomicBool,
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
        let failed = Error::io("take part in sessions over a broker");
        let random = post::random().map_err(failed)?;
        let process = match &options.prefix {
            Some(prefix) if !post::is_name(prefix) || prefix.len() > 128 => {
                return Err(Error::Address {
                    text: prefix.clone(),
                    problem: "a prefix has only tokens of letters, digits, `-` and `_`, separated by dots",
                });
            }
            Some(prefix) => format!("{prefix}.{random}"),
            None => random,
        };
        let hub = Arc::new(Hub {
            post: Arc::new(Post::new(Box::new(broker), process)),
            table: Mutex::default(),
            echoes: Mutex::default(),
            subscription: OnceLock::new(),
            is_lost: AtomicBool::new(false),
        });
        let failed = Error::io("subscribe to the messages for this process");
        let all = post::address(&hub.post.process, "*");
        let inbox = Arc::new(Arrivals(Arc::downgrade(&hub)));
        let subscribed = hub.post.broker.subscribe(&all, None, inbox);
        let _empty = hub.subscription.set(subscribed.map_err(failed)?);
        hub.settle(ECHO)?;
        let (ticking, every) = (Arc::downgrade(&hub), options.heartbeat);
        let thread = thread::Builder::new().name("duologue-broker".to_owned());
        let started = thread.spawn(move || loop {
            thread::sleep(every);
            let Some(hub) = ticking.upgrade() else { return };
            hub.tick();
        });
        started.map_err(Error::io("start the thread for heartbeats"))?;
        Ok(Exchange(hub))
    }
}

impl Hub {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to messages that begin sessions, and waits until the broker knows that.
    pub(super) fn listen(
        &self,
        subject: &str,
        inbox: Arc<dyn Inbox>,
    ) -> Result<Box<dyn Any + Send + Sync>, Error> {
        let subscribed = self.post.broker.subscribe(subject, Some("duo"), inbox);
        let subscribed = subscribed.map_err(Error::io(format!("subscribe to {subject}")))?;
        self.settle(ECHO)?;
        Ok(subscribed)
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
        name: &str,
        fingerprint: Fingerprint,
    ) -> Result<BrokerStream, Error> {
        let failed = |problem: &str| {
            Error::io("begin a session over a broker")(io::Error::other(problem.to_owned()))
        };
        if self.is_lost.load(SeqCst) {
            return Err(failed("the connection to the broker is closed"));
        }
        let window = self.post.window();
        let window = window.ok_or_else(|| failed("this process has too many sessions"))?;
        let token = post::random().map_err(Error::io("begin a session over a broker"))?;
        let address = post::address(&self.post.process, &token);
        let subject = format!("duo.{name}.{fingerprint}");
        let link = Arc::new(Link::open(&self.post, address, window, subject));
        let entry = Entry {
            link: Arc::clone(&link),
            opener: None,
        };
        self.table().links.insert(token, entry);
        Ok(BrokerStream::of(link, Arc::clone(self) as _))
    }

    /// Accepts a session that a message begins. `None` if no correct peer has sent it, or if there are too many sessions.
    pub(super) fn accept(
        self: &Arc<Hub>,
        from: Option<&str>,
        message: &[u8],
    ) -> Option<BrokerStream> {
        let packet = Packet::decode(message).filter(|packet| packet.kind == Kind::Open)?;
        let from = from?;
        let (process, _) = post::parts(from)?;
        let window = self.post.window()?;
        let token = post::random().ok()?;
        let address = post::address(&self.post.process, &token);
        let mut table = self.table();
        // The broker has delivered it twice.
        if !table.openers.insert(from.to_owned()) {
            return None;
        }
        let peer = table.peer(process);
        let link = Link::accept(&self.post, address, window, from, peer, &packet);
        let Some(link) = link.map(Arc::new) else {
            table.openers.remove(from);
            return None;
        };
        let entry = Entry {
            link: Arc::clone(&link),
            opener: Some(from.to_owned()),
        };
        table.links.insert(token, entry);
        drop(table);
        Some(BrokerStream::of(link, Arc::clone(self) as _))
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
        if let Some(from) = from.filter(|from| expects && post::parts(from).is_some()) {
            self.post
                .publish(from, None, &Packet::plain(Kind::Gone, &[]));
        }
    }

    fn tick(&self) {
        let (links, peers) = {
            let mut table = self.table();
            table.peers.retain(|_, peer| peer.strong_count() > 0);
            let peers: Vec<_> = table.peers.values().filter_map(Weak::upgrade).collect();
            let links = table.links.iter();
            let links = links.map(|(token, entry)| (token.clone(), Arc::clone(&entry.link)));
            (links.collect::<Vec<_>>(), peers)
        };
        for peer in &peers {
            peer.missed.fetch_add(1, SeqCst);
            let packet = Packet::plain(Kind::Alive, self.post.process.as_bytes());
            self.post
                .publish(&post::address(&peer.process, ALIVE), None, &packet);
        }
        for (token, link) in links {
            if !link.tick(|peer| peer.missed.load(SeqCst) > MISSED) {
                self.table().remove(&token);
            }
        }
    }

    /// Whether the broker delivers nothing more.
    #[cfg(feature = "nats")]
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(SeqCst)
    }

    fn each(&self, act: impl Fn(&Link)) {
        let table = self.table();
        let links: Vec<_> = table
            .links
            .values()
            .map(|entry| Arc::clone(&entry.link))
            .collect();
        drop(table);
        links.iter().for_each(|link| act(link));
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
