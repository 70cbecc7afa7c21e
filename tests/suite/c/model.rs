//! The model of the C runtime's ring: SPIN explores it.

use crate::support::c::runtime;
use crate::support::program::Scratch;
use crate::support::spin::spin;
use std::fs;

/// The receiver's half of the barrier, in the model.
const BARRIER: &str = "drain(stored); /* barrier */";
/// The comparison of the credit before the sender sleeps on it.
const COMPARED: &str = ":: reported == seen && credit_waits -> sender_sleeps = 1";

#[test]
#[ignore = "with spin"]
fn no_wake_up_is_lost_in_the_model_of_the_ring() {
    let path = runtime().join("tests/ring.pml");
    let model = fs::read_to_string(path).expect("the model is there");
    assert_eq!(model.matches(BARRIER).count(), 1);
    assert_eq!(model.matches(COMPARED).count(), 1);
    let scratch = Scratch::new("ring");
    let said = spin(&scratch, "ring", &model);
    assert!(said.contains("errors: 0"), "{said}");
    let mutations = [
        ("barrier", BARRIER, "skip;"),
        ("credit", COMPARED, ":: true -> sender_sleeps = 1"),
    ];
    for (name, part, instead) in mutations {
        let said = spin(&scratch, name, &model.replace(part, instead));
        assert!(said.contains("invalid end state"), "{name}:\n{said}");
    }
}

/// The model names the functions that it describes, and they exist.
#[test]
fn the_model_of_the_ring_names_functions_that_exist() {
    let model = fs::read_to_string(runtime().join("tests/ring.pml")).expect("the model is there");
    for line in model.lines().filter(|line| line.contains("`")) {
        let Some((file, rest)) = line
            .trim()
            .strip_prefix("/* ")
            .and_then(|text| text.split_once(", `"))
        else {
            continue;
        };
        let (function, _) = rest.split_once('`').expect("the name ends");
        let folder = if file == "pipe.h" {
            "include/duologue"
        } else {
            "src"
        };
        let text = fs::read_to_string(runtime().join(folder).join(file));
        let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&format!("{function}(")), "{file}: {function}");
    }
}
