//! Turns what the user names (files, directories, `-`) into the texts to read.

use crate::config::Exclude;
use crate::terminal::{NAME, Terminal, styled};
use crate::{Failure, Outcome};
use duologue::compile::{Input, Unreadable};
use duologue::files::{self, open, read_limited};
use duologue::report::counted;
use ignore::WalkBuilder;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What was found at the paths that the user named.
pub struct Found {
    /// The texts to read.
    pub inputs: Vec<Input>,
    /// A message for each path that cannot be read.
    pub unreadable: Vec<String>,
    /// The files of Protocol Buffers in the directories, which were skipped.
    pub skipped: Vec<PathBuf>,
    /// The directories that were searched.
    directories: Vec<PathBuf>,
    exclude: Exclude,
}

/// How many files and directories are looked at to find hidden and ignored protocol files.
const HIDDEN: usize = 20_000;

impl Found {
    /// Notes what was skipped; `-v` lists it.
    pub fn tell_skipped(&self, terminal: &Terminal) -> Outcome {
        if terminal.quiet {
            return Ok(());
        }
        let hidden = self.hidden();
        for (paths, what) in [
            (&self.skipped, "Protocol Buffers file"),
            (&hidden, "hidden or ignored file"),
        ] {
            let note = styled(NAME, "note");
            let files = counted(paths.len(), what);
            match (paths.is_empty(), terminal.verbose) {
                (true, _) => {}
                (false, false) => {
                    terminal.tell(format_args!("{note}: skipped {files} (`-v` lists them)\n"))?
                }
                (false, true) => {
                    terminal.tell(format_args!("{note}: skipped {files}\n"))?;
                    for path in paths {
                        terminal.tell(format_args!("  {}\n", path.display()))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The protocol files in the directories that are hidden, or that git ignores.
    fn hidden(&self) -> Vec<PathBuf> {
        let inputs = self.inputs.iter().filter_map(|input| match input {
            Input::Path(path) => Some(path),
            Input::Text { .. } => None,
        });
        let read: HashSet<&PathBuf> = inputs.collect();
        let mut found = files::Found::default();
        for directory in &self.directories {
            let (mut walk, _) = walker(directory, &self.exclude, None);
            let entries = walk.standard_filters(false).build().take(HIDDEN);
            let paths = entries.flatten().map(|entry| shortened(entry.into_path()));
            paths.for_each(|path| found.add(path));
        }
        found.sort();
        found.protocols.retain(|path| !read.contains(path));
        found.protocols
    }
}

/// The texts that `paths` name: a directory means all protocol files below it, sorted, and `-` standard input.
///
/// # Errors
/// The first thing that cannot be read, except for files that the user named.
pub fn find(
    paths: &[PathBuf],
    import_dirs: &[PathBuf],
    exclude: &Exclude,
) -> Result<Found, Failure> {
    let mut found = search(paths, import_dirs, exclude)?;
    match found.unreadable.is_empty() {
        true => Ok(found),
        false => Err(Failure::Environment(found.unreadable.swap_remove(0))),
    }
}

/// Like [`find`], but leaves out whatever cannot be read.
pub fn find_readable(
    paths: &[PathBuf],
    import_dirs: &[PathBuf],
    exclude: &Exclude,
) -> Result<Found, Failure> {
    let mut found = search(paths, import_dirs, exclude)?;
    found.inputs.retain(|input| match input {
        Input::Text { .. } => true,
        Input::Path(path) => match open(path) {
            Ok(_) => true,
            Err(error) => {
                found.unreadable.push(unreadable(path, &error));
                false
            }
        },
    });
    Ok(found)
}

fn search(paths: &[PathBuf], import_dirs: &[PathBuf], exclude: &Exclude) -> Result<Found, Failure> {
    let mut inputs = Vec::new();
    let mut unreadable = Vec::new();
    let mut skipped = Vec::new();
    let mut directories = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |inputs: &mut Vec<Input>, path: PathBuf| {
        if seen.insert(fs::canonicalize(&path).unwrap_or_else(|_| path.clone())) {
            inputs.push(Input::Path(path));
        }
    };
    let mut has_stdin = false;
    for path in paths {
        if path.as_os_str() == "-" {
            if std::mem::replace(&mut has_stdin, true) {
                bail_usage!("`-` can be given only once: there is one standard input");
            }
            inputs.push(Input::Text {
                path: PathBuf::from("<stdin>"),
                bytes: stdin()?,
            });
        } else if path.is_dir() {
            let found = walk(path, exclude, &mut unreadable)?;
            for file in found.protocols {
                add(&mut inputs, file);
            }
            skipped.extend(found.skipped);
            directories.push(path.clone());
        } else {
            add(&mut inputs, locate(path, import_dirs));
        }
    }
    Ok(Found {
        inputs,
        unreadable,
        skipped,
        directories,
        exclude: exclude.clone(),
    })
}

/// Why a file cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> String {
    let target = fs::read_link(path).ok();
    let target = target.filter(|_| error.kind() == io::ErrorKind::NotFound);
    match target {
        Some(target) => format!(
            "cannot read {}: it is a link to {}, which does not exist",
            path.display(),
            target.display()
        ),
        None => format!("cannot read {}: {error}", path.display()),
    }
}

/// The failure of a run that cannot read an input.
pub fn failure(found: Unreadable) -> Failure {
    Failure::Environment(unreadable(&found.path, &found.error))
}

/// The whole of standard input.
pub fn stdin() -> Result<Vec<u8>, Failure> {
    let failed = |error| environment!("cannot read standard input: {error}");
    read_limited(io::stdin().lock()).map_err(failed)
}

/// The file itself, or, as in protoc, the one in an import directory.
fn locate(path: &Path, import_dirs: &[PathBuf]) -> PathBuf {
    if !path.exists() {
        let candidates = import_dirs.iter().map(|directory| directory.join(path));
        if let Some(found) = candidates.into_iter().find(|candidate| candidate.is_file()) {
            return found;
        }
    }
    path.to_path_buf()
}

/// Whether a search of a directory finds a file. Only the directories above the file are searched.
pub fn finds(directory: &Path, file: &Path, exclude: &Exclude) -> bool {
    let is_below = file.strip_prefix(directory);
    let (walk, _) = walker(directory, exclude, Some(file));
    let mut found = files::Found::default();
    if is_below.is_ok_and(|below| !below.as_os_str().is_empty()) {
        let is_it = |entry: &ignore::DirEntry| entry.path() == file;
        let entry = walk.build().flatten().find(is_it);
        entry
            .into_iter()
            .for_each(|entry| found.add(entry.into_path()));
    }
    !found.protocols.is_empty()
}

/// Walks through a directory, or only through what is on the path to a file. Also returns the number of files and directories that the
/// configuration excludes, once the walk is over.
fn walker(
    directory: &Path,
    exclude: &Exclude,
    only: Option<&Path>,
) -> (WalkBuilder, Arc<AtomicUsize>) {
    let left_out = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&left_out);
    let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    let mut walk = WalkBuilder::new(directory);
    let (root, exclude) = (directory.to_path_buf(), exclude.clone());
    let only = only.map(Path::to_path_buf);
    walk.filter_entry(move |entry| {
        let below = entry.path().strip_prefix(&root);
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_excluded = below.is_ok_and(|below| exclude.matches(&place.join(below), is_dir));
        let is_wanted = only
            .as_ref()
            .is_none_or(|only| only.starts_with(entry.path()));
        if is_wanted && is_excluded {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let is_git = entry.file_name() == ".git";
        entry.depth() == 0 || is_wanted && !is_excluded && !is_git
    });
    (walk, left_out)
}

/// All protocol files below a directory, sorted; hidden files, files that git ignores, and those that the configuration excludes
/// are left out.
fn walk(
    directory: &Path,
    exclude: &Exclude,
    unreadable: &mut Vec<String>,
) -> Result<files::Found, Failure> {
    let failures = unreadable.len();
    let mut found = files::Found::default();
    let (walk, left_out) = walker(directory, exclude, None);
    for entry in walk.build() {
        let path = match entry {
            Ok(entry) => entry.into_path(),
            Err(error) => {
                unreadable.push(unsearchable(directory, error));
                continue;
            }
        };
        found.add(shortened(path));
    }
    if found.protocols.is_empty() && unreadable.len() == failures {
        let words = format!("no protocol files under {}", directory.display());
        let words = match found.skipped.len() {
            0 => format!("{words}: their names end in .proto or .duo"),
            many => format!("{words}, only {}", counted(many, "Protocol Buffers file")),
        };
        return Err(Failure::Usage(match left_out.load(Ordering::Relaxed) {
            0 => words,
            many => format!(
                "{words}; `exclude` in the configuration leaves out {}: change it, or name the files to read",
                counted(many, "path")
            ),
        }));
    }
    found.sort();
    Ok(found)
}

/// A path below the working directory without `./` before it.
fn shortened(path: PathBuf) -> PathBuf {
    match path.strip_prefix(".") {
        Ok(below) => below.to_path_buf(),
        Err(_) => path,
    }
}

/// Why a directory cannot be searched. The walk wraps the system's error and its path in a text of its own.
fn unsearchable(directory: &Path, error: ignore::Error) -> String {
    let mut place = directory.to_path_buf();
    let mut inner = &error;
    while let ignore::Error::WithPath { err, .. } | ignore::Error::WithDepth { err, .. } = inner {
        if let ignore::Error::WithPath { path, .. } = inner {
            place.clone_from(path);
        }
        inner = err;
    }
    let place = place
        .strip_prefix(".")
        .unwrap_or(&place)
        .display()
        .to_string();
    match error.into_io_error() {
        Some(error) => {
            // The walk repeats the path in the text of the error, and keeps the original error as its source.
            let reason = match std::error::Error::source(&error) {
                Some(source) => source.to_string(),
                None => error.to_string(),
            };
            format!("cannot search {place}: {reason}")
        }
        None => format!("cannot search {place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_searched_is_named_once() {
        let io = || ignore::Error::Io(io::Error::from(io::ErrorKind::PermissionDenied));
        let error = ignore::Error::WithDepth {
            depth: 1,
            err: Box::new(ignore::Error::WithPath {
                path: PathBuf::from("./perm/no"),
                err: Box::new(io()),
            }),
        };
        let words = unsearchable(Path::new("."), error);
        assert_eq!(words, "cannot search perm/no: permission denied");
        let words = unsearchable(Path::new("perm"), io());
        assert_eq!(words, "cannot search perm: permission denied");
    }

    /// Tests an error from the walk itself, for a directory that does not exist.
    #[test]
    fn the_words_of_the_walk_do_not_show_through() {
        let missing = Path::new("there/is/no/such/directory");
        let entry = WalkBuilder::new(missing).build().next();
        let error = entry.expect("one entry").expect_err("it is not there");
        let words = unsearchable(missing, error);
        let start = "cannot search there/is/no/such/directory: ";
        assert!(words.starts_with(start), "{words}");
        assert!(!words[start.len()..].contains("there/is"), "{words}");
    }
}
