//! The functions by which a side begins over a byte stream.

/// How a side begins over a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    Connect,
    ConnectOver,
    Accept,
    AcceptOver,
    Serve,
}

impl Begin {
    pub const ALL: [Begin; 5] = [
        Begin::Connect,
        Begin::ConnectOver,
        Begin::Accept,
        Begin::AcceptOver,
        Begin::Serve,
    ];

    /// The word in the name of the function.
    pub fn word(self) -> &'static str {
        match self {
            Begin::Connect => "connect",
            Begin::ConnectOver => "connect_over",
            Begin::Accept => "accept",
            Begin::AcceptOver => "accept_over",
            Begin::Serve => "serve",
        }
    }
}
