//! Waiting on several endpoints at once: the macro and the dynamic form.

use std::thread;
use std::time::Duration;

use duologue::{select, Capacity, Closed, Endpoint, NoEndpoints, Receive, Select};

use crate::golden::bank;
use crate::golden::stream::{self, Stream};

#[test]
fn the_message_of_the_ready_endpoint_is_received_and_the_other_endpoint_stays() -> Result<(), Closed>
{
    let (mut numbers, more_numbers) = stream::init::<u32>();
    let (mut texts, more_texts) = stream::init::<&str>();
    let _more_texts = more_texts.send("a")?;
    let heard = select! {
        numbers => {
            Stream::Send(number) -> _ => number,
            Stream::Stop => 1,
            closed => 2,
        }
        texts => {
            Stream::Send(text, _) => {
                assert_eq!(text, "a");
                let _more_numbers = more_numbers.send(7)?;
                assert!(matches!(numbers.recv()?, Stream::Send(7, _)));
                10
            }
            Stream::Stop => 11,
            closed => 12,
        }
    };
    assert_eq!(heard, 10);
    Ok(())
}

#[test]
fn each_endpoint_has_its_turn() -> Result<(), Closed> {
    const ROUNDS: usize = 1_000;
    let mut heard = [0_usize; 3];
    let ends = [0, 1, 2].map(|_| stream::init::<u32>());
    let [(mut a, mut to_a), (mut b, mut to_b), (mut c, mut to_c)] = ends;
    for _ in 0..ROUNDS {
        (to_a, to_b, to_c) = (to_a.send(1)?, to_b.send(1)?, to_c.send(1)?);
        // Three messages, one for each endpoint: each of the three rounds finds one that is left.
        for _ in 0..3 {
            select! {
                a => { Stream::Send(_) -> next => { heard[0] += 1; a = next }, Stream::Stop => return Ok(()), closed(why) => return Err(why) }
                b => { Stream::Send(_) -> next => { heard[1] += 1; b = next }, Stream::Stop => return Ok(()), closed(why) => return Err(why) }
                c => { Stream::Send(_) -> next => { heard[2] += 1; c = next }, Stream::Stop => return Ok(()), closed(why) => return Err(why) }
            }
        }
    }
    assert_eq!(heard, [ROUNDS; 3]);
    Ok(())
}

#[test]
fn the_lowest_place_does_not_always_win() -> Result<(), Closed> {
    const ROUNDS: usize = 1_000;
    // All are always ready, and two selects take turns.
    let (mut pair, mut three) = ([0_usize; 2], [0_usize; 3]);
    let mut clients = Vec::new();
    let mut servers = Vec::new();
    for _ in 0..5 {
        let (server, client) = stream::init::<u32>();
        clients.push(client.send(1)?);
        servers.push(server);
    }
    let (of_pair, of_three) = servers.split_at_mut(2);
    for _ in 0..ROUNDS {
        pair[Select::from_iter(of_pair.iter_mut()).ready().expect("two")] += 1;
        three[Select::from_iter(of_three.iter_mut())
            .ready()
            .expect("three")] += 1;
    }
    for (times, fair) in [
        (pair[0], ROUNDS / 2),
        (three[0], ROUNDS / 3),
        (three[2], ROUNDS / 3),
    ] {
        assert!(times.abs_diff(fair) <= 8, "{pair:?} {three:?}");
    }
    Ok(())
}

/// Receives one message, with an arm in each form that a message with named fields can have.
fn heard(mut account: bank::server::Connected) -> String {
    select! {
        account => {
            bank::Connected::Withdrawal { amount: 1.0 } -> next { drop(next); "block with next".to_owned() }
            bank::Connected::Withdrawal { amount: 2.0, .. } -> _ => "value with next".to_owned(),
            bank::Connected::Withdrawal { amount: 3.0, next: _ } { "block".to_owned() }
            bank::Connected::Withdrawal { amount: 4.0, .. } => "value".to_owned(),
            bank::Connected::Withdrawal { amount: 5.0, .. } | bank::Connected::Quit => "either".to_owned(),
            bank::Connected::Withdrawal { amount, } -> _next => amount.to_string(),
            bank::Connected::Deposit(amount) -> _next => format!("deposit of {amount}"),
            closed(why) => format!("closed in {}", why.state()),
        }
    }
}

#[test]
fn fields_with_names_are_patterns_in_arms() -> Result<(), Closed> {
    type Client = bank::client::Connected;
    type Said = (fn(Client) -> Result<(), Closed>, &'static str);
    let withdrawals = [
        "block with next",
        "value with next",
        "block",
        "value",
        "either",
        "6",
    ];
    let others: [Said; 3] = [
        (|client| Ok(client.quit()?), "either"),
        (
            |client| {
                drop(client.deposit(7.0)?);
                Ok(())
            },
            "deposit of 7",
        ),
        (
            |client| {
                drop(client);
                Ok(())
            },
            "closed in connected",
        ),
    ];
    let connected = || -> Result<_, Closed> {
        let (server, client) = bank::init();
        let waiting = client.login(String::new(), String::new())?;
        let bank::Login::Login { next, .. } = server.recv()?;
        let account = next.ok()?;
        match waiting.recv()? {
            bank::LoginResponse::Ok(client) => Ok((account, client)),
            bank::LoginResponse::Invalid(_) => unreachable!("the server has sent `ok`"),
        }
    };
    for (amount, expected) in (1..).zip(withdrawals) {
        let (account, client) = connected()?;
        let _waiting = client.withdrawal(f64::from(amount))?;
        assert_eq!(heard(account), expected);
    }
    for (say, expected) in others {
        let (account, client) = connected()?;
        say(client)?;
        assert_eq!(heard(account), expected);
    }
    Ok(())
}

#[test]
fn time_passes_and_the_endpoints_are_as_before() -> Result<(), Closed> {
    let (mut numbers, client) = stream::init::<u32>();
    let mut rounds = 0;
    let late = loop {
        let number = select! {
            numbers => {
                Stream::Send(number) -> _next => break number,
                Stream::Stop => return Ok(()),
                closed(why) => return Err(why),
            }
            after(Duration::from_millis(1)) => {
                rounds += 1;
                if rounds < 3 { continue }
                rounds
            }
        };
        drop(client.send(number)?);
        break match numbers.recv()? {
            Stream::Send(number, _) => number,
            Stream::Stop => 0,
        };
    };
    assert_eq!(late, 3);
    Ok(())
}

#[test]
fn a_sender_that_waits_for_room_may_stand_beside_receivers() -> Result<(), Closed> {
    let (server, client) = stream::init_with::<u32>(Capacity::Bounded(2));
    let (mut answers, more_answers) = stream::init::<u32>();
    let mut client = client.send(1)?.send(2)?;
    assert!(!client.is_ready());
    let reading = thread::spawn(move || {
        let _more_answers = more_answers.send(3)?;
        let server = server.recv()?.sent_is(1);
        let server = server.recv()?.sent_is(2);
        let _ = server.recv()?.sent_is(3);
        Ok::<(), Closed>(())
    });
    loop {
        select! {
            client => { ready => { client = client.send(3)?; break } }
            answers => {
                Stream::Send(3) -> next => answers = next,
                Stream::Send(..) | Stream::Stop => panic!("the answer is 3"),
                closed => answers = stream::init().0,
            }
        }
    }
    drop(client);
    reading.join().expect("no panic")
}

#[test]
fn any_number_of_endpoints_of_different_protocols() -> Result<(), Box<dyn std::error::Error>> {
    let (mut numbers, client) = stream::init::<u32>();
    let (mut login, _bank_client) = bank::init();
    let mut select = Select::new();
    assert_eq!(select.try_ready(), Err(NoEndpoints));
    assert_eq!(select.ready(), Err(NoEndpoints));
    assert_eq!(select.add(&mut login), 0);
    assert_eq!(select.add(&mut numbers as &mut dyn Endpoint), 1);
    assert_eq!(select.try_ready(), Ok(None));
    assert_eq!(select.ready_within(Duration::from_millis(1)), Ok(None));
    let sending = thread::spawn(move || client.send(5));
    assert_eq!(select.ready(), Ok(1));
    assert!(matches!(numbers.receive()?, Stream::Send(5, _)));
    let _client = sending.join().expect("no panic")?;
    Ok(())
}
