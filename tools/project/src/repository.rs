//! Paths as a repository's services know them: relative to its root, wherever the program runs.

use crate::git::plain;
use std::env;
use std::path::{Path, PathBuf};

/// The root of the repository that contains the working directory, or the folder of a workflow of GitHub.
fn root(here: &Path) -> Option<PathBuf> {
    let ceilings = env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default();
    let ceilings: Vec<PathBuf> = match cfg!(target_os = "wasi") {
        // The standard library panics there.
        true => {
            let ceilings = ceilings.to_string_lossy();
            ceilings.split(':').map(PathBuf::from).collect()
        }
        false => env::split_paths(&ceilings).collect(),
    };
    let mut above = here
        .ancestors()
        .take_while(|folder| !ceilings.iter().any(|end| end == folder));
    let found = above.find(|folder| folder.join(".git").exists());
    let workspace = || env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    let is_above = |folder: &PathBuf| here.starts_with(folder);
    found
        .map(Path::to_path_buf)
        .or_else(|| workspace().filter(is_above))
}

/// The path of a file relative to the root; unchanged if it is elsewhere.
pub fn relative(path: &str) -> String {
    let inside = || {
        let here = env::current_dir().ok()?;
        let whole = plain(&here.join(path));
        let inside = whole.strip_prefix(root(&here)?).ok()?;
        Some(inside.to_string_lossy().replace('\\', "/"))
    };
    inside().unwrap_or_else(|| path.to_owned())
}

/// The same, if there is such a file or the text is what the working directory has.
pub fn located(path: &str, is_old: bool) -> Option<String> {
    let is_there = if is_old {
        Path::new(path).exists()
    } else {
        path != "<stdin>"
    };
    is_there.then(|| relative(path))
}
