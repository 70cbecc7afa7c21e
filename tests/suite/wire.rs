//! The plan of what travels between processes: sizes, tags, and what confines a protocol to one process.

use crate::support::texts::Texts;
use duologue::compile::Compilation;
use duologue::diagnostic::Level;
use duologue::fingerprint::Fingerprint;
use duologue::protocol::{Program, Protocol, ProtocolId, Side, Type};
use duologue::relation::{Obstacle, View};
use duologue::wire::{Encoding, Plan, Size, Sizes};
use std::fmt::Write;

fn compiled(text: &str) -> Compilation {
    let texts = Texts::default().with("a.proto", text);
    texts.compile_some(texts.names(), &[("all", Level::Allow)])
}

fn program(compiled: &Compilation) -> &Program {
    let checked = compiled.checked.as_ref();
    checked.expect("the text is sound").program()
}

fn named<'a>(program: &'a Program, name: &str) -> (ProtocolId, &'a Protocol) {
    let mut ids = (0..program.protocols.len()).map(ProtocolId::new);
    let id = ids.find(|id| program.protocol(*id).name.text() == name);
    let id = id.expect("it is declared");
    (id, program.protocol(id))
}

fn encodings(program: &Program, name: &str, arguments: &[Type]) -> Vec<Encoding> {
    let (_, protocol) = named(program, name);
    let sizes = Sizes::of(program);
    sizes.messages(protocol.start(), arguments).collect()
}

/// The sizes of the first state's messages: the minimum and, after `..`, the maximum if there is one.
fn sizes(declarations: &str, messages: &str) -> String {
    let compiled = compiled(&format!(
        "{declarations} proto! p {{ s:send {{ {messages} }} }}"
    ));
    let all = encodings(program(&compiled), "p", &[]);
    let texts = all.iter().map(|encoding| {
        let most = encoding.size.most.map(|most| most.to_string());
        format!("{}..{}", encoding.size.least, most.unwrap_or_default())
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn sizes_are_those_of_the_encoding() {
    let numbers = "a(bool) -> !, b(u8, u16) -> !, c(i32, f32) -> !, d(u64, f64) -> !, e -> !";
    assert_eq!(sizes("", numbers), "1..1 3..3 8..8 16..16 0..0");
    let counted = "a(str) -> !, b(bytes) -> !, c([u64]) -> !, d(str, str) -> !";
    assert_eq!(sizes("", counted), "1.. 1.. 1.. 2..");
    let parts = "a(u64?) -> !, b((u8, u32)) -> !, c(str?) -> !, d((u8, str?)) -> !";
    assert_eq!(sizes("", parts), "1..9 5..5 1.. 2..");
    let named = "struct two { a: u8, b: one } type one = u32; enum some { x(two), y, z(u64) }";
    let messages = "a(two) -> !, b(one) -> !, c(some) -> !, d(some?) -> !";
    assert_eq!(sizes(named, messages), "5..5 4..4 1..9 1..10");
    let tree = "struct tree { label: u8, children: [tree] }";
    assert_eq!(sizes(tree, "a(tree) -> !, b(tree?) -> !"), "2.. 1..");
}

#[test]
fn the_position_of_a_variant_takes_seven_bits_per_byte() {
    let mut variants = String::new();
    for index in 0..129 {
        write!(variants, "v{index}, ").expect("string writes cannot fail");
    }
    let many = format!("enum few {{ a, b }} enum many {{ {variants} }}");
    assert_eq!(sizes(&many, "a(few) -> !, b(many) -> !"), "1..1 1..2");
}

#[test]
fn a_long_chain_of_types_is_no_deeper_than_a_short_one() {
    let mut chain = String::from("type t0 = u16;");
    for index in 1..20_000 {
        write!(chain, "type t{index} = t{};", index - 1).expect("string writes cannot fail");
    }
    assert_eq!(sizes(&chain, "a(t19999) -> !"), "2..2");
}

#[test]
fn messages_have_tags_and_may_consist_of_numbers_only() {
    let text = "type n = f32; struct s { a: u8 }
        proto! p { s:send { a(u8, n) -> !, b(bool) -> !, c -> !, d(s) -> !, e(u8, str) -> ! } }";
    let compiled = compiled(text);
    let all = encodings(program(&compiled), "p", &[]);
    let tags: Vec<u8> = all.iter().map(|encoding| encoding.tag).collect();
    assert_eq!(tags, [0, 1, 2, 3, 4]);
    let numbers: Vec<bool> = all.iter().map(|encoding| encoding.is_numbers).collect();
    assert_eq!(numbers, [true, false, true, false, false]);
    let fixed: Vec<_> = all.iter().map(|own| own.size.fixed()).collect();
    assert_eq!(fixed, [Some(5), Some(1), Some(0), Some(1), None]);
}

#[test]
fn cells_are_at_most_a_line() {
    let cells = |least, most| Size { least, most }.cells();
    assert_eq!(cells(0, Some(0)), 0);
    assert_eq!(cells(1, Some(9)), 2);
    assert_eq!(cells(56, Some(56)), 7);
    assert_eq!(cells(0, Some(57)), 7);
    assert_eq!(cells(1, None), 7);
}

#[test]
fn arguments_give_type_parameters_their_sizes() {
    let text = "proto! p { s:send<T> { a(T) -> !, b(T?, u8) -> !, c([T]) -> ! } }
        proto! q = p<u32>;";
    let compiled = compiled(text);
    let program = program(&compiled);
    let size = |least, most| Size { least, most };
    let open: Vec<_> = encodings(program, "p", &[]);
    let sizes: Vec<_> = open.iter().map(|own| own.size).collect();
    assert_eq!(sizes, [size(0, None), size(2, None), size(1, None)]);
    assert!(!open[0].is_numbers);
    let closed: Vec<_> = encodings(program, "p", &program.instances[0].arguments);
    let sizes: Vec<_> = closed.iter().map(|own| own.size).collect();
    assert_eq!(sizes, [size(4, Some(4)), size(2, Some(6)), size(1, None)]);
    assert!(closed[0].is_numbers);
}

fn plan(text: &str, name: &str) -> Result<Plan, Obstacle> {
    let compiled = compiled(text);
    let program = program(&compiled);
    Plan::of(View::of(program, named(program, name).0))
}

#[test]
fn a_plan_has_the_fingerprint_and_the_first_side() {
    let text = "proto! p { s:recv { a(u8) -> ! } }";
    let compiled = compiled(text);
    let program = program(&compiled);
    let view = View::of(program, named(program, "p").0);
    let plan = |first| Plan {
        fingerprint: Some(Fingerprint::of(view)),
        first: Some(first),
    };
    assert_eq!(Plan::of(view), Ok(plan(Side::Server)));
    assert_eq!(Plan::of(view.turned()), Ok(plan(Side::Client)));
}

#[test]
fn only_what_no_instance_can_change_is_an_obstacle_of_a_generic_protocol() {
    let open = "proto! p { s:send<T> { a(T) -> ! } } proto! q = p<u8>;";
    let found = plan(open, "p").expect("a type parameter is no obstacle");
    assert_eq!(found.fingerprint, None);
    assert_eq!(found.first, Some(Side::Client));
    let closed = "extern type host { rust = \"u8\"; } proto! p { s:send<T> { a(T) -> t<T> } t:send<T> { b(host) -> ! } }";
    let obstacle = plan(closed, "p").expect_err("the host's type has no encoding");
    assert_eq!(
        obstacle.to_string(),
        "message `b` of state `t` carries the external type `host`"
    );
}
