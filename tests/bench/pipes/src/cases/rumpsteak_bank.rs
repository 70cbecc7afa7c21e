//! The bank in `rumpsteak`. A session must reach its end there, so the money is the last message.

#![allow(
    missing_docs,
    dead_code,
    reason = "the protocol has more than this session uses, and macros generate the rest"
)]

use futures::join;
use rumpsteak::choice::Choice;
use rumpsteak::role::{Role, Roles, ToFrom};
use rumpsteak::{Branch, End, Label, Receive, Result, Select, Send, try_session};

#[derive(Roles)]
struct Parties(C, B);

#[derive(Role)]
#[message(Message)]
struct C(#[route(B)] ToFrom<B>);

#[derive(Role)]
#[message(Message)]
struct B(#[route(C)] ToFrom<C>);

#[derive(Label)]
enum Message {
    Login(Login),
    Okay(Okay),
    Invalid(Invalid),
    Deposit(Deposit),
    Quit(Quit),
    Withdrawal(Withdrawal),
    Money(Money),
    Insufficient(Insufficient),
}

struct Login(u64, u64);
struct Okay;
struct Invalid;
struct Deposit(u64);
struct Quit;
struct Withdrawal(u64);
struct Money(u64);
struct Insufficient;

type Customer<'c> = Send<'c, C, B, Login, Branch<'c, C, B, CustomerAnswer<'c>>>;

#[derive(Choice)]
#[role('c, C)]
enum CustomerAnswer<'c> {
    Okay(Okay, Select<'c, C, B, CustomerConnected<'c>>),
    Invalid(Invalid, End<'c>),
}

#[derive(Choice)]
#[role('c, C)]
enum CustomerConnected<'c> {
    Deposit(Deposit, Select<'c, C, B, CustomerConnected<'c>>),
    Withdrawal(Withdrawal, Branch<'c, C, B, CustomerMoney<'c>>),
    Quit(Quit, End<'c>),
}

#[derive(Choice)]
#[role('c, C)]
enum CustomerMoney<'c> {
    Money(Money, End<'c>),
    Insufficient(Insufficient, End<'c>),
}

type Bank<'b> = Receive<'b, B, C, Login, Select<'b, B, C, BankAnswer<'b>>>;

#[derive(Choice)]
#[role('b, B)]
enum BankAnswer<'b> {
    Okay(Okay, Branch<'b, B, C, BankConnected<'b>>),
    Invalid(Invalid, End<'b>),
}

#[derive(Choice)]
#[role('b, B)]
enum BankConnected<'b> {
    Deposit(Deposit, Branch<'b, B, C, BankConnected<'b>>),
    Withdrawal(Withdrawal, Select<'b, B, C, BankMoney<'b>>),
    Quit(Quit, End<'b>),
}

#[derive(Choice)]
#[role('b, B)]
enum BankMoney<'b> {
    Money(Money, End<'b>),
    Insufficient(Insufficient, End<'b>),
}

async fn customer(n: u64, customer: Customer<'_>) -> Result<(u64, End<'_>)> {
    let waiting = customer.send(Login(n, n))?;
    let connected = match waiting.branch().await? {
        CustomerAnswer::Okay(Okay, connected) => connected,
        CustomerAnswer::Invalid(Invalid, end) => return Ok((0, end)),
    };
    let connected = connected.select(Deposit(n))?;
    let waiting = connected.select(Withdrawal(n))?;
    Ok(match waiting.branch().await? {
        CustomerMoney::Money(Money(money), end) => (money, end),
        CustomerMoney::Insufficient(Insufficient, end) => (0, end),
    })
}

async fn bank(bank: Bank<'_>) -> Result<((), End<'_>)> {
    let (Login(name, password), bank) = bank.receive().await?;
    if name != password {
        return Ok(((), bank.select(Invalid)?));
    }
    let mut connected = bank.select(Okay)?;
    let mut balance = 0;
    loop {
        connected = match connected.branch().await? {
            BankConnected::Deposit(Deposit(money), next) => {
                balance += money;
                next
            }
            BankConnected::Withdrawal(Withdrawal(money), answer) if money <= balance => {
                return Ok(((), answer.select(Money(money))?));
            }
            BankConnected::Withdrawal(_, answer) => {
                return Ok(((), answer.select(Insufficient)?));
            }
            BankConnected::Quit(Quit, end) => return Ok(((), end)),
        };
    }
}

/// A whole session, both sides in one task.
pub async fn session(n: u64) -> u64 {
    let Parties(mut c, mut b) = Parties::default();
    let (money, ()) = join!(
        async {
            try_session(&mut c, |side| customer(n, side))
                .await
                .expect("the bank answers")
        },
        async { try_session(&mut b, bank).await.expect("the customer stays") },
    );
    money
}
