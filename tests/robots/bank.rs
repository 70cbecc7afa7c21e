// Servers of the bank with mistakes, all of which the client's robot finds.

use duologue::Closed;
use protocols0::bank;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is wrong with a server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Nothing,
    AlwaysInvalid,
    NeverInvalid,
    NeverPays,
    PaysAlways,
    PaysTheOpposite,
    ClosesAtOnce,
    ClosesAfterLogin,
    ClosesAtDeposit,
    ClosesAtWithdrawal,
    ForgetsTheLoginResponse,
    ForgetsTheAnswer,
}

use Mistake::*;

const MISTAKES: [Mistake; 11] = [
    AlwaysInvalid,
    NeverInvalid,
    NeverPays,
    PaysAlways,
    PaysTheOpposite,
    ClosesAtOnce,
    ClosesAfterLogin,
    ClosesAtDeposit,
    ClosesAtWithdrawal,
    ForgetsTheLoginResponse,
    ForgetsTheAnswer,
];

/// Keeps an endpoint open without using it, until the client has ended.
fn forget<E>(endpoint: E, is_over: &AtomicBool) -> Result<(), Closed> {
    while !is_over.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(endpoint);
    Ok(())
}

fn serve(mut server: bank::server::Login, mistake: Mistake, is_over: &AtomicBool) -> Result<(), Closed> {
    if mistake == ClosesAtOnce {
        return Ok(());
    }
    let mut customer = loop {
        let bank::Login::Login { password, next: answer, .. } = server.recv()?;
        let is_right = match mistake {
            AlwaysInvalid => false,
            NeverInvalid => true,
            ClosesAfterLogin => return Ok(()),
            ForgetsTheLoginResponse => return forget(answer, is_over),
            _ => !password.is_empty(),
        };
        match is_right {
            true => break answer.ok()?,
            false => server = answer.invalid()?,
        }
    };
    let mut balance = 0.0;
    loop {
        customer = match customer.recv()? {
            bank::Connected::Deposit(..) if mistake == ClosesAtDeposit => return Ok(()),
            bank::Connected::Withdrawal { .. } if mistake == ClosesAtWithdrawal => return Ok(()),
            bank::Connected::Withdrawal { next, .. } if mistake == ForgetsTheAnswer => {
                return forget(next, is_over);
            }
            bank::Connected::Deposit(money, next) => {
                if money > 0.0 {
                    balance += money;
                }
                next
            }
            bank::Connected::Withdrawal { amount, next: answer } => {
                let pays = match mistake {
                    NeverPays => false,
                    PaysAlways => amount >= 0.0,
                    _ => amount >= 0.0 && amount <= balance,
                };
                match pays {
                    true if mistake == PaysTheOpposite => answer.money(-amount)?,
                    true => {
                        balance -= amount;
                        answer.money(amount)?
                    }
                    false if mistake == PaysAlways => answer.money(0.0)?,
                    false => answer.insufficient_funds()?,
                }
            }
            bank::Connected::Quit => return Ok(()),
        };
    }
}

struct NoDebts;

impl bank::robots::Client for NoDebts {
    fn on_withdrawal_response(&mut self, message: &bank::WithdrawalResponse) -> Result<(), String> {
        match message {
            bank::WithdrawalResponse::Money(money, _) if *money < 0.0 => {
                Err(format!("the bank pays {money}"))
            }
            _ => Ok(()),
        }
    }
}

/// What the client's robot finds wrong with a server.
fn findings(mistake: Mistake) -> Option<String> {
    let coverage = Coverage::new(&bank::robots::TABLE);
    // A server that forgets its client is found when the time is over, all others at once.
    let patience = match mistake {
        ForgetsTheLoginResponse | ForgetsTheAnswer => Duration::from_millis(300),
        _ => Duration::from_secs(60),
    };
    for seed in 0..60 {
        let is_over = AtomicBool::new(false);
        let (server, client) = bank::init();
        let ending = std::thread::scope(|scope| {
            scope.spawn(|| serve(server, mistake, &is_over));
            let mut play = robot(Choices::seed(seed), &coverage).within(patience);
            let ending = bank::robots::client(client, &mut play, &mut NoDebts);
            is_over.store(true, Ordering::Release);
            ending
        });
        if let Err(failure) = ending.check() {
            return Some(failure.to_string());
        }
    }
    let (seen, all) = coverage.covered();
    (seen < all).then(|| coverage.report())
}

fn mistakes_are_found() {
    assert_eq!(findings(Nothing), None);
    for mistake in MISTAKES {
        let found = findings(mistake);
        let found = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
        println!("found {mistake:?}: {}", found.lines().next().unwrap_or_default());
    }
}

/// Fewer bytes make shorter sessions, and none the shortest.
fn bytes_shrink() {
    let play = |bytes: &[u8]| {
        let (server, client) = bank::init();
        let other = std::thread::spawn(|| {
            let mut play = Play::new(Choices::bytes(Vec::new()));
            bank::robots::server(server, &mut play, &mut ())
        });
        let mut play = Play::new(Choices::bytes(bytes));
        let ending = bank::robots::client(client, &mut play, &mut ());
        assert_eq!(ending, Ending::Finished);
        assert_eq!(other.join().expect("it does not panic"), Ending::Finished);
        play.transcript().to_owned()
    };
    let shortest = "server <- login(\"\", \"\")\nclient <- ok\nserver <- quit\n";
    assert_eq!(play(&[]), shortest);
    let bytes = [96, 1, 7, 0, 96, 4, 97, 2];
    let whole = play(&bytes);
    assert_eq!(
        whole,
        "server <- login(\"h\", \"\")\nclient <- ok\nserver <- deposit(1.00)\nserver <- withdrawal(0.50)\n\
         client <- money(0.00)\nserver <- quit\n"
    );
    for length in 0..bytes.len() {
        assert!(play(&bytes[..length]).len() <= whole.len());
    }
    one_robot_plays_two_protocols();
}

/// A coverage of its own is that of the protocol that it plays; one that the program supplies is of one protocol only.
fn one_robot_plays_two_protocols() {
    use protocols0::oneshot_bytes as oneshot;
    let send = |play: &mut Play| {
        let (server, client) = oneshot::init();
        let other = std::thread::spawn(|| {
            let mut play = Play::new(Choices::covering());
            oneshot::robots::server(server, &mut play, &mut ())
        });
        let ending = oneshot::robots::client(client, play, &mut ());
        let _ = other.join().expect("it does not panic");
        ending
    };
    let mut play = Play::new(Choices::covering());
    let (server, client) = bank::init();
    drop(server);
    assert!(matches!(bank::robots::client(client, &mut play, &mut ()), Ending::Closed(_)));
    assert_eq!(send(&mut play), Ending::Finished);
    let coverage = Coverage::new(&bank::robots::TABLE);
    let mut play = Play::new(Choices::covering()).coverage(&coverage);
    assert!(matches!(send(&mut play), Ending::Failed(why) if why.contains("not one of `oneshot_bytes`")));
}
