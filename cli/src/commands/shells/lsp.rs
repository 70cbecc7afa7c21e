//! `duologue lsp`: a language server.

use crate::args::TEMPLATE;
use crate::terminal::Terminal;
use clap::Args;
use duologue_project::{Outcome, needs_native};

const EXAMPLES: &str =
    "  duologue lsp    what an editor starts; docs/editors.md has the settings for several editors
";

/// Serve an editor: a language server over standard input and output
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Lsp {
    /// Accepted for editors that pass it: there is no other way to connect
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let Lsp { stdio: _ } = self;
        needs_native("`duologue lsp`", "threads")?;
        duologue_lsp::run(terminal)
    }
}
