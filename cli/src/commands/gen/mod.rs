//! `duologue gen`: typed endpoints for both sides, in the requested languages.

mod depfile;
mod plugin;
mod process;

use crate::args::{Choices, Findings, Sources, Style, TEMPLATE};
use crate::output::drift;
use crate::output::progress::{self, Progress};
use crate::output::summary::{self, Summary};
use crate::terminal::Terminal;
use clap::{Arg, ArgGroup, ArgMatches, Args, Command, FromArgMatches, value_parser};
use depfile::depfile;
use duologue::check::CheckedProgram;
use duologue::compile::{Compilation, Request};
use duologue::files::{Change, Manifest, Outputs, Planned, Producer, Tree};
use duologue::languages::{self, Options, OutputFile, Target};
use duologue::report::counted;
use duologue_project::{Failure, Outcome};
use plugin::{PluginTree, Plugins, Replies};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "  duologue gen bank.proto --rust src/protocols
                                      both sides of every protocol in the file, for Rust
  duologue gen protocols --rust rust/gen --c c/gen --scala scala/gen
                                      every protocol file of a directory, in three languages
  duologue gen protocols --rust src/protocols --check
                                      write nothing; fail if a file is not up to date
  duologue gen protocols --rust src/protocols --diff
                                      the same, and show what would change
  duologue gen bank.proto --c gen --depfile gen/bank.d
                                      also write a dependency file for make, Ninja or CMake
  duologue gen bank.proto --plugin mermaid=docs
                                      run duologue-gen-mermaid, which writes files into docs
";

/// Generate typed endpoints for both sides of each protocol.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Gen {
    /// Files, directories, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    directories: Directories,
    /// Write nothing, and fail if a file is missing, not up to date, or no longer generated
    #[arg(long, conflicts_with_all = ["force", "clean", "depfile"])]
    check: bool,
    /// Like --check, and also print what would change, as a patch
    #[arg(long, conflicts_with_all = ["force", "clean", "depfile"])]
    diff: bool,
    /// Overwrite files that duologue did not generate
    #[arg(long)]
    force: bool,
    /// Remove stale generated files from the output directories
    #[arg(long)]
    clean: bool,
    /// Print the paths of the files that would be written, and write nothing
    #[arg(long, conflicts_with_all = ["check", "diff", "depfile"])]
    list_outputs: bool,
    /// Write the list of files that were read, as a make rule
    #[arg(long, alias = "dependency_out", value_name = "FILE")]
    depfile: Option<PathBuf>,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    plugins: Plugins,
    #[command(flatten)]
    choices: Choices,
}

/// The directory of each requested target.
#[derive(Debug)]
struct Directories(BTreeMap<Target, PathBuf>);

impl Args for Directories {
    fn augment_args(command: Command) -> Command {
        let group = ArgGroup::new("Directories")
            .required(true)
            .multiple(true)
            .args(Target::ALL.map(Target::name))
            .arg("plugin");
        let argument = |target: Target| {
            let name = target.name();
            Arg::new(name)
                .long(name)
                .aliases(target.protoc_options())
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help(format!("Write {} into this directory", target.title()))
        };
        command.group(group).args(Target::ALL.map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Directories::augment_args(command)
    }
}

impl FromArgMatches for Directories {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Directories, clap::Error> {
        let directory = |target: Target| {
            let directory = matches.get_one::<PathBuf>(target.name())?;
            Some((target, directory.clone()))
        };
        let directories = Target::ALL.into_iter().filter_map(directory);
        Ok(Directories(directories.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Directories::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Gen {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        let started = Instant::now();
        let mut options: Options = self.choices.into();
        options.targets = self.directories.0.keys().copied().collect();
        let check = |request: &Request| {
            let mut compilation = progress::check(request, terminal)?;
            let replies = self.plugins.run(&mut compilation, &options)?;
            Ok((compilation, replies))
        };
        let annotates = self.sources.reports.annotates();
        let sources = self.sources.leaving_out_unreadable();
        let (format, findings) = (self.style.format, Findings::Aside);
        let (compiled, replies) = sources.compile_by(
            check,
            &self.paths,
            options.clone(),
            format,
            findings,
            terminal,
        )?;
        terminal.tell(&replies.errors)?;
        let Some(checked) = &compiled.checked else {
            terminal.tell(summary::nothing_written(&compiled))?;
            return Err(Failure::Findings);
        };
        let protocols = counted(checked.protocols().count(), "protocol");
        let words = move |_| format!("generating code for {protocols}");
        let generating = Progress::start(terminal, words);
        let (mut trees, mut notes) = self.directories.generate(checked, &options);
        let Replies {
            trees: plugin_trees,
            notes: plugin_notes,
            programs,
            ..
        } = replies;
        notes.extend(plugin_notes);
        let origins = Origins::of(&compiled);
        let plugin_trees = plugin_trees.into_iter();
        trees.extend(plugin_trees.map(|tree| origins.tree(tree, checked, self.clean)));
        let outputs = Outputs::plan(trees)?;
        drop(generating);
        if self.list_outputs {
            for file in &outputs.files {
                terminal.print(format_args!("{}\n", file.path.display()))?;
            }
            return Ok(());
        }
        let orphans = outputs.orphans(&|origin| origins.is_gone_or_read(origin))?;
        if self.check || self.diff {
            return drift::report(&outputs, &orphans, (self.diff, annotates), terminal);
        }
        if !self.force {
            outputs.refuse_foreign()?;
        }
        notes.extend(lost_modules(&outputs, &orphans));
        let paths = outputs.files.iter().map(|file| file.path.as_path());
        let extra = self.depfile.map(|path| {
            (
                path,
                depfile(paths, &[&compiled.files_read[..], &programs].concat()),
            )
        });
        let summary = Summary {
            checked,
            compiled: &compiled,
            options: &options,
            outputs: &outputs,
            orphans: &orphans,
            is_clean: self.clean,
            notes: &notes,
            started,
            terminal,
        };
        summary.conclude(extra.as_slice())
    }
}

impl Directories {
    /// The files that each requested target generates, and its notes on them.
    fn generate(self, checked: &CheckedProgram, options: &Options) -> (Vec<Tree>, Vec<String>) {
        let mut trees = Vec::new();
        let mut notes = Vec::new();
        for (target, directory) in self.0 {
            let generated = languages::generate(checked, target, options);
            notes.extend(generated.notes);
            trees.push(Tree::of_target(target, directory, generated.files));
        }
        (trees, notes)
    }
}

/// Notes on modules that Rust's `mod.rs` files will no longer list although their files exist, since another run wrote them.
fn lost_modules(outputs: &Outputs, orphans: &[PathBuf]) -> Vec<String> {
    let modules = |text: &str| -> BTreeSet<String> {
        let lines = text.lines();
        let names = lines.filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
        names.map(str::to_owned).collect()
    };
    let is_updated = |file: &&Planned| {
        let is_list = file.path.file_name().is_some_and(|name| name == "mod.rs");
        file.producer == Producer::Target(Target::Rust)
            && file.change == Change::Updated
            && is_list
            && !file.is_foreign
    };
    let mut notes = Vec::new();
    for file in outputs.files.iter().filter(is_updated) {
        let old = fs::read_to_string(&file.path).unwrap_or_default();
        for name in modules(&old).difference(&modules(&file.text)) {
            let directory = file.path.parent().unwrap_or(Path::new(""));
            let places = [format!("{name}.rs"), format!("{name}/mod.rs")];
            let mut places = places.iter().map(|place| directory.join(place));
            let is_left = |path: &PathBuf| path.exists() && !orphans.contains(path);
            if let Some(place) = places.find(is_left) {
                notes.push(format!(
                    "{} no longer has the module `{name}`, whose file {} was written by another run; give all \
                     protocol files to one run, or use another directory",
                    file.path.display(),
                    place.display()
                ));
            }
        }
    }
    notes
}

/// The files of a run, to distinguish files that another run wrote into a shared output directory from stale ones.
struct Origins {
    /// The directories of the files and all directories above them: the path in a header is relative to one of these.
    places: BTreeSet<PathBuf>,
    read: BTreeSet<PathBuf>,
}

impl Origins {
    fn of(compiled: &Compilation) -> Origins {
        let paths = compiled.files_read.iter();
        let parents: BTreeSet<&Path> = paths.clone().filter_map(|path| path.parent()).collect();
        let places = parents.into_iter().flat_map(Path::ancestors);
        Origins {
            places: places.map(Path::to_path_buf).collect(),
            read: paths
                .filter_map(|path| fs::canonicalize(path).ok())
                .collect(),
        }
    }

    /// The files of a plugin with the list of them. If stale files are removed, the list no longer has them.
    fn tree(&self, tree: PluginTree, checked: &CheckedProgram, cleans: bool) -> Tree {
        let PluginTree {
            plugin,
            directory,
            mut files,
            manifest,
        } = tree;
        let inputs = checked.program().inputs();
        let inputs: BTreeSet<String> = inputs.map(|file| file.path.clone()).collect();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let is_stale = |origin: &str| self.is_gone_or_read(origin);
        let stale: BTreeSet<&str> = match cleans {
            true => manifest.files_of(&is_stale).collect(),
            false => BTreeSet::new(),
        };
        let is_kept = |file: &str| !stale.contains(file) && directory.join(file).is_file();
        files.push(OutputFile {
            path: Manifest::name(&plugin),
            text: manifest.updated(&plugin, &inputs, &paths, &is_kept),
        });
        Tree {
            producer: Producer::Plugin(plugin),
            directory,
            files,
            manifest,
        }
    }

    /// Whether the file that a header names is part of this run, or no longer exists.
    fn is_gone_or_read(&self, origin: &str) -> bool {
        let candidates = self.places.iter().map(|directory| directory.join(origin));
        let mut found = candidates
            .filter_map(|path| fs::canonicalize(path).ok())
            .peekable();
        found.peek().is_none() || found.any(|path| self.read.contains(&path))
    }
}
