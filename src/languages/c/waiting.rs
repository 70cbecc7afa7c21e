//! The ways in which functions wait.

/// How long a function waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    Forever,
    /// Up to a limit that the caller sets.
    Within,
    AtOnce,
}

impl Waiting {
    pub fn sending(self) -> &'static str {
        match self {
            Waiting::Forever => "send",
            Waiting::Within => "send_within",
            Waiting::AtOnce => "try_send",
        }
    }

    pub fn receiving(self) -> &'static str {
        match self {
            Waiting::Forever => "recv",
            Waiting::Within => "recv_within",
            Waiting::AtOnce => "try_recv",
        }
    }

    /// The argument that the runtime takes.
    pub fn argument(self) -> &'static str {
        match self {
            Waiting::Forever => "DUO_FOREVER",
            Waiting::Within => "nanoseconds",
            Waiting::AtOnce => "DUO_AT_ONCE",
        }
    }
}
