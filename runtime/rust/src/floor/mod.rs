//! What every other layer is built on, and what knows nothing about sessions: atomics, memory, waiting, and the
//! arithmetic of a ring's layout.

pub(crate) mod alarm;
pub(crate) mod backoff;
pub(crate) mod barrier;
pub(crate) mod cpu;
pub(crate) mod deadline;
pub(crate) mod fairness;
pub(crate) mod guard;
pub(crate) mod layout;
pub mod lock;
pub(crate) mod pool;
pub(crate) mod sync;
pub(crate) mod wait_slot;
pub(crate) mod yielding;
