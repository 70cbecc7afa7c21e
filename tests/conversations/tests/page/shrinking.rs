use conversations::robots as protocols;
use duologue::robots::{Choices, Play};
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};
use protocols::bank::{self, Connected, Login};

/// The code that is tested: a bank in which everyone has 100.
fn serve(mut server: bank::server::Login) -> Result<(), duologue::Closed> {
    let mut customer = loop {
        let Login::Login { password, next: answer, .. } = server.recv()?;
        match password.is_empty() {
            true => server = answer.invalid()?,
            false => break answer.ok()?,
        }
    };
    loop {
        customer = match customer.recv()? {
            Connected::Deposit(_, next) => next,
            Connected::Withdrawal { amount, next: answer } if amount <= 100.0 => answer.money(amount)?,
            Connected::Withdrawal { next: answer, .. } => answer.insufficient_funds()?,
            Connected::Quit => return Ok(()),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_bank_answers_until_its_client_leaves(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let (server, client) = bank::init();
        let serving = std::thread::spawn(move || serve(server));
        let mut play = Play::new(Choices::bytes(bytes)).pause(std::time::Duration::ZERO);
        let ending = bank::robots::client(client, &mut play, &mut ()).check();
        let _ = serving.join();
        prop_assert!(ending.is_ok(), "{ending:?}");
    }
}
