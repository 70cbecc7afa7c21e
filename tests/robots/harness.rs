// The part of the program in tests/suite/robots.rs that is the same for all protocols.

use duologue::robots::{Choices, Coverage, Ending, Play, Table};
use std::time::Duration;

/// Plays a session with both robots.
type Session<'s> = &'s dyn Fn(&mut Play, &mut Play) -> [Ending; 2];

fn robot(choices: Choices, coverage: &Coverage) -> Play {
    let play = Play::new(choices).coverage(coverage);
    play.pause(Duration::ZERO).within(Duration::from_secs(60))
}

/// Both robots of a protocol see all transitions, in at most as many sessions as there are transitions.
fn cover(name: &str, table: &'static Table, session: Session<'_>) {
    for is_shared in [true, false] {
        let coverage = Coverage::new(table);
        let other = match is_shared {
            true => coverage.clone(),
            false => Coverage::new(table),
        };
        let (seen, all) = coverage.covered();
        assert_eq!(seen, 0);
        let mut client = robot(Choices::covering(), &coverage);
        let mut server = robot(Choices::covering(), &other);
        let mut sessions = 0;
        while coverage.covered().0 < all {
            assert!(sessions < all, "{name}: {sessions} sessions: {}", coverage.report());
            let endings = session(&mut client, &mut server);
            agree(name, &endings, &client, &server);
            sessions += 1;
        }
        assert_eq!(other.covered(), (all, all), "{name}");
        println!("{name}: covered {all}/{all} transitions in {sessions} sessions");
        if is_shared {
            println!("{}", coverage.json());
        }
    }
}

/// The same seeds make the same sessions, and both robots see the same.
fn repeat(name: &str, table: &'static Table, session: Session<'_>) {
    for seed in 1..=10 {
        let sessions = [0, 1].map(|_| {
            let mut client = robot(Choices::seed(seed), &Coverage::new(table)).limit(12);
            let mut server = robot(Choices::seed(seed + 100), &Coverage::new(table)).limit(12);
            let endings = session(&mut client, &mut server);
            agree(name, &endings, &client, &server);
            let [one, other] = endings.each_ref().map(word);
            format!("# {name} seed {seed}: {one}, {other}\n{}", server.transcript())
        });
        assert_eq!(sessions[0], sessions[1], "{name}");
        print!("{}", sessions[0]);
    }
}

/// Lists in lists, each of which asks for as many items as there can be: a message has no more, however deep they are.
fn deep(name: &str, session: Session<'_>) {
    let robot = |bytes| Play::new(Choices::bytes(bytes)).pause(Duration::ZERO).limit(12);
    let mut client = robot(vec![96, 0]);
    let mut server = robot([vec![96], [0, 0, 0, 255, 255, 255, 255].repeat(30)].concat());
    let endings = session(&mut client, &mut server);
    agree(name, &endings, &client, &server);
    let [one, other] = endings.each_ref().map(word);
    println!("# {name} deep: {one}, {other}, {} bytes", server.transcript().len());
}

fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Left => "left",
        Ending::Stuck(_) => "stuck",
        Ending::Closed(_) => "closed",
        Ending::Late(_) => "late",
        Ending::Failed(_) => "failed",
    }
}

/// Neither side may see anything else than the other one.
fn agree(name: &str, endings: &[Ending; 2], client: &Play, server: &Play) {
    assert_eq!(client.transcript(), server.transcript(), "{name}: {endings:?}");
    let may_end = match endings {
        [Ending::Finished, Ending::Finished] => true,
        [Ending::Left | Ending::Stuck(_), Ending::Closed(_)] => true,
        [Ending::Closed(_), Ending::Left | Ending::Stuck(_)] => true,
        _ => false,
    };
    assert!(may_end, "{name}: {endings:?}");
}
