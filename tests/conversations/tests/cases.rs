//! Every case of `tests/run`, with its client and its server in Rust.

use conversations::{case_test, protocols};

/// One test per case: its name, and the protocol or instance that its page names.
macro_rules! cases {
    ($($case:ident: $($protocol:ident)::+,)*) => {
        $(case_test!($case, protocols::$($protocol)::+::init());)*

        const CASES: &[&str] = &[$(stringify!($case)),*];
    };
}

cases! {
    bank: bank,
    double_buffer: double_buffer,
    feed: feed,
    file_server: acme::files::file_server,
    future: future_text,
    future_broken: future_text,
    long_words: word_count,
    oneshot: oneshot_bytes,
    relay: relay_text,
    seller: seller,
    stream: numbers,
    switchboard: switchboard,
    telemetry: telemetry,
    type_switch: type_switch,
    word_count: word_count,
    work_queue: work_queue,
}

#[test]
fn no_case_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../run");
    let entries = std::fs::read_dir(folder).expect("the cases are in the repository");
    let entries = entries.map(|entry| entry.expect("the folder can be read"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut found: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, CASES);
}
