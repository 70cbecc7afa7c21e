//! A protocol with an unbounded run whose other side belongs to a transport, written by hand.

use duologue::generated::{End, Remote, Row, Slot, Start, Stay, Turn, Wire};
use duologue::Capacity;

/// What its messages carry.
pub trait Payload: Wire + Send + 'static {}

impl<P: Wire + Send + 'static> Payload for P {}

/// `flow:send { more(P) -> flow, ask(P) -> answer, stop(P) -> ! }`, `answer:recv { yes -> ! }`.
pub struct Flow<P>(std::marker::PhantomData<fn(P) -> P>);

pub enum Answer {}

state! {
    [P: Payload] Flow<P>, "flow" of "", stays: true, (), |branch| match branch.index() {
        0 => drop(branch.take::<0>()),
        1 => drop(branch.take::<1>()),
        _ => drop(branch.take::<2>()),
    };
    0 "more"(P) => Stay<Flow<P>>;
    1 "ask"(P) => Turn<Answer>;
    2 "stop"(P) => End;
}

state! {
    [] Answer, "answer" of "", stays: false, (), |branch| {
        branch.take::<0>();
    };
    0 "yes"(()) => End;
}

impl<P: Payload> Remote for Flow<P> {
    fn row(index: u8) -> Row<Self> {
        match index {
            0 => Row::of::<0>(),
            1 => Row::of::<1>(),
            2 => Row::of::<2>(),
            _ => Row::NONE,
        }
    }
}

impl Remote for Answer {
    fn row(index: u8) -> Row<Self> {
        match index {
            0 => Row::of::<0>(),
            _ => Row::NONE,
        }
    }
}

impl<P: Payload> Start for Flow<P> {
    const FINGERPRINT: [u8; 16] = [0; 16];
    const PROTOCOL: &'static str = "flow";
    const CAPACITY: Capacity = Capacity::Unbounded;

    fn slot() -> Slot {
        Slot::new().messages(3).fit::<P>()
    }
}
