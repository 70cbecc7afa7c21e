//! A protocol with an unbounded run whose other side belongs to a transport, written by hand.

use duologue::generated::{
    Branch, End, Remote, Row, Slot, Start, State, Stay, Transition, Turn, Wire,
};
use duologue::Capacity;

/// What its messages carry.
pub trait Payload: Wire + Send + 'static {}

impl<P: Wire + Send + 'static> Payload for P {}

/// `flow:send { more(P) -> flow, ask(P) -> answer, stop(P) -> ! }`, `answer:recv { yes -> ! }`.
pub struct Flow<P>(std::marker::PhantomData<fn(P) -> P>);

pub enum Answer {}

impl<P: Payload> State for Flow<P> {
    type Message = ();
    const NAME: &'static str = "flow";

    fn open(branch: Branch<Self>) {
        match branch.index() {
            0 => drop(branch.take::<0>()),
            1 => drop(branch.take::<1>()),
            _ => drop(branch.take::<2>()),
        }
    }
}

impl<P: Payload> Transition<0> for Flow<P> {
    type Payload = P;
    type Next = Stay<Flow<P>>;
}

impl<P: Payload> Transition<1> for Flow<P> {
    type Payload = P;
    type Next = Turn<Answer>;
}

impl<P: Payload> Transition<2> for Flow<P> {
    type Payload = P;
    type Next = End;
}

impl State for Answer {
    type Message = ();
    const NAME: &'static str = "answer";
    const STAYS: bool = false;

    fn open(branch: Branch<Self>) {
        branch.take::<0>();
    }
}

impl Transition<0> for Answer {
    type Payload = ();
    type Next = End;
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
