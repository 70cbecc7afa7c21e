//! The payloads with which `duologue attack` attacks: each is wrong, or unusual and right, for a reader that was written for `talk`.

use crate::support::rust::{checked, protocols_in};
use crate::support::texts::Texts;
use duologue::diagnostic::Level;
use duologue::protocol::{Program, Type};
use duologue::sizes::Sizes;
use duologue_peers::attack::Payloads;
use duologue_peers::talk::is_payload;

/// Checks the payloads of all messages. Returns how many are wrong, and how many unusual.
fn check(program: &Program) -> [usize; 2] {
    let sizes = Sizes::of(program);
    let (mut wrong, mut unusual) = (0, 0);
    let states = program
        .protocols
        .iter()
        .flat_map(|protocol| &protocol.states);
    for state in states {
        // Every type parameter gets a type that can be wrong.
        let arguments =
            vec![Type::Builtin(duologue::protocol::Builtin::Str); state.parameters.len()];
        for (message, encoding) in state.messages.iter().zip(sizes.messages(state, &arguments)) {
            let is_fixed = encoding.size.fixed().is_some();
            for seed in 0..3 {
                let all = Payloads::of(
                    program,
                    &sizes,
                    &message.entries,
                    &arguments,
                    is_fixed,
                    seed,
                    &[],
                );
                let is_right =
                    |bytes: &[u8]| is_payload(program, &sizes, &message.entries, &arguments, bytes);
                for (name, bytes) in &all.wrong {
                    assert!(!is_right(bytes), "{}: {name}: {bytes:?}", message.name);
                }
                for (name, bytes) in &all.unusual {
                    assert!(is_right(bytes), "{}: {name}: {bytes:?}", message.name);
                }
                assert!(
                    all.right.iter().all(|bytes| is_right(bytes)),
                    "{}",
                    message.name
                );
                wrong += all.wrong.len();
                unusual += all.unusual.len();
            }
        }
    }
    [wrong, unusual]
}

#[test]
fn payloads_of_attacks_are_wrong_or_unusual() {
    let [wrong, unusual] = check(checked(&protocols_in("protocols")).program());
    assert!(
        wrong > 1_000 && unusual > 50,
        "{wrong} wrong, {unusual} unusual"
    );
    let [wrong, unusual] = check(checked(&protocols_in("tests/payloads")).program());
    assert!(
        wrong > 1_000 && unusual > 50,
        "{wrong} wrong, {unusual} unusual"
    );
}

#[test]
fn types_without_an_end_or_a_size_are_attacked_too() {
    let text = "struct nothing {}
        struct chain { next: [chain], last: (u8, f32)? }
        enum tree { node([tree]), leaf }
        enum wide { a, b(str<1>), c(bytes<2>?, [bool; 2]) }
        proto! p { s:send { a([nothing]) -> s, b(chain) -> s, c(tree) -> s, d(wide, wide) -> !, e -> !,
            f([nothing; 4000000000], str<18446744073709551615>) -> s } }";
    let texts = Texts::default().with("a.proto", text);
    let compiled = texts.compile_some(texts.names(), &[("all", Level::Allow)]);
    let program = compiled
        .checked
        .as_ref()
        .expect("the text is sound")
        .program();
    let [wrong, unusual] = check(program);
    assert!(
        wrong > 100 && unusual > 5,
        "{wrong} wrong, {unusual} unusual"
    );
}
