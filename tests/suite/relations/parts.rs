//! Which part of a payload two versions disagree about, and where each version declares it.

use super::{blocks, compiled, view};
use duologue::relation::{self, Change, Mismatch};

#[test]
fn the_part_that_differs_is_named() {
    for block in blocks("parts") {
        let [path, old, left, new, right] = &block[..] else {
            panic!("{block:?}")
        };
        let (ours, theirs) = (compiled(old), compiled(new));
        let change = Change::between(view(&ours), view(&theirs));
        let found = change
            .old_client
            .into_iter()
            .next()
            .expect("the payload differs");
        assert!(matches!(found.clash, Mismatch::Payload(..)), "{new}");
        let part = found.part.expect("equally many values");
        assert_eq!(part.path, path.trim_start_matches('-'), "{new}");
        let found = [(&ours, part.left), (&theirs, part.right)].map(|(compilation, part)| {
            format!("{} => {}", compilation.sources.slice(part.span), part.text)
        });
        assert_eq!(found, [left.as_str(), right], "{new}");
    }
}

#[test]
fn different_numbers_of_values_are_reported_for_the_whole_payload() {
    let old = compiled("proto! p { s:send { x(u8) -> ! } }");
    let new = compiled("proto! p { s:send { x(u8, str) -> ! } }");
    let found = relation::misfit(view(&old), view(&new)).expect("they differ");
    assert!(found.part.is_none());
}
