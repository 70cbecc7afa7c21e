//! The command line of Duologue: arguments in, exit code out. Each command has a file in `commands`, and what several of them share is beside it.

#[macro_use]
extern crate duologue_project;

mod args;
mod commands;
mod fix;
mod interrupt;
mod output;
mod terminal;

use args::{TEMPLATE, protoc, renamed};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::shells::{completions, lsp, man};
use commands::*;
use duologue_project::{Failure, Outcome};
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use terminal::{STYLES, Terminal};

const EXAMPLES: &str = "  duologue check                                     check every protocol file below this directory
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

/// The commands by what they are for.
macro_rules! commands {
    ($($title:literal: $($(#[$meta:meta])* $name:ident($arguments:ty))*;)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($($(#[$meta])* $name($arguments),)*)*
        }

        impl Command {
            fn run(self, terminal: &Terminal) -> Outcome {
                match self {
                    $($(Command::$name(arguments) => arguments.run(terminal),)*)*
                }
            }
        }

        const GROUPS: &[(&str, &[&str])] = &[$(($title, &[$(stringify!($name)),*])),*];
    };
}

commands! {
    "Check": Check(check::Check) Fmt(fmt::Fmt) Explain(explain::Explain);
    "Generate": #[command(alias = "generate")] Gen(r#gen::Gen) Dual(dual::Dual) Model(model::Model);
    "Look": Graph(graph::Graph) Doc(doc::Doc) Play(play::Play) Talk(talk::TalkArguments);
    "Test and observe": Robots(robots::Robots) Trace(trace::Trace) Attack(attack::Attack) Top(top::Top);
    "Deploy": Breaking(breaking::Breaking) Fingerprint(fingerprint::Fingerprint);
    "Editors and shells": Lsp(lsp::Lsp) Completions(completions::Completions) Man(man::Man);
}

/// How wide the list of commands is.
const WIDTH: usize = 80;

/// Checks protocols between two parties and writes typed endpoints for Rust, C and Scala.
#[derive(Debug, Parser)]
#[command(
    name = "duologue",
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

fn main() -> ExitCode {
    // A WebAssembly module starts in the root of the file system; the program that runs it says where it is started.
    #[cfg(target_os = "wasi")]
    if let Some(here) = std::env::var_os("PWD")
        && let Err(error) = std::env::set_current_dir(&here)
    {
        eprintln!("error: cannot enter {}: {error}", here.display());
        return ExitCode::from(3);
    }
    run(std::env::args_os().collect())
}

/// Runs the command that the arguments ask for. The first argument is the program's own name.
fn run(arguments: Vec<OsString>) -> ExitCode {
    let program = command();
    if let Some(words) = renamed::instead(&arguments, &program) {
        return ExitCode::from(exit_code(
            Err(Failure::Usage(words)),
            &Terminal::new(false, false, false),
        ));
    }
    let arguments = protoc::as_gen(arguments, &program);
    let parsed = program.try_get_matches_from(arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(answer) => {
            return ExitCode::from(show(&answer));
        }
    };
    let terminal = cli.terminal.terminal();
    let outcome = cli.command.run(&terminal);
    ExitCode::from(exit_code(outcome, &terminal))
}

/// The command line, in which each command lists only the options that it uses.
fn command() -> clap::Command {
    let unused: [(&str, &[&str]); 15] = [
        ("explain", &["quiet", "verbose"]),
        ("dual", &["verbose"]),
        ("graph", &["quiet", "verbose"]),
        ("fingerprint", &["verbose"]),
        ("model", &["quiet", "verbose"]),
        ("play", &["verbose"]),
        ("talk", &["verbose"]),
        ("trace", &["verbose"]),
        ("top", &["ascii", "quiet"]),
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
        ("top", "Also print both sides of each session"),
        (
            "breaking",
            "Print the table of versions even if every pair is sound, and which side may accept older fingerprints",
        ),
    ];
    let mut command = without_values(Cli::command());
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
    let list = list(&command);
    command.help_template(TEMPLATE.replace("{all-args}", &list))
}

/// The texts of options name their values, so a help does not list them again.
fn without_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| match argument.get_action().takes_values() {
        true => argument.hide_possible_values(true),
        false => argument,
    });
    command.mut_subcommands(without_values)
}

/// The commands in their groups, and a place for the options. What clap prints has no groups.
fn list(command: &clap::Command) -> String {
    let (heading, name) = (STYLES.get_header(), STYLES.get_literal());
    let mut list = String::new();
    for (group, members) in GROUPS {
        list += &format!("{heading}{group}:{heading:#}\n");
        for member in *members {
            let member = member.to_lowercase();
            let about = command
                .find_subcommand(&member)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let mut column = 15;
            list += &format!("  {name}{member:11}{name:#} ");
            for word in about
                .split([':', ';'])
                .next()
                .unwrap_or_default()
                .split(' ')
            {
                if column + word.len() > WIDTH {
                    list += &format!("\n{:14}", "");
                    column = 15;
                }
                list += &format!(" {word}");
                column += word.len() + 1;
            }
            list.push('\n');
        }
        list.push('\n');
    }
    list + &format!("{heading}Options:{heading:#}\n{{options}}")
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
