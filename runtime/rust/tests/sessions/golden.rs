//! Protocol modules in the shape that the compiler generates, written by hand.
#![allow(dead_code)]

#[macro_use]
#[path = "golden/state.rs"]
mod states;

/// `bank`: alternation, choices, and a deposit loop that makes its run unbounded.
#[macro_use]
#[path = "golden/bank.rs"]
pub mod bank;

/// `stream`: one generic state that never turns. `init_with` begins it with any capacity.
pub mod stream {
    use ::duologue::generated::{endpoint, session, waits, End, Slot, Stay};
    use ::duologue::{Capacity, Sending, TrySendError};

    #[inline]
    pub fn init<T: Send>() -> (server::Stream<T>, client::Stream<T>) {
        init_with(Capacity::Unbounded)
    }

    #[inline]
    pub fn init_with<T: Send>(capacity: Capacity) -> (server::Stream<T>, client::Stream<T>) {
        let slot = const { Slot::new().messages(3).fit::<T>() };
        let (first, second) = session(slot, capacity);
        (second, client::Stream(first))
    }

    pub enum Stream<T> {
        Send(T, server::Stream<T>),
        Stop,
    }

    impl<T> Stream<T> {
        /// What was sent, and the endpoint that follows, for tests that expect it.
        pub fn sent(self) -> (T, server::Stream<T>) {
            match self {
                Stream::Send(x0, next) => (x0, next),
                Stream::Stop => panic!("it was stopped"),
            }
        }

        /// The endpoint that follows this.
        pub fn sent_is(self, expected: T) -> server::Stream<T>
        where
            T: PartialEq + ::std::fmt::Debug,
        {
            let (x0, next) = self.sent();
            assert_eq!(x0, expected);
            next
        }
    }

    pub mod client {
        use super::*;

        sender!(Stream [T: Send] state::Stream<T> {
            0 send(x0: T) -> Stream<T>, via Stream;
            1 stop() -> ();
        });

        impl<T: Send> Stream<T> {
            #[inline]
            pub fn try_send(self, x0: T) -> Result<Stream<T>, TrySendError<T, (Self, T)>> {
                self.0.try_send::<_, _, 0>(x0)
            }

            #[inline]
            pub fn send_async(self, x0: T) -> Sending<Self, Stream<T>, 0> {
                self.0.send_async(x0)
            }

            #[inline]
            pub fn try_stop(self) -> Result<(), TrySendError<(), (Self, ())>> {
                self.0.try_send::<_, _, 1>(())
            }

            #[inline]
            pub fn stop_async(self) -> Sending<Self, (), 1> {
                self.0.send_async(())
            }
        }

        endpoint!(Stream<T>, client "Stream");
        waits!(Stream<T>);
    }

    pub mod server {
        pub type Stream<T> = ::duologue::Receiver<super::state::Stream<T>>;
    }

    pub mod state {
        use super::*;

        pub struct Stream<T>(::std::marker::PhantomData<fn(T) -> T>);

        state! {
            [T: Send] Stream<T>, "stream.Stream" of "", stays: true, super::Stream<T>, |branch| match branch.index() {
                0 => {
                    let (x0, next) = branch.take::<0>();
                    super::Stream::Send(x0, next)
                }
                1 => {
                    let ((), ()) = branch.take::<1>();
                    super::Stream::Stop
                }
                _ => branch.refuse(),
            };
            0 "send"(T) => Stay<Stream<T>>;
            1 "stop"(()) => End;
        }
    }
}

/// `type_switch`: the type argument differs from one transition to the next.
pub mod type_switch {
    use ::duologue::generated::{endpoint, session, Slot, Turn};
    use ::duologue::{Capacity, Receiver};

    #[inline]
    pub fn init() -> (server::Start, client::Start) {
        let slot = const { Slot::new().messages(3).fit::<i64>().fit::<String>() };
        let (first, second) = session(slot, Capacity::Bounded(1));
        (second, client::Start(first))
    }

    pub enum Start {
        GetInt(server::Wait<i64>),
        GetStr(server::Wait<String>),
    }

    pub enum Wait<T> {
        Thing(T, client::Start),
    }

    pub mod client {
        use super::*;

        sender!(Start [] state::Start {
            0 get_int() -> Wait<i64>;
            1 get_str() -> Wait<String>;
        });
        pub type Wait<T> = Receiver<state::Wait<T>>;

        endpoint!(Start, client "Start");
    }

    pub mod server {
        use super::*;

        pub type Start = Receiver<state::Start>;
        sender!(Wait [T: Send] state::Wait<T> {
            0 thing(x0: T) -> Start;
        });
    }

    pub mod state {
        use super::*;

        pub enum Start {}
        pub struct Wait<T>(::std::marker::PhantomData<fn(T) -> T>);

        state! {
            [] Start, "type_switch.start" of "", stays: false, super::Start, |branch| match branch.index() {
                0 => super::Start::GetInt(server::Wait(branch.take::<0>().1)),
                1 => super::Start::GetStr(server::Wait(branch.take::<1>().1)),
                _ => branch.refuse(),
            };
            0 "get_int"(()) => Turn<Wait<i64>>;
            1 "get_str"(()) => Turn<Wait<String>>;
        }

        state! {
            [T: Send] Wait<T>, "type_switch.wait" of "", stays: false, super::Wait<T>, |branch| {
                let (x0, next) = branch.take::<0>();
                super::Wait::Thing(x0, client::Start(next))
            };
            0 "thing"(T) => Turn<Start>;
        }
    }
}

/// `nest`: an endpoint travels inside a message of the same protocol, so sessions can be nested to any depth.
pub mod nest {
    use ::duologue::generated::{session, End, Slot};
    use ::duologue::Capacity;

    #[inline]
    pub fn init() -> (server::Outer, client::Outer) {
        let slot = const { Slot::new().messages(3).fit::<server::Outer>() };
        let (first, second) = session(slot, Capacity::Bounded(1));
        (second, client::Outer(first))
    }

    pub enum Outer {
        Inner(server::Outer),
    }

    pub mod client {
        use super::{server, state};

        sender!(Outer [] state::Outer {
            0 inner(x0: server::Outer) -> ();
        });
    }

    pub mod server {
        pub type Outer = ::duologue::Receiver<super::state::Outer>;
    }

    pub mod state {
        use super::{server, End};

        pub enum Outer {}

        state! {
            [] Outer, "nest.outer" of "", stays: false, super::Outer, |branch| {
                let (x0, ()) = branch.take::<0>();
                super::Outer::Inner(x0)
            };
            0 "inner"(server::Outer) => End;
        }
    }
}

/// `greeting`: starts with `recv`, so the server sends first; then a run of two.
pub mod greeting {
    use ::duologue::generated::{session, End, Slot, Stay, Turn};
    use ::duologue::{Capacity, Receiver};

    pub const CAPACITY: Capacity = Capacity::Bounded(2);

    #[inline]
    pub fn init() -> (server::Hello, client::Hello) {
        let slot = const { Slot::new().messages(3).fit::<String>() };
        let (first, second) = session(slot, CAPACITY);
        (server::Hello(first), second)
    }

    pub enum Hello {
        Welcome(String, client::More),
    }

    pub enum More {
        Advice(String, client::Reply),
    }

    pub enum Reply {
        Again(server::Hello),
        Bye,
    }

    pub mod client {
        use super::{state, Receiver};

        pub type Hello = Receiver<state::Hello>;
        pub type More = Receiver<state::More>;
        sender!(Reply [] state::Reply {
            0 again() -> Hello;
            1 bye() -> ();
        });
    }

    pub mod server {
        use super::{state, Receiver};

        sender!(Hello [] state::Hello {
            0 welcome(x0: String) -> More, via More;
        });
        sender!(More [] state::More {
            0 advice(x0: String) -> Reply;
        });
        pub type Reply = Receiver<state::Reply>;
    }

    pub mod state {
        use super::{client, server, End, Stay, Turn};

        pub enum Hello {}
        pub enum More {}
        pub enum Reply {}

        state! {
            [] Hello, "greeting.hello" of "", stays: true, super::Hello, |branch| {
                let (x0, next) = branch.take::<0>();
                super::Hello::Welcome(x0, next)
            };
            0 "welcome"(String) => Stay<More>;
        }

        state! {
            [] More, "greeting.more" of "", stays: false, super::More, |branch| {
                let (x0, next) = branch.take::<0>();
                super::More::Advice(x0, client::Reply(next))
            };
            0 "advice"(String) => Turn<Reply>;
        }

        state! {
            [] Reply, "greeting.reply" of "", stays: false, super::Reply, |branch| match branch.index() {
                0 => super::Reply::Again(server::Hello(branch.take::<0>().1)),
                1 => {
                    let ((), ()) = branch.take::<1>();
                    super::Reply::Bye
                }
                _ => branch.refuse(),
            };
            0 "again"(()) => Turn<Hello>;
            1 "bye"(()) => End;
        }
    }
}
