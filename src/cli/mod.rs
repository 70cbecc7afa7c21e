//! The command line: one file per command. Besides this module, only `files` and `build` read, write or print.

mod address;
mod answer;
mod args;
mod attack;
mod attack_campaign;
mod attack_judge;
mod attack_report;
mod attack_session;
mod attack_target;
mod attack_victim;
mod attack_way;
mod baseline;
mod breaking;
mod check;
mod completions;
mod config;
mod depfile;
mod diff;
mod doc;
mod drift;
mod dual;
mod dual_compare;
mod explain;
mod explain_state;
mod fingerprint;
mod fix;
mod fmt;
mod generate;
mod git;
mod graph;
mod guarantee;
mod guarantee_claims;
mod inputs;
mod interrupt;
mod levels;
mod lsp;
mod man;
mod mapping;
mod model;
mod named;
mod play;
mod play_server;
mod plugin;
mod plugin_process;
mod protoc;
mod protocol_table;
mod reports;
mod repository;
mod robots;
mod robots_merged;
mod robots_script;
mod rules;
mod socket;
#[cfg_attr(target_family = "wasm", path = "no_tls.rs")]
mod socket_tls;
mod summary;
mod talk;
mod talk_game;
mod talk_input;
mod talk_output;
mod talk_peer;
mod terminal;
mod top;
mod top_document;
mod trace;
mod trace_logs;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use terminal::Terminal;

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue check                                     check every protocol file below this directory
  duologue gen bank.proto --rust src/protocols       write typed endpoints for both sides
  duologue gen protocols --c c/gen --scala scala/gen --check
                                                     fail if generated files are not up to date
  duologue --rust_out=gen -I protocols bank.proto    the same, as protoc users type it
  duologue fmt                                       format every protocol file below this directory
  duologue explain stuck-state                       what a rule requires, and how to satisfy it
  duologue explain bank.proto#bank/login             the ways to a state, and what each side may do there
";

const EXITS: &str = "\
\x1b[1;32mExit codes:\x1b[0m
  0  no errors
  1  the protocols have errors, a change is incompatible, a session broke its protocol, or files are not up to date or not formatted
  2  the command line is wrong
  3  a file cannot be read or written, or a plugin fails";

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
    Doc(doc::Doc),
    Guarantee(guarantee::Guarantee),
    Breaking(breaking::Breaking),
    Fingerprint(fingerprint::Fingerprint),
    Model(model::Model),
    Play(play::Play),
    Talk(talk::TalkArguments),
    Attack(attack::Attack),
    Trace(trace::Trace),
    Top(top::Top),
    Robots(robots::Robots),
    Lsp(lsp::Lsp),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Why a command did not succeed.
#[derive(Debug)]
enum Failure {
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
        Failure::Environment(format!("cannot print: {error}"))
    }
}

type Outcome = Result<(), Failure>;

/// Fails in WebAssembly, which lacks what this needs.
fn needs_native(what: impl std::fmt::Display, lacks: &str) -> Outcome {
    if cfg!(target_os = "wasi") {
        return Err(Failure::Environment(format!(
            "{what} needs the native program, because WebAssembly has no {lacks}: it is in the archives of a release, and pip installs it"
        )));
    }
    Ok(())
}

/// Runs the command that the arguments ask for. The first argument is the program's own name.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let command = command();
    let arguments = protoc::as_gen(arguments, &command);
    let parsed = command.try_get_matches_from(arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(answer) => {
            return ExitCode::from(show(&answer));
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
        Command::Doc(doc) => doc.run(&terminal),
        Command::Guarantee(guarantee) => guarantee.run(&terminal),
        Command::Breaking(breaking) => breaking.run(&terminal),
        Command::Fingerprint(fingerprint) => fingerprint.run(&terminal),
        Command::Model(model) => model.run(&terminal),
        Command::Play(play) => play.run(&terminal),
        Command::Talk(talk) => talk.run(&terminal),
        Command::Attack(attack) => attack.run(&terminal),
        Command::Trace(trace) => trace.run(&terminal),
        Command::Top(top) => top.run(&terminal),
        Command::Robots(robots) => robots.run(&terminal),
        Command::Lsp(lsp) => lsp.run(&terminal),
        Command::Completions(completions) => completions.run(&terminal),
        Command::Man(man) => man.run(&terminal),
    };
    ExitCode::from(exit_code(outcome, &terminal))
}

/// The command line, in which each command lists only the options that it uses.
fn command() -> clap::Command {
    let unused: [(&str, &[&str]); 17] = [
        ("explain", &["quiet", "verbose"]),
        ("rules", &["quiet", "verbose"]),
        ("dual", &["verbose"]),
        ("graph", &["quiet", "verbose"]),
        ("guarantee", &["quiet", "verbose"]),
        ("fingerprint", &["verbose"]),
        ("model", &["quiet", "verbose"]),
        ("play", &["verbose"]),
        ("talk", &["verbose"]),
        ("trace", &["verbose"]),
        ("top", &["ascii", "quiet", "verbose"]),
        ("robots", &["verbose"]),
        ("lsp", &["color", "ascii", "quiet", "verbose"]),
        ("completions", &["color", "ascii", "quiet", "verbose"]),
        ("man", &["color", "ascii", "quiet", "verbose"]),
        ("fmt", &[]),
        ("breaking", &[]),
    ];
    let words = [
        (
            "check",
            "Also print the states and the capacity of each protocol",
        ),
        ("gen", "Also print every protocol and every file"),
        ("doc", "Also print every protocol and every file"),
        ("fmt", "Also print the path of each file that was formatted"),
        (
            "breaking",
            "Print the table of versions even if every pair is sound",
        ),
    ];
    let mut command = Cli::command();
    let shared: Vec<clap::Arg> = command.get_arguments().cloned().collect();
    let own = |id: &str, change: &dyn Fn(clap::Arg) -> clap::Arg| {
        let found = shared.iter().find(|argument| argument.get_id() == id);
        found.cloned().map(change)
    };
    for (name, ids) in unused {
        for id in ids {
            let hidden = own(id, &|argument| argument.hide(true));
            command = command.mut_subcommand(name, |command| command.args(hidden));
        }
    }
    for (name, help) in words {
        let verbose = own("verbose", &|argument| argument.help(help));
        command = command.mut_subcommand(name, |command| command.args(verbose));
    }
    command
}

/// Shows help, the version, or what is wrong with the arguments. Returns the exit code.
fn show(answer: &clap::Error) -> u8 {
    let text = answer.render();
    let text = text.ansi();
    let printed = match answer.use_stderr() {
        true => write!(anstream::stderr().lock(), "{text}"),
        false => {
            let mut out = anstream::stdout().lock();
            write!(out, "{text}").and_then(|()| out.flush())
        }
    };
    match terminal::unless_unread(printed) {
        Ok(()) => u8::try_from(answer.exit_code()).unwrap_or(2),
        Err(error) => {
            let style = terminal::ERROR;
            let words = format!("{style}error{style:#}: cannot print: {error}\n");
            // If that fails too, only the exit code can report it.
            let _ = write!(anstream::stderr().lock(), "{words}");
            3
        }
    }
}

/// Reports what has not been reported, and returns the exit code.
fn exit_code(outcome: Outcome, terminal: &Terminal) -> u8 {
    let (message, code) = match outcome {
        Ok(()) => return 0,
        Err(Failure::Findings) => return 1,
        Err(Failure::Usage(message)) => (message, 2),
        Err(Failure::Environment(message)) => (message, 3),
        Err(Failure::Mistake(message)) => (message, 101),
    };
    terminal.complain(&message);
    code
}
