//! A client, a server and two queues, explored step by step; and two machines compared dialogue by dialogue. It is as simple as
//! possible and shares no code with the product, because its purpose is to check it.

use super::machine::{Machine, Message, Turn};
use std::collections::{HashSet, VecDeque};

/// What can go wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The receiver does not expect the message at the head of its queue.
    Unexpected,
    /// A message for a party that has ended.
    Orphan,
    /// It is a party's turn to send while a message for it is unread.
    Crossing,
    /// No party can do anything, and not both have ended.
    Stuck,
    /// Like `Stuck`, but one party is receiving, and it is the turn of the other, which has no messages to send.
    Silent,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Configuration {
    /// The state of each party; `None` after `!`.
    parties: [Option<usize>; 2],
    /// The messages in flight to each party.
    queues: [Vec<(&'static str, &'static str)>; 2],
}

/// All faults of all runs of a client of one machine with a server of the other, where each queue holds `bound` messages, and
/// how many messages the queues towards the server and towards the client ever held.
pub fn explore(client: &Machine, server: &Machine, bound: usize) -> (HashSet<Fault>, [usize; 2]) {
    let machines = [client, server];
    let turns = [Turn::Client, Turn::Server];
    let turn = |party: usize, state: Option<usize>| match state {
        None => Turn::Nobody,
        Some(state) => machines[party].0[state].turn,
    };
    let messages = |party: usize, state: Option<usize>| match state {
        None => &[],
        Some(state) => &machines[party].0[state].messages[..],
    };
    let start = Configuration {
        parties: [Some(0), Some(0)],
        queues: [Vec::new(), Vec::new()],
    };
    let mut faults = HashSet::new();
    let mut most = [0, 0];
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(now) = open.pop() {
        let mut can_move = false;
        let mut following = Vec::new();
        for party in [0, 1] {
            let own_turn = turn(party, now.parties[party]);
            let inbox = &now.queues[party];
            if own_turn == turns[party] {
                if !inbox.is_empty() {
                    faults.insert(Fault::Crossing);
                }
                if now.queues[1 - party].len() < bound {
                    for message in messages(party, now.parties[party]) {
                        let mut next = now.clone();
                        next.queues[1 - party].push((message.name, message.payload));
                        next.parties[party] = message.next;
                        can_move = true;
                        following.push(next);
                    }
                }
            } else if let Some((name, payload)) = inbox.first() {
                if own_turn == Turn::Nobody {
                    faults.insert(Fault::Orphan);
                    continue;
                }
                let known =
                    |message: &&Message| message.name == *name && message.payload == *payload;
                match messages(party, now.parties[party]).iter().find(known) {
                    None => {
                        faults.insert(Fault::Unexpected);
                    }
                    Some(message) => {
                        let mut next = now.clone();
                        next.queues[party].remove(0);
                        next.parties[party] = message.next;
                        can_move = true;
                        following.push(next);
                    }
                }
            }
        }
        let state_turns = [turn(0, now.parties[0]), turn(1, now.parties[1])];
        let is_empty = now.queues.iter().all(Vec::is_empty);
        let are_over = state_turns == [Turn::Nobody; 2];
        let has_ended = are_over && is_empty;
        if !can_move && !has_ended {
            let speaker = turns.iter().position(|turn| state_turns == [*turn; 2]);
            let has_nothing = |party: usize| messages(party, now.parties[party]).is_empty();
            let is_silent = is_empty && speaker.is_some_and(has_nothing);
            faults.insert(if is_silent {
                Fault::Silent
            } else {
                Fault::Stuck
            });
        }
        most[0] = most[0].max(now.queues[1].len());
        most[1] = most[1].max(now.queues[0].len());
        for next in following {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    (faults, most)
}

/// What is required of two machines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Want {
    Equal,
    Fit,
}

/// The smallest number of messages after which two machines differ, including the message on which they differ.
pub fn shortest(left: &Machine, right: &Machine, want: Want) -> Option<usize> {
    let mut seen = HashSet::from([(Some(0), Some(0))]);
    let mut open = VecDeque::from([(0, Some(0), Some(0))]);
    let turn = |machine: &Machine, state: Option<usize>| match state {
        None => Turn::Nobody,
        Some(state) => machine.0[state].turn,
    };
    let mut best: Option<usize> = None;
    while let Some((said, ours, theirs)) = open.pop_front() {
        let turns = (turn(left, ours), turn(right, theirs));
        let mut parted = |after: usize| best = Some(best.map_or(after, |best| best.min(after)));
        if turns.0 != turns.1 {
            parted(said);
            continue;
        }
        let (Some(our_state), Some(their_state)) = (ours, theirs) else {
            continue;
        };
        if turns.0 == Turn::Nobody {
            continue;
        }
        let (ours, theirs) = (&left.0[our_state].messages, &right.0[their_state].messages);
        let (must_ours, must_theirs) = match (want, turns.0) {
            (Want::Equal, _) => (true, true),
            (Want::Fit, Turn::Client) => (true, false),
            (Want::Fit, _) => (false, true),
        };
        let lacks = |from: &[Message], of: &[Message]| {
            of.iter()
                .any(|message| from.iter().all(|other| other.name != message.name))
        };
        if must_ours && lacks(theirs, ours) || must_theirs && lacks(ours, theirs) {
            parted(said + 1);
        }
        for our in ours {
            for their in theirs.iter().filter(|their| their.name == our.name) {
                if our.payload != their.payload {
                    parted(said + 1);
                } else if seen.insert((our.next, their.next)) {
                    open.push_back((said + 1, our.next, their.next));
                }
            }
        }
    }
    best
}
