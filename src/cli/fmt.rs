//! `duologue fmt`: one layout for all protocol files.

use super::terminal::{GOOD, NAME, PATH, Terminal, styled};
use super::{Failure, Outcome, TEMPLATE, diff, inputs};
use clap::Args;
use duologue::compile::{Files as _, Input};
use duologue::files::{Disk, replace};
use duologue::report::{self, counted};
use duologue::source::Sources;
use duologue::syntax::decode;
use duologue::syntax::format::{Layout, Unformatted, format_with, lay_out};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue fmt                        every .proto file below this directory, in place
  duologue fmt --check                write nothing; fail if a file is not formatted
  duologue fmt bank.proto --diff      show what would change
  duologue fmt - --stdin-filepath bank.proto < bank.proto
                                      what an editor runs
";

const EXITS: &str = "\
\x1b[1;32mExit codes:\x1b[0m
  0    all files are formatted now; with --check or --diff: they were already
  1    a file does not parse, or, with --check or --diff, is not formatted
  2    the command line is wrong
  3    a file cannot be read or written
  101  formatting would have changed more than the layout, so nothing was written";

/// Bring protocol files into the one layout; comments and meaning stay as they are.
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
    /// The path that messages show for standard input; nothing need be there
    #[arg(long, alias = "stdin-filename", value_name = "PATH")]
    stdin_filepath: Option<PathBuf>,
}

/// A text and what became of it.
struct Formatted {
    path: PathBuf,
    old: String,
    new: String,
}

impl Fmt {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        self.run_with(lay_out, terminal)
    }

    /// Everything is formatted before anything is written.
    fn run_with(self, layout: Layout, terminal: &Terminal) -> Outcome {
        let is_stdin = self.paths.iter().any(|path| path.as_os_str() == "-");
        let inputs = if is_stdin {
            vec![self.stdin()?]
        } else if self.stdin_filepath.is_some() {
            let words = "`--stdin-filepath` goes with `-`, which stands for standard input";
            return Err(Failure::Usage(words.to_owned()));
        } else {
            inputs::find(&self.paths, &[])?
        };
        let is_dry = self.check || self.diff;
        let total = inputs.len();
        let mut changed = Vec::new();
        let mut is_valid = true;
        for input in inputs {
            match format(input, layout, terminal)? {
                Some(text) if is_stdin && !is_dry => terminal.print_exactly(&text.new)?,
                Some(text) if text.old != text.new => changed.push(text),
                Some(_) => {}
                None => is_valid = false,
            }
        }
        if is_dry {
            self.show(&changed, total, is_valid, terminal)?;
            is_valid &= changed.is_empty();
        } else if !is_stdin {
            write(changed, total, is_valid, terminal)?;
        }
        if is_valid {
            Ok(())
        } else {
            Err(Failure::Findings)
        }
    }

    fn stdin(&self) -> Result<Input, Failure> {
        if self.paths.len() > 1 {
            let words = "`-` stands alone: the formatted text goes to standard output";
            return Err(Failure::Usage(words.to_owned()));
        }
        let path = self.stdin_filepath.clone();
        Ok(Input::Text {
            path: path.unwrap_or_else(|| PathBuf::from("<stdin>")),
            bytes: inputs::stdin()?,
        })
    }

    /// Shows what would change.
    fn show(
        &self,
        changed: &[Formatted],
        total: usize,
        is_valid: bool,
        terminal: &Terminal,
    ) -> Outcome {
        for text in changed {
            let path = text.path.display().to_string();
            if self.diff {
                terminal.print_exactly(&diff::unified(&path, &text.old, &text.new))?;
            } else {
                terminal.print_exactly(&(path + "\n"))?;
            }
        }
        match changed.len() {
            0 if is_valid => {
                let good = styled(GOOD, "formatted");
                terminal.tell(format_args!("{good}: {}\n", counted(total, "file")))?;
            }
            0 => {}
            many => {
                let verb = if many == 1 { "is" } else { "are" };
                let files = counted(many, "file");
                let files = styled(NAME, format_args!("{files} {verb} not formatted"));
                let command = styled(PATH, "duologue fmt");
                terminal.tell(format_args!(
                    "{files}; {command} without --check or --diff does it\n"
                ))?;
            }
        }
        Ok(())
    }
}

/// Formats one text. A text that does not parse is reported.
fn format(input: Input, layout: Layout, terminal: &Terminal) -> Result<Option<Formatted>, Failure> {
    let (path, bytes) = match input {
        Input::Text { path, bytes } => (path, bytes),
        Input::Path(path) => {
            let bytes = Disk.read(&path);
            let bytes = bytes.map_err(|error| {
                let path = path.display();
                Failure::Environment(format!("cannot read {path}: {error}"))
            })?;
            (path, bytes)
        }
    };
    let mut sources = Sources::default();
    let (source, error) = decode(&mut sources, shown(&path), bytes);
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
                terminal.insist(report::full(error, &sources, terminal.look()) + "\n\n")?;
            }
            Ok(None)
        }
        Err(Unformatted::Refused(difference)) => Err(Failure::Mistake(format!(
            "cannot format {}: {difference}; nothing was written\n\
             This is a mistake in duologue, not in the file. Please report it, with the file or the part that causes it.",
            path.display()
        ))),
    }
}

fn shown(path: &Path) -> String {
    let shown = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        return shown.into_owned();
    }
    shown.replace(std::path::MAIN_SEPARATOR, "/")
}

/// Writes the files that changed.
fn write(changed: Vec<Formatted>, total: usize, is_valid: bool, terminal: &Terminal) -> Outcome {
    let files = changed.into_iter().map(|text| (text.path, text.new));
    let files: Vec<(PathBuf, String)> = files.collect();
    replace(&files).map_err(|(path, error)| {
        Failure::Environment(format!("cannot write {}: {error}", path.display()))
    })?;
    if terminal.verbose {
        for (path, _) in &files {
            let path = styled(PATH, path.display());
            terminal.tell(format_args!("{path}\n"))?;
        }
    }
    if is_valid {
        let good = styled(GOOD, "formatted");
        let files = match files.len() {
            0 => "nothing changed".to_owned(),
            many => format!("{many} changed"),
        };
        terminal.tell(format_args!(
            "{good}: {}, {files}\n",
            counted(total, "file")
        ))?;
    }
    Ok(())
}
