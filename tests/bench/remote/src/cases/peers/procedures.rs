//! A withdrawal as a remote procedure call of tarpc.

use super::{ANSWERS, UnixStream, ends, run, socket};
use crate::harness::Meter;
use crate::machine::Cost;
use std::pin::pin;
use tarpc::client::Config;
use tarpc::context::{self, Context};
use tarpc::serde::{Deserialize, Serialize};
use tarpc::serde_transport::{Transport, new};
use tarpc::server::{BaseChannel, Channel};
use tarpc::tokio_serde::formats::Bincode;
use tokio_stream::StreamExt;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

#[tarpc::service]
trait Bank {
    async fn withdraw(amount: f64) -> f64;
}

#[derive(Clone)]
struct Server;

impl Bank for Server {
    async fn withdraw(self, _: Context, amount: f64) -> f64 {
        amount
    }
}

/// Messages over one end of a socket.
fn transport<Item, Sent>(
    end: std::os::unix::net::UnixStream,
) -> Transport<UnixStream, Item, Sent, Bincode<Item, Sent>>
where
    Item: for<'de> Deserialize<'de>,
    Sent: Serialize,
{
    let framed = Framed::new(socket(end), LengthDelimitedCodec::new());
    new(framed, Bincode::default())
}

/// The bank answers in the task that reads the calls, which is what tarpc does fastest.
pub fn calls(count: u64) -> Cost {
    let [left, right] = ends();
    let customer = async move {
        let client = BankClient::new(Config::default(), transport(left)).spawn();
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            let money = client.withdraw(context::current(), amount).await;
            meter.back(money.expect(ANSWERS));
        }
        meter.cost()
    };
    let bank = async move {
        let channel = BaseChannel::with_defaults(transport(right));
        let mut calls = pin!(channel.execute(Server.serve()));
        while let Some(call) = calls.next().await {
            call.await;
        }
    };
    run(customer, bank)
}
