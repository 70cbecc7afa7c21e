use conversations::Transcript;
use conversations::protocols::bank::{LoginResponse, WithdrawalResponse, client};
use duologue::Closed;

pub fn run(endpoint: client::Login, transcript: &Transcript) -> Result<(), Closed> {
    let answer = endpoint
        .login("holk".to_owned(), "wrong".to_owned())?
        .recv()?;
    let LoginResponse::Invalid(login) = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line("client <- invalid");
    let answer = login.login("holk".to_owned(), "1234".to_owned())?.recv()?;
    let LoginResponse::Ok(connected) = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line("client <- ok");
    let answer = connected.deposit(100.0)?.withdrawal(30.0)?.recv()?;
    let WithdrawalResponse::Money(amount, connected) = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line(format_args!("client <- money({amount:.2})"));
    let answer = connected.withdrawal(500.0)?.recv()?;
    let WithdrawalResponse::InsufficientFunds(connected) = answer else {
        panic!("unexpected: {answer:?}")
    };
    transcript.line("client <- insufficient_funds");
    connected.quit()?;
    Ok(())
}
