//! How two protocols relate: whether they are equal, whether one is the dual of the other, and whether a client of one can talk
//! to a server of the other.
//!
//! A protocol is a machine. In each of its states it is one party's turn to send, and messages lead from state to state. The names
//! of states, payload entries, aliases, structs and enums are not transmitted and do not count; nor does the order of declarations,
//! states and messages. What counts is which side sends, the names of messages and the structure of what they carry: structs by the
//! names and types of their fields and enums by their variants, in order; types of the host program by their names; type parameters
//! of the start by their positions; endpoints by what their holders may do.
//!
//! # Equality
//!
//! Two machines are *equal* if after every dialogue it is the same party's turn and the same messages may be sent, so states may
//! be renamed, split and merged. Equality is decided by the algorithm of Hopcroft and Karp ("A linear algorithm for testing
//! equivalence of finite automata", 1971): states that must be equal are united, so there are never more steps than states on
//! both sides, and a protocol that sends its own endpoints is not unfolded. Two protocols are *dual* if one is equal to the other
//! seen from the opposite side.
//!
//! # Fitting
//!
//! Let `c` be a state of the client's machine and `s` one of the server's, both written from the client's side. The two *fit* if
//!
//! * both are over; or
//! * in both it is the client's turn, every message of `c` is one of `s` with the same payload, and the states after it fit; or
//! * in both it is the server's turn, every message of `s` is one of `c` with the same payload, and the states after it fit.
//!
//! This is the session subtyping of Gay and Hole ("Subtyping for session types in the pi calculus", Acta Informatica 42, 2005),
//! between the client's machine and the dual of the server's: the sender may send fewer messages, and the receiver must understand
//! at least as many. Gay and Hole order channels, where a channel on which *more* may be sent may replace one on which less may be
//! sent; here processes are ordered, which is the same relation read from right to left. Payloads are compared by equality, which
//! is subtyping restricted to what the encoding of payloads allows. The largest such relation is found by visiting the pairs of
//! states that dialogues reach, each once.
//!
//! There can be as many such pairs as the product of the two numbers of states, if both machines have loops whose lengths are
//! coprime. So once there are more pairs than states, states that behave alike are found by partition refinement, and only
//! one pair of states is compared for each pair of classes. The case that remains is two versions that differ in loops whose own
//! states all differ.
//!
//! **Theorem.** Let messages travel in two queues, in order and without loss, and let each party send only what its machine
//! allows. If the starts fit, then in every run
//!
//! 1. the message at the head of a queue is one that its receiver understands once it is in a state in which it receives;
//! 2. it is never a party's turn while a message for it is unread, so messages are in flight in only one direction at a time;
//! 3. the session is never over for a party while a message for it is unread;
//! 4. neither side waits forever, unless a party has reached a state in which it must send but has no messages, which it would
//!    have reached by the same dialogue with a partner of its own version (the rule `stuck-state`).
//!
//! If they do not fit, there is a run that violates one of these.
//!
//! *Proof.* Claim: in every configuration the messages in flight, if any, travel in one direction, and there are states `c0` and
//! `s0` that fit, such that the receiver is in its own state of the two, and the sender has come from its own by sending exactly
//! the messages in flight. The claim holds at the start with nothing in flight. If the sender, say the client, sends a message `m`,
//! it has come from `c0` through states in which it was its turn, so it is not the receiver's turn, and the claim still holds, with
//! `m` added to the messages in flight. If the receiver reads a message, it is the first that the sender sent in `c0`, so by the
//! definition the receiver understands it, and the states after it fit. Hence 1 to 3, since the receiver is in a state in which it
//! receives as long as something is in flight. When nothing is in flight, `c` and `s` themselves fit: both are over, or it is the
//! turn of one party, which has a message to send, or has none, which is the exception in 4. Conversely, take a shortest dialogue
//! after which the states do not fit, and let every message be read at once: then the next message that is sent is not understood
//! (1), or it is sent to a party for which the session is over (3) or whose turn it is as well (2), or both parties wait or one
//! waits for a party for which the session is over (4). ∎
//!
//! The runtimes rely on point 2. It is also the reason why full asynchronous subtyping is not used: it would let a party send
//! ahead of what it has to read, and it is undecidable.
//!
//! # Limits
//!
//! Between processes a receiver refuses a message beyond its limits. A message with limits stands for the set of its payloads that
//! they allow, and a receiver has to accept each payload of its sender: that is the same relation if a payload is considered a part
//! of the message. In the same way a receiver that waits for a limited time has to wait for every message that its sender sends within
//! the sender's own limit. So if both combinations of two versions fit (see below), both versions allow the same payloads and times.
//!
//! # Two versions
//!
//! There are two combinations of an old and a new version of a protocol, and by the theorem each of them is sound if the
//! client's version fits the server's; so there are four answers (see [`Rollout`]). If both combinations fit, the two
//! versions are equal, because each step then finds the same messages on both sides. This is why, between two parties, *any
//! order* is the answer exactly for changes that are visible to programs but not in any message.

mod canonical;
mod explain;
mod limits;
pub mod partition;
mod payload;
mod quotient;
mod rename;
mod rollout;
mod shape;
mod versions;
mod waits;
mod walk;

pub use canonical::{Canonical, Obstacle, canonical};
pub use explain::{Explanation, dialogue, not_dual};
pub use payload::Part;
pub use rename::Renamed;
pub use rollout::{Change, Mixture, Rollout};
pub use shape::Origin;
pub use versions::verdict::{Outcome, Verdict};
pub use versions::wire::refusal;
pub use versions::{Fate, Require, Travel, Versions, can_leave, versions};

use crate::name::Name;
use crate::protocol::{
    Direction, FileId, Instance, Message, Program, Protocol, ProtocolId, Side, State, Type,
};
use crate::sizes::Sizes;
use crate::source::Span;
use limits::Limits;
use std::rc::Rc;
use walk::{Demand, Walk};

/// A protocol of a program, as it is written or from the opposite side.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The program.
    pub program: &'a Program,
    /// The protocol; it has at least one state.
    pub protocol: ProtocolId,
    /// The instance, if one is meant, with arguments for the start. Without an instance, the start keeps its own parameters.
    pub instance: Option<&'a Instance>,
    /// Whether it is seen from the server's side.
    pub is_turned: bool,
}

impl<'a> View<'a> {
    /// A protocol as it is written.
    #[must_use]
    pub fn of(program: &'a Program, protocol: ProtocolId) -> View<'a> {
        View {
            program,
            protocol,
            instance: None,
            is_turned: false,
        }
    }

    /// An instance of a generic protocol.
    #[must_use]
    pub fn instance(program: &'a Program, instance: &'a Instance) -> View<'a> {
        View {
            instance: Some(instance),
            ..View::of(program, instance.protocol)
        }
    }

    /// The same from the opposite side.
    #[must_use]
    pub fn turned(self) -> View<'a> {
        View {
            is_turned: !self.is_turned,
            ..self
        }
    }

    /// Arguments for the start, if this is an instance.
    #[must_use]
    pub fn arguments(self) -> Option<&'a [Type]> {
        self.instance.map(|instance| &instance.arguments[..])
    }

    /// The name by which programs find it: the instance's, or the protocol's.
    #[must_use]
    pub fn name(self) -> &'a Name {
        match self.instance {
            Some(instance) => &instance.name,
            None => &self.description().name,
        }
    }

    /// The file that declares it.
    #[must_use]
    pub fn file(self) -> FileId {
        let own = self.description().file;
        self.instance.map_or(own, |instance| instance.file)
    }

    /// The protocol's description.
    #[must_use]
    pub fn description(self) -> &'a Protocol {
        self.program.protocol(self.protocol)
    }
}

/// Where two protocols disagree, after the shortest dialogue that leads there.
#[derive(Debug)]
pub struct Disagreement<'a> {
    /// The messages sent; if the disagreement is about a message, up to and including that message.
    pub dialogue: Vec<DialogueStep<'a>>,
    /// Where the left protocol is at that point, before the message that they disagree about.
    pub left: Position<'a>,
    /// Where the right protocol is.
    pub right: Position<'a>,
    /// What they disagree about.
    pub clash: Mismatch<'a>,
    /// If they disagree about a payload or a limit: the innermost part that differs, unless the numbers of values differ.
    pub part: Option<Part>,
}

/// A message of a dialogue.
#[derive(Clone, Copy, Debug)]
pub struct DialogueStep<'a> {
    /// The side that sends it, as the left protocol is viewed.
    pub speaker: Side,
    /// The message.
    pub message: &'a Message,
    /// Which of the two protocols has the message there: the left one if both do.
    pub origin: Origin,
}

/// Where a protocol is after a dialogue.
#[derive(Clone, Copy, Debug)]
pub enum Position<'a> {
    /// In a state.
    State(&'a State),
    /// Over, after this message.
    End(&'a Message),
}

impl Position<'_> {
    /// Where it is written.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Position::State(state) => state.name.span,
            Position::End(message) => message.next_span,
        }
    }
}

/// What two protocols disagree about.
#[derive(Clone, Copy, Debug)]
pub enum Mismatch<'a> {
    /// Whose turn it is, as each protocol is viewed; `None` where the session is over.
    Turn(Option<Direction>, Option<Direction>),
    /// This message of the left protocol is missing from the right one.
    Left(&'a Message),
    /// This message of the right protocol is missing from the left one.
    Right(&'a Message),
    /// What a message carries, left and right.
    Payload(&'a Message, &'a Message),
    /// How large a message may be, left and right: its receiver does not accept all that its sender may send.
    Limit(&'a Message, &'a Message),
    /// How long the side whose turn it is, as the left protocol is viewed, may take in these states, left and right: its peer does not
    /// wait as long.
    Wait(Direction, &'a State, &'a State),
    /// The position of a message in its state, left and right.
    Place(&'a Message, &'a Message),
}

/// Where two protocols stop being equal; `None` if they are equal.
#[must_use]
pub fn difference<'a>(left: View<'a>, right: View<'a>) -> Option<Disagreement<'a>> {
    Walk::new(left, right, Demand::Equal).run()
}

/// Where a client of one protocol and a server of another stop understanding each other; `None` if they always do.
/// States in which both wait forever, because the side whose turn it is has no messages, are accepted: each is in one of the
/// two protocols itself.
#[must_use]
pub fn misfit<'a>(client: View<'a>, server: View<'a>) -> Option<Disagreement<'a>> {
    Walk::new(client, server, Demand::Fit).run()
}

/// Like [`misfit`], but messages travel as their positions, so a message of both must have the same position in corresponding
/// states. Between processes, a client and a server of two versions understand each other exactly if this is `None`.
#[must_use]
pub fn tag_mismatch<'a>(client: View<'a>, server: View<'a>) -> Option<Disagreement<'a>> {
    Walk::new(client, server, Demand::FitInPlace).run()
}

/// The most disagreements that are returned.
pub const MOST_MISFITS: usize = 100;

/// All of [`misfit`] or, if `compares_positions`, of [`tag_mismatch`], the shortest dialogues first. With the sizes of the client's and
/// of the server's program, a receiver also has to accept whatever the limits of the sender allow, and to wait as long as the sender may
/// take.
#[must_use]
pub fn misfits<'a>(
    client: View<'a>,
    server: View<'a>,
    compares_positions: bool,
    sizes: Option<[Rc<Sizes>; 2]>,
) -> Vec<Disagreement<'a>> {
    let demand = match compares_positions {
        true => Demand::FitInPlace,
        false => Demand::Fit,
    };
    let limits = sizes.map(|sizes| Limits::of([client.program, server.program], sizes));
    let walk = Walk::new(client, server, demand);
    walk.with_limits(limits).all(MOST_MISFITS)
}
