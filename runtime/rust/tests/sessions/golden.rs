//! Protocol modules in the shape that the compiler generates, written by hand.
#![allow(dead_code)]

/// `bank`: alternation, choices, and a deposit loop that makes its run unbounded.
#[path = "golden/bank.rs"]
pub mod bank;

/// `stream`: one generic state that never turns. `init_with` begins it with any capacity.
pub mod stream {
    #[inline]
    pub fn init<T: Send>() -> (server::Stream<T>, client::Stream<T>) {
        init_with(::duologue::Capacity::Unbounded)
    }

    #[inline]
    pub fn init_with<T: Send>(
        capacity: ::duologue::Capacity,
    ) -> (server::Stream<T>, client::Stream<T>) {
        let slot = const { ::duologue::generated::Slot::new().messages(3).fit::<T>() };
        let (first, second) = ::duologue::generated::session(slot, capacity);
        (second, client::Stream(first))
    }

    pub enum Stream<T> {
        Send(T, server::Stream<T>),
        Stop,
    }

    pub mod client {
        use super::state;

        pub struct Stream<T>(pub(super) ::duologue::Sender<state::Stream<T>>);

        impl<T: Send> Stream<T> {
            #[inline]
            pub fn send(self, x0: T) -> Result<Stream<T>, ::duologue::SendError<T>> {
                self.0.send::<0>(x0).map(Stream)
            }

            #[inline]
            pub fn try_send(
                self,
                x0: T,
            ) -> Result<Stream<T>, ::duologue::TrySendError<T, (Self, T)>> {
                self.0.try_send::<_, _, 0>(x0)
            }

            #[inline]
            pub fn send_async(self, x0: T) -> ::duologue::Sending<Self, Stream<T>, 0> {
                self.0.send_async(x0)
            }

            #[inline]
            pub fn stop(self) -> Result<(), ::duologue::SendError<()>> {
                self.0.send::<1>(())
            }

            #[inline]
            pub fn try_stop(self) -> Result<(), ::duologue::TrySendError<(), (Self, ())>> {
                self.0.try_send::<_, _, 1>(())
            }

            #[inline]
            pub fn stop_async(self) -> ::duologue::Sending<Self, (), 1> {
                self.0.send_async(())
            }
        }

        ::duologue::generated::endpoint!(Stream<T>, client "Stream");
        ::duologue::generated::waits!(Stream<T>);
    }

    pub mod server {
        pub type Stream<T> = ::duologue::Receiver<super::state::Stream<T>>;
    }

    pub mod state {
        pub struct Stream<T>(::std::marker::PhantomData<fn(T) -> T>);

        impl<T: Send> ::duologue::generated::State for Stream<T> {
            type Message = super::Stream<T>;
            const NAME: &'static str = "stream.Stream";

            #[inline]
            fn open(branch: ::duologue::generated::Branch<Self>) -> super::Stream<T> {
                match branch.index() {
                    0 => {
                        let (x0, next) = branch.take::<0>();
                        super::Stream::Send(x0, next)
                    }
                    1 => {
                        let ((), ()) = branch.take::<1>();
                        super::Stream::Stop
                    }
                    _ => branch.refuse(),
                }
            }
        }

        impl<T: Send> ::duologue::generated::Transition<0> for Stream<T> {
            type Payload = T;
            type Next = ::duologue::generated::Stay<Stream<T>>;
            const MESSAGE: &'static str = "send";
        }

        impl<T: Send> ::duologue::generated::Transition<1> for Stream<T> {
            type Payload = ();
            type Next = ::duologue::generated::End;
            const MESSAGE: &'static str = "stop";
        }
    }
}

/// `type_switch`: the type argument differs from one transition to the next.
pub mod type_switch {
    #[inline]
    pub fn init() -> (server::Start, client::Start) {
        let slot = const {
            ::duologue::generated::Slot::new()
                .messages(3)
                .fit::<i64>()
                .fit::<String>()
        };
        let (first, second) =
            ::duologue::generated::session(slot, ::duologue::Capacity::Bounded(1));
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
        use super::state;

        pub struct Start(pub(super) ::duologue::Sender<state::Start>);

        impl Start {
            #[inline]
            pub fn get_int(self) -> Result<Wait<i64>, ::duologue::SendError<()>> {
                self.0.send::<0>(())
            }

            #[inline]
            pub fn get_str(self) -> Result<Wait<String>, ::duologue::SendError<()>> {
                self.0.send::<1>(())
            }
        }

        pub type Wait<T> = ::duologue::Receiver<state::Wait<T>>;

        ::duologue::generated::endpoint!(Start, client "Start");
    }

    pub mod server {
        use super::state;

        pub type Start = ::duologue::Receiver<state::Start>;

        pub struct Wait<T>(pub(super) ::duologue::Sender<state::Wait<T>>);

        impl<T: Send> Wait<T> {
            #[inline]
            pub fn thing(self, x0: T) -> Result<Start, ::duologue::SendError<T>> {
                self.0.send::<0>(x0)
            }
        }
    }

    pub mod state {
        pub enum Start {}

        impl ::duologue::generated::State for Start {
            type Message = super::Start;
            const NAME: &'static str = "type_switch.start";
            const STAYS: bool = false;

            #[inline]
            fn open(branch: ::duologue::generated::Branch<Self>) -> super::Start {
                match branch.index() {
                    0 => super::Start::GetInt(super::server::Wait(branch.take::<0>().1)),
                    1 => super::Start::GetStr(super::server::Wait(branch.take::<1>().1)),
                    _ => branch.refuse(),
                }
            }
        }

        impl ::duologue::generated::Transition<0> for Start {
            type Payload = ();
            type Next = ::duologue::generated::Turn<Wait<i64>>;
            const MESSAGE: &'static str = "get_int";
        }

        impl ::duologue::generated::Transition<1> for Start {
            type Payload = ();
            type Next = ::duologue::generated::Turn<Wait<String>>;
            const MESSAGE: &'static str = "get_str";
        }

        pub struct Wait<T>(::std::marker::PhantomData<fn(T) -> T>);

        impl<T: Send> ::duologue::generated::State for Wait<T> {
            type Message = super::Wait<T>;
            const NAME: &'static str = "type_switch.wait";
            const STAYS: bool = false;

            #[inline]
            fn open(branch: ::duologue::generated::Branch<Self>) -> super::Wait<T> {
                let (x0, next) = branch.take::<0>();
                super::Wait::Thing(x0, super::client::Start(next))
            }
        }

        impl<T: Send> ::duologue::generated::Transition<0> for Wait<T> {
            type Payload = T;
            type Next = ::duologue::generated::Turn<Start>;
            const MESSAGE: &'static str = "thing";
        }
    }
}

/// `nest`: an endpoint travels inside a message of the same protocol, so sessions can be nested to any depth.
pub mod nest {
    #[inline]
    pub fn init() -> (server::Outer, client::Outer) {
        let slot = const {
            ::duologue::generated::Slot::new()
                .messages(3)
                .fit::<server::Outer>()
        };
        let (first, second) =
            ::duologue::generated::session(slot, ::duologue::Capacity::Bounded(1));
        (second, client::Outer(first))
    }

    pub enum Outer {
        Inner(server::Outer),
    }

    pub mod client {
        pub struct Outer(pub(super) ::duologue::Sender<super::state::Outer>);

        impl Outer {
            #[inline]
            pub fn inner(
                self,
                x0: super::server::Outer,
            ) -> Result<(), ::duologue::SendError<super::server::Outer>> {
                self.0.send::<0>(x0)
            }
        }
    }

    pub mod server {
        pub type Outer = ::duologue::Receiver<super::state::Outer>;
    }

    pub mod state {
        pub enum Outer {}

        impl ::duologue::generated::State for Outer {
            type Message = super::Outer;
            const NAME: &'static str = "nest.outer";
            const STAYS: bool = false;

            #[inline]
            fn open(branch: ::duologue::generated::Branch<Self>) -> super::Outer {
                let (x0, ()) = branch.take::<0>();
                super::Outer::Inner(x0)
            }
        }

        impl ::duologue::generated::Transition<0> for Outer {
            type Payload = super::server::Outer;
            type Next = ::duologue::generated::End;
            const MESSAGE: &'static str = "inner";
        }
    }
}

/// `greeting`: starts with `recv`, so the server sends first; then a run of two.
pub mod greeting {
    pub const CAPACITY: ::duologue::Capacity = ::duologue::Capacity::Bounded(2);

    #[inline]
    pub fn init() -> (server::Hello, client::Hello) {
        let slot = const {
            ::duologue::generated::Slot::new()
                .messages(3)
                .fit::<String>()
        };
        let (first, second) = ::duologue::generated::session(slot, CAPACITY);
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
        use super::state;

        pub type Hello = ::duologue::Receiver<state::Hello>;
        pub type More = ::duologue::Receiver<state::More>;

        pub struct Reply(pub(super) ::duologue::Sender<state::Reply>);

        impl Reply {
            #[inline]
            pub fn again(self) -> Result<Hello, ::duologue::SendError<()>> {
                self.0.send::<0>(())
            }

            #[inline]
            pub fn bye(self) -> Result<(), ::duologue::SendError<()>> {
                self.0.send::<1>(())
            }
        }
    }

    pub mod server {
        use super::state;

        pub struct Hello(pub(super) ::duologue::Sender<state::Hello>);

        impl Hello {
            #[inline]
            pub fn welcome(self, x0: String) -> Result<More, ::duologue::SendError<String>> {
                self.0.send::<0>(x0).map(More)
            }
        }

        pub struct More(pub(super) ::duologue::Sender<state::More>);

        impl More {
            #[inline]
            pub fn advice(self, x0: String) -> Result<Reply, ::duologue::SendError<String>> {
                self.0.send::<0>(x0)
            }
        }

        pub type Reply = ::duologue::Receiver<state::Reply>;
    }

    pub mod state {
        pub enum Hello {}

        impl ::duologue::generated::State for Hello {
            type Message = super::Hello;
            const NAME: &'static str = "greeting.hello";

            #[inline]
            fn open(branch: ::duologue::generated::Branch<Self>) -> super::Hello {
                let (x0, next) = branch.take::<0>();
                super::Hello::Welcome(x0, next)
            }
        }

        impl ::duologue::generated::Transition<0> for Hello {
            type Payload = String;
            type Next = ::duologue::generated::Stay<More>;
            const MESSAGE: &'static str = "welcome";
        }

        pub enum More {}

        impl ::duologue::generated::State for More {
            type Message = super::More;
            const NAME: &'static str = "greeting.more";
            const STAYS: bool = false;

            #[inline]
            fn open(branch: ::duologue::generated::Branch<Self>) -> super::More {
                let (x0, next) = branch.take::<0>();
                super::More::Advice(x0, super::client::Reply(next))
            }
        }

        impl ::duologue::generated::Transition<0> for More {
            type Payload = String;
            type Next = ::duologue::generated::Turn<Reply>;
            const MESSAGE: &'static str = "advice";
        }

        pub enum Reply {}

        impl ::duologue::generated::State for Reply {
            type Message = super::Reply;
            const NAME: &'static str = "greeting.reply";
            const STAYS: bool = false;

            #[inline]
            fn open(branch: ::duologue::generated::Branch<Self>) -> super::Reply {
                match branch.index() {
                    0 => super::Reply::Again(super::server::Hello(branch.take::<0>().1)),
                    1 => {
                        let ((), ()) = branch.take::<1>();
                        super::Reply::Bye
                    }
                    _ => branch.refuse(),
                }
            }
        }

        impl ::duologue::generated::Transition<0> for Reply {
            type Payload = ();
            type Next = ::duologue::generated::Turn<Hello>;
            const MESSAGE: &'static str = "again";
        }

        impl ::duologue::generated::Transition<1> for Reply {
            type Payload = ();
            type Next = ::duologue::generated::End;
            const MESSAGE: &'static str = "bye";
        }
    }
}
