//! The older version of some files, at another path or in git.

use crate::config::Exclude;
use crate::git::Revision;
use crate::{Failure, inputs};
use duologue::compile::{Compilation, Files, Request, compile};
use duologue::diagnostic::Level;
use duologue::files::Disk;
use std::path::{Path, PathBuf};

/// Where the old version is.
pub enum Old<'a> {
    /// A file or directory.
    Path(&'a Path),
    /// A revision of git, with its name.
    Revision(&'a str, Revision),
}

impl<'a> Old<'a> {
    /// What `--against` names: a path if it exists, otherwise a revision.
    pub fn find(against: &'a str, paths: &[PathBuf]) -> Result<Old<'a>, Failure> {
        let path = Path::new(against);
        if path.exists() {
            return Ok(Old::Path(path));
        }
        if paths.iter().any(|path| path.as_os_str() == "-") {
            bail_usage!("standard input has no older version in git; compare it with a file");
        }
        Old::revision(against, paths)
    }

    /// A revision of git, even if there is a file of this name.
    pub fn revision(against: &'a str, paths: &[PathBuf]) -> Result<Old<'a>, Failure> {
        let here = PathBuf::from(".");
        let revision = Revision::open(against, paths.first().unwrap_or(&here))?;
        Ok(Old::Revision(against, revision))
    }

    /// The paths at which the new version has protocols. A path without any is left out if the old version has some there,
    /// because these have all been removed.
    pub fn still_here(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let is_removed = |path: &PathBuf| match self {
            Old::Path(_) => false,
            Old::Revision(_, revision) => {
                let path = std::slice::from_ref(path);
                let is_gone =
                    !path[0].exists() || inputs::find(path, &[], &Exclude::default()).is_err();
                is_gone && !revision.inputs(path, &[]).is_empty()
            }
        };
        let here = paths.iter().filter(|path| !is_removed(path));
        here.cloned().collect()
    }

    /// The name that reports show for a file of the old version, so that it is not mistaken for the one on disk.
    pub fn name_of(&self, name: &str) -> String {
        match self {
            Old::Path(_) => name.to_owned(),
            Old::Revision(against, _) => format!("{name} @ {against}"),
        }
    }

    /// Reads and checks the old version. Only errors matter there, not the other rules.
    pub fn check(&self, request: &Request, paths: &[PathBuf]) -> Result<Compilation, Failure> {
        let mut old = request.clone();
        old.levels = vec![("all".to_owned(), Level::Allow)];
        match self {
            Old::Path(path) => {
                old.inputs = inputs::find(&[path.to_path_buf()], &[], &Exclude::default())?.inputs;
                if path.is_dir() {
                    old.import_dirs.insert(0, path.to_path_buf());
                }
                checked(&old, &Disk)
            }
            Old::Revision(_, revision) => {
                old.inputs = revision.inputs(paths, &request.inputs);
                checked(&old, revision)
            }
        }
    }
}

/// Reads and checks one version.
pub fn checked(request: &Request, files: &dyn Files) -> Result<Compilation, Failure> {
    compile(request, files).map_err(inputs::failure)
}
