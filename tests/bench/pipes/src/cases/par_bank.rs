//! The bank in `par`.

use futures::join;
use par::exchange::{Recv, Send};
use par::{Dual, Session};

type Customer = Send<(u64, u64), Recv<Option<Connected>>>;

type Connected = Send<Operation>;

/// What a customer may do next.
enum Operation {
    Deposit(Recv<u64, Recv<Operation>>),
    Withdrawal(Recv<u64, Send<Option<u64>>>),
    #[allow(dead_code, reason = "a customer may also disconnect")]
    Quit,
}

async fn customer(n: u64, customer: Customer) -> u64 {
    let connected = customer.send((n, n)).recv1().await;
    let connected = connected.expect("the bank accepts");
    let connected = connected.choose(Operation::Deposit).send(n);
    let money = connected
        .choose(Operation::Withdrawal)
        .send(n)
        .recv1()
        .await;
    money.expect("the bank has money")
}

async fn bank(bank: Dual<Customer>) {
    let ((name, password), bank) = bank.recv().await;
    if name != password {
        return bank.send1(None);
    }
    let mut operation = bank.choose(Some).recv1().await;
    let mut balance = 0;
    loop {
        match operation {
            Operation::Deposit(deposit) => {
                let (money, next) = deposit.recv().await;
                balance += money;
                operation = next.recv1().await;
            }
            Operation::Withdrawal(withdrawal) => {
                let (money, answer) = withdrawal.recv().await;
                return answer.send1((money <= balance).then_some(money));
            }
            Operation::Quit => return,
        }
    }
}

/// A whole session, both sides in one task.
pub async fn session(n: u64) -> u64 {
    let mut other = None;
    let mine = Customer::fork_sync(|dual| other = Some(dual));
    let other = other.expect("it is given at once");
    join!(customer(n, mine), bank(other)).0
}
