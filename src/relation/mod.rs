//! How two protocols relate: whether they are equal, whether one is the dual of the other, and whether a client of one can talk
//! with a server of the other.
//!
//! A protocol is a machine: states, in each of which one party has its turn, and messages that lead from state to state. What
//! states, payload entries, aliases, structs and enums are called does not travel, and does not count; nor does the order of
//! declarations, states and messages. What counts is who speaks, the names of messages and the structure of what they carry:
//! structs by the names and types of their fields and enums by their variants, in order; types of the host program by their
//! names; type parameters of the start by their positions; endpoints by what their holders may do.
//!
//! # Equality
//!
//! Two machines are *equal* if after every dialogue the same party has its turn and the same messages may be said; so states may
//! be renamed, split and merged. Equality is decided after Hopcroft and Karp ("A linear algorithm for testing equivalence of
//! finite automata", 1971): states that must be equal are united, so that there are never more steps than states on both sides,
//! and a protocol that sends its own endpoints is not unfolded. Two protocols are *dual* if one is equal to the other seen from
//! the opposite side.
//!
//! # Fitting
//!
//! Let `c` be a state of the client's machine and `s` one of the server's, both written from the client's side. The two *fit* if
//!
//! * both are over; or
//! * in both the client has its turn, every message of `c` is one of `s` with the same payload, and the states after it fit; or
//! * in both the server has its turn, every message of `s` is one of `c` with the same payload, and the states after it fit.
//!
//! This is session subtyping, of Gay and Hole ("Subtyping for session types in the pi calculus", Acta Informatica 42, 2005),
//! between the client's machine and the dual of the server's: who speaks may say less, who listens must understand at least as
//! much. Gay and Hole order channels, where a channel that offers *more* to say may stand in for one that offers less; here
//! processes are ordered, which is the same relation read from right to left. Payloads are compared by equality, which is
//! subtyping cut down to what the encoding of payloads can bear. The largest such relation is found by walking the pairs of
//! states that dialogues reach, each once.
//!
//! That can be as many pairs as the product of both numbers of states, if both have loops of lengths without a common divisor. So
//! once there are more pairs than states, those that behave alike are found by partition refinement, and one pair of each two
//! classes is looked at. What is left is two versions that differ in loops whose own states all differ.
//!
//! **Theorem.** Let messages travel in two queues, in order and without loss, and let each party say only what its machine
//! allows. If the starts fit, then in every run
//!
//! 1. the message at the head of a queue is one that its receiver, once it listens, understands;
//! 2. nobody has its turn while a message for it is unread, so that messages are under way in one direction at a time;
//! 3. nobody is over while a message for it is unread;
//! 4. neither side waits forever, unless a party has come into a state in which it must speak and has nothing to say, which it would
//!    have come into by the same dialogue with a partner of its own version (the rule `stuck-state`).
//!
//! If they do not fit, there is a run that breaks one of these.
//!
//! *Proof.* Claim: in every configuration the messages under way, if any, travel in one direction, and there are states `c0` and
//! `s0` that fit, where the listener is in its own of the two and the speaker has come from its own by saying exactly what is
//! under way. It holds at the start with nothing under way. If the speaker says a message `m`, its turn came from `c0` through
//! states of its own turn, so the listener has not its turn, and the claim still holds: what is under way is longer by `m`. If the
//! listener reads a message, it is the first that the speaker said in `c0`, so by the definition it is understood, and the states
//! after it fit. Hence 1 to 3, since the listener is in a state in which it listens as long as something is under way. When
//! nothing is under way, `c` and `s` fit themselves: both are over, or one has its turn and something to say, or nothing to say,
//! which is 4. Conversely take a dialogue of least length after which the states do not fit, and let every message be read at
//! once: then the next thing that the speaker says is not understood (1), or it speaks to one who is over (3) or has its turn as
//! well (2), or both wait or one waits for a partner who is over (4). ∎
//!
//! Point 2 is what the runtimes rest on, and the reason why full asynchronous subtyping, which would let a party speak ahead of
//! what it has to read and which is undecidable, is not asked for.
//!
//! # Two versions
//!
//! Of an old and a new version of a protocol there are two mixtures, and by the theorem each of them is sound if the client's
//! version fits the server's; so there are four answers (see [`Rollout`]). If both mixtures fit, the two versions are equal: each
//! step then finds the same messages on both sides. That is why between two parties *any order* holds exactly for changes that
//! only programs see and no message.

mod canonical;
mod explain;
mod payload;
mod quotient;
mod rename;
mod rollout;
mod shape;
mod verdict;
mod versions;
mod walk;
mod wire;

pub use canonical::{Canonical, Obstacle, canonical};
pub use explain::{Explanation, dialogue, not_dual};
pub use payload::Part;
pub use rename::Renamed;
pub use rollout::{Change, Mixture, Rollout};
pub use shape::Origin;
pub use verdict::{Outcome, Verdict};
pub use versions::{Fate, Require, Travel, Versions, versions};
pub use wire::refusal;

use crate::name::Name;
use crate::protocol::{
    Direction, Instance, Message, Program, Protocol, ProtocolId, Side, State, Type,
};
use crate::source::Span;
use walk::{Demand, Walk};

/// A protocol of a program, as it is written or from the opposite side.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The program.
    pub program: &'a Program,
    /// The protocol; it has at least one state.
    pub protocol: ProtocolId,
    /// The instance that is meant, which has arguments for the start; without one, the start's parameters are themselves.
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

    /// The protocol's description.
    #[must_use]
    pub fn description(self) -> &'a Protocol {
        self.program.protocol(self.protocol)
    }
}

/// Where two protocols part, after the shortest dialogue that leads there.
#[derive(Debug)]
pub struct Disagreement<'a> {
    /// What is said, up to and including the message that they disagree about, if it is a message.
    pub dialogue: Vec<Said<'a>>,
    /// Where the left protocol is by then; before the message that they disagree about.
    pub left: Place<'a>,
    /// Where the right protocol is.
    pub right: Place<'a>,
    /// What they disagree about.
    pub clash: Mismatch<'a>,
    /// If that is what a message carries: the innermost part that differs, unless the numbers of values do.
    pub part: Option<Part>,
}

/// A message of a dialogue.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Who says it, as the left protocol is seen.
    pub speaker: Side,
    /// What is said.
    pub message: &'a Message,
    /// Which of the two protocols writes it there: the left one if it does.
    pub origin: Origin,
}

/// Where a protocol is after a dialogue.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In a state.
    State(&'a State),
    /// Over, by this message.
    End(&'a Message),
}

impl Place<'_> {
    /// Where it is written.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Place::State(state) => state.name.span,
            Place::End(message) => message.next_span,
        }
    }
}

/// What two protocols disagree about.
#[derive(Clone, Copy, Debug)]
pub enum Mismatch<'a> {
    /// Whose turn it is, as each protocol is seen; `None` where the session is over.
    Turn(Option<Direction>, Option<Direction>),
    /// This message of the left protocol is not one of the right.
    Left(&'a Message),
    /// This message of the right protocol is not one of the left.
    Right(&'a Message),
    /// What a message carries, left and right.
    Payload(&'a Message, &'a Message),
    /// At which position of its state a message is, left and right.
    Place(&'a Message, &'a Message),
    /// Nothing: whoever has its turn has nothing to say.
    Silence,
}

/// Where two protocols cease to be equal; `None` if they are.
#[must_use]
pub fn difference<'a>(left: View<'a>, right: View<'a>) -> Option<Disagreement<'a>> {
    Walk::new(left, right, Demand::Equal).run()
}

/// Where a client of one protocol and a server of another cease to understand each other; `None` if they always do.
/// States in which both wait forever, since who has its turn has nothing to say, are let pass: each is in one of the two
/// protocols itself.
#[must_use]
pub fn misfit<'a>(client: View<'a>, server: View<'a>) -> Option<Disagreement<'a>> {
    let demand = Demand::Fit {
        rejects_deadlock: false,
        compares_positions: false,
    };
    Walk::new(client, server, demand).run()
}

/// As [`misfit`], where messages travel as their positions: so a message of both must stand at the same one in corresponding states.
/// Between processes a client and a server of two versions understand each other exactly if there is no such place.
#[must_use]
pub fn displacement<'a>(client: View<'a>, server: View<'a>) -> Option<Disagreement<'a>> {
    let demand = Demand::Fit {
        rejects_deadlock: false,
        compares_positions: true,
    };
    Walk::new(client, server, demand).run()
}

/// As [`misfit`], and neither of the two may come to wait forever.
#[must_use]
pub fn failure<'a>(client: View<'a>, server: View<'a>) -> Option<Disagreement<'a>> {
    let demand = Demand::Fit {
        rejects_deadlock: true,
        compares_positions: false,
    };
    Walk::new(client, server, demand).run()
}
