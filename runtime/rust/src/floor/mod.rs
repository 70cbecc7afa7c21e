//! What every other layer is built on, and what knows nothing about sessions: atomics, memory, waiting, and the
//! arithmetic of a ring's layout.

pub(crate) mod barrier;
pub(crate) mod deadline;
pub(crate) mod fairness;
pub(crate) mod layout;
pub(crate) mod pool;
pub(crate) mod sync;
pub(crate) mod waiting;
