//! The files of a git revision, read through the git program: nothing is cloned, and nothing is checked out.

use crate::{Failure, needs_native};
use duologue::compile::{Files, Input};
use duologue::files::{Disk, LARGEST, has_protocol_extension};
use duologue::syntax::is_protocol_buffers;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A revision of the repository that contains a path.
pub struct Revision {
    /// As the user wrote it.
    name: String,
    /// The root of the working tree, with symbolic links resolved.
    top: PathBuf,
    /// The files of the revision, by path relative to the root.
    entries: BTreeMap<PathBuf, TreeEntry>,
    reader: RefCell<Reader>,
}

struct TreeEntry {
    is_link: bool,
    object: String,
}

/// `git cat-file --batch`: an object's name in, its bytes out.
struct Reader {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Git exits when its input is closed. A failure could not be reported from here.
        self.requests = None;
        let _ = self.child.wait();
    }
}

impl Revision {
    /// The revision `name` of the repository that contains `path`.
    pub fn open(name: &str, path: &Path) -> Result<Revision, Failure> {
        let folder = folder_of(path);
        let top = match git(&folder, &["rev-parse", "--show-toplevel"])? {
            Ok(top) => PathBuf::from(line(&top)),
            Err(said) => {
                bail_environment!(
                    "`{name}` is neither a file nor a directory, and git finds no revision of that name for {}: {}",
                    folder.display(),
                    first_line(&said)
                );
            }
        };
        let top = fs::canonicalize(&top).unwrap_or(top);
        let wanted = format!("{name}^{{commit}}");
        let verify = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &wanted,
        ];
        let Ok(commit) = git(&top, &verify)? else {
            return Err(Failure::Environment(missing(name, &top)?));
        };
        let commit = line(&commit);
        let tree = ["ls-tree", "-r", "-z", "--full-tree", &commit];
        let listing = match git(&top, &tree)? {
            Ok(listing) => listing,
            Err(said) => {
                bail_environment!("git cannot list `{name}`: {}", first_line(&said));
            }
        };
        Ok(Revision {
            name: name.to_owned(),
            entries: entries(&listing),
            reader: RefCell::new(Reader::start(&top)?),
            top,
        })
    }

    /// The protocol files that the revision has at or below `paths`, under the paths that the user would use now. A file that
    /// exists on disk and is not in `current` was left out on purpose.
    pub fn inputs(&self, paths: &[PathBuf], current: &[Input]) -> Vec<Input> {
        let current: HashSet<&Path> = current
            .iter()
            .map(|input| match input {
                Input::Path(path) | Input::Text { path, .. } => path.as_path(),
            })
            .collect();
        let mut inputs = Vec::new();
        let mut seen = HashSet::new();
        for path in paths {
            let Some(place) = self.place(path) else {
                continue;
            };
            if self.entries.contains_key(&place) {
                if seen.insert(place) {
                    inputs.push(Input::Path(path.clone()));
                }
                continue;
            }
            for (entry, found) in &self.entries {
                let Ok(rest) = entry.strip_prefix(&place) else {
                    continue;
                };
                let is_hidden = rest
                    .iter()
                    .any(|part| part.as_encoded_bytes().starts_with(b"."));
                let is_protocol = has_protocol_extension(rest);
                let shown = if path.as_os_str() == "." {
                    rest.to_path_buf()
                } else {
                    path.join(rest)
                };
                let is_left_out = shown.exists() && !current.contains(shown.as_path());
                if is_protocol
                    && !is_hidden
                    && !is_left_out
                    && !self.is_foreign(rest, found)
                    && seen.insert(entry.clone())
                {
                    inputs.push(Input::Path(shown));
                }
            }
        }
        inputs
    }

    /// Whether a file is one of Protocol Buffers. A file that cannot be read is not, so that its reader reports why.
    fn is_foreign(&self, path: &Path, entry: &TreeEntry) -> bool {
        path.extension()
            .is_some_and(|extension| extension == "proto")
            && self
                .object(&entry.object)
                .is_ok_and(|bytes| is_protocol_buffers(&String::from_utf8_lossy(&bytes)))
    }

    /// The path relative to the root; `None` if it is outside.
    fn place(&self, path: &Path) -> Option<PathBuf> {
        let path = resolved(path);
        path.strip_prefix(&self.top).map(Path::to_path_buf).ok()
    }

    /// The path of the file after symbolic links are followed.
    fn followed(&self, place: PathBuf) -> io::Result<PathBuf> {
        const LINKS: usize = 40;
        let mut at = place;
        for _ in 0..LINKS {
            let Some(entry) = self.entries.get(&at) else {
                return Err(io::ErrorKind::NotFound.into());
            };
            if !entry.is_link {
                return Ok(at);
            }
            let target = self.object(&entry.object)?;
            let target = String::from_utf8(target).map_err(io::Error::other)?;
            let folder = at.parent().unwrap_or(Path::new(""));
            at = plain(&folder.join(target));
        }
        Err(io::Error::other("too many symbolic links"))
    }

    fn object(&self, object: &str) -> io::Result<Vec<u8>> {
        self.reader.borrow_mut().read(object)
    }
}

impl Files for Revision {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.place(path) {
            Some(place) => {
                let place = self.followed(place)?;
                self.object(&self.entries[&place].object)
            }
            None => Disk.read(path),
        }
    }

    fn identity(&self, path: &Path) -> io::Result<PathBuf> {
        match self.place(path) {
            Some(place) => Ok(Path::new(&self.name).join(self.followed(place)?)),
            None => Disk.identity(path),
        }
    }
}

impl Reader {
    fn start(top: &Path) -> Result<Reader, Failure> {
        let mut command = command(top);
        command.args(["cat-file", "--batch"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(no_git)?;
        let answers = child.stdout.take().expect("its output is a pipe");
        Ok(Reader {
            requests: child.stdin.take(),
            answers: BufReader::new(answers),
            child,
        })
    }

    fn read(&mut self, object: &str) -> io::Result<Vec<u8>> {
        let requests = self.requests.as_mut().expect("it is open");
        writeln!(requests, "{object}")?;
        requests.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let size = header.split_whitespace().nth(2);
        let Some(size) = size.and_then(|size| size.parse::<u64>().ok()) else {
            let words = format!(
                "git does not have this file's content here, and does not fetch it: {}",
                header.trim()
            );
            return Err(io::Error::other(words));
        };
        if size > LARGEST {
            // The next answer comes after this content.
            io::copy(&mut (&mut self.answers).take(size + 1), &mut io::sink())?;
            return Err(io::Error::other(
                "larger than any protocol file needs to be",
            ));
        }
        let mut bytes = Vec::new();
        let mut answer = (&mut self.answers).take(size + 1);
        answer.read_to_end(&mut bytes)?;
        if bytes.pop() != Some(b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }
}

/// The last tag before the commit that is checked out in the repository that contains a path; `None` if there is no tag, no
/// repository or no git.
pub fn last_tag(path: &Path) -> Option<String> {
    let describe = ["describe", "--tags", "--abbrev=0"];
    let tag = git(&folder_of(path), &describe).ok()?.ok()?;
    Some(line(&tag)).filter(|tag| !tag.is_empty())
}

/// Git in a folder. The repository may come from anywhere, and editors ask for code lenses as soon as a file is opened, so git must
/// not run a program that the repository names: it fetches nothing that is missing, uses no bare repository among the files of
/// another, and starts no file system monitor.
fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .args(["-c", "safe.bareRepository=explicit"])
        .args(["-c", "core.fsmonitor=false"])
        .arg("-C")
        .arg(folder);
    command
}

/// Runs git in a folder. Returns what it printed, or its error messages if it failed.
fn git(folder: &Path, arguments: &[&str]) -> Result<Result<Vec<u8>, String>, Failure> {
    let mut command = command(folder);
    command.args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(no_git)?;
    Ok(if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

fn no_git(error: io::Error) -> Failure {
    if let Err(failure) = needs_native("a revision, unlike a directory or a file,", "processes") {
        return failure;
    }
    let words = "a revision is read through the git program: install it, or give a directory or a file with `--against`";
    environment!("cannot run git: {error}; {words}")
}

fn line(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("it does not say why")
}

fn entries(listing: &[u8]) -> BTreeMap<PathBuf, TreeEntry> {
    let records = listing.split(|byte| *byte == 0);
    let records = records.filter_map(|record| std::str::from_utf8(record).ok());
    records
        .filter_map(|record| {
            let (about, path) = record.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, kind, object) = (about.next()?, about.next()?, about.next()?);
            let entry = TreeEntry {
                is_link: mode == "120000",
                object: object.to_owned(),
            };
            (kind == "blob").then(|| (PathBuf::from(path), entry))
        })
        .collect()
}

/// The folder in which git is run for a path: the nearest that exists.
fn folder_of(path: &Path) -> PathBuf {
    let path = resolved(path);
    let mut folders = path.ancestors();
    let folder = folders.find(|folder| folder.is_dir());
    folder.unwrap_or(Path::new(".")).to_path_buf()
}

/// An absolute path without `.`, `..` and symbolic links among its folders, as far as these exist. The last part may be a link.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    if path.is_dir() && !path.is_symlink() {
        return fs::canonicalize(path).unwrap_or(absolute);
    }
    let mut rest = PathBuf::new();
    let mut folder = absolute.as_path();
    loop {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
            // A folder that does not exist, followed by `..`: the path can only be resolved by its text.
            let by_words = plain(&absolute);
            return if by_words == absolute {
                by_words
            } else {
                resolved(&by_words)
            };
        };
        rest = Path::new(name).join(rest);
        folder = parent;
        if let Ok(real) = fs::canonicalize(folder) {
            return plain(&real.join(rest.components().as_path()));
        }
    }
}

/// The path without `.` and `..`, resolved by its text alone.
pub fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => parts.push(part),
        }
    }
    parts
}

/// The message for a revision that git does not have, with the command that fetches it.
fn missing(name: &str, top: &Path) -> Result<String, Failure> {
    if name.len() >= 40 && name.bytes().all(|byte| byte == b'0') {
        return Ok(format!(
            "`{name}` is not the id of a commit: CI systems use it for a new branch; compare with the branch it \
             started from, such as `--against origin/main`"
        ));
    }
    let text = |arguments: &[&str]| -> Result<String, Failure> {
        Ok(git(top, arguments)?.map_or_else(|_| String::new(), |output| line(&output)))
    };
    let is_shallow = text(&["rev-parse", "--is-shallow-repository"])? == "true";
    let remotes = text(&["remote"])?;
    let remotes: Vec<&str> = remotes.lines().collect();
    let remote = remotes.iter().find(|remote| **remote == "origin");
    let Some(remote) = remote.or(remotes.first()) else {
        return Ok(format!(
            "there is no revision `{name}`, and no remote to fetch it from"
        ));
    };
    let branch = remotes.iter().find_map(|remote| {
        let branch = name.strip_prefix(remote)?.strip_prefix('/')?;
        Some((remote, branch))
    });
    let is_id = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let command = if name.contains(['~', '^', '@', ':']) {
        if is_shallow {
            format!("`git fetch --unshallow {remote}`")
        } else {
            format!("`git fetch {remote}`")
        }
    } else if let Some((remote, branch)) = branch {
        let depth = if is_shallow { "--depth=1 " } else { "" };
        format!("`git fetch {depth}{remote} {branch}:refs/remotes/{remote}/{branch}`")
    } else if is_id {
        let depth = if is_shallow { "--depth=1 " } else { "" };
        format!("`git fetch {depth}{remote} {name}`")
    } else {
        format!(
            "`git fetch {remote} {name}:{name}` if it is a branch, `git fetch {remote} tag {name}` if it is a tag"
        )
    };
    let clone = if is_shallow {
        " in this shallow clone"
    } else {
        " here"
    };
    Ok(format!(
        "there is no revision `{name}`{clone}; fetch it: {command}"
    ))
}
