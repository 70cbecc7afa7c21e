//! What the two sides of a session allow.

/// Limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The largest payload that the peer accepts.
    pub(crate) theirs: usize,
    /// The largest payload that this side accepts.
    pub(crate) ours: usize,
    /// How much memory the values of one payload may take.
    pub(crate) memory: usize,
}
