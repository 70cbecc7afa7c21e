//! `tests/wire/sessions.proto`, in the shape that the compiler generates, and a program that is one of its sides.

use std::sync::Arc;

use duologue::generated::{open_sender, End, Plain, Remote, Row, Slot, Stay, Turn};
use duologue::transport::{Driver, FarEnd, Open};
use duologue::{Closed, Receiver, Sender, TryRecvError};

use super::spelled;

pub(super) enum Count {}
pub(super) enum Answer {}

pub(super) enum Counted {
    Item(u64, Receiver<Count>),
    Note(String, Receiver<Count>),
    Ask(Sender<Answer>),
    Quit,
}

pub(super) enum Answered {
    Sum(u64, Sender<Count>),
    Over,
}

state! {
    [] Count, "counter.count" of "", stays: true, Counted, |branch| match branch.index() {
        0 => {
            let (item, next) = branch.take::<0>();
            Counted::Item(item, next)
        }
        1 => {
            let (note, next) = branch.take::<1>();
            Counted::Note(note, next)
        }
        2 => Counted::Ask(branch.take::<2>().1),
        3 => {
            branch.take::<3>();
            Counted::Quit
        }
        _ => branch.refuse(),
    };
    0 "item"(u64) => Stay<Count>;
    1 "note"(String) => Stay<Count>;
    2 "ask"(()) => Turn<Answer>;
    3 "quit"(()) => End;
}

state! {
    [] Answer, "counter.answer" of "", stays: true, Answered, |branch| match branch.index() {
        0 => {
            let (sum, next) = branch.take::<0>();
            Answered::Sum(sum, next)
        }
        1 => {
            branch.take::<1>();
            Answered::Over
        }
        _ => branch.refuse(),
    };
    0 "sum"(u64) => Turn<Count>;
    1 "over"(()) => End;
}

impl Remote for Count {
    fn row(index: u8) -> Row<Self> {
        match index {
            0 => Row::of::<0>(),
            1 => Row::limited::<1, Plain>(1 << 20),
            2 => Row::of::<2>(),
            3 => Row::of::<3>(),
            _ => Row::NONE,
        }
    }
}

impl Remote for Answer {
    const WITHIN: u32 = 1_000;

    fn row(index: u8) -> Row<Self> {
        match index {
            0 => Row::of::<0>(),
            1 => Row::of::<1>(),
            _ => Row::NONE,
        }
    }
}

const fn slot() -> Slot {
    Slot::new().messages(4).fit::<u64>().fit::<String>()
}

duologue::generated::start! {
    Count: "counter", 0, duologue::Capacity::Unbounded, slot
}

/// The endpoint of a side.
pub(super) enum Program {
    Counts(Sender<Count>),
    Hears(Receiver<Count>),
    Answers(Sender<Answer>),
    Waits(Receiver<Answer>),
    Over,
}

impl Program {
    /// The first endpoint of this side.
    pub(super) fn begin(side: &str, attach: impl FnOnce(FarEnd) -> Arc<dyn Driver>) -> Program {
        match side {
            "client" => Program::Counts(open_sender(attach)),
            "server" => Program::Hears(Receiver::open(attach)),
            _ => panic!("there is no side `{side}`"),
        }
    }

    /// Sends a message. If the session is over, the side finds that.
    pub(super) fn send(self, message: &str) -> Program {
        let (name, value) = message.split_once(' ').unwrap_or((message, ""));
        let number = || value.parse().expect("a number");
        let sent = match (self, name) {
            (Program::Counts(side), "item") => (side.send::<0>(number()))
                .map(Program::Counts)
                .map_err(Closed::from),
            (Program::Counts(side), "note") => {
                let (text, count) = value.split_once('*').unwrap_or((value, "1"));
                let text = text.repeat(count.parse().expect("a number"));
                (side.send::<1>(text))
                    .map(Program::Counts)
                    .map_err(Closed::from)
            }
            (Program::Counts(side), "ask") => (side.send::<2>(()))
                .map(Program::Waits)
                .map_err(Closed::from),
            (Program::Counts(side), "quit") => (side.send::<3>(()))
                .map(|()| Program::Over)
                .map_err(Closed::from),
            (Program::Answers(side), "sum") => (side.send::<0>(number()))
                .map(Program::Hears)
                .map_err(Closed::from),
            (Program::Answers(side), "over") => (side.send::<1>(()))
                .map(|()| Program::Over)
                .map_err(Closed::from),
            _ => panic!("it cannot send `{message}` now"),
        };
        sent.unwrap_or(Program::Over)
    }

    /// Receives a message, if there is one. Returns it as text, or `nothing`, or `closed` and why.
    pub(super) fn recv(self) -> (String, Program) {
        let nothing = || "nothing".to_owned();
        let closed = |closed: Closed| (format!("closed {}", spelled(closed.why())), Program::Over);
        match self {
            Program::Hears(side) => match side.try_recv() {
                Ok(Counted::Item(item, next)) => (format!("item {item}"), Program::Hears(next)),
                Ok(Counted::Note(note, next)) => (format!("note {note}"), Program::Hears(next)),
                Ok(Counted::Ask(next)) => ("ask".to_owned(), Program::Answers(next)),
                Ok(Counted::Quit) => ("quit".to_owned(), Program::Over),
                Err(TryRecvError::Empty(side)) => (nothing(), Program::Hears(side)),
                Err(TryRecvError::Closed(error)) => closed(error),
            },
            Program::Waits(side) => match side.try_recv() {
                Ok(Answered::Sum(sum, next)) => (format!("sum {sum}"), Program::Counts(next)),
                Ok(Answered::Over) => ("over".to_owned(), Program::Over),
                Err(TryRecvError::Empty(side)) => (nothing(), Program::Waits(side)),
                Err(TryRecvError::Closed(error)) => closed(error),
            },
            Program::Counts(_) | Program::Answers(_) | Program::Over => {
                panic!("it cannot receive now")
            }
        }
    }
}
