//! Long conversations of two threads with delays at random points.

use std::thread;
use std::time::Duration;

use duologue::{Closed, TryRecvError};

use crate::golden::{bank, stream};

/// A small generator, so that a failure can be repeated from its seed.
pub(crate) struct Random(u64);

impl Random {
    /// Seeds that are near each other give numbers that are not.
    pub(crate) fn new(seed: u64) -> Random {
        Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Nothing, mostly; or a spin, a yield or a short sleep.
    pub(crate) fn delay(&mut self) {
        match self.below(2_000) {
            0 => thread::sleep(Duration::from_micros(20)),
            1..=20 => thread::yield_now(),
            21..=200 => (0..self.below(200)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
}

#[test]
fn runs_of_any_length_keep_their_order() {
    let (server, client) = bank::init();
    let serving = thread::spawn(move || {
        let mut random = Random(77);
        let bank::Login::Login { next: server, .. } = server.recv()?;
        let (mut server, mut balance) = (server.ok()?, 0.0);
        loop {
            random.delay();
            server = match server.recv()? {
                bank::Connected::Deposit(money, next) => {
                    balance = balance * 3.0 % 1_000_003.0 + money;
                    next
                }
                bank::Connected::Withdrawal { amount, next } => {
                    assert_eq!(amount, balance);
                    random.delay();
                    next.money(balance)?
                }
                bank::Connected::Quit => return Ok::<_, Closed>(()),
            }
        }
    });
    let talk = move || {
        let mut random = Random(99);
        let bank::LoginResponse::Ok(mut client) =
            client.login(String::new(), String::new())?.recv()?
        else {
            panic!("accepted")
        };
        let (mut balance, mut sent) = (0.0, 0);
        while sent < 200_000 {
            let longest = if random.below(10) == 0 { 300 } else { 4 };
            for _ in 0..random.below(longest) {
                let money = random.below(100) as f64;
                balance = balance * 3.0 % 1_000_003.0 + money;
                client = client.deposit(money)?;
                random.delay();
                sent += 1;
            }
            let bank::WithdrawalResponse::Money(money, next) =
                client.withdrawal(balance)?.recv()?
            else {
                panic!("money")
            };
            assert_eq!(money, balance);
            client = next;
        }
        client.quit()?;
        Ok::<_, Closed>(())
    };
    talk().expect("no disconnect");
    serving.join().expect("no panic").expect("no disconnect");
}

#[test]
fn either_side_may_leave_at_any_moment() {
    let mut random = Random(5);
    for round in 0..3_000_u64 {
        let (server, client) = stream::init::<Box<u64>>();
        let (send, read) = (random.below(200), random.below(200));
        let sender = thread::spawn(move || {
            let (mut random, mut client) = (Random(round + 1), client);
            for number in 0..send {
                random.delay();
                client = match client.send(Box::new(number)) {
                    Ok(next) => next,
                    Err(error) => {
                        assert_eq!(*error.into_payload(), number);
                        return;
                    }
                }
            }
        });
        let receive = move |mut server: stream::server::Stream<Box<u64>>| {
            let (mut random, mut expected) = (Random(round + 7), 0);
            while expected < read {
                random.delay();
                server = match server.recv_timeout(Duration::from_micros(random.below(50))) {
                    Ok(stream::Stream::Send(number, next)) => {
                        assert_eq!(*number, expected);
                        expected += 1;
                        next
                    }
                    Err(TryRecvError::Empty(same)) => same,
                    Ok(stream::Stream::Stop) | Err(TryRecvError::Closed(_)) => {
                        assert_eq!(expected, send);
                        return;
                    }
                };
            }
        };
        receive(server);
        assert!(sender.join().is_ok());
    }
}
