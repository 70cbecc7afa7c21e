//! Texts larger than anyone writes by hand. A quadratic step or a deep recursion would keep these tests from finishing.

use super::{one, rules};
use duologue::languages::{self, Options, Target};
use std::fmt::Write as _;

const MANY: usize = 15_000;

/// `head`, then one `line` for each number, then `tail`.
fn text(head: &str, line: impl Fn(usize) -> String, tail: &str) -> String {
    let mut text = head.to_owned();
    for index in 0..MANY {
        let _ = writeln!(text, "{}", line(index));
    }
    text + tail
}

#[test]
fn a_long_chain_of_states() {
    let chain = |index| format!("s{index}:send {{ m(u8) -> s{}, n -> ! }}", index + 1);
    let end = format!("s{MANY}:recv {{ m -> ! }} }}");
    let found = one(&text("proto! p {\n", chain, &end));
    assert_eq!(rules(&found), Vec::<&str>::new());
    let checked = found.checked.expect("nothing was found");
    let protocol = checked.protocols().next().expect("one protocol");
    assert_eq!(protocol.capacity_to_server().to_string(), MANY.to_string());
}

#[test]
#[ignore = "slow: large protocols"]
fn states_that_nothing_leads_to_and_states_without_an_end() {
    let lost = |index| format!("s{index}:send {{ m -> s{index}, n -> ! }}");
    let found = one(&text("proto! p { start:send { m -> ! }\n", lost, "}"));
    assert_eq!(found.diagnostics.len(), MANY);
    let trap = |index| {
        format!(
            "s{index}:send {{ m -> s{}, n -> s{index} }}",
            (index + 1) % MANY
        )
    };
    let found = one(&text(
        "proto! p { start:send { go -> s0, m -> ! }\n",
        trap,
        "}",
    ));
    assert_eq!(rules(&found), ["cannot-finish"]);
}

#[test]
#[ignore = "slow: large protocols"]
fn long_chains_and_cycles_of_types() {
    let alias = |index| format!("type t{} = t{index};", index + 1);
    let bounded = "proto! p { s:send<T: ord> { m(T) -> s<T>, n -> ! } }\n";
    let whole = text(
        bounded,
        alias,
        &format!("type t0 = u8; proto! q = p<t{MANY}>;"),
    );
    assert_eq!(rules(&one(&whole)), Vec::<&str>::new());
    let unordered = text(
        bounded,
        alias,
        &format!("type t0 = f64; proto! q = p<t{MANY}>;"),
    );
    assert_eq!(rules(&one(&unordered)), ["unsatisfied-bound"]);
    let circle = text("", alias, &format!("type t0 = t{MANY};"));
    assert_eq!(rules(&one(&circle)), ["recursive-type"]);
    let structs = |index| format!("struct t{} {{ x: t{index}? }}", index + 1);
    let circle = text("", structs, &format!("struct t0 {{ x: t{MANY} }}"));
    assert_eq!(rules(&one(&circle)), ["recursive-type"]);
}

/// Three times as many: a step for each pair would not finish. Every target writes each alias once, and reads none of the others.
#[test]
#[ignore = "slow: large protocols"]
fn long_chains_of_types_are_written() {
    let most = 3 * MANY;
    let mut whole = String::from("type t0 = u8;\n");
    for index in 0..most {
        let _ = writeln!(whole, "type t{} = t{index};", index + 1);
    }
    let _ = writeln!(
        whole,
        "proto! p {{ s:send {{ m(t{most}, [t{most}]) -> s, n -> ! }} }}"
    );
    let checked = one(&whole).checked.expect("nothing is wrong");
    let mut options = Options::default();
    options.c.shm = true;
    options.remote = true;
    for target in Target::ALL {
        let files = languages::generate(&checked, target, &options).files;
        let lines: usize = files.iter().map(|file| file.text.lines().count()).sum();
        assert!(
            (most..6 * most).contains(&lines),
            "{target:?}: {lines} lines"
        );
    }
}

#[test]
#[ignore = "slow: large protocols"]
fn duals_of_that_size() {
    let types = |index| {
        format!(
            "type a{0} = (a{index}, a{index}); type b{0} = (b{index}, b{index});",
            index + 1
        )
    };
    let pair = format!(
        "type a0 = u8; type b0 = u8;\n\
         proto! p {{ s:send {{ m(a{MANY}) -> ! }} }}\n#[dual_of(p)] proto! q {{ s:recv {{ m(b{MANY}) -> ! }} }}"
    );
    // The two are recognized as dual; each is reported because its types are too deep for any compiler.
    assert_eq!(
        rules(&one(&text("", types, &pair))),
        ["deep-type", "deep-type"]
    );
    let ring = |name, direction, length: usize| {
        let state = move |index: usize| {
            format!(
                "s{index}:{direction} {{ m -> s{}, n -> ! }}",
                (index + 1) % length
            )
        };
        let states: Vec<String> = (0..length).map(state).collect();
        format!("proto! {name} {{ {} }}\n", states.join("\n"))
    };
    let both = ring("p", "send", 9973) + "#[dual_of(p)]\n" + &ring("q", "recv", 10007);
    assert_eq!(rules(&one(&both)), Vec::<&str>::new());
}

#[test]
fn type_arguments_passed_on_repeatedly() {
    let hand_on = |index| format!("s{index}:send<T> {{ m(T) -> s{}<T>, n -> ! }}", index + 1);
    let end = format!("s{MANY}:recv<T> {{ m(T) -> ! }} }}");
    assert_eq!(
        rules(&one(&text("proto! p {\n", hand_on, &end))),
        Vec::<&str>::new()
    );
    let deepen = |index| format!("s{index}:send<T> {{ m(T) -> s{}<[T]>, n -> ! }}", index + 1);
    let end = format!("s{MANY}:recv<T> {{ m(T) -> ! }} }}");
    assert_eq!(
        rules(&one(&text("proto! p {\n", deepen, &end))),
        ["expanding-recursion"]
    );
}

#[test]
fn thousands_of_clashing_names() {
    let pair = |index| format!("s{index}:send {{ m -> s{index}, M -> ! }}");
    let found = one(&text("#[allow(all)] proto! p {\n", pair, "}"));
    assert_eq!(found.diagnostics.len(), MANY);
}
