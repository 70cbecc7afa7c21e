//! The bank, in the shape that the compiler generates.

pub const CAPACITY: ::duologue::Capacity = ::duologue::Capacity::Unbounded;

#[inline]
pub fn init() -> (server::Login, client::Login) {
    let slot = const {
        ::duologue::generated::Slot::new()
            .messages(3)
            .fit::<(String, String)>()
            .fit::<f64>()
    };
    let (first, second) = ::duologue::generated::session(slot, CAPACITY);
    (second, client::Login(first))
}

#[derive(Debug)]
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub enum Login {
    Login {
        username: String,
        password: String,
        next: server::LoginResponse,
    },
}

#[derive(Debug)]
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub enum LoginResponse {
    Ok(client::Connected),
    Invalid(client::Login),
}

#[derive(Debug)]
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub enum Connected {
    Deposit(f64, server::Connected),
    Withdrawal {
        amount: f64,
        next: server::WithdrawalResponse,
    },
    Quit,
}

#[derive(Debug)]
#[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
pub enum WithdrawalResponse {
    Money(f64, client::Connected),
    InsufficientFunds(client::Connected),
}

pub mod client {
    use super::state;

    #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
    pub struct Login(pub(super) ::duologue::Sender<state::Login>);

    impl Login {
        #[inline]
        pub fn login(
            self,
            username: String,
            password: String,
        ) -> Result<LoginResponse, ::duologue::SendError<(String, String)>> {
            self.0.send::<0>((username, password))
        }
    }

    pub type LoginResponse = ::duologue::Receiver<state::LoginResponse>;

    #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
    pub struct Connected(pub(super) ::duologue::Sender<state::Connected>);

    impl Connected {
        #[inline]
        pub fn deposit(self, money: f64) -> Result<Connected, ::duologue::SendError<f64>> {
            self.0.send::<0>(money).map(Connected)
        }

        #[inline]
        pub fn withdrawal(
            self,
            amount: f64,
        ) -> Result<WithdrawalResponse, ::duologue::SendError<f64>> {
            self.0.send::<1>(amount)
        }

        #[inline]
        pub fn quit(self) -> Result<(), ::duologue::SendError<()>> {
            self.0.send::<2>(())
        }
    }

    pub type WithdrawalResponse = ::duologue::Receiver<state::WithdrawalResponse>;

    ::duologue::generated::endpoint!(Login, client "bank.login");
    ::duologue::generated::endpoint!(Connected, client "bank.connected");
}

pub mod server {
    use super::state;

    pub type Login = ::duologue::Receiver<state::Login>;

    #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
    pub struct LoginResponse(pub(super) ::duologue::Sender<state::LoginResponse>);

    impl LoginResponse {
        #[inline]
        pub fn ok(self) -> Result<Connected, ::duologue::SendError<()>> {
            self.0.send::<0>(())
        }

        #[inline]
        pub fn invalid(self) -> Result<Login, ::duologue::SendError<()>> {
            self.0.send::<1>(())
        }
    }

    pub type Connected = ::duologue::Receiver<state::Connected>;

    #[must_use = "a dropped endpoint closes its session, and `let _ = ...` drops it"]
    pub struct WithdrawalResponse(pub(super) ::duologue::Sender<state::WithdrawalResponse>);

    impl WithdrawalResponse {
        #[inline]
        pub fn money(self, money: f64) -> Result<Connected, ::duologue::SendError<f64>> {
            self.0.send::<0>(money)
        }

        #[inline]
        pub fn insufficient_funds(self) -> Result<Connected, ::duologue::SendError<()>> {
            self.0.send::<1>(())
        }
    }

    ::duologue::generated::endpoint!(LoginResponse, server "bank.login_response");
    ::duologue::generated::endpoint!(WithdrawalResponse, server "bank.withdrawal_response");
}

#[doc(hidden)]
pub mod state {
    use super::{client, server};

    pub enum Login {}

    impl ::duologue::generated::State for Login {
        type Message = super::Login;
        const NAME: &'static str = "bank.login";
        const SENDER: &'static str = "client";
        const STAYS: bool = false;

        #[inline]
        fn open(branch: ::duologue::generated::Branch<Self>) -> super::Login {
            let ((username, password), next) = branch.take::<0>();
            super::Login::Login {
                username,
                password,
                next: server::LoginResponse(next),
            }
        }
    }

    impl ::duologue::generated::Transition<0> for Login {
        type Payload = (String, String);
        type Next = ::duologue::generated::Turn<LoginResponse>;
        const MESSAGE: &'static str = "login";
    }

    pub enum LoginResponse {}

    impl ::duologue::generated::State for LoginResponse {
        type Message = super::LoginResponse;
        const NAME: &'static str = "bank.login_response";
        const SENDER: &'static str = "server";
        const STAYS: bool = false;

        #[inline]
        fn open(branch: ::duologue::generated::Branch<Self>) -> super::LoginResponse {
            match branch.index() {
                0 => super::LoginResponse::Ok(client::Connected(branch.take::<0>().1)),
                1 => super::LoginResponse::Invalid(client::Login(branch.take::<1>().1)),
                _ => branch.refuse(),
            }
        }
    }

    impl ::duologue::generated::Transition<0> for LoginResponse {
        type Payload = ();
        type Next = ::duologue::generated::Turn<Connected>;
        const MESSAGE: &'static str = "ok";
    }

    impl ::duologue::generated::Transition<1> for LoginResponse {
        type Payload = ();
        type Next = ::duologue::generated::Turn<Login>;
        const MESSAGE: &'static str = "invalid";
    }

    pub enum Connected {}

    impl ::duologue::generated::State for Connected {
        type Message = super::Connected;
        const NAME: &'static str = "bank.connected";
        const SENDER: &'static str = "client";

        #[inline]
        fn open(branch: ::duologue::generated::Branch<Self>) -> super::Connected {
            match branch.index() {
                0 => {
                    let (money, next) = branch.take::<0>();
                    super::Connected::Deposit(money, next)
                }
                1 => {
                    let (amount, next) = branch.take::<1>();
                    super::Connected::Withdrawal {
                        amount,
                        next: server::WithdrawalResponse(next),
                    }
                }
                2 => {
                    let ((), ()) = branch.take::<2>();
                    super::Connected::Quit
                }
                _ => branch.refuse(),
            }
        }
    }

    impl ::duologue::generated::Transition<0> for Connected {
        type Payload = f64;
        type Next = ::duologue::generated::Stay<Connected>;
        const MESSAGE: &'static str = "deposit";
    }

    impl ::duologue::generated::Transition<1> for Connected {
        type Payload = f64;
        type Next = ::duologue::generated::Turn<WithdrawalResponse>;
        const MESSAGE: &'static str = "withdrawal";
    }

    impl ::duologue::generated::Transition<2> for Connected {
        type Payload = ();
        type Next = ::duologue::generated::End;
        const MESSAGE: &'static str = "quit";
    }

    pub enum WithdrawalResponse {}

    impl ::duologue::generated::State for WithdrawalResponse {
        type Message = super::WithdrawalResponse;
        const NAME: &'static str = "bank.withdrawal_response";
        const SENDER: &'static str = "server";
        const STAYS: bool = false;

        #[inline]
        fn open(branch: ::duologue::generated::Branch<Self>) -> super::WithdrawalResponse {
            match branch.index() {
                0 => {
                    let (money, next) = branch.take::<0>();
                    super::WithdrawalResponse::Money(money, client::Connected(next))
                }
                1 => super::WithdrawalResponse::InsufficientFunds(client::Connected(
                    branch.take::<1>().1,
                )),
                _ => branch.refuse(),
            }
        }
    }

    impl ::duologue::generated::Transition<0> for WithdrawalResponse {
        type Payload = f64;
        type Next = ::duologue::generated::Turn<Connected>;
        const MESSAGE: &'static str = "money";
    }

    impl ::duologue::generated::Transition<1> for WithdrawalResponse {
        type Payload = ();
        type Next = ::duologue::generated::Turn<Connected>;
        const MESSAGE: &'static str = "insufficient_funds";
    }
}
