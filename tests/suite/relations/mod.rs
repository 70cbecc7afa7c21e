//! How protocols relate: equality, duality, and which versions can be deployed side by side.

mod commands;
mod judge;
mod large;
mod limits;
mod machine;
mod oracle;
mod partition;
mod parts;
mod versions;

use crate::support::choices::Choices;
use crate::support::repository;
use crate::support::texts::Texts;
use duologue::compile::Compilation;
use duologue::diagnostic::Level;
use duologue::protocol::{Program, ProtocolId};
use duologue::relation::{self, Change, Rollout, View};
use machine::Machine;
use oracle::{Fault, Want, explore, shortest};
use std::fs;

fn compiled(text: &str) -> Compilation {
    let texts = Texts::default().with("test.proto", text);
    let compilation = texts.compile_some(texts.names(), &[("all", Level::Allow)]);
    let first = compilation.diagnostics.first();
    assert!(compilation.checked.is_some(), "{first:?}\n{text}");
    compilation
}

fn program(compilation: &Compilation) -> &Program {
    let checked = compilation.checked.as_ref();
    checked.expect("it was checked").program()
}

fn view(compilation: &Compilation) -> View<'_> {
    View::of(program(compilation), ProtocolId::new(0))
}

/// The blocks of a file in `tests/relations/`, each as its lines.
fn blocks(file: &str) -> Vec<Vec<String>> {
    let path = repository().join(format!("tests/relations/{file}.txt"));
    let text = fs::read_to_string(path).expect("it is there");
    let lines = |block: &str| block.lines().map(|line| line.trim().to_owned()).collect();
    text.split("\n\n").map(lines).collect()
}

/// The questions of such a file, each with an old and a new version, and with the verdict that was worked out by hand.
fn rows(file: &str) -> impl Iterator<Item = (String, String, String, Rollout)> {
    blocks(file).into_iter().map(|block| {
        let [question, old, new] = &block[..] else {
            panic!("{block:?}")
        };
        let (question, verdict) = question.split_once(": ").expect("a verdict");
        let verdict = match verdict {
            "same" => Rollout::Same,
            "any-order" => Rollout::AnyOrder,
            "server-first" => Rollout::ServerFirst,
            "client-first" => Rollout::ClientFirst,
            "incompatible" => Rollout::Incompatible,
            _ => panic!("{verdict} is no verdict"),
        };
        (question.to_owned(), old.clone(), new.clone(), verdict)
    })
}

/// The verdict where the new version is the old one.
fn turned(rollout: Rollout) -> Rollout {
    match rollout {
        Rollout::ServerFirst => Rollout::ClientFirst,
        Rollout::ClientFirst => Rollout::ServerFirst,
        Rollout::Same | Rollout::AnyOrder | Rollout::Incompatible => rollout,
    }
}

/// Two machines, of which the second is mostly the first with some changes.
fn pair(chance: &mut Choices) -> (Machine, Machine) {
    let one = Machine::any(chance, 4);
    let other = if chance.once_in(4) {
        Machine::any(chance, 4)
    } else {
        one.changed(chance)
    };
    (one, other)
}

/// Checks each claim of the theorem in `relation` against all runs with bounded queues.
#[test]
fn fitting_is_what_all_runs_with_queues_show() {
    const PAIRS: usize = 800;
    let mut chance = Choices::new(1);
    let (mut sound, mut unsound) = (0, 0);
    for number in 0..PAIRS {
        let (client, server) = pair(&mut chance);
        let texts = (client.text("p", "s"), server.text("p", "t"));
        let (ours, theirs) = (compiled(&texts.0), compiled(&texts.1));
        let misfit = relation::misfit(view(&ours), view(&theirs));
        let (faults, _) = explore(&client, &server, 3);
        let case = || format!("pair {number}: {faults:?}\n{}{}", texts.0, texts.1);
        let has_faults = faults.iter().any(|fault| *fault != Fault::Silent);
        assert_eq!(misfit.is_some(), has_faults, "{}", case());
        let least = shortest(&client, &server, Want::Fit);
        let said = misfit.map(|found| found.dialogue.len());
        assert_eq!(said, least, "{}", case());
        if !has_faults {
            sound += 1;
        } else {
            unsound += 1;
        }
    }
    assert!(sound > 60 && unsound > 60, "{sound} and {unsound}");
}

#[test]
fn equality_is_what_dialogues_show() {
    let mut chance = Choices::new(2);
    let (mut equal, mut different) = (0, 0);
    for number in 0..500 {
        let (one, other) = pair(&mut chance);
        let texts = (one.text("p", "s"), other.text("q", "t"));
        let (ours, theirs) = (compiled(&texts.0), compiled(&texts.1));
        let found = relation::difference(view(&ours), view(&theirs));
        let least = shortest(&one, &other, Want::Equal);
        let said = found.map(|found| found.dialogue.len());
        assert_eq!(said, least, "pair {number}:\n{}{}", texts.0, texts.1);
        let turned = compiled(&other.turned().text("q", "t"));
        let told = relation::not_dual(view(&ours), view(&turned));
        assert_eq!(told.is_some(), least.is_some());
        if least.is_none() {
            equal += 1;
        } else {
            different += 1;
        }
    }
    assert!(equal > 50 && different > 50, "{equal} and {different}");
}

/// If both mixed pairs are sound, the versions are equal, so only a change of names can be deployed in any order.
#[test]
fn verdicts_hang_together() {
    let mut chance = Choices::new(3);
    let mut seen = std::collections::BTreeMap::<Rollout, usize>::new();
    for number in 0..500 {
        let (old, new) = pair(&mut chance);
        let prefix = if chance.once_in(2) { "s" } else { "t" };
        let texts = (old.text("p", "s"), new.text("p", prefix));
        let (ours, theirs) = (compiled(&texts.0), compiled(&texts.1));
        let change = Change::between(view(&ours), view(&theirs));
        let equal = relation::difference(view(&ours), view(&theirs)).is_none();
        let rollout = change.rollout();
        let case = || format!("pair {number}: {rollout:?}\n{}{}", texts.0, texts.1);
        assert_eq!(equal, rollout <= Rollout::AnyOrder, "{}", case());
        let back = Change::between(view(&theirs), view(&ours)).rollout();
        assert_eq!(back, turned(rollout), "{}", case());
        *seen.entry(rollout).or_default() += 1;
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}
