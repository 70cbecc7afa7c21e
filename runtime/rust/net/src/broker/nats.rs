//! NATS as a broker.
//!
//! The client library is asynchronous. It runs on a thread of its own, one per process, so that programs need no runtime.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::{pending, Future};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{
    Client, ClientError, ConnectOptions, Event, ServerError, StatusCode, Subject, Subscriber,
};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::sync::oneshot;

use super::exchange::{Exchange, Hub};
use super::options::ExchangeOptions;
use super::post::{ALL_WINDOWS, OVERHEAD};
use super::{Broker, Inbox};
use crate::stream::left;
use crate::sync::{lock, try_lock};
use crate::Error;

/// How long the client waits before another attempt to connect, at most: less than the time after which a process counts as gone.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long beginning or ending a subscription may take.
const SUBSCRIBING: Duration = Duration::from_secs(5);

/// How long a thread waits until what it has published is written.
const FLUSHING: Duration = Duration::from_millis(500);

/// For how long what the server has reported counts as the reason of a failure.
const RECENT: Duration = Duration::from_secs(5);

/// How long a thread sleeps while another one connects to the same server.
const PAUSE: Duration = Duration::from_millis(5);

/// The longest messages that a server has to accept, and those that are published at most.
const LEAST_PAYLOAD: usize = 8 << 10;
const MOST_PAYLOAD: usize = 1 << 20;

/// The runtime of all connections.
fn runtime() -> io::Result<&'static Handle> {
    static RUNTIME: OnceLock<Handle> = OnceLock::new();
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = RUNTIME.get() {
        return Ok(handle);
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let thread = thread::Builder::new().name("duologue-nats".to_owned());
    thread.spawn(move || runtime.block_on(pending::<()>()))?;
    Ok(RUNTIME.get_or_init(|| handle))
}

/// Runs a future on the runtime's thread, and waits for its result.
fn finish<T: Send + 'static>(
    runtime: &Handle,
    deadline: Instant,
    future: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let (done, result) = sync_channel(1);
    let task = runtime.spawn(async move {
        let _gone = done.send(future.await);
    });
    let left = left(deadline).unwrap_or(Duration::ZERO);
    result.recv_timeout(left).map_err(|_| {
        task.abort();
        io::ErrorKind::TimedOut.into()
    })
}

/// What the task that publishes has to do, in this order.
enum Outgoing {
    Message(Subject, Option<Subject>, Vec<u8>),
    /// Write everything, and say so.
    Flush(SyncSender<()>),
}

struct Nats {
    runtime: &'static Handle,
    client: Client,
    /// How many messages there can be is limited by the credit of all sessions, and by what is published before `is_connected`
    /// returns false.
    outgoing: UnboundedSender<Outgoing>,
    events: Arc<Events>,
    /// The longest message that the server accepts.
    largest: AtomicUsize,
    /// Whether a thread has waited until what it had published was written, and that was not the case in time.
    is_late: Arc<AtomicBool>,
}

/// What has to learn what happens to the connection.
#[derive(Default)]
struct Events {
    inboxes: Mutex<Vec<Weak<dyn Inbox>>>,
    /// What the server has last reported as not permitted, and when.
    denied: Mutex<Option<(Instant, String)>>,
}

impl Events {
    fn happened(&self, event: Event) {
        match event {
            // The client library stops after both.
            Event::Closed | Event::ClientError(ClientError::MaxReconnects) => {
                let inboxes = lock(&self.inboxes);
                let all: Vec<_> = inboxes.iter().filter_map(Weak::upgrade).collect();
                drop(inboxes);
                all.iter().for_each(|inbox| inbox.lost());
            }
            Event::ServerError(ServerError::Other(text))
                if text.starts_with("Permissions Violation") =>
            {
                *lock(&self.denied) = Some((Instant::now(), text));
            }
            Event::Connected
            | Event::Disconnected
            | Event::LameDuckMode
            | Event::Draining
            | Event::SlowConsumer(_)
            | Event::ServerError(_)
            | Event::ClientError(_) => {}
        }
    }
}

impl Nats {
    fn connect(server: &str, options: ConnectOptions, deadline: Instant) -> io::Result<Nats> {
        let runtime = runtime()?;
        let events: Arc<Events> = Arc::default();
        let listening = Arc::clone(&events);
        let options = options
            // No subscription has more messages than all sessions have credit for, so none is dropped.
            .subscription_capacity(ALL_WINDOWS / OVERHEAD)
            .reconnect_delay_callback(|attempts| {
                let doublings = attempts.min(6) as u32;
                (Duration::from_millis(10) * (1 << doublings)).min(LONGEST_PAUSE)
            })
            .event_callback(move |event| {
                listening.happened(event);
                async {}
            });
        let server = format!("nats://{server}");
        let connecting = finish(runtime, deadline, options.connect(server))?;
        let client = connecting.map_err(io::Error::other)?;
        let largest = client.server_info().max_payload;
        if largest < LEAST_PAYLOAD {
            return Err(io::Error::other(format!(
                "its longest message has {largest} bytes: set its `max_payload` to {LEAST_PAYLOAD} or more"
            )));
        }
        let is_late = Arc::new(AtomicBool::new(false));
        let is_in_time = Arc::clone(&is_late);
        let (outgoing, mut queue) = unbounded_channel::<Outgoing>();
        let publisher = client.clone();
        runtime.spawn(async move {
            while let Some(next) = queue.recv().await {
                // These fail only if the connection is closed for good.
                match next {
                    Outgoing::Message(subject, Some(reply), message) => {
                        let published =
                            publisher.publish_with_reply(subject, reply, message.into());
                        let _closed = published.await;
                    }
                    Outgoing::Message(subject, None, message) => {
                        let _closed = publisher.publish(subject, message.into()).await;
                    }
                    Outgoing::Flush(done) => {
                        let _closed = publisher.flush().await;
                        is_in_time.store(false, Relaxed);
                        let _gone = done.try_send(());
                    }
                }
            }
            // The exchange is gone. What it has published last is still sent.
            let _closed = publisher.flush().await;
        });
        Ok(Nats {
            runtime,
            client,
            outgoing,
            events,
            largest: AtomicUsize::new(largest),
            is_late,
        })
    }
}

/// A subscription, which ends when this is dropped. What arrives before the server has learned that is delivered if it comes in time; a
/// client whose hello does not try again with another server.
struct Subscription {
    _ends: oneshot::Sender<()>,
}

/// Delivers what arrives for a subscription, until `ended` says that it is no longer needed.
async fn deliver(
    mut messages: Subscriber,
    mut ended: oneshot::Receiver<()>,
    inbox: Arc<dyn Inbox>,
) {
    let mut is_ending = false;
    loop {
        let message = tokio::select! {
            biased;
            _ = &mut ended, if !is_ending => {
                is_ending = true;
                let _closed = messages.drain().await;
                continue;
            }
            message = messages.next() => message,
        };
        let Some(message) = message else { return };
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            inbox.unanswered(&message.subject);
        } else {
            inbox.arrived(&message.subject, message.reply.as_deref(), &message.payload);
        }
    }
}

impl Broker for Nats {
    fn publish(&self, subject: &str, reply: Option<&str>, message: Vec<u8>) {
        let message = Outgoing::Message(subject.into(), reply.map(Into::into), message);
        let _closed = self.outgoing.send(message);
    }

    fn subscribe(
        &self,
        subject: &str,
        group: Option<&str>,
        inbox: Arc<dyn Inbox>,
    ) -> io::Result<Box<dyn Any + Send + Sync>> {
        let (subject, group) = (subject.to_owned(), group.map(str::to_owned));
        let client = self.client.clone();
        let subscribing = finish(self.runtime, Instant::now() + SUBSCRIBING, async move {
            match group {
                Some(group) => client.queue_subscribe(subject, group).await,
                None => client.subscribe(subject).await,
            }
        })?;
        let messages = subscribing.map_err(io::Error::other)?;
        let mut inboxes = lock(&self.events.inboxes);
        inboxes.retain(|inbox| inbox.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        drop(inboxes);
        let (ends, ended) = oneshot::channel();
        self.runtime.spawn(deliver(messages, ended, inbox));
        Ok(Box::new(Subscription { _ends: ends }))
    }

    fn flush(&self) {
        let is_own_thread = Handle::try_current().is_ok_and(|it| it.id() == self.runtime.id());
        // If the server accepts nothing, only the first threads wait for it.
        if is_own_thread || self.is_late.load(Relaxed) || !self.is_connected() {
            return;
        }
        let (done, flushed) = sync_channel(1);
        let _closed = self.outgoing.send(Outgoing::Flush(done));
        if flushed.recv_timeout(FLUSHING).is_err() {
            self.is_late.store(true, Relaxed);
            // The flush may have ended just before. Nobody waits for this one, which takes the mark back.
            let (done, _) = sync_channel(1);
            let _closed = self.outgoing.send(Outgoing::Flush(done));
        }
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    fn denied(&self) -> Option<String> {
        let denied = lock(&self.events.denied);
        let (at, text) = denied.as_ref()?;
        (at.elapsed() < RECENT).then(|| text.clone())
    }

    fn max_message(&self) -> usize {
        self.largest.load(Relaxed).min(MOST_PAYLOAD)
    }
}

impl Exchange {
    /// Connects to a NATS server, `host:port`, with options of the client library: credentials, certificates, further servers. `nats://`
    /// addresses use the defaults. While the server is gone, the client tries to reach it again. Three options are replaced by others that
    /// sessions need: `event_callback`, `subscription_capacity` and `reconnect_delay_callback`.
    ///
    /// # Errors
    /// If the server cannot be reached, or rejects the connection.
    pub fn nats(
        server: &str,
        client: ConnectOptions,
        options: &ExchangeOptions,
    ) -> Result<Exchange, Error> {
        connect(server, client, options, Instant::now() + SUBSCRIBING, false)
    }
}

fn connect(
    server: &str,
    client: ConnectOptions,
    options: &ExchangeOptions,
    deadline: Instant,
    is_kept: bool,
) -> Result<Exchange, Error> {
    let broker = Nats::connect(server, client, deadline);
    let broker = broker.map_err(Error::io(format!("connect to nats://{server}")))?;
    Exchange::over_until(broker, options, deadline, is_kept)
}

/// The connection to one server. The lock is held while a thread connects, so that there is one connection, and connections to other
/// servers do not wait.
type Slot = Arc<Mutex<Weak<Hub>>>;

/// The connection of this process to a server, which all sessions with addresses of that server share.
pub(crate) fn shared(server: &str, deadline: Instant) -> Result<Exchange, Error> {
    static CONNECTIONS: Mutex<BTreeMap<String, Slot>> = Mutex::new(BTreeMap::new());
    let slot = {
        let mut connections = lock(&CONNECTIONS);
        // Others may have the slot of a connection that is being made.
        connections.retain(|_, slot| {
            let is_idle = Arc::strong_count(slot) == 1;
            !is_idle || lock(slot).strong_count() > 0
        });
        Arc::clone(connections.entry(server.to_owned()).or_default())
    };
    let mut known = loop {
        if let Some(known) = try_lock(&slot) {
            break known;
        }
        let left = left(deadline).ok_or(Error::TimedOut)?;
        thread::sleep(left.min(PAUSE));
    };
    if let Some(hub) = known.upgrade().filter(|hub| !hub.is_lost()) {
        return Ok(Exchange(hub));
    }
    let new = connect(
        server,
        ConnectOptions::new(),
        &ExchangeOptions::new(),
        deadline,
        true,
    )?;
    *known = Arc::downgrade(&new.0);
    Ok(new)
}
