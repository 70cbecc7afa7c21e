//! The spans of sessions over sockets and within a process, with the features `tracing`.

use conversations::LONG;
use conversations::observing::{accepted, serve, shop};
use conversations::protocols::bank::{self, client};
use conversations::sockets::listener;
use duologue_net::Connector;
use duologue_net::observe::{Observer, Spans};
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

/// Counts spans and events.
#[derive(Default)]
struct Counted {
    /// For each span: its fields, in the order in which they are recorded.
    spans: Mutex<Vec<String>>,
    /// For each event: its span and its fields.
    events: Mutex<Vec<(Option<u64>, String)>>,
    /// How many handles of spans there are.
    open: AtomicU64,
}

struct Fields<'t>(&'t mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _infallible = write!(self.0, "{field}={value:?} ");
    }
}

/// A subscriber of nothing but the runtimes.
struct Counting(Arc<Counted>);

impl Subscriber for Counting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("duologue")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.0.open.fetch_add(1, SeqCst);
        let mut text = format!("{} ", attributes.metadata().name());
        attributes.record(&mut Fields(&mut text));
        let mut spans = self.0.spans.lock().expect("nobody panics here");
        spans.push(text);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.0.spans.lock().expect("nobody panics here");
        values.record(&mut Fields(&mut spans[span.into_u64() as usize - 1]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = format!("{} ", event.metadata().level());
        event.record(&mut Fields(&mut text));
        let mut events = self.0.events.lock().expect("nobody panics here");
        events.push((event.parent().map(Id::into_u64), text));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        self.0.open.fetch_add(1, SeqCst);
        id.clone()
    }

    fn try_close(&self, _: Id) -> bool {
        self.0.open.fetch_sub(1, SeqCst);
        false
    }
}

/// In a process of its own, because that has one subscriber.
#[test]
fn a_session_has_one_span() {
    crate::alone!(alone_a_session_has_one_span);
}

fn alone_a_session_has_one_span() {
    let counted = Arc::new(Counted::default());
    tracing::subscriber::set_global_default(Counting(Arc::clone(&counted)))
        .expect("no other test has one");
    let (mut listener, address) = listener("observe-spans");
    let observing: Arc<dyn Observer> = Arc::new(Spans::new());
    listener.observer(Arc::clone(&observing));
    let (server, client) = accepted(&mut listener, &address, &observing);
    let serving = thread::spawn(move || serve(server));
    shop(client).expect("it is open");
    (serving.join().expect("it does not panic")).expect("it is open");
    drop(listener);
    let nobody = Connector::new().observer(observing);
    assert!(nobody.connect::<client::Login>(&address).is_err());

    // Another thread may be about to report the end.
    let began = Instant::now();
    while counted.open.load(SeqCst) > 0 {
        assert!(began.elapsed() < LONG, "a span is not closed");
        thread::sleep(Duration::from_millis(1));
    }
    let spans = counted.spans.lock().expect("nobody panics here").clone();
    assert_eq!(spans.len(), 2, "one for each side: {spans:?}");
    for span in &spans {
        assert!(span.starts_with("session id="), "{span}");
        assert!(span.contains("protocol=\"bank\""), "{span}");
        assert!(span.contains("why=\"Left\" "), "{span}");
        assert!(!span.contains("state="), "{span}");
    }
    let is_client = |span: &&String| span.contains("accepted=false");
    let client = spans.iter().find(is_client).expect("it is observed");
    let server = spans
        .iter()
        .find(|span| !is_client(span))
        .expect("it is observed");
    let counts = "sent=6 sent_bytes=49 received=2 received_bytes=10 ";
    assert!(client.ends_with(counts), "{client}");
    let counts = "sent=2 sent_bytes=10 received=6 received_bytes=49 ";
    assert!(server.ends_with(counts), "{server}");
    let events = counted.events.lock().expect("nobody panics here").clone();
    for span in [1, 2] {
        let of = |level: &str| {
            let is_it =
                |(of, text): &&(Option<u64>, String)| *of == Some(span) && text.starts_with(level);
            events.iter().filter(is_it).count()
        };
        assert_eq!(
            (of("DEBUG"), of("INFO"), of("WARN")),
            (5, 1, 0),
            "{events:?}"
        );
    }
    let (span, refused) = events.last().expect("something is refused");
    assert_eq!((*span, events.len()), (None, 13));
    assert!(refused.starts_with("WARN message=no session"), "{refused}");
    assert!(refused.contains("could not connect"), "{refused}");
    within_a_process(&counted);
}

/// A session within the process has one span for both sides, with an event for each message.
fn within_a_process(counted: &Counted) {
    counted.events.lock().expect("nobody panics here").clear();
    let spans = Arc::new(duologue::observe::Spans::new());
    let (server, client) = duologue::observed(bank::init(), spans);
    let serving = thread::spawn(move || serve(server));
    shop(client).expect("it is open");
    (serving.join().expect("it does not panic")).expect("it is open");
    assert_eq!(counted.open.load(SeqCst), 0);
    let spans = counted.spans.lock().expect("nobody panics here").clone();
    let [.., span] = &spans[..] else {
        panic!("no span")
    };
    assert_eq!(spans.len(), 3, "one for both sides: {spans:?}");
    assert!(
        span.starts_with("session id=1 protocol=\"bank\" "),
        "{span}"
    );
    assert!(
        span.ends_with("sent_by_client=6 sent_by_server=2 "),
        "{span}"
    );
    assert!(!span.contains("left="), "{span}");
    let events = counted.events.lock().expect("nobody panics here").clone();
    assert!(events.iter().all(|(of, _)| *of == Some(3)), "{events:?}");
    let of = |level: &str| {
        let events = events.iter().map(|(_, text)| text.as_str());
        events
            .filter(|text| text.starts_with(level))
            .collect::<Vec<_>>()
    };
    assert_eq!((of("TRACE").len(), of("DEBUG").len()), (8, 5), "{events:?}");
    let deposit = "TRACE state=\"bank.connected\" message=\"deposit\" sender=\"client\" ";
    assert!(of("TRACE").contains(&deposit), "{events:?}");
    let [end] = of("INFO")[..] else {
        panic!("one end: {events:?}")
    };
    assert!(end.starts_with("INFO message=ended "), "{end}");
}
