//! The Scala target: the shim, what is generated, and the programs that use it.

use crate::support::scala::Scala;

/// The suites of the shim. Each must exist: JUnit fails on a name that it does not find.
const SUITES: [&str; 3] = [
    "duologue.SessionSuite",
    "duologue.TravelSuite",
    "duologue.LateSuite",
];

fn runtime_keeps_its_contract(scala: Scala) {
    let runtime = scala.runtime();
    let printed = scala.run(&[runtime], "org.junit.runner.JUnitCore", &SUITES);
    printed.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_shim_keeps_its_contract_in_scala_3() {
    runtime_keeps_its_contract(Scala::Three);
}

#[test]
fn the_shim_keeps_its_contract_in_scala_2() {
    runtime_keeps_its_contract(Scala::Two);
}
