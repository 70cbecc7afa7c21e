//! Sessions whose other side is in another process: how payloads are encoded, and the far end, which moves messages
//! between a session's ring and a transport. Nothing here does I/O; `duologue-net` and `duologue-shm` do.

pub(crate) mod far_end;
pub(crate) mod macros;
pub(crate) mod open;
pub(crate) mod wire;
