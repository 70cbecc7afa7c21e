//! How a process takes part.

use std::time::Duration;

/// How a process takes part in sessions over a broker.
#[derive(Clone, Debug)]
pub struct ExchangeOptions {
    pub(super) heartbeat: Duration,
    pub(super) prefix: Option<String>,
}

impl Default for ExchangeOptions {
    fn default() -> ExchangeOptions {
        ExchangeOptions::new()
    }
}

impl ExchangeOptions {
    /// The defaults: a heartbeat of 2 seconds.
    #[must_use]
    pub fn new() -> ExchangeOptions {
        ExchangeOptions {
            heartbeat: Duration::from_secs(2),
            prefix: None,
        }
    }

    /// How often this process notifies the others that it is there, and asks what has arrived. A process from which nothing arrives
    /// for four times as long is gone. All processes need the same value.
    #[must_use]
    pub fn heartbeat(mut self, every: Duration) -> ExchangeOptions {
        self.heartbeat = every.max(Duration::from_millis(1));
        self
    }

    /// What the subjects of this process begin with, after `duo.at.`: tokens of letters, digits, `-` and `_`, separated by dots. With a
    /// prefix for each user, a broker can deny users each other's messages.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> ExchangeOptions {
        self.prefix = Some(prefix.into());
        self
    }
}
