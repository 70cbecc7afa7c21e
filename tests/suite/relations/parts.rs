//! Which part of a payload two versions disagree about, and where each version declares it.

use super::{blocks, compiled, view};
use crate::support::program::Scratch;
use duologue::relation::{self, Change, Mismatch};
use insta::assert_snapshot;

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

/// Through imports, aliases and instances, with the files of both versions.
#[test]
fn reports_show_the_part_in_both_versions() {
    let shop = "import \"types.proto\";\nproto! shop {\n    s:send { buy(item) -> ! }\n}\n";
    let types = "type count = u8;\nstruct item { name: str, price: price }\n\
                 struct price { amount: u32, many: count }\n";
    let stream = "proto! stream {\n    s:send<T: send> { item(T) -> s<T>, end -> ! }\n}\n\
                  proto! numbers = stream<u64>;\n";
    let files = [
        ("old/shop.proto", shop),
        ("old/types.proto", types),
        ("old/stream.proto", stream),
    ];
    let scratch = Scratch::with("breaking-parts", &files);
    scratch.write("new/shop.proto", shop);
    scratch.write("new/types.proto", types.replace("u32", "u64"));
    scratch.write("new/stream.proto", stream.replace("u64", "u32"));
    assert_snapshot!(
        "deep",
        scratch.transcript("breaking new/shop.proto --against old/shop.proto --ascii")
    );
    assert_snapshot!(
        "instance",
        scratch.transcript("breaking new/stream.proto --against old/stream.proto --ascii")
    );
    scratch.write("new/types.proto", types.replace("u8", "u16"));
    assert_snapshot!(
        "alias",
        scratch.transcript("breaking new/shop.proto --against old/shop.proto --format short")
    );
}
