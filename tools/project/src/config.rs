//! `duologue.toml`: the settings of a project.

use crate::Failure;
use crate::mapping::Logs;
use crate::terminal::Terminal;
use duologue::check::{every_rule, rule};
use duologue::diagnostic::{Diagnostic, Level};
use duologue::name::nearest;
use duologue::report;
use duologue::source::{Sources, Span};
use duologue_traces::Mapping;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use toml::Spanned;

/// The file's name.
const NAME: &str = "duologue.toml";

/// Which configuration is read.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// This file.
    File(&'a Path),
    /// The `duologue.toml` at or above the first input.
    Nearest,
}

/// The configuration.
#[derive(Debug, Default)]
pub struct Config {
    /// The path, as it is shown; empty if there is no configuration.
    pub path: String,
    /// The directories in which imports are searched for.
    pub import_dirs: Vec<PathBuf>,
    /// The files and directories that a search leaves out.
    pub exclude: Exclude,
    /// Levels with the lines on which they are set; a later one overrides an earlier one.
    pub levels: Vec<(String, Level, usize)>,
    /// How logs of other programs are read, by name.
    pub mappings: Vec<(String, Mapping)>,
}

/// The patterns of `exclude`, as in a `.gitignore` file beside the configuration.
#[derive(Clone, Debug, Default)]
pub struct Exclude(Option<Gitignore>);

impl Exclude {
    /// Whether a file or directory is left out; `path` is absolute and without links.
    pub fn matches(&self, path: &Path, is_dir: bool) -> bool {
        let patterns = self.0.as_ref();
        patterns.is_some_and(|patterns| {
            path.starts_with(patterns.path()) && patterns.matched(path, is_dir).is_ignore()
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Document {
    version: Spanned<i64>,
    #[serde(default)]
    import_dirs: Vec<Spanned<PathBuf>>,
    #[serde(default)]
    exclude: Vec<Spanned<String>>,
    #[serde(default)]
    rules: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    traces: BTreeMap<Spanned<String>, Logs>,
}

impl Config {
    /// Reads the configuration that applies to these inputs.
    ///
    /// # Errors
    /// It cannot be read, or is wrong, which is reported.
    pub fn read(
        which: Which<'_>,
        inputs: &[PathBuf],
        terminal: &Terminal,
    ) -> Result<Config, Failure> {
        let path = match which {
            Which::File(path) => path.to_path_buf(),
            Which::Nearest => match find(inputs) {
                Some(path) => path,
                None => return Ok(Config::default()),
            },
        };
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| environment!("cannot read {}: {error}", path.display()))?;
        let mut sources = Sources::default();
        let source = sources.add(path.display().to_string(), text);
        let text = sources.get(source).text();
        let span = |range: std::ops::Range<usize>| Span::new(source, range.start, range.end);
        let errors = match toml::from_str::<Document>(text) {
            Ok(document) => {
                let (config, errors) =
                    document.checked(&path, |at| sources.get(source).position(at).line, span);
                if errors.is_empty() {
                    return Ok(config);
                }
                errors
            }
            Err(error) => {
                let range = error.span().unwrap_or(0..0);
                let (words, help) = in_words(error.message());
                let found = Diagnostic::error("configuration", span(range), words);
                vec![match help {
                    Some(help) => found.help(help),
                    None => found,
                }]
            }
        };
        for error in &errors {
            terminal.insist(report::full(error, &sources, terminal.render_options()) + "\n\n")?;
        }
        Err(usage!("{} cannot be used", path.display()))
    }
}

/// The message of the parser in the terms of the file, and what to do.
fn in_words(message: &str) -> (String, Option<String>) {
    if let Some(rest) = message.strip_prefix("unknown field `")
        && let Some((key, others)) = rest.split_once("`, expected ")
    {
        let known: Vec<&str> = others.split('`').skip(1).step_by(2).collect();
        let help = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys are {}", known.join(", ")),
        };
        return (format!("there is no key `{key}`"), Some(help));
    }
    if message == "missing field `version`" {
        let help = "write `version = 1` on the first line".to_owned();
        return ("the file has no `version`".to_owned(), Some(help));
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return (format!("the key {key} is missing"), None);
    }
    if let Some(rest) = message.strip_prefix("invalid type: ")
        && let Some((found, expected)) = rest.split_once(", expected ")
    {
        let words = [
            ("a sequence", "a list"),
            ("a map", "a table"),
            ("i64", "a whole number"),
            ("a string", "text in quotes"),
            ("path string", "text in quotes"),
            ("sequence", "a list"),
            ("map", "a table"),
            ("integer", "a whole number"),
            ("floating point", "a number"),
            ("boolean", "true or false"),
            ("string", "text"),
        ];
        let word = |text: &str| {
            let known = words.iter().find(|(known, _)| text.starts_with(known));
            known.map_or("something else", |(_, word)| word)
        };
        let text = format!("this is {}, and has to be {}", word(found), word(expected));
        return (text, None);
    }
    if message == "duplicate key" {
        return ("the key is set twice".to_owned(), None);
    }
    (format!("the file is not valid TOML: {message}"), None)
}

impl Document {
    fn checked(
        self,
        path: &Path,
        line: impl Fn(usize) -> usize,
        span: impl Fn(std::ops::Range<usize>) -> Span,
    ) -> (Config, Vec<Diagnostic>) {
        let mut errors = Vec::new();
        let wrong = |at, text| Diagnostic::error("configuration", span(at), text);
        if *self.version.get_ref() != 1 {
            let text = format!(
                "there is no version {} of the configuration",
                self.version.get_ref()
            );
            errors.push(wrong(self.version.span(), text).help("write `version = 1`"));
        }
        let mut levels = Vec::new();
        for (name, level) in self.rules {
            let known = rule(name.get_ref()).map(|rule| rule.default.is_some());
            let value = Level::named(level.get_ref());
            if name.get_ref() != "all" && known.is_none() {
                let text = format!("there is no rule `{}`", name.get_ref());
                errors.push(wrong(name.span(), text).help(instead_of(name.get_ref())));
            } else if known == Some(false) {
                let text = format!(
                    "`{}` is an error, so its level cannot be set",
                    name.get_ref()
                );
                errors.push(wrong(name.span(), text));
            } else if let Some(value) = value {
                levels.push((line(name.span().start), name.into_inner(), value));
            } else {
                let text = format!("there is no level `{}`", level.get_ref());
                let error = wrong(level.span(), text);
                errors.push(error.help("the levels are `allow`, `warn` and `deny`"));
            }
        }
        // A table has no order: the level of a single rule overrides that of `all`.
        levels.sort_by_key(|(line, name, _)| (name != "all", *line));
        let own = path.parent().unwrap_or(Path::new(""));
        let exclude = exclude(own, self.exclude, &mut |at, message| {
            errors.push(wrong(at, message));
        });
        let mut mappings = Vec::new();
        for (name, logs) in self.traces {
            match logs.mapping() {
                Ok(mapping) => mappings.push((name.into_inner(), mapping)),
                Err(message) => errors.push(wrong(name.span(), message)),
            }
        }
        let mut import_dirs = Vec::new();
        for dir in self.import_dirs {
            let path = own.join(dir.get_ref());
            if !path.is_dir() {
                let text = format!("there is no directory {}", path.display());
                errors.push(wrong(dir.span(), text));
            }
            import_dirs.push(path);
        }
        let config = Config {
            mappings,
            path: path.display().to_string(),
            import_dirs,
            exclude,
            levels: levels
                .into_iter()
                .map(|(line, name, level)| (name, level, line))
                .collect(),
        };
        (config, errors)
    }
}

impl Config {
    /// The levels without their lines.
    pub fn levels(&self) -> Vec<(String, Level)> {
        self.levels
            .iter()
            .map(|(name, level, _)| (name.clone(), *level))
            .collect()
    }
}

/// The patterns relative to the directory of the configuration.
fn exclude(
    own: &Path,
    patterns: Vec<Spanned<String>>,
    report: &mut impl FnMut(std::ops::Range<usize>, String),
) -> Exclude {
    if patterns.is_empty() {
        return Exclude::default();
    }
    let here = match own.as_os_str().is_empty() {
        true => Path::new("."),
        false => own,
    };
    let mut builder = GitignoreBuilder::new(fs::canonicalize(here).unwrap_or(here.to_path_buf()));
    for pattern in patterns {
        if let Err(error) = builder.add_line(None, pattern.get_ref()) {
            report(pattern.span(), error.to_string());
        }
    }
    match builder.build() {
        Ok(patterns) => Exclude(Some(patterns)),
        Err(error) => {
            report(0..0, error.to_string());
            Exclude::default()
        }
    }
}

/// Suggests a rule if `name` is misspelled or is one word of a rule's name; otherwise says where all rules are listed.
#[must_use]
pub fn instead_of(name: &str) -> String {
    let has_word = |rule: &&str| rule.split('-').any(|word| word == name);
    let mut named = every_rule().map(|rule| rule.name).filter(has_word);
    let near = match (named.next(), named.next()) {
        (Some(only), None) => Some(only),
        _ => nearest(name, every_rule().map(|rule| rule.name)),
    };
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`duologue explain` lists them all".to_owned(),
    }
}

/// The nearest configuration at or above the first input, no higher than the root of its repository.
fn find(inputs: &[PathBuf]) -> Option<PathBuf> {
    let first = inputs.first().filter(|path| path.as_os_str() != "-");
    let first = first.map_or(Path::new("."), PathBuf::as_path);
    let is_dir = first.is_dir();
    // This directory is not above `../logs`.
    let goes_up = first.components().any(|part| part == Component::ParentDir);
    let absolute = match goes_up {
        true => fs::canonicalize(first).ok()?,
        false => std::path::absolute(first).ok()?,
    };
    let start = if is_dir {
        Some(absolute.as_path())
    } else {
        absolute.parent()
    };
    for directory in start?.ancestors() {
        let candidate = directory.join(NAME);
        if candidate.is_file() {
            return Some(shortened(&candidate).unwrap_or(candidate));
        }
        if directory.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The path relative to the working directory, if it is below it.
fn shortened(path: &Path) -> io::Result<PathBuf> {
    let here = std::env::current_dir()?;
    Ok(path
        .strip_prefix(here)
        .map_or_else(|_| path.to_path_buf(), Path::to_path_buf))
}
