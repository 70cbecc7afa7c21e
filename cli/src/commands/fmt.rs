//! `duologue fmt`: one layout for all protocol files.

use crate::args::{TEMPLATE, config};
use crate::output::diff;
use crate::output::drift;
use crate::output::reports;
use crate::terminal::{GOOD, NAME, PATH, Terminal, styled};
use clap::Args;
use duologue::compile::{Files as _, Input, slashed};
use duologue::files::{Disk, replace};
use duologue::report::{self, counted};
use duologue::source::Sources;
use duologue::syntax::decode;
use duologue::syntax::format::{Layout, Unformatted, format_with, lay_out};
use duologue_project::{Failure, Outcome, inputs};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "  duologue fmt                        every .duo and .proto file below this directory, in place
  duologue fmt --check                write nothing; fail if a file is not formatted
  duologue fmt bank.proto --diff      show what would change
  duologue fmt - --stdin-filepath bank.proto < bank.proto
                                      what an editor runs
";

const EXITS: &str = "\
\x1b[1;32mExit codes:\x1b[0m
  0    all files are formatted; with --check or --diff, they already were
  1    a file does not parse, or, with --check or --diff, is not formatted
  2    the command line is wrong
  3    a file cannot be read or written
  101  formatting would have changed more than the layout, so nothing was written";

/// Format protocol files; comments and meaning are preserved.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, after_help = EXITS, help_template = TEMPLATE)]
pub struct Fmt {
    /// Files, directories, or - for standard input
    #[arg(default_value = ".", hide_default_value = true)]
    paths: Vec<PathBuf>,
    /// Write nothing; print the paths of files that are not formatted, and fail if there are any
    #[arg(long)]
    check: bool,
    /// Write nothing; print what would change as a unified diff, and fail if anything would
    #[arg(long)]
    diff: bool,
    /// The path that messages show for standard input; the file does not have to exist
    #[arg(long, alias = "stdin-filename", value_name = "PATH")]
    stdin_filepath: Option<PathBuf>,
    #[command(flatten)]
    config: config::Choice,
}

/// A text before and after formatting.
struct Formatted {
    path: PathBuf,
    old: String,
    new: String,
}

impl Formatted {
    fn differs_in_line_ends(&self) -> bool {
        self.old != self.new && self.old.replace("\r\n", "\n") == self.new
    }
}

/// How many texts there were, and how many of them do not parse.
struct Counts {
    total: usize,
    invalid: usize,
}

impl Fmt {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        self.run_with(lay_out, terminal)
    }

    /// Everything is formatted before anything is written.
    fn run_with(self, layout: Layout, terminal: &Terminal) -> Outcome {
        let is_stdin = self.paths.iter().any(|path| path.as_os_str() == "-");
        let mut unreadable = Vec::new();
        let inputs = if is_stdin {
            vec![self.stdin()?]
        } else if self.stdin_filepath.is_some() {
            bail_usage!("`--stdin-filepath` needs the path `-`, which means standard input");
        } else {
            let config = self.config.read(&self.paths, terminal)?;
            let found = inputs::find_readable(&self.paths, &[], &config.exclude)?;
            found.tell_skipped(terminal)?;
            unreadable = found.unreadable;
            found.inputs
        };
        let is_dry = self.check || self.diff;
        let mut counts = Counts {
            total: inputs.len(),
            invalid: 0,
        };
        let mut changed = Vec::new();
        let mut converted = 0;
        for input in inputs {
            match format(input, layout, terminal)? {
                Some(text) if self.check && text.differs_in_line_ends() => converted += 1,
                Some(text) if is_stdin && !is_dry => terminal.print_exactly(&text.new)?,
                Some(text) if text.old != text.new => changed.push(text),
                Some(_) => {}
                None => counts.invalid += 1,
            }
        }
        drift::line_ends(converted, terminal)?;
        let outcome = match counts.total {
            0 => Ok(()),
            _ => self.finish(&counts, &changed, is_stdin, terminal),
        };
        match unreadable.pop() {
            None => outcome,
            Some(last) => {
                if let Err(failure @ (Failure::Environment(_) | Failure::Mistake(_))) = outcome {
                    return Err(failure);
                }
                unreadable.iter().for_each(|words| terminal.complain(words));
                Err(Failure::Environment(last))
            }
        }
    }

    /// Shows or writes what changed, and reports the number of files.
    fn finish(
        &self,
        counts: &Counts,
        changed: &[Formatted],
        is_stdin: bool,
        terminal: &Terminal,
    ) -> Outcome {
        let is_dry = self.check || self.diff;
        if is_dry {
            self.show(changed, terminal)?;
            if !changed.is_empty() {
                let command = (!is_stdin).then(|| drift::given().join(" "));
                terminal.tell(counts.not_formatted(changed.len(), command))?;
                return Err(Failure::Findings);
            }
        } else {
            write(changed, terminal)?;
        }
        if counts.invalid > 0 {
            terminal.tell(counts.left_alone(changed.len()))?;
            return Err(Failure::Findings);
        }
        if is_dry || !is_stdin {
            terminal.tell(counts.formatted(changed.len()))?;
        }
        Ok(())
    }

    fn stdin(&self) -> Result<Input, Failure> {
        if self.paths.len() > 1 {
            bail_usage!(
                "`-` cannot be given with other paths: the formatted text goes to standard output"
            );
        }
        let path = self.stdin_filepath.clone();
        Ok(Input::Text {
            path: path.unwrap_or_else(|| PathBuf::from("<stdin>")),
            bytes: inputs::stdin()?,
        })
    }

    /// Shows what would change.
    fn show(&self, changed: &[Formatted], terminal: &Terminal) -> Outcome {
        for text in changed {
            let path = text.path.display().to_string();
            if self.diff {
                terminal.print_exactly(&diff::unified(&path, &text.old, &text.new))?;
            } else {
                terminal.print_exactly(&(path + "\n"))?;
            }
            if self.check && reports::is_github() {
                let pairs = text.old.lines().zip(text.new.lines());
                let line = pairs.take_while(|(old, new)| old == new).count() + 1;
                let words = "not formatted: run `duologue fmt`";
                terminal.insist(reports::annotation(&text.path, line, "fmt", words))?;
            }
        }
        Ok(())
    }
}

impl Counts {
    fn not_formatted(&self, many: usize, command: Option<String>) -> String {
        let verb = if many == 1 { "is" } else { "are" };
        let files = format!("{} {verb} not formatted", counted(many, "file"));
        let files = styled(NAME, files);
        match command {
            Some(command) => format!("{files}; to format, run\n  {}\n", styled(PATH, command)),
            None => format!("{files}\n"),
        }
    }

    fn left_alone(&self, changed: usize) -> String {
        let files = counted(self.invalid, "file");
        let verb = if self.invalid == 1 { "does" } else { "do" };
        let left = styled(NAME, format_args!("{files} {verb} not parse"));
        match changed {
            0 => format!("{left}; nothing changed\n"),
            _ => format!("{left}; of the others, {changed} changed\n"),
        }
    }

    fn formatted(&self, changed: usize) -> String {
        let good = styled(GOOD, "formatted");
        let files = counted(self.total, "file");
        match changed {
            0 => format!("{good}: {files}, nothing changed\n"),
            _ => format!("{good}: {files}, {changed} changed\n"),
        }
    }
}

/// Formats one text. A text that does not parse is reported.
fn format(input: Input, layout: Layout, terminal: &Terminal) -> Result<Option<Formatted>, Failure> {
    let (path, bytes) = match input {
        Input::Text { path, bytes } => (path, bytes),
        Input::Path(path) => {
            let bytes = Disk.read(&path);
            let bytes =
                bytes.map_err(|error| Failure::Environment(inputs::unreadable(&path, &error)))?;
            (path, bytes)
        }
    };
    let mut sources = Sources::default();
    let (source, error) = decode(&mut sources, slashed(&path), bytes);
    let text = sources.get(source).text();
    let result = match error {
        Some(error) => Err(Unformatted::Invalid(vec![error])),
        None => format_with(source, text, layout),
    };
    match result {
        Ok(new) => Ok(Some(Formatted {
            path,
            old: text.to_owned(),
            new,
        })),
        Err(Unformatted::Invalid(errors)) => {
            for error in &errors {
                terminal
                    .insist(report::full(error, &sources, terminal.render_options()) + "\n\n")?;
            }
            Ok(None)
        }
        Err(Unformatted::Refused(difference)) => Err(Failure::Mistake(format!(
            "cannot format {}: {difference}; nothing was written\n\
             This is a bug in duologue, not in the file. Please report it, with the file or the part that causes it.",
            path.display()
        ))),
    }
}

/// Writes the files that changed.
fn write(changed: &[Formatted], terminal: &Terminal) -> Outcome {
    let files = changed
        .iter()
        .map(|text| (text.path.as_path(), text.new.as_str()));
    let files: Vec<(&Path, &str)> = files.collect();
    replace(&files)
        .map_err(|(path, error)| environment!("cannot write {}: {error}", path.display()))?;
    if terminal.verbose {
        for (path, _) in &files {
            let path = styled(PATH, path.display());
            terminal.tell(format_args!("{path}\n"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
