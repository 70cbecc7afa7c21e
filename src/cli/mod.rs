//! The command line: one file per command. The only room that reads, writes and prints.

mod args;
mod breaking;
mod check;
mod config;
mod depfile;
mod diff;
mod drift;
mod dual;
mod duality;
mod explain;
mod fingerprint;
mod fix;
mod fmt;
mod generate;
mod graph;
mod inputs;
mod levels;
mod older;
mod overview;
mod protoc;
mod reports;
mod revision;
mod rules;
mod summary;
mod terminal;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use terminal::Terminal;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue check                                     check every .proto file below this directory
  duologue gen bank.proto --rust src/protocols       write typed endpoints for both sides
  duologue gen protocols --c c/gen --scala scala/gen --check
                                                     fail if generated files are not up to date
  duologue --rust_out=gen -I protocols bank.proto    the same, as protoc users type it
  duologue fmt                                       bring every .proto file into one layout
  duologue explain stuck-state                       what a rule wants, and how to please it
";

const EXITS: &str = "\
\x1b[1;32mExit codes:\x1b[0m
  0  nothing to complain about
  1  the protocols have errors, a change is incompatible, or files are not up to date or not formatted
  2  the command line is wrong
  3  a file cannot be read or written";

const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}\n";

/// Checks protocols between two parties and writes typed endpoints for Rust, C and Scala.
#[derive(Debug, Parser)]
#[command(
    version,
    before_help = EXAMPLES,
    after_help = EXITS,
    help_template = TEMPLATE,
    styles = terminal::STYLES,
    max_term_width = 100,
    disable_help_subcommand = true,
)]
struct Cli {
    #[command(flatten)]
    terminal: terminal::Arguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Check),
    #[command(alias = "generate")]
    Gen(generate::Gen),
    Fmt(fmt::Fmt),
    Explain(explain::Explain),
    Rules(rules::Rules),
    Dual(dual::Dual),
    Graph(graph::Graph),
    Breaking(breaking::Breaking),
    Fingerprint(fingerprint::Fingerprint),
}

/// Why a command did not succeed.
#[derive(Debug)]
enum Failure {
    /// The protocols have errors, or files have drifted; all has been said.
    Findings,
    /// The command line is wrong.
    Usage(String),
    /// A file cannot be read or written.
    Environment(String),
    /// Nobody reads our output any more, which is not a failure.
    Unread,
    /// We were about to do something wrong and did nothing.
    Mistake(String),
}

impl From<io::Error> for Failure {
    /// The answer to a failed write to standard output or standard error.
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::Unread;
        }
        Failure::Environment(format!("cannot print: {error}"))
    }
}

type Outcome = Result<(), Failure>;

/// Runs the command that the arguments, the program's own name first, ask for.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let command = Cli::command();
    let arguments = protoc::as_gen(arguments, &command);
    let parsed = command.try_get_matches_from(arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(answer) => {
            // Help and version come as an "error" with code 0. If they cannot be printed, nobody is there to tell.
            let _ = answer.print();
            return ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2));
        }
    };
    let terminal = Terminal::new(&cli.terminal);
    let outcome = match cli.command {
        Command::Check(check) => check.run(&terminal),
        Command::Gen(generation) => generation.run(&terminal),
        Command::Fmt(fmt) => fmt.run(&terminal),
        Command::Explain(explain) => explain.run(&terminal),
        Command::Rules(rules) => rules.run(&terminal),
        Command::Dual(dual) => dual.run(&terminal),
        Command::Graph(graph) => graph.run(&terminal),
        Command::Breaking(breaking) => breaking.run(&terminal),
        Command::Fingerprint(fingerprint) => fingerprint.run(&terminal),
    };
    ExitCode::from(exit_code(outcome, &terminal))
}

/// Says what has not been said, and gives the exit code.
fn exit_code(outcome: Outcome, terminal: &Terminal) -> u8 {
    let (message, code) = match outcome {
        Ok(()) | Err(Failure::Unread) => return 0,
        Err(Failure::Findings) => return 1,
        Err(Failure::Usage(message)) => (message, 2),
        Err(Failure::Environment(message)) => (message, 3),
        Err(Failure::Mistake(message)) => (message, 101),
    };
    terminal.complain(&message);
    code
}
