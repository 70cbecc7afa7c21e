//! A broker in memory, with faults on command.

use duologue_net::broker::{Broker, Inbox};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What goes wrong, each in messages per thousand.
#[derive(Clone, Copy, Default, Debug)]
pub struct Faults {
    /// These are lost.
    pub lost: u64,
    /// These are delivered twice.
    pub repeated: u64,
    /// These are delivered after the next message.
    pub swapped: u64,
    /// These, and what follows, are delivered a few milliseconds later.
    pub delayed: u64,
}

/// What has been done to messages.
#[derive(Clone, Copy, Default, Debug)]
pub struct Done {
    /// Messages that were published.
    pub published: u64,
    /// Their bytes.
    pub bytes: usize,
    /// Messages that were lost.
    pub lost: u64,
    /// Messages that were delivered twice.
    pub repeated: u64,
    /// Messages that were delivered after the next one.
    pub swapped: u64,
}

struct Message {
    subject: String,
    reply: Option<String>,
    bytes: Vec<u8>,
}

struct Subscription {
    subject: String,
    group: Option<String>,
    inbox: Arc<dyn Inbox>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Message>,
    subscriptions: BTreeMap<u64, Subscription>,
    last: u64,
    faults: Faults,
    random: u64,
    done: Done,
    denied: Option<String>,
    is_away: bool,
    is_stopped: bool,
}

impl State {
    /// Whether something with this probability, in thousandths, happens (xorshift).
    fn happens(&mut self, probability: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 1_000 < probability
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The broker. Each clone is a connection to it.
#[derive(Clone)]
pub struct Memory(Arc<Running>);

struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state().is_stopped = true;
        self.0.changed.notify_all();
    }
}

impl Memory {
    /// Starts a broker without faults. Those that are set later depend on the seed.
    pub fn start(seed: u64) -> Memory {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        let delivering = Arc::clone(&shared);
        thread::spawn(move || deliver(&delivering));
        Memory(Arc::new(Running(shared)))
    }

    /// What goes wrong from now on.
    pub fn set(&self, faults: Faults) {
        self.0.0.state().faults = faults;
    }

    /// Whether it says of itself that it cannot be reached.
    pub fn set_away(&self, is_away: bool) {
        self.0.0.state().is_away = is_away;
    }

    /// What it does not permit.
    pub fn deny(&self, text: &str) {
        self.0.0.state().denied = Some(text.to_owned());
    }

    /// Reports to all that it delivers nothing more.
    pub fn close(&self) {
        let state = self.0.0.state();
        let all: Vec<_> = state.subscriptions.values().collect();
        let all: Vec<_> = all.iter().map(|it| Arc::clone(&it.inbox)).collect();
        drop(state);
        all.iter().for_each(|inbox| inbox.lost());
    }

    /// What has been done so far.
    pub fn done(&self) -> Done {
        self.0.0.state().done
    }
}

fn deliver(shared: &Shared) {
    loop {
        let mut state = shared.state();
        while state.queue.is_empty() && !state.is_stopped {
            state = shared
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let Some(message) = state.queue.pop_front() else {
            return;
        };
        let faults = state.faults;
        if state.happens(faults.delayed) {
            drop(state);
            thread::sleep(Duration::from_millis(2));
            state = shared.state();
        }
        if state.happens(faults.lost) {
            state.done.lost += 1;
            continue;
        }
        let mut messages = vec![message];
        if state.happens(faults.repeated) {
            state.done.repeated += 1;
            let first = &messages[0];
            let again = Message {
                subject: first.subject.clone(),
                reply: first.reply.clone(),
                bytes: first.bytes.clone(),
            };
            messages.push(again);
        } else if state.happens(faults.swapped)
            && let Some(next) = state.queue.pop_front()
        {
            state.done.swapped += 1;
            messages.insert(0, next);
        }
        let found = messages.into_iter().map(|message| {
            let to = receivers(&state, &message.subject);
            (message, to)
        });
        let found: Vec<_> = found.collect();
        drop(state);
        for (message, to) in found {
            match &message.reply {
                Some(reply) if to.is_empty() => {
                    // The lock is released first: an inbox may publish.
                    let to = receivers(&shared.state(), reply);
                    for inbox in to {
                        inbox.unanswered(reply);
                    }
                }
                Some(_) | None => {
                    for inbox in to {
                        let reply = message.reply.as_deref();
                        inbox.arrived(&message.subject, reply, &message.bytes);
                    }
                }
            }
        }
    }
}

/// What gets a message: every subscription without a group, and one of each group.
fn receivers(state: &State, subject: &str) -> Vec<Arc<dyn Inbox>> {
    let matches = |pattern: &str| {
        let (mut patterns, mut tokens) = (pattern.split('.'), subject.split('.'));
        let all_fit = patterns.by_ref().all(|pattern| {
            let token = tokens.next();
            token.is_some_and(|token| pattern == "*" || pattern == token)
        });
        all_fit && tokens.next().is_none()
    };
    let mut groups: BTreeMap<&str, Vec<&Subscription>> = BTreeMap::new();
    let mut found = Vec::new();
    for subscription in state.subscriptions.values() {
        if !matches(&subscription.subject) {
            continue;
        }
        match &subscription.group {
            Some(group) => groups.entry(group).or_default().push(subscription),
            None => found.push(Arc::clone(&subscription.inbox)),
        }
    }
    for members in groups.values() {
        let at = (state.random % members.len() as u64) as usize;
        found.push(Arc::clone(&members[at].inbox));
    }
    found
}

struct Subscribed(Arc<Shared>, u64);

impl Drop for Subscribed {
    fn drop(&mut self) {
        let removed = self.0.state().subscriptions.remove(&self.1);
        drop(removed);
    }
}

impl Broker for Memory {
    fn publish(&self, subject: &str, reply: Option<&str>, message: Vec<u8>) {
        let mut state = self.0.0.state();
        state.done.published += 1;
        state.done.bytes += message.len();
        state.queue.push_back(Message {
            subject: subject.to_owned(),
            reply: reply.map(str::to_owned),
            bytes: message,
        });
        drop(state);
        self.0.0.changed.notify_one();
    }

    fn subscribe(
        &self,
        subject: &str,
        group: Option<&str>,
        inbox: Arc<dyn Inbox>,
    ) -> io::Result<Box<dyn Any + Send + Sync>> {
        let mut state = self.0.0.state();
        state.last += 1;
        let number = state.last;
        let subscription = Subscription {
            subject: subject.to_owned(),
            group: group.map(str::to_owned),
            inbox,
        };
        state.subscriptions.insert(number, subscription);
        Ok(Box::new(Subscribed(Arc::clone(&self.0.0), number)))
    }

    fn is_connected(&self) -> bool {
        !self.0.0.state().is_away
    }

    fn denied(&self) -> Option<String> {
        self.0.0.state().denied.clone()
    }

    /// The least that a broker may allow, so that long messages have parts.
    fn max_message(&self) -> usize {
        8 << 10
    }
}

/// Waits until something holds, at most for a time that is longer than anything takes on a busy machine.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "not in time: {what}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}
