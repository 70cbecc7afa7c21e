//! Sessions in shared memory: every case of `tests/run` that can leave the process, through two mappings in one process, and how
//! sessions begin and end, wait, and withstand their peers.

mod ahead;
mod attacks;
mod begins;
mod killed;
mod limits;
mod sessions;

use conversations::regions::pair;
use conversations::{case_test, protocols, remote_cases};

macro_rules! cases {
    ($($case:ident: $($protocol:ident)::+ $state:ident,)*) => {$(
        case_test!($case, pair::<protocols::$($protocol)::+::server::$state, protocols::$($protocol)::+::client::$state>());
    )*};
}

remote_cases!(cases);
