//! The cases of `tests/run`, for tests and programs: macros, because each of these includes the case's client and server.

/// Calls a macro with every case that can leave its process: its name, the protocol or instance that its page names, and the first
/// state.
#[macro_export]
macro_rules! remote_cases {
    ($cases:ident) => {
        $cases! {
            bank: bank Login,
            file_server: acme::files::file_server Idle,
            future: future_text Waiting,
            future_broken: future_text Waiting,
            long_words: word_count Counting,
            oneshot: oneshot_bytes Oneshot,
            relay: relay_text Board,
            seller: seller Asked,
            stream: numbers Stream,
            telemetry: telemetry Report,
            type_switch: type_switch Start,
            word_count: word_count Counting,
        }
    };
}

/// The module of a case, which contains its client and its server.
#[macro_export]
macro_rules! case_module {
    ($case:ident) => {
        #[allow(missing_docs)]
        mod $case {
            pub mod client {
                include!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/../run/",
                    stringify!($case),
                    "/client.rs"
                ));
            }
            pub mod server {
                include!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/../run/",
                    stringify!($case),
                    "/server.rs"
                ));
            }
        }
    };
}

/// The module of a case, and the test that it prints its transcript. The expression begins the session: the server's end, then
/// the client's.
#[macro_export]
macro_rules! case_test {
    ($case:ident, $session:expr) => {
        $crate::case_module!($case);

        #[test]
        fn $case() {
            let expected = include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../run/",
                stringify!($case),
                "/expected.txt"
            ));
            $crate::converse($session, $case::server::run, $case::client::run, expected);
        }
    };
}
