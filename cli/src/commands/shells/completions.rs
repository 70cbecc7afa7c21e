//! `duologue completions`: completion scripts for shells.

use crate::args::TEMPLATE;
use crate::terminal::Terminal;
use clap::Args;
use clap_complete::{Shell, generate};
use duologue_project::Outcome;

const EXAMPLES: &str = "  mkdir -p ~/.local/share/bash-completion/completions
  duologue completions bash > ~/.local/share/bash-completion/completions/duologue
  mkdir -p ~/.zfunc
  duologue completions zsh > ~/.zfunc/_duologue
                                      ~/.zfunc must be in fpath before compinit
  mkdir -p ~/.config/fish/completions
  duologue completions fish > ~/.config/fish/completions/duologue.fish
";

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Completions {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

impl Completions {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let mut command = crate::command();
        let mut script = Vec::new();
        generate(self.shell, &mut command, "duologue", &mut script);
        terminal.print_exactly(&String::from_utf8_lossy(&script))
    }
}
