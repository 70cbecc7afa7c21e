//! Without the feature `tokio`, no executor is known.

use std::sync::Arc;

use crate::session::Session;

#[derive(Default)]
pub(crate) struct Reactor;

pub(crate) fn until_readable(_: &Arc<Session>, _by_task: bool, _is_full: bool) -> bool {
    false
}

pub(crate) fn continues(_: &Arc<Session>) -> bool {
    false
}
