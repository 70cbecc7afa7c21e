//! The options for output.

pub use duologue_project::terminal::*;

use anstyle::AnsiColor;
use clap::builder::Styles;
use clap::{Args, ValueEnum};
use duologue_project::Outcome;
use serde::Serialize;

/// The colors of help texts.
pub const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default())
    .error(ERROR)
    .valid(AnsiColor::Cyan.on_default().bold())
    .invalid(AnsiColor::Yellow.on_default().bold());

#[derive(Debug, Args)]
#[command(next_help_heading = "Terminal")]
pub struct Arguments {
    /// When to use color; `auto` means on a terminal, and honors NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Draw with ASCII characters only
    #[arg(long, global = true)]
    ascii: bool,
    /// Print findings only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more: the capacity of each protocol, every file that was processed
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

impl Arguments {
    /// The terminal that these options describe.
    pub fn terminal(&self) -> Terminal {
        match self.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        Terminal::new(self.ascii, self.quiet, self.verbose)
    }
}

/// Prints a document for programs.
pub fn print_json(document: &impl Serialize, terminal: &Terminal) -> Outcome {
    let json = serde_json::to_string_pretty(document);
    terminal.print_exactly(&(json.expect("names can be written as JSON") + "\n"))
}
