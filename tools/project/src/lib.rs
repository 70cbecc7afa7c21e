//! A project with protocols on disk: its settings, its files and their older versions, and the terminal that messages go to.

/// The failure of a command line that is wrong, with a formatted text.
#[macro_export]
macro_rules! usage {
    ($($words:tt)+) => {
        $crate::Failure::Usage(format!($($words)+))
    };
}

/// The failure of something outside, such as a file that cannot be read, with a formatted text.
#[macro_export]
macro_rules! environment {
    ($($words:tt)+) => {
        $crate::Failure::Environment(format!($($words)+))
    };
}

/// Returns what `usage!` makes.
#[macro_export]
macro_rules! bail_usage {
    ($($words:tt)+) => {
        return Err($crate::usage!($($words)+))
    };
}

/// Returns what `environment!` makes.
#[macro_export]
macro_rules! bail_environment {
    ($($words:tt)+) => {
        return Err($crate::environment!($($words)+))
    };
}

pub mod baseline;
pub mod config;
pub mod git;
pub mod inputs;
mod mapping;
pub mod repository;
pub mod terminal;

use duologue::files::OutputError;
use std::io;

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The protocols have errors, or files have drifted; everything has been reported.
    Findings,
    /// The command line is wrong.
    Usage(String),
    /// A file cannot be read or written.
    Environment(String),
    /// An internal error: the command was about to do something wrong, and did nothing instead.
    Mistake(String),
}

impl From<io::Error> for Failure {
    /// Converts a failed write to standard output or standard error.
    fn from(error: io::Error) -> Failure {
        environment!("cannot print: {error}")
    }
}

impl From<OutputError> for Failure {
    /// Converts a reason why files are not written.
    fn from(error: OutputError) -> Failure {
        match error {
            OutputError::Collision(..) => Failure::Usage(error.to_string()),
            OutputError::Outside(_) | OutputError::Foreign(_) | OutputError::Io(..) => {
                Failure::Environment(error.to_string())
            }
        }
    }
}

/// The result of a command.
pub type Outcome = Result<(), Failure>;

/// Fails in WebAssembly, which lacks what this needs.
///
/// # Errors
/// That the native program is needed.
pub fn needs_native(what: impl std::fmt::Display, lacks: &str) -> Outcome {
    if cfg!(target_os = "wasi") {
        bail_environment!(
            "{what} needs the native program, because WebAssembly has no {lacks}: it is in the archives of a release, and pip installs it"
        );
    }
    Ok(())
}
