//! Attacks with the messages of a broker: what is published, and what the other side does about it.

use super::attack_session::{Judgment, Session};
use super::attack_target::Target;
use super::nats_socket::{NatsSocket, State, random};
use super::socket::{Socket, write_all};
use duologue::attack::act::{Act, Reply, To};
use duologue::attack::{Case, Expected, LEAVE};
use duologue::talk::{Fate, PacketKind, address, process_of_side};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// How long a process has to be silent until others must have noticed: five heartbeats.
const SILENCE: Duration = Duration::from_secs(10);

/// How often the other side is asked whether it knows the session.
const AGAIN: Duration = Duration::from_millis(200);

/// How long a side may take to send what it has no credit for.
const STARVING: Duration = Duration::from_millis(100);

impl<'c> Session<'c> {
    /// Publishes what an attack is. What has no effect is judged by what the other side does.
    pub fn publish(&mut self, case: &Case) {
        let Some(socket) = over_nats(&mut *self.socket) else {
            return;
        };
        for act in &case.acts {
            match act {
                Act::Publish {
                    to,
                    reply,
                    headers,
                    body,
                } => socket.with(|state| {
                    let counts = state.link.counts();
                    let longest = state.longest();
                    let bytes = body.bytes(counts, |kind| state.link.packet(kind, &[]), longest);
                    let reply = match reply {
                        Reply::None => None,
                        Reply::Own => Some(state.link.address().to_owned()),
                        Reply::Text(text) => Some((*text).to_owned()),
                    };
                    if let Some(subject) = subject(state, *to) {
                        state.publish_raw(&subject, reply.as_deref(), headers, &bytes);
                    }
                }),
                Act::End => socket.with(|state| state.link.end()),
                Act::Mute => {
                    socket.with(|state| state.is_mute = true);
                    thread::sleep(SILENCE);
                    socket.with(|state| state.is_mute = false);
                }
            }
        }
    }

    /// What the other side does about an attack at a broker, or about a hello there. `None` if that is to be judged as over sockets.
    pub fn judge_broker(&mut self, case: &Case, deadline: Instant) -> Option<Judgment> {
        let socket = over_nats(&mut *self.socket)?;
        let wrong = |words: &str| Judgment::Wrong(words.to_owned());
        Some(match case.expected {
            Expected::Ignored | Expected::Starved => {
                let probed = socket.with(|state| match state.is_probed() {
                    false => state.probe(),
                    true => Ok(()),
                });
                if let Err(error) = probed {
                    return Some(Judgment::Wrong(error.to_string()));
                }
                if let Some(words) = wait(socket, deadline, State::is_probed) {
                    return Some(Judgment::Wrong(words));
                }
                if case.expected == Expected::Starved {
                    thread::sleep(STARVING);
                    return Some(match socket.with(|state| state.link.peer().is_some()) {
                        true => wrong("it answers without credit"),
                        false => Judgment::Held,
                    });
                }
                match socket.with(|state| state.link.is_heard()) {
                    true => wrong("it answers"),
                    false => Judgment::Held,
                }
            }
            Expected::Lost => {
                let has_come = |state: &State| state.link.fate().is_some();
                match wait(socket, deadline, has_come) {
                    Some(words) => Judgment::Wrong(words),
                    None => match socket.with(|state| state.link.fate()) {
                        Some(Fate::Lost) | None => Judgment::Held,
                        Some(fate) => wrong(fate.words()),
                    },
                }
            }
            Expected::Gone => {
                let is_gone = |state: &State| state.seen[PacketKind::Gone as usize] > 0;
                loop {
                    let now = Instant::now();
                    let until = (now + AGAIN).min(deadline);
                    match wait(socket, until, is_gone) {
                        None => return Some(Judgment::Held),
                        Some(words) if until == deadline => return Some(Judgment::Wrong(words)),
                        Some(_) => socket.with(ask),
                    }
                }
            }
            Expected::Dropped
            | Expected::Refused(_)
            | Expected::Begun
            | Expected::BegunOrDropped
            | Expected::Broken
            | Expected::Late
            | Expected::Closed
            | Expected::Taken => return None,
        })
    }

    /// Whether the other side has lost the session, or broken the rules of a broker, although it must not.
    pub fn complaint_of_broker(&mut self, case: &Case) -> Option<String> {
        let socket = over_nats(&mut *self.socket)?;
        let (fate, accepts) = socket.with(|state| {
            let accepts = state.seen[PacketKind::Accept as usize];
            (state.link.fate(), accepts)
        });
        let is_lost = matches!(fate, Some(Fate::Lost | Fate::Gone));
        if fate == Some(Fate::Gap) {
            Some("it does not count right, or sends more than it may".to_owned())
        } else if is_lost && case.expected == Expected::Taken {
            Some("it takes the session as lost".to_owned())
        } else if accepts > 1 && case.expected == Expected::Begun {
            Some("it begins two sessions".to_owned())
        } else {
            None
        }
    }

    /// Goes on with the session after something that has no effect, and leaves it.
    pub fn leave_after(&mut self, target: &Target<'c>) {
        let deadline = Instant::now() + target.patience;
        // The other side may have ended the session.
        let _: io::Result<()> = write_all(&mut *self.socket, &LEAVE, deadline);
    }

    /// Finds out whether servers ignore what was published.
    pub fn probe(&mut self) {
        if let Some(socket) = over_nats(&mut *self.socket) {
            // A failure of the connection is reported where an answer is expected.
            let _ = socket.with(State::probe);
        }
    }
}

/// The session, if it runs over NATS.
fn over_nats<'s>(socket: &'s mut (dyn Socket + '_)) -> Option<&'s mut NatsSocket> {
    socket.broker()?.downcast_mut()
}

/// Waits for something. Returns what is wrong if it does not come.
fn wait(
    socket: &mut NatsSocket,
    deadline: Instant,
    has_come: impl Fn(&State) -> bool,
) -> Option<String> {
    match socket.wait_for(deadline, |state| has_come(state).then_some(())) {
        Some(()) => None,
        None => Some(socket.with(|state| match state.failure() {
            Some(words) => words.to_owned(),
            None => "it does not do that in time".to_owned(),
        })),
    }
}

/// Asks the other side what has arrived.
fn ask(state: &mut State) {
    let body = state.link.packet(PacketKind::Ask, &[]).encode();
    let reply = state.link.address().to_owned();
    if let Some(subject) = state.link.peer().map(str::to_owned) {
        state.publish_raw(&subject, Some(&reply), "", &body);
    }
}

/// The subject of a place.
fn subject(state: &State, to: To) -> Option<String> {
    let peer = state.link.peer();
    match to {
        To::Servers => Some(state.subject().to_owned()),
        To::Session => peer.map(str::to_owned),
        To::Stranger => Some(address(process_of_side(peer?)?, &random().ok()?)),
        To::Token(token) => Some(address(process_of_side(peer?)?, token)),
    }
}
