//! Without the feature `tokio`, no executor is known.

use std::sync::Arc;

use crate::remote::session::Session;

pub(crate) struct Reactor;

impl Reactor {
    pub(crate) fn new() -> Reactor {
        Reactor
    }

    #[allow(clippy::unused_self)]
    pub(crate) fn forget(&self) {}
}

pub(crate) fn until_readable(_: &Arc<Session>, _by_task: bool, _is_full: bool) -> bool {
    false
}

pub(crate) fn continues(_: &Arc<Session>) -> bool {
    false
}
