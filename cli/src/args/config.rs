//! Which settings of a project are used.

pub use duologue_project::config::{Config, Exclude};

use crate::terminal::Terminal;
use clap::Args;
use duologue_project::Failure;
use duologue_project::config::Which;
use std::path::PathBuf;

/// Which configuration is read.
#[derive(Debug, Default, Args)]
pub struct Choice {
    /// Read this configuration instead of the `duologue.toml` at or above the first input
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
}

impl Choice {
    /// Reads the configuration that applies to these inputs.
    pub fn read(&self, inputs: &[PathBuf], terminal: &Terminal) -> Result<Config, Failure> {
        match &self.config {
            Some(path) => Config::read(Which::File(path), inputs, terminal),
            None if self.no_config => Ok(Config::default()),
            None => Config::read(Which::Nearest, inputs, terminal),
        }
    }
}
