//! `gen --plugin`: programs of others that generate files from the model, or report findings on it. `docs/plugins.md` describes how
//! they are called.

use super::process::{Printed, Program};
use crate::args::seconds;
use crate::output::answer::Answer;
use crate::terminal::harmless;
use clap::Args;
use duologue::compile::Compilation;
use duologue::diagnostic::{Diagnostic, Level};
use duologue::files::{Manifest, stays_inside};
use duologue::languages::{Options, OutputFile};
use duologue::source::Span;
use duologue_project::Failure;
use duologue_reports::model::{self, Model};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the name of a plugin's program starts with.
const PREFIX: &str = "duologue-gen-";

/// Which plugins run, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Plugins")]
pub struct Plugins {
    /// Also run the program duologue-gen-NAME, and write its files into this directory; NAME can also be the path of a program,
    /// and a plugin without a directory only reports findings; may be given more than once
    #[arg(long, value_name = "NAME[=DIR]", value_parser = plugin)]
    plugin: Vec<Plugin>,
    /// Pass an option to a plugin; may be given more than once
    #[arg(long, value_name = "NAME:KEY=VALUE", value_parser = plugin_option, requires = "plugin")]
    plugin_option: Vec<PluginOption>,
    /// How long each plugin may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds(86_400))]
    plugin_timeout: u64,
}

#[derive(Clone, Debug)]
struct Plugin {
    name: String,
    program: OsString,
    is_path: bool,
    directory: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct PluginOption {
    plugin: String,
    key: String,
    value: String,
}

fn plugin(text: &str) -> Result<Plugin, String> {
    let (program, directory) = match text.split_once('=') {
        Some((_, "")) => return Err(format!("no directory is given: write `{text}DIR`")),
        Some((program, directory)) => (program, Some(PathBuf::from(directory))),
        None => (text, None),
    };
    let path = Path::new(program);
    let is_path = path.components().count() > 1 || program.starts_with('.');
    let word = match is_path {
        true => path.file_stem().and_then(|stem| stem.to_str()),
        false => Some(program),
    };
    let word = word.unwrap_or_default();
    let name = word.strip_prefix(PREFIX).unwrap_or(word);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!(
            "`{name}` is not the name of a plugin, which consists of letters, digits, `-` and `_`"
        ));
    }
    Ok(Plugin {
        name: name.to_owned(),
        program: match is_path {
            true => program.into(),
            false => format!("{PREFIX}{name}").into(),
        },
        is_path,
        directory,
    })
}

fn plugin_option(text: &str) -> Result<PluginOption, String> {
    let parts = text.split_once(':').and_then(|(plugin, rest)| {
        let (key, value) = rest.split_once('=')?;
        Some((plugin, key, value))
    });
    match parts {
        Some((plugin, key, value)) if !plugin.is_empty() && !key.is_empty() => Ok(PluginOption {
            plugin: plugin.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        }),
        _ => Err("write NAME:KEY=VALUE, such as `mermaid:title=Bank`".to_owned()),
    }
}

/// What a plugin prints.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    #[serde(default)]
    files: Vec<ReplyFile>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyFile {
    path: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
    level: FindingLevel,
    message: String,
    span: PluginSpan,
    #[serde(default)]
    label: String,
    #[serde(default)]
    related: Vec<RelatedPlace>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    help: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FindingLevel {
    Error,
    Warning,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RelatedPlace {
    span: PluginSpan,
    #[serde(default)]
    label: String,
}

/// A span of the model, of which only these parts are needed.
#[derive(Deserialize)]
struct PluginSpan {
    file: usize,
    start: Point,
    end: Point,
}

#[derive(Deserialize)]
struct Point {
    byte: usize,
}

/// What all plugins of a run answered.
#[derive(Default)]
pub struct Replies {
    pub trees: Vec<PluginTree>,
    pub notes: Vec<String>,
    /// What the plugins printed on standard error.
    pub errors: String,
    /// The programs that were given as paths.
    pub programs: Vec<PathBuf>,
}

/// The files of a plugin.
pub struct PluginTree {
    pub plugin: String,
    pub directory: PathBuf,
    pub files: Vec<OutputFile>,
    pub manifest: Manifest,
}

impl Answer for Replies {}

impl Plugins {
    /// Runs all plugins on a program without errors, and adds their findings to the compilation. If one of them reports an error,
    /// the program no longer counts as checked.
    pub fn run(
        &self,
        compilation: &mut Compilation,
        options: &Options,
    ) -> Result<Replies, Failure> {
        self.refuse_doubles()?;
        let mut replies = Replies::default();
        let Some(checked) = &compilation.checked else {
            return Ok(replies);
        };
        if self.plugin.is_empty() {
            return Ok(replies);
        }
        let model = Model::of(checked, &compilation.sources, options);
        let mut found = Vec::new();
        for plugin in &self.plugin {
            let Printed { answer, errors } = self.ask(plugin, &model)?;
            replies.errors += &errors;
            let reply = read(&answer).map_err(|error| {
                let name = &plugin.name;
                let what = match answer.is_empty() {
                    true => "printed no answer".to_owned(),
                    false => format!("printed an answer that cannot be read: {}", harmless(&error.to_string())),
                };
                environment!(
                    "plugin `{name}` {what}; nothing was written. `duologue explain plugin` describes the answer"
                )
            })?;
            for finding in &reply.findings {
                let span = |span: &PluginSpan| {
                    let PluginSpan { file, start, end } = span;
                    let (program, sources) = (checked.program(), &compilation.sources);
                    let found = model::span(program, sources, *file, start.byte, end.byte);
                    found.ok_or_else(|| {
                        let (name, start, end) = (&plugin.name, start.byte, end.byte);
                        environment!(
                            "plugin `{name}` reported a finding at bytes {start} to {end} of file {file}, which is not a range of that file; \
                             nothing was written. Its spans have to be those of the model"
                        )
                    })
                };
                found.push(finding.diagnostic(&plugin.name, &span)?);
            }
            replies.add(plugin, reply)?;
        }
        if found.iter().any(|found| found.level == Level::Deny) {
            compilation.checked = None;
        }
        compilation.diagnostics.extend(found);
        let place = |found: &Diagnostic| (found.primary.span, found.rule);
        compilation.diagnostics.sort_by_key(place);
        Ok(replies)
    }

    fn refuse_doubles(&self) -> Result<(), Failure> {
        let mut names = BTreeSet::new();
        for plugin in &self.plugin {
            if !names.insert(plugin.name.as_str()) {
                bail_usage!("the plugin `{}` is given twice", plugin.name);
            }
        }
        let mut options = BTreeSet::new();
        for PluginOption { plugin, key, .. } in &self.plugin_option {
            if !names.contains(plugin.as_str()) {
                bail_usage!("there is an option for `{plugin}`, but no such plugin is run");
            }
            if !options.insert((plugin, key)) {
                bail_usage!("the option `{key}` of the plugin `{plugin}` is given twice");
            }
        }
        Ok(())
    }

    fn ask(&self, plugin: &Plugin, model: &Model) -> Result<Printed, Failure> {
        let own = self.plugin_option.iter();
        let own = own.filter(|option| option.plugin == plugin.name);
        let options = own.map(|option| (option.key.as_str(), option.value.as_str()));
        let question = json!({
            "version": 1,
            "plugin": { "name": plugin.name, "options": options.collect::<BTreeMap<_, _>>() },
            "model": model,
        });
        let program = Program {
            name: &plugin.name,
            path: plugin.program.clone(),
            is_path: plugin.is_path,
            limit: Duration::from_secs(self.plugin_timeout),
        };
        program.run(question.to_string().into_bytes())
    }
}

impl Replies {
    fn add(&mut self, plugin: &Plugin, reply: Reply) -> Result<(), Failure> {
        let name = &plugin.name;
        let refused =
            |words: String| Err(environment!("plugin `{name}` {words}; nothing was written"));
        let mut files: Vec<OutputFile> = Vec::new();
        let mut paths = BTreeSet::new();
        for ReplyFile { path, text } in reply.files {
            let shown = harmless(&path).into_owned();
            let is_plain = !path
                .chars()
                .any(|letter| letter.is_control() || letter == '\\');
            if !is_plain || !stays_inside(Path::new(&path)) {
                return refused(format!(
                    "returned the path `{shown}`, which is not a path inside its directory; a path is relative, with `/`, and without `..`"
                ));
            }
            if path.split('/').any(Manifest::is_name) {
                return refused(format!(
                    "returned the path `{shown}`, which is reserved for lists of generated files"
                ));
            }
            if !paths.insert(path.clone()) {
                return refused(format!("returned the path `{shown}` twice"));
            }
            files.push(OutputFile { path, text });
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        for path in &paths {
            let mut above = Path::new(path).ancestors().skip(1);
            let is_file = |above: &Path| above.to_str().is_some_and(|above| paths.contains(above));
            if let Some(above) = above.find(|above| is_file(above)) {
                let above = above.display();
                return refused(format!(
                    "returned the path `{path}`, and `{above}` as a file"
                ));
            }
        }
        let notes = reply.notes.iter();
        self.notes
            .extend(notes.map(|note| format!("{name}: {}", line(note))));
        if plugin.is_path {
            self.programs.push(PathBuf::from(&plugin.program));
        }
        let Some(directory) = &plugin.directory else {
            return match files.first() {
                None => Ok(()),
                Some(first) => refused(format!(
                    "returned the path `{}`, but has no directory: give it one, as in --plugin {}=DIR",
                    first.path,
                    plugin.program.to_string_lossy()
                )),
            };
        };
        let manifest = Manifest::read(directory, name).map_err(|error| {
            let path = directory.join(Manifest::name(name));
            environment!("cannot read {}: {error}", path.display())
        })?;
        self.trees.push(PluginTree {
            plugin: name.clone(),
            directory: directory.clone(),
            files,
            manifest,
        });
        Ok(())
    }
}

impl Finding {
    fn diagnostic(
        &self,
        plugin: &str,
        span: &dyn Fn(&PluginSpan) -> Result<Span, Failure>,
    ) -> Result<Diagnostic, Failure> {
        let message = format!("{plugin}: {}", line(&self.message));
        let mut found = Diagnostic::error("plugin", span(&self.span)?, message);
        found.level = match self.level {
            FindingLevel::Error => Level::Deny,
            FindingLevel::Warning => Level::Warn,
        };
        found = found.label(line(&self.label));
        for RelatedPlace { span: at, label } in &self.related {
            found = found.related(span(at)?, line(label));
        }
        for note in &self.notes {
            found = found.note(line(note));
        }
        for help in &self.help {
            found = found.help(line(help));
        }
        Ok(found)
    }
}

/// Reads an answer, which has to be an object: a list of its values would be read as one, too.
fn read(answer: &[u8]) -> serde_json::Result<Reply> {
    if answer.trim_ascii_start().starts_with(b"[") {
        return Err(serde::de::Error::custom("it is a list, not an object"));
    }
    serde_json::from_slice(answer)
}

/// A text of a plugin's as one line, without what a terminal would obey.
fn line(text: &str) -> String {
    harmless(&text.replace(['\n', '\r', '\t'], " ")).into_owned()
}
