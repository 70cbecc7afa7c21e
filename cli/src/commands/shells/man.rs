//! `duologue man`: manual pages.

use crate::args::TEMPLATE;
use crate::terminal::Terminal;
use clap::{Args, Command};
use clap_mangen::Man as Page;
use clap_mangen::roff::{Roff, roman};
use duologue::name::nearest;
use duologue_project::{Failure, Outcome};
use std::fs;
use std::io;
use std::path::PathBuf;

const EXAMPLES: &str = "  duologue man | man -l -             read the page of the program
  duologue man check | man -l -       read the page of one command
  duologue man --dir ~/.local/share/man/man1
                                      install all pages
";

/// Print a manual page, or write all of them
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Man {
    /// The command; by default the program itself
    command: Option<String>,
    /// Write the pages of the program and of all commands into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

impl Man {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let pages = pages(crate::command())?;
        if let Some(directory) = self.dir {
            let failed = |path: &PathBuf, error: io::Error| {
                environment!("cannot write {}: {error}", path.display())
            };
            fs::create_dir_all(&directory).map_err(|error| failed(&directory, error))?;
            for (name, text) in pages {
                let path = directory.join(format!("{name}.1"));
                fs::write(&path, text).map_err(|error| failed(&path, error))?;
            }
            return Ok(());
        }
        let wanted = match &self.command {
            Some(command) => format!("duologue-{command}"),
            None => "duologue".to_owned(),
        };
        if let Some((_, text)) = pages.iter().find(|(name, _)| *name == wanted) {
            return terminal.print_exactly(text);
        }
        let asked = self.command.unwrap_or_default();
        let names = pages
            .iter()
            .filter_map(|(name, _)| name.strip_prefix("duologue-"));
        Err(Failure::Usage(match nearest(&asked, names) {
            Some(near) => format!("there is no command `{asked}`; did you mean `{near}`?"),
            None => format!("there is no command `{asked}`; `duologue help` lists them all"),
        }))
    }
}

/// The pages with their names, that of the program first.
fn pages(mut program: Command) -> Result<Vec<(String, String)>, Failure> {
    program.build();
    let commands = program.get_subcommands();
    let commands = commands.filter(|command| command.get_name() != "help");
    let commands = commands.flat_map(|command| {
        let name = format!("duologue-{}", command.get_name());
        let parts = command.get_subcommands();
        let parts = parts.filter(|part| part.get_name() != "help");
        let parts = parts.map(|part| (format!("{name}-{}", part.get_name()), part.clone()));
        let parts: Vec<(String, Command)> = parts.collect();
        std::iter::once((name, command.clone())).chain(parts)
    });
    let all: Vec<(String, Command)> = std::iter::once(("duologue".to_owned(), program.clone()))
        .chain(commands)
        .collect();
    let mut pages = Vec::new();
    for (name, command) in all {
        let text = page(&name, command).map_err(|error| {
            Failure::Mistake(format!("cannot make the page of {name}: {error}"))
        })?;
        pages.push((name, text));
    }
    Ok(pages)
}

/// One page: what `--help` prints, in the order of manual pages.
fn page(name: &str, command: Command) -> io::Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let examples = command.get_before_help().map(ToString::to_string);
    let codes = command.get_after_help().map(ToString::to_string);
    let page = Page::new(command.clone().version(version))
        .title(name.to_ascii_uppercase())
        .source(format!("duologue {version}"));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.get_subcommands().next().is_some() {
        page.render_subcommands_section(&mut text)?;
    }
    for (title, section, heading) in [("EXAMPLES", examples, 0), ("EXIT STATUS", codes, 1)] {
        let Some(section) = section else { continue };
        let mut roff = Roff::default();
        roff.control("SH", [title]);
        roff.control("nf", []);
        // The heading of examples is in the template of the help.
        for line in section.lines().skip(heading) {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
        roff.to_writer(&mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
