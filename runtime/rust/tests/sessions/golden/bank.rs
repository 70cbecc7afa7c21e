//! The bank, in the shape that the compiler generates.

/// An endpoint that sends, with a method for each message. If the same side sends next, its endpoint follows `via`.
macro_rules! sender {
    ($name:ident [$($generics:tt)*] $($state:ident)::+ $(<$parameter:ident>)? {
        $($index:literal $method:ident($($entry:ident: $type:ty),*) -> $next:ty $(, via $wrap:path)?;)*
    }) => {
        pub struct $name $(<$parameter>)? (pub(super) ::duologue::Sender<$($state)::+ $(<$parameter>)?>);

        #[allow(unused_parens)]
        impl<$($generics)*> $name $(<$parameter>)? {
            $(
                #[inline]
                pub fn $method(self, $($entry: $type),*) -> Result<$next, ::duologue::SendError<($($type),*)>> {
                    self.0.send::<$index>(($($entry),*))$(.map($wrap))?
                }
            )*
        }
    };
}

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

    sender!(Login [] state::Login {
        0 login(username: String, password: String) -> LoginResponse;
    });
    pub type LoginResponse = ::duologue::Receiver<state::LoginResponse>;
    sender!(Connected [] state::Connected {
        0 deposit(money: f64) -> Connected, via Connected;
        1 withdrawal(amount: f64) -> WithdrawalResponse;
        2 quit() -> ();
    });
    pub type WithdrawalResponse = ::duologue::Receiver<state::WithdrawalResponse>;

    ::duologue::generated::endpoint!(Login, client "bank.login");
    ::duologue::generated::endpoint!(Connected, client "bank.connected");
}

pub mod server {
    use super::state;

    pub type Login = ::duologue::Receiver<state::Login>;
    sender!(LoginResponse [] state::LoginResponse {
        0 ok() -> Connected;
        1 invalid() -> Login;
    });
    pub type Connected = ::duologue::Receiver<state::Connected>;
    sender!(WithdrawalResponse [] state::WithdrawalResponse {
        0 money(money: f64) -> Connected;
        1 insufficient_funds() -> Connected;
    });

    ::duologue::generated::endpoint!(LoginResponse, server "bank.login_response");
    ::duologue::generated::endpoint!(WithdrawalResponse, server "bank.withdrawal_response");
}

#[doc(hidden)]
pub mod state {
    use super::{client, server};
    use ::duologue::generated::{End, Stay, Turn};

    pub enum Login {}
    pub enum LoginResponse {}
    pub enum Connected {}
    pub enum WithdrawalResponse {}

    state! {
        [] Login, "bank.login" of "client", stays: false, super::Login, |branch| {
            let ((username, password), next) = branch.take::<0>();
            let next = server::LoginResponse(next);
            super::Login::Login { username, password, next }
        };
        0 "login"((String, String)) => Turn<LoginResponse>;
    }

    state! {
        [] LoginResponse, "bank.login_response" of "server", stays: false, super::LoginResponse, |branch| match branch.index() {
            0 => super::LoginResponse::Ok(client::Connected(branch.take::<0>().1)),
            1 => super::LoginResponse::Invalid(client::Login(branch.take::<1>().1)),
            _ => branch.refuse(),
        };
        0 "ok"(()) => Turn<Connected>;
        1 "invalid"(()) => Turn<Login>;
    }

    state! {
        [] Connected, "bank.connected" of "client", stays: true, super::Connected, |branch| match branch.index() {
            0 => {
                let (money, next) = branch.take::<0>();
                super::Connected::Deposit(money, next)
            }
            1 => {
                let (amount, next) = branch.take::<1>();
                let next = server::WithdrawalResponse(next);
                super::Connected::Withdrawal { amount, next }
            }
            2 => {
                let ((), ()) = branch.take::<2>();
                super::Connected::Quit
            }
            _ => branch.refuse(),
        };
        0 "deposit"(f64) => Stay<Connected>;
        1 "withdrawal"(f64) => Turn<WithdrawalResponse>;
        2 "quit"(()) => End;
    }

    state! {
        [] WithdrawalResponse, "bank.withdrawal_response" of "server", stays: false, super::WithdrawalResponse, |branch| {
            match branch.index() {
                0 => {
                    let (money, next) = branch.take::<0>();
                    super::WithdrawalResponse::Money(money, client::Connected(next))
                }
                1 => super::WithdrawalResponse::InsufficientFunds(client::Connected(branch.take::<1>().1)),
                _ => branch.refuse(),
            }
        };
        0 "money"(f64) => Turn<Connected>;
        1 "insufficient_funds"(()) => Turn<Connected>;
    }
}
