//! Service discovery of NATS: a listener that is discoverable answers the requests of `nats micro`, whose format is that of
//! [ADR-32](https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-32.md).

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::endpoint::{quoted, Endpoint};
use super::exchange::{Hub, ECHO};
use super::post::{self, Post};
use super::{Inbox, Subscription};
use crate::sync::lock;
use crate::Error;

/// What can be requested, and the name of the answer.
const VERBS: [(&str, &str); 3] = [
    ("PING", "ping_response"),
    ("INFO", "info_response"),
    ("STATS", "stats_response"),
];

/// How many requests are answered in a second. Others are ignored, because each answer takes memory until it is on its way.
const MOST_ANSWERS: u32 = 100;

/// No reply subject is longer.
const LONGEST_REPLY: usize = 256;

/// More than what goes between endpoints and after the last one.
const REST: usize = 64;

/// The last second of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// A listener as a service.
pub(super) struct Service {
    post: Arc<Post>,
    /// The name of the servers.
    servers: String,
    /// The same, in the form that the name of a service has.
    name: String,
    /// Random, but not the name of the process, which only its peers know.
    id: String,
    started: String,
    endpoints: Mutex<Vec<Arc<Endpoint>>>,
    /// When the last second began in which there were requests, and how many were answered in it.
    answered: Mutex<(Instant, u32)>,
    is_over: AtomicBool,
}

impl Service {
    pub(super) fn new(post: &Arc<Post>, servers: &str) -> Result<Service, Error> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(Service {
            post: Arc::clone(post),
            servers: servers.to_owned(),
            name: servers.replace('.', "_"),
            id: post::random().map_err(Error::io("listen"))?,
            started: timestamp(now.unwrap_or_default()),
            endpoints: Mutex::default(),
            answered: Mutex::new((Instant::now(), 0)),
            is_over: AtomicBool::new(false),
        })
    }

    pub(super) fn add(&self, endpoint: &Arc<Endpoint>) {
        lock(&self.endpoints).push(Arc::clone(endpoint));
    }

    /// Begins to answer, and waits until the broker knows that.
    pub(super) fn announce(self: &Arc<Service>, hub: &Hub) -> Result<Vec<Subscription>, Error> {
        let (name, id) = (&self.name, &self.id);
        let subjects = [
            "$SRV.*".to_owned(),
            format!("$SRV.*.{name}"),
            format!("$SRV.*.{name}.{id}"),
        ];
        let inbox: Arc<dyn Inbox> = Arc::new(Requests(Arc::downgrade(self)));
        let subscribed = subjects
            .iter()
            .map(|subject| hub.join(subject, None, Arc::clone(&inbox)));
        let subscribed = subscribed.collect::<Result<Vec<_>, _>>()?;
        hub.settle(ECHO)?;
        match subjects.iter().find_map(|subject| hub.denied(subject)) {
            Some(denied) => Err(denied),
            None => Ok(subscribed),
        }
    }

    /// Answers nothing more, even if the broker still delivers requests.
    pub(super) fn end(&self) {
        self.is_over.store(true, SeqCst);
    }

    /// Whether one more request may be answered in this second.
    fn may_answer(&self) -> bool {
        if self.is_over.load(SeqCst) || !self.post.broker.is_connected() {
            return false;
        }
        let mut answered = lock(&self.answered);
        if answered.0.elapsed() >= Duration::from_secs(1) {
            *answered = (Instant::now(), 0);
        }
        answered.1 += u32::from(answered.1 < MOST_ANSWERS + 1);
        answered.1 <= MOST_ANSWERS
    }

    fn answer(&self, verb: &str, answer: &str) -> String {
        let mut text = format!(
            "{{\"type\":\"io.nats.micro.v1.{answer}\",\"name\":{},\"id\":\"{}\",\"version\":\"{}\",\
             \"metadata\":{{\"language\":\"rust\",\"servers\":{}}}",
            quoted(&self.name),
            self.id,
            env!("CARGO_PKG_VERSION"),
            quoted(&self.servers)
        );
        match verb {
            "INFO" => text += ",\"description\":\"Sessions of Duologue\"",
            "STATS" => text += &format!(",\"started\":\"{}\"", self.started),
            _ => return text + "}",
        }
        text += ",\"endpoints\":[";
        let longest = self.post.broker.max_message();
        let endpoints = lock(&self.endpoints).clone();
        for (at, endpoint) in endpoints.iter().enumerate() {
            let next = endpoint.write(verb == "STATS");
            // The broker accepts no longer message.
            if text.len() + next.len() + REST > longest {
                break;
            }
            if at > 0 {
                text.push(',');
            }
            text += &next;
        }
        text + "]}"
    }
}

/// Takes the requests. It keeps neither the service nor the connection.
struct Requests(Weak<Service>);

impl Inbox for Requests {
    fn arrived(&self, subject: &str, reply: Option<&str>, _: &[u8]) {
        let verb = subject.strip_prefix("$SRV.").unwrap_or_default();
        let verb = verb.split('.').next().unwrap_or_default();
        let found = VERBS.iter().find(|(known, _)| *known == verb);
        let reply = reply.filter(|reply| may_be_answered(reply));
        let service = self.0.upgrade();
        if let (Some((verb, answer)), Some(reply), Some(service)) = (found, reply, service) {
            if service.may_answer() {
                let answer = service.answer(verb, answer).into_bytes();
                service.post.broker.publish(reply, None, answer);
            }
        }
    }

    fn unanswered(&self, _: &str) {}

    fn lost(&self) {}
}

/// Whether an answer may be published to this subject, which any program can have chosen: it is one subject, and neither for a session nor for
/// the broker itself.
fn may_be_answered(reply: &str) -> bool {
    let is_token = |token: &str| {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'*' && byte != b'>';
        !token.is_empty() && token.bytes().all(is_plain)
    };
    let is_reserved = reply.starts_with('$') || reply == "duo" || reply.starts_with("duo.");
    reply.len() <= LONGEST_REPLY && !is_reserved && reply.split('.').all(is_token)
}

/// A time since the beginning of 1970 in the form of RFC 3339.
fn timestamp(since: Duration) -> String {
    let seconds = since.as_secs().min(LAST_SECOND);
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let day = days + 1;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{may_be_answered, timestamp};

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds| timestamp(Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(at(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(at(u64::MAX), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn answers_go_only_where_no_session_is() {
        for reply in ["_INBOX.a.b", "holk", "duologue.x", "a.$b"] {
            assert!(may_be_answered(reply), "{reply}");
        }
        for reply in [
            "",
            "duo",
            "duo.at.x.y",
            "duo.bank.f",
            "$SRV.PING",
            "$SYS.x",
            "a.*",
            "a.>",
            "a..b",
            "a.",
            "a b",
            "a\r\nPUB x",
            "é",
            &"a".repeat(257),
        ] {
            assert!(!may_be_answered(reply), "{reply}");
        }
    }
}
