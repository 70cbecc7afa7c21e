use conversations::protocols;
use anyhow::Context;
use duologue::{Closed, SendError};
use protocols::bank::{self, LoginResponse};

#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error("the bank is gone")]
    Bank(#[from] Closed),
    #[error("{0} may not buy here")]
    Refused(String),
}

/// Lets `?` convert the error of any send.
impl<P> From<SendError<P>> for ShopError {
    fn from(error: SendError<P>) -> ShopError {
        ShopError::Bank(error.closed())
    }
}

fn log_in(login: bank::client::Login, name: &str) -> Result<bank::client::Connected, ShopError> {
    match login.login(name.to_owned(), "1234".to_owned())?.recv()? {
        LoginResponse::Ok(connected) => Ok(connected),
        LoginResponse::Invalid(_login) => Err(ShopError::Refused(name.to_owned())),
    }
}

fn buy(login: bank::client::Login) -> anyhow::Result<()> {
    let connected = log_in(login, "holk").context("at the counter")?;
    let connected = connected.deposit(10.0)?;
    Ok(connected.quit()?)
}

fn main() {
    let (server, client) = bank::init();
    drop(server);
    let error = buy(client).expect_err("there is no bank");
    assert_eq!(error.to_string(), "at the counter");
    let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
    assert_eq!(
        causes,
        ["the bank is gone", "the peer closed the session in state `bank.login`"]
    );
}
