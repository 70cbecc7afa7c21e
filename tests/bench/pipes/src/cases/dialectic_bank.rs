//! The bank in `dialectic`, over tokio's channels.

use dialectic::prelude::*;
use dialectic_tokio_mpsc as mpsc;
use futures::join;

type Customer = Session! {
    send (u64, u64);
    offer {
        0 => loop {
            choose {
                0 => send u64,
                1 => {
                    send u64;
                    offer {
                        0 => recv u64,
                        1 => {},
                    }
                    break;
                }
            }
        },
        1 => {},
    }
};

type Bank = <Customer as Session>::Dual;

type Side<S> = Chan<S, mpsc::Sender, mpsc::Receiver>;

type Result<T> = std::result::Result<T, mpsc::Error>;

async fn customer(n: u64, customer: Side<Customer>) -> Result<u64> {
    let waiting = customer.send((n, n)).await?;
    offer!(in waiting {
        0 => {
            let connected = waiting.choose::<0>().await?.send(n).await?;
            let waiting = connected.choose::<1>().await?.send(n).await?;
            offer!(in waiting {
                0 => {
                    let (money, end) = waiting.recv().await?;
                    end.close();
                    Ok(money)
                }
                1 => {
                    waiting.close();
                    Ok(0)
                }
            })?
        }
        1 => {
            waiting.close();
            Ok(0)
        }
    })?
}

async fn bank(bank: Side<Bank>) -> Result<()> {
    let ((_name, _password), bank) = bank.recv().await?;
    let mut bank = bank.choose::<0>().await?;
    loop {
        bank = offer!(in bank {
            0 => bank.recv().await?.1,
            1 => {
                let (amount, bank) = bank.recv().await?;
                let bank = bank.choose::<0>().await?.send(amount).await?;
                bank.close();
                return Ok(());
            }
        })?;
    }
}

/// A whole session, both sides in one task.
pub async fn session(n: u64) -> u64 {
    let (mine, theirs) = Customer::channel(|| mpsc::channel(2));
    let (money, done) = join!(customer(n, mine), bank(theirs));
    done.expect("the customer stays");
    money.expect("the bank answers")
}
