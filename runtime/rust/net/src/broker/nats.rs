//! NATS as a broker.
//!
//! The client library is asynchronous. It runs on a thread of its own, one per process, so that programs need no runtime.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::{pending, Future};
use std::io;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, StatusCode, Subject, Subscriber};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::sync::oneshot;

use super::exchange::{Exchange, ExchangeOptions, Hub};
use super::post::{ALL_WINDOWS, OVERHEAD};
use super::{Broker, Inbox};
use crate::stream::left;
use crate::Error;

/// How long the client waits before another attempt to connect, at most: less than the time after which a process counts as gone.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How long beginning or ending a subscription may take.
const SUBSCRIBING: Duration = Duration::from_secs(5);

/// How long a thread waits until what it has published is written.
const FLUSHING: Duration = Duration::from_millis(500);

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
    /// How many messages there can be is limited by the credit of all sessions.
    outgoing: UnboundedSender<Outgoing>,
    inboxes: Arc<Mutex<Vec<Weak<dyn Inbox>>>>,
}

impl Nats {
    fn connect(server: &str, options: ConnectOptions, deadline: Instant) -> io::Result<Nats> {
        let runtime = runtime()?;
        let inboxes: Arc<Mutex<Vec<Weak<dyn Inbox>>>> = Arc::default();
        let listening = Arc::clone(&inboxes);
        let options = options
            // No subscription has more messages than all sessions have credit for, so none is dropped.
            .subscription_capacity(ALL_WINDOWS / OVERHEAD)
            .reconnect_delay_callback(|attempts| {
                let doublings = attempts.min(6) as u32;
                (Duration::from_millis(10) * (1 << doublings)).min(LONGEST_PAUSE)
            })
            .event_callback(move |event| {
                let closed = matches!(event, Event::Closed);
                let inboxes = Arc::clone(&listening);
                async move {
                    if closed {
                        let inboxes = inboxes.lock().unwrap_or_else(PoisonError::into_inner);
                        let all: Vec<_> = inboxes.iter().filter_map(Weak::upgrade).collect();
                        drop(inboxes);
                        all.iter().for_each(|inbox| inbox.lost());
                    }
                }
            });
        let server = format!("nats://{server}");
        let connecting = finish(runtime, deadline, options.connect(server))?;
        let client = connecting.map_err(io::Error::other)?;
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
            inboxes,
        })
    }
}

/// A subscription, which ends when this is dropped: what has arrived until then is still delivered.
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
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.retain(|inbox| inbox.strong_count() > 0);
        inboxes.push(Arc::downgrade(&inbox));
        drop(inboxes);
        let (ends, ended) = oneshot::channel();
        self.runtime.spawn(deliver(messages, ended, inbox));
        Ok(Box::new(Subscription { _ends: ends }))
    }

    fn flush(&self) {
        let is_own_thread = Handle::try_current().is_ok_and(|it| it.id() == self.runtime.id());
        let (done, flushed) = sync_channel(1);
        if !is_own_thread && self.client.connection_state() == State::Connected {
            let _closed = self.outgoing.send(Outgoing::Flush(done));
            let _late = flushed.recv_timeout(FLUSHING);
        }
    }

    fn max_message(&self) -> usize {
        self.client
            .server_info()
            .max_payload
            .clamp(8 << 10, 1 << 20)
    }
}

impl Exchange {
    /// Connects to a NATS server, `host:port`, with options of the client library: credentials, certificates, further servers. `nats://`
    /// addresses use the defaults. While the server is gone, the client tries to reach it again.
    ///
    /// # Errors
    /// If the server cannot be reached, or rejects the connection.
    pub fn nats(
        server: &str,
        client: ConnectOptions,
        options: &ExchangeOptions,
    ) -> Result<Exchange, Error> {
        connect(server, client, options, Instant::now() + SUBSCRIBING)
    }
}

fn connect(
    server: &str,
    client: ConnectOptions,
    options: &ExchangeOptions,
    deadline: Instant,
) -> Result<Exchange, Error> {
    let broker = Nats::connect(server, client, deadline);
    let broker = broker.map_err(Error::io(format!("connect to nats://{server}")))?;
    Exchange::over(broker, options)
}

/// The connection of this process to a server, which all sessions with addresses of that server share.
pub(crate) fn shared(server: &str, deadline: Instant) -> Result<Exchange, Error> {
    static CONNECTIONS: Mutex<BTreeMap<String, Weak<Hub>>> = Mutex::new(BTreeMap::new());
    let mut connections = CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    connections.retain(|_, hub| hub.strong_count() > 0);
    if let Some(hub) = connections.get(server).and_then(Weak::upgrade) {
        if !hub.is_lost() {
            return Ok(Exchange(hub));
        }
    }
    let new = connect(
        server,
        ConnectOptions::new(),
        &ExchangeOptions::new(),
        deadline,
    )?;
    connections.insert(server.to_owned(), Arc::downgrade(&new.0));
    Ok(new)
}
