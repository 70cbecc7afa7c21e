//! The connecting side of a session over a message broker, by `docs/wire.md`: which messages it publishes, and which bytes it makes of those that
//! arrive.

use super::packet::{Packet, PacketKind, address, process_of_side};
use std::collections::VecDeque;

/// What a message costs in addition to its bytes.
pub const OVERHEAD: u64 = 64;

/// The credit that this side gives.
const WINDOW: u64 = 16 << 10;

/// No peer is given more credit.
const MOST_CREDIT: u64 = 1 << 30;

/// After how many heartbeats without a message its process is gone.
const MISSED: u32 = 3;

/// A message to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where to.
    pub subject: String,
    /// Where answers go, if some are expected.
    pub reply: Option<String>,
    /// What the message is.
    pub body: Vec<u8>,
}

/// How a session over a broker has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A message is missing, or does not fit.
    Gap,
    /// The other side says that something was lost.
    Lost,
    /// The other side does not know the session any more.
    Gone,
    /// Nothing has arrived from the other process for too long.
    Silent,
}

impl Fate {
    /// What has happened, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Fate::Gap => "a message of the broker was lost, or the other side does not count right",
            Fate::Lost => "the other side says that a message of the broker was lost",
            Fate::Gone => "the other side does not know the session any more",
            Fate::Silent => "nothing has arrived from the other process for 8 seconds",
        }
    }
}

/// What arrives is counted by these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Numbered messages that this side has sent, and the credit that they have used.
    pub sent: u64,
    /// The credit that they have used.
    pub used: u64,
    /// Numbered messages that have arrived.
    pub received: u64,
    /// The credit that they have used.
    pub arrived: u64,
    /// The credit of those that were read.
    pub read: u64,
    /// The credit that the other side has given at the beginning.
    pub window: u64,
}

/// One side of a session.
#[derive(Debug)]
pub struct Link {
    address: String,
    subject: String,
    peer: Option<String>,
    counts: Counts,
    /// Of what this side has sent: the last number and the credit that the other side has confirmed.
    confirmed: u64,
    returned: u64,
    /// Whether the other side has confirmed the first message.
    is_heard: bool,
    /// The credit that the other side knows to be read.
    reported: u64,
    is_blocked: bool,
    /// What was not read yet. The first `start` bytes of the first one were.
    chunks: VecDeque<Vec<u8>>,
    start: usize,
    has_ended: bool,
    fate: Option<Fate>,
    is_closed: bool,
    /// Heartbeats since something has arrived.
    missed: u32,
    outgoing: Vec<Outgoing>,
}

impl Link {
    /// A session of this process, whose first message goes to this subject. The process and the token are random.
    #[must_use]
    pub fn new(process: &str, token: &str, subject: String) -> Link {
        Link {
            address: address(process, token),
            subject,
            peer: None,
            counts: Counts::default(),
            confirmed: 0,
            returned: 0,
            is_heard: false,
            reported: 0,
            is_blocked: false,
            chunks: VecDeque::new(),
            start: 0,
            has_ended: false,
            fate: None,
            is_closed: false,
            missed: 0,
            outgoing: Vec::new(),
        }
    }

    /// Where messages for this side arrive.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The address of the other side, once it has answered.
    #[must_use]
    pub fn peer(&self) -> Option<&str> {
        self.peer.as_deref()
    }

    /// How far the session is.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the other side has confirmed the first message, or answered.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        self.is_heard
    }

    /// Whether the other side has ended its direction.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// How the session has failed, if it has. What has arrived before can still be read.
    #[must_use]
    pub fn fate(&self) -> Option<Fate> {
        self.fate
    }

    /// The messages to publish, in this order.
    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outgoing)
    }

    /// The message that this side would publish now.
    #[must_use]
    pub fn packet(&self, kind: PacketKind, bytes: &[u8]) -> Packet {
        Packet {
            number: self.counts.sent + u64::from(kind.is_numbered()),
            received: self.counts.received,
            read: self.counts.read,
            window: WINDOW,
            ..Packet::plain(kind, bytes)
        }
    }

    fn publish(&mut self, kind: PacketKind, bytes: &[u8]) {
        let subject = match (&self.peer, kind) {
            (None, PacketKind::Open) => &self.subject,
            (Some(peer), _) => peer,
            (None, _) => return,
        };
        let says_where = matches!(kind, PacketKind::Open | PacketKind::Ask | PacketKind::Lost);
        self.outgoing.push(Outgoing {
            subject: subject.clone(),
            reply: says_where.then(|| self.address.clone()),
            body: self.packet(kind, bytes).encode(),
        });
        self.counts.sent += u64::from(kind.is_numbered());
        self.reported = self.counts.read;
    }

    /// Publishes the first message, whatever its bytes are.
    pub fn open(&mut self, bytes: &[u8]) {
        self.publish(PacketKind::Open, bytes);
        self.counts.used += cost(bytes.len());
    }

    /// Publishes the first of these bytes, and returns how many: none if there is no credit. `most`: the longest message of the broker.
    pub fn write(&mut self, bytes: &[u8], most: usize) -> usize {
        if self.is_over() || self.peer.is_none() {
            return 0;
        }
        let Counts { used, window, .. } = self.counts;
        let credit = (window + self.returned).saturating_sub(used + OVERHEAD);
        let credit = usize::try_from(credit).unwrap_or(usize::MAX);
        let quarter = usize::try_from(window / 4).unwrap_or(usize::MAX);
        // Not many short messages where one will do.
        self.is_blocked = credit < bytes.len().min(quarter).max(1);
        if self.is_blocked {
            return 0;
        }
        let count = bytes.len().min(credit).min(most);
        self.publish(PacketKind::Data, &bytes[..count]);
        self.counts.used += cost(count);
        count
    }

    /// Reads what has arrived, and returns how many bytes it was.
    pub fn read(&mut self, to: &mut [u8]) -> usize {
        let mut count = 0;
        while let Some(chunk) = self.chunks.front()
            && count < to.len()
        {
            let rest = &chunk[self.start..];
            let more = rest.len().min(to.len() - count);
            to[count..count + more].copy_from_slice(&rest[..more]);
            count += more;
            self.start += more;
            if self.start == chunk.len() {
                self.counts.read += cost(chunk.len());
                self.start = 0;
                self.chunks.pop_front();
            }
        }
        if self.counts.read - self.reported >= WINDOW / 2 && !self.is_over() {
            self.publish(PacketKind::Answer, &[]);
        }
        count
    }

    /// Ends the direction of this side.
    pub fn end(&mut self) {
        if !self.is_closed && self.fate.is_none() {
            self.publish(PacketKind::End, &[]);
            self.is_closed = true;
        }
    }

    /// Ends the session, so that the other side does not wait for anything.
    pub fn forget(&mut self) {
        self.end();
        match (self.has_ended, self.fate) {
            (true, None) => self.publish(PacketKind::Answer, &[]),
            (false, None) => {
                self.publish(PacketKind::Gone, &[]);
                self.fate = Some(Fate::Gone);
            }
            (_, Some(_)) => {}
        }
    }

    /// Whether this side can publish nothing more.
    fn is_over(&self) -> bool {
        self.is_closed || self.fate.is_some()
    }

    fn fail(&mut self, fate: Fate) {
        if self.fate.is_none() {
            self.fate = Some(fate);
            if fate == Fate::Gap {
                self.publish(PacketKind::Lost, &[]);
            }
        }
    }

    /// Whether something has arrived from the process of the other side: nothing of this session, but it is still there.
    pub fn is_alive(&mut self) {
        self.missed = 0;
    }

    /// A message has arrived. `reply`: what it names as the address of the other side.
    pub fn arrived(&mut self, packet: &Packet, reply: Option<&str>) {
        self.missed = 0;
        self.is_heard = true;
        if packet.kind == PacketKind::Accept
            && let Some(from) = reply.filter(|from| process_of_side(from).is_some())
        {
            match &self.peer {
                None => {
                    self.peer = Some(from.to_owned());
                    self.counts.window = packet.window.min(MOST_CREDIT);
                }
                // The first message was delivered to two servers.
                Some(peer) if peer != from => {
                    let body = Packet::plain(PacketKind::Gone, &[]).encode();
                    let subject = from.to_owned();
                    self.outgoing.push(Outgoing {
                        subject,
                        reply: None,
                        body,
                    });
                    return;
                }
                Some(_) => {}
            }
        }
        match packet.kind {
            PacketKind::Gone => return self.fail(Fate::Gone),
            PacketKind::Lost => {
                self.fail(Fate::Lost);
                return self.publish(PacketKind::Gone, &[]);
            }
            PacketKind::Open | PacketKind::Alive => return,
            PacketKind::Accept
            | PacketKind::Data
            | PacketKind::End
            | PacketKind::Ask
            | PacketKind::Answer => {}
        }
        if self.fate.is_some() {
            return;
        }
        let expected = self.counts.received + u64::from(packet.kind.is_numbered());
        let fits = packet.received <= self.counts.sent && packet.read <= self.counts.used;
        if !fits || packet.number > expected {
            return self.fail(Fate::Gap);
        }
        self.confirmed = self.confirmed.max(packet.received);
        if packet.read > self.returned {
            self.returned = packet.read;
            self.is_blocked = false;
        }
        if packet.kind == PacketKind::Ask {
            self.publish(PacketKind::Answer, &[]);
        }
        // The broker has delivered it twice.
        if !packet.kind.is_numbered() || packet.number < expected {
            return;
        }
        let cost = cost(packet.bytes.len());
        let is_end = packet.kind == PacketKind::End;
        let Counts { arrived, read, .. } = self.counts;
        if self.has_ended || !is_end && arrived + cost > read + WINDOW {
            return self.fail(Fate::Gap);
        }
        self.counts.received += 1;
        if is_end {
            self.has_ended = true;
        } else {
            self.counts.arrived += cost;
            self.chunks.push_back(packet.bytes.clone());
        }
    }

    /// Called at each heartbeat. Returns the process that has to learn that this one is there.
    pub fn tick(&mut self) -> Option<&str> {
        self.missed += 1;
        if self.peer.is_some() && self.missed > MISSED {
            self.fail(Fate::Silent);
        }
        if self.fate == Some(Fate::Gap) {
            self.publish(PacketKind::Lost, &[]);
        }
        if self.fate.is_none() && (self.counts.sent > self.confirmed || self.is_blocked) {
            self.publish(PacketKind::Ask, &[]);
        }
        self.peer
            .as_deref()
            .filter(|_| self.fate.is_none())
            .and_then(process_of_side)
    }
}

/// The credit that a message of this many bytes takes.
fn cost(length: usize) -> u64 {
    length as u64 + OVERHEAD
}
