//! A withdrawal and its answer over a pair of channels of remoc.

use super::{ANSWERS, ends, run, socket};
use crate::harness::Meter;
use crate::machine::Cost;
use remoc::rch::base::{Receiver, Sender};
use remoc::{Cfg, Connect};

/// The channels over one end of a socket, whose connection a task drives.
async fn channels(end: std::os::unix::net::UnixStream) -> (Sender<f64>, Receiver<f64>) {
    let (input, output) = socket(end).into_split();
    let connected = Connect::io(Cfg::default(), input, output).await;
    let (connection, sender, receiver) = connected.expect(ANSWERS);
    tokio::spawn(connection);
    (sender, receiver)
}

pub fn exchanges(count: u64) -> Cost {
    let [left, right] = ends();
    let customer = async move {
        let (mut sender, mut receiver) = channels(left).await;
        let mut meter = Meter::new(count);
        while let Some(amount) = meter.next() {
            sender.send(amount).await.expect(ANSWERS);
            let money = receiver.recv().await.expect(ANSWERS);
            meter.back(money.expect(ANSWERS));
        }
        meter.cost()
    };
    let bank = async move {
        let (mut sender, mut receiver) = channels(right).await;
        while let Ok(Some(amount)) = receiver.recv().await {
            // The customer needs no answer if it disconnects.
            if sender.send(amount).await.is_err() {
                return;
            }
        }
    };
    run(customer, bank)
}
