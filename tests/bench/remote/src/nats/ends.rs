//! Two connections to the server for each way to use it: the customer's, and the bank's.

use crate::server::address;
use async_nats::{Client, ConnectOptions, Subscriber};
use duologue_net::broker::{Exchange, ExchangeOptions};
use duologue_net::{Connector, Error, Listener, Open};
use futures_util::StreamExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The other side stays.
pub const OPEN: &str = "the other side stays to the end";

/// How long a session may take to begin, and a message to arrive, on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

/// How many messages a subscription of the library keeps: more than a slice has.
const CAPACITY: usize = 1 << 20;

/// The runtime of the library's connections. It has one thread, as the one of `duologue-net` has.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build();
        runtime.expect("threads can be started")
    })
}

/// The library's connections. They are first asked for outside of its runtime.
pub fn clients() -> &'static [Client; 2] {
    static CLIENTS: OnceLock<[Client; 2]> = OnceLock::new();
    CLIENTS.get_or_init(|| {
        [(), ()].map(|()| {
            let options = ConnectOptions::new().subscription_capacity(CAPACITY);
            let connecting = options.connect(address());
            runtime().block_on(connecting).expect("the server is there")
        })
    })
}

/// A subject that nothing has used before: the server may still know subscriptions of the last slice. It is as long as the address of a
/// side of a session.
pub fn new_subject() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("duo.at.{:0>65}", LAST.fetch_add(1, Relaxed))
}

/// Subscribes, and waits until the server knows it: until a message of the same connection has arrived that was published later.
pub async fn subscribe(client: &Client, subject: &str) -> Subscriber {
    let subscribed = async |subject: String| {
        let subscriber = client.subscribe(subject).await;
        subscriber.expect("the server accepts it")
    };
    let subscriber = subscribed(subject.to_owned()).await;
    let own = new_subject();
    let mut echo = subscribed(own.clone()).await;
    let published = client.publish(own, Vec::new().into()).await;
    published.expect(OPEN);
    echo.next().await.expect(OPEN);
    subscriber
}

/// Begins a session, whose sides have a connection each.
pub fn open<C: Open + Send, S: Open + Send>() -> (C, S) {
    static ENDS: OnceLock<(Exchange, Mutex<Listener>)> = OnceLock::new();
    let (customer, listener) = ENDS.get_or_init(|| {
        let exchange = || {
            let options = ExchangeOptions::new();
            let exchange = Exchange::nats(address(), ConnectOptions::new(), &options);
            exchange.expect("the server is there")
        };
        let listener = Listener::bind_through(&exchange(), "bench");
        (exchange(), Mutex::new(listener.expect("it subscribes")))
    });
    thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            let mut listener = listener.lock().expect("no thread has panicked");
            listener.accept().expect("the client connects")
        });
        let client = connect(customer).expect("the listener accepts");
        (client, accepting.join().expect("accepting does not panic"))
    })
}

/// Connects. The first attempts fail while the listener has not subscribed to the protocol.
fn connect<C: Open>(exchange: &Exchange) -> Result<C, Error> {
    let deadline = Instant::now() + LONG;
    loop {
        match Connector::new().connect_through(exchange, "bench") {
            Err(_) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            connected => return connected,
        }
    }
}
