//! What is counted of sessions over sockets, with the feature `metrics`.

use conversations::LONG;
use conversations::observing::{accepted, observer, serve, shop};
use conversations::protocols::bank::client;
use conversations::protocols::{numbers, pingpong};
use conversations::sockets::listener;
use duologue_net::Connector;
use duologue_net::observe::{Metrics, Observer};
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What was recorded, by name and labels.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>);

impl Recorded {
    fn at(&self, key: &Key) -> Arc<AtomicU64> {
        let labels: Vec<&str> = key.labels().map(metrics::Label::value).collect();
        let name = format!("{} {}", key.name(), labels.join(" "));
        let mut all = self.0.lock().expect("nobody panics here");
        Arc::clone(all.entry(name).or_default())
    }

    fn values(&self) -> Vec<(String, u64)> {
        let all = self.0.lock().expect("nobody panics here");
        let value = |(name, value): (&String, &Arc<AtomicU64>)| (name.clone(), value.load(SeqCst));
        all.iter().map(value).collect()
    }
}

/// Counts what is recorded.
struct Records(Arc<AtomicU64>);

impl HistogramFn for Records {
    fn record(&self, _: f64) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.at(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.at(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(Records(self.at(key))))
    }
}

/// In a process of its own, because that has one recorder.
#[test]
fn sessions_are_counted() {
    crate::alone!(alone_sessions_are_counted);
}

fn alone_sessions_are_counted() {
    let recorded = Recorded::default();
    assert!(metrics::set_global_recorder(recorded.clone()).is_ok());
    let (mut listener, address) = listener("observe-metrics");
    let (telling, told) = observer();
    // Two observers at once.
    let observing: Arc<dyn Observer> = Arc::new((Metrics::new(), telling));
    listener.observer(Arc::clone(&observing));
    let (server, client) = accepted(&mut listener, &address, &observing);
    let serving = thread::spawn(move || serve(server));
    shop(client).expect("it is open");
    (serving.join().expect("it does not panic")).expect("it is open");
    // A run that does not end.
    let (server, client): (numbers::server::Stream, numbers::client::Stream) =
        accepted(&mut listener, &address, &observing);
    drop(client.send(1).expect("it is open"));
    assert!(server.recv().map(drop).is_ok());
    drop(listener);
    let nobody = Connector::new().observer(observing);
    assert!(nobody.connect::<client::Login>(&address).is_err());
    assert!(nobody.connect::<pingpong::client::Ping>("nowhere").is_err());

    let expected = [
        ("duologue_bytes bank received", 59),
        ("duologue_bytes bank sent", 59),
        ("duologue_bytes numbers received", 9),
        ("duologue_bytes numbers sent", 9),
        ("duologue_ended bank Left", 2),
        ("duologue_ended numbers Left", 2),
        ("duologue_messages bank received", 8),
        ("duologue_messages bank sent", 8),
        ("duologue_messages numbers received", 1),
        ("duologue_messages numbers sent", 1),
        ("duologue_refused connecting Error", 2),
        ("duologue_sessions bank", 0),
        ("duologue_sessions numbers", 0),
        ("duologue_state_seconds bank bank.connected", 4),
        ("duologue_state_seconds bank bank.login", 2),
        ("duologue_state_seconds bank bank.login_response", 2),
        ("duologue_state_seconds bank bank.withdrawal_response", 2),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    // Another thread may be about to report an end.
    let began = Instant::now();
    while recorded.values() != expected && began.elapsed() < LONG {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(recorded.values(), expected);
    assert_eq!(told.began().protocol, "bank");
}
