//! Sessions in shared memory: every case of `tests/run` that can leave the process, through two mappings in one process, and how
//! sessions begin and end, wait, and withstand their peers.
#![cfg(all(feature = "shared-memory", feature = "sockets"))]
#![forbid(unsafe_code)]

mod attacks;
mod begins;
mod killed;
mod sessions;

use conversations::protocols;
use conversations::regions::pair;

macro_rules! cases {
    ($($case:ident: $($protocol:ident)::+ $state:ident,)*) => {$(
        #[allow(missing_docs)]
        mod $case {
            pub mod client {
                include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../run/", stringify!($case), "/client.rs"));
            }
            pub mod server {
                include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../run/", stringify!($case), "/server.rs"));
            }
        }

        #[test]
        fn $case() {
            let expected =
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../run/", stringify!($case), "/expected.txt"));
            let session: (protocols::$($protocol)::+::server::$state, protocols::$($protocol)::+::client::$state) = pair();
            conversations::converse(session, $case::server::run, $case::client::run, expected);
        }
    )*};
}

cases! {
    bank: bank Login,
    buyer: buyer Ask,
    calculator: calculator Ready,
    file_server: acme::files::file_server Idle,
    future: future_text Waiting,
    future_broken: future_text Waiting,
    oneshot: oneshot_bytes Oneshot,
    pingpong: pingpong Ping,
    relay: relay_text Board,
    seller: seller Asked,
    simple_proto: simple_proto SayHello,
    smtp: smtp Greeting,
    stream: numbers Stream,
    telemetry: telemetry Report,
    type_switch: type_switch Start,
    word_count: word_count Counting,
}
