//! Loads the inputs and every file they import: parses each file, and records which file imports which.

use crate::diagnostic::{Diagnostic, counted, quoted};
use crate::source::{SourceId, Sources};
use crate::syntax::{self, ast};
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where texts come from. The pipeline itself accesses no files.
pub trait Files {
    /// The bytes of a file.
    ///
    /// # Errors
    /// The system's error; after [`io::ErrorKind::NotFound`] an import is searched for elsewhere.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// A path that is the same for every spelling of a file's path.
    ///
    /// # Errors
    /// As for [`Files::read`].
    fn identity(&self, path: &Path) -> io::Result<PathBuf>;
}

/// One text to compile.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// A text in memory, such as standard input; its imports are searched for relative to `path`.
    Text {
        /// The path that reports show and that imports are relative to; it need not exist.
        path: PathBuf,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// An input that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Its path.
    pub path: PathBuf,
    /// Why it could not be read.
    pub error: io::Error,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Texts {
    /// The texts themselves.
    pub sources: Sources,
    /// The parsed texts, inputs first.
    pub loaded: Vec<Loaded>,
    /// What is wrong with them so far.
    pub diagnostics: Vec<Diagnostic>,
    /// Every file that was read, in order.
    pub files_read: Vec<PathBuf>,
    /// Every path at which an import was searched for but not found.
    pub files_missed: Vec<PathBuf>,
}

/// One text of a run.
#[derive(Debug)]
pub struct Loaded {
    /// Its text.
    pub source: SourceId,
    /// The path that generated code shows.
    pub path: String,
    /// The file name without its extension.
    pub stem: String,
    /// Its syntax tree.
    pub ast: ast::File,
    /// For each import, the file it leads to, if it was found.
    pub imports: Vec<Option<usize>>,
    /// Whether it is one of the inputs.
    pub is_input: bool,
}

/// How many imports of a cycle are shown besides the one that closes it.
const LINKS: usize = 8;

struct Loader<'a> {
    import_dirs: &'a [PathBuf],
    files: &'a dyn Files,
    known: HashMap<PathBuf, usize>,
    /// The directory of each file, in which its imports are searched for first.
    places: Vec<PathBuf>,
    texts: Texts,
}

/// Reads all inputs and what they import, each file once. Imports are searched for in the folder of the importing file, then in
/// `import_dirs`, in order.
///
/// # Errors
/// An input that cannot be read.
pub fn load(
    inputs: &[Input],
    import_dirs: &[PathBuf],
    files: &dyn Files,
) -> Result<Texts, Unreadable> {
    let mut loader = Loader {
        import_dirs,
        files,
        known: HashMap::new(),
        places: Vec::new(),
        texts: Texts::default(),
    };
    for input in inputs {
        match input {
            Input::Path(path) => {
                let unreadable = |error| Unreadable {
                    path: path.clone(),
                    error,
                };
                let identity = files.identity(path).map_err(unreadable)?;
                if !loader.known.contains_key(&identity) {
                    let bytes = files.read(path).map_err(unreadable)?;
                    loader.texts.files_read.push(path.clone());
                    let index = loader.add(path, bytes, true);
                    loader.known.insert(identity, index);
                }
            }
            Input::Text { path, bytes } => {
                loader.add(path, bytes.clone(), true);
            }
        }
    }
    loader.follow_imports();
    loader.report_cycles();
    Ok(loader.texts)
}

impl Loader<'_> {
    fn add(&mut self, path: &Path, bytes: Vec<u8>, is_input: bool) -> usize {
        let shown = slashed(path);
        let (source, error) = syntax::decode(&mut self.texts.sources, shown, bytes);
        let ast = match error {
            None => {
                let (ast, errors) = syntax::parse(source, self.texts.sources.get(source).text());
                self.texts.diagnostics.extend(errors);
                ast
            }
            Some(error) => {
                self.texts.diagnostics.push(error);
                ast::File {
                    is_opaque: true,
                    ..ast::File::default()
                }
            }
        };
        let stem = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        self.texts.loaded.push(Loaded {
            source,
            path: self.generated_path(path),
            stem: identifier(&stem),
            ast,
            imports: Vec::new(),
            is_input,
        });
        self.places
            .push(path.parent().map_or_else(PathBuf::new, Path::to_path_buf));
        self.texts.loaded.len() - 1
    }

    fn generated_path(&self, path: &Path) -> String {
        let inside = self
            .import_dirs
            .iter()
            .find_map(|dir| path.strip_prefix(dir).ok());
        let name = path.file_name().map_or(path, Path::new);
        slashed(inside.unwrap_or(name))
    }

    fn follow_imports(&mut self) {
        let mut waiting: VecDeque<usize> = (0..self.texts.loaded.len()).collect();
        while let Some(importer) = waiting.pop_front() {
            for position in 0..self.texts.loaded[importer].ast.imports.len() {
                let before = self.texts.loaded.len();
                let found = self.import(importer, position);
                if found.is_none() {
                    self.texts.loaded[importer].ast.is_opaque = true;
                }
                self.texts.loaded[importer].imports.push(found);
                waiting.extend(before..self.texts.loaded.len());
            }
        }
    }

    /// The file that an import leads to; reports an error if there is none.
    fn import(&mut self, importer: usize, position: usize) -> Option<usize> {
        let import = &self.texts.loaded[importer].ast.imports[position];
        let span = import.span;
        let wanted = import.path.clone();
        let own = self.places[importer].clone();
        let mut missed = Vec::new();
        let dirs = std::iter::once(&own).chain(self.import_dirs);
        for dir in dirs {
            let path = dir.join(&wanted);
            match self.files.identity(&path) {
                Ok(identity) => {
                    if let Some(known) = self.known.get(&identity) {
                        return Some(*known);
                    }
                    match self.files.read(&path) {
                        Ok(bytes) => {
                            self.texts.files_read.push(path.clone());
                            self.texts.files_missed.append(&mut missed);
                            let index = self.add(&path, bytes, false);
                            self.known.insert(identity, index);
                            return Some(index);
                        }
                        Err(error) => {
                            let text = format!("cannot read `{}`", slashed(&path));
                            let error = Diagnostic::error("unresolved-import", span, text)
                                .note(error.to_string());
                            self.texts.diagnostics.push(error);
                            return None;
                        }
                    }
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
                {
                    missed.push(path)
                }
                Err(error) => {
                    let text = format!("cannot search for `{}`", slashed(&path));
                    let error =
                        Diagnostic::error("unresolved-import", span, text).note(error.to_string());
                    self.texts.diagnostics.push(error);
                    return None;
                }
            }
        }
        let error = Diagnostic::error("unresolved-import", span, format!("cannot find `{wanted}`"))
            .label("no such file")
            .note(format!("searched for {}", quoted(missed.iter().map(|path| slashed(path)))))
            .help("an import is relative to the importing file, then to each directory given with `-I`");
        self.texts.diagnostics.push(error);
        self.texts.files_missed.append(&mut missed);
        None
    }

    /// Reports each import that closes a cycle. A depth-first search without recursion.
    fn report_cycles(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.texts.loaded.len()];
        for root in 0..self.texts.loaded.len() {
            if marks[root] != Mark::New {
                continue;
            }
            marks[root] = Mark::Open;
            let mut path = vec![(root, 0)];
            while let Some((file, position)) = path.last_mut() {
                let file = *file;
                let Some(target) = self.texts.loaded[file].imports.get(*position).copied() else {
                    marks[file] = Mark::Done;
                    path.pop();
                    continue;
                };
                *position += 1;
                let Some(target) = target else {
                    continue;
                };
                match marks[target] {
                    Mark::New => {
                        marks[target] = Mark::Open;
                        path.push((target, 0));
                    }
                    Mark::Open => {
                        let cycle: Vec<(usize, usize)> = path.clone();
                        self.report_cycle(&cycle, target);
                    }
                    Mark::Done => {}
                }
            }
        }
    }

    /// `path` holds the open files, each with the position after the import that was followed; the last import leads back to
    /// `target`.
    fn report_cycle(&mut self, path: &[(usize, usize)], target: usize) {
        let start = path
            .iter()
            .position(|(file, _)| *file == target)
            .unwrap_or(0);
        let cycle = &path[start..];
        let span_of = |(file, position): &(usize, usize)| {
            self.texts.loaded[*file].ast.imports[position - 1].span
        };
        let name_of = |file: usize| {
            self.texts
                .sources
                .get(self.texts.loaded[file].source)
                .name()
                .to_owned()
        };
        let Some((last, others)) = cycle.split_last() else {
            return;
        };
        let text = if others.is_empty() {
            "this file imports itself".to_owned()
        } else {
            format!("this import closes a cycle back to `{}`", name_of(target))
        };
        let mut error = Diagnostic::error("import-cycle", span_of(last), text);
        let links = others.len();
        for (link, (next, _)) in others.iter().zip(&cycle[1..]).take(LINKS) {
            error = error.related(span_of(link), format!("imports `{}`", name_of(*next)));
        }
        if links > LINKS {
            let more = counted(links - LINKS, "more import");
            error = error.note(format!("the cycle continues through {more}"));
        }
        let error = error.help(if others.is_empty() {
            "remove the import: a file sees its own declarations"
        } else {
            "move what the files share into another file that imports none of them"
        });
        self.texts.diagnostics.push(error);
    }
}

/// A path as it is shown, with `/` as the separator.
#[must_use]
pub fn slashed(path: &Path) -> String {
    let shown = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        return shown.into_owned();
    }
    shown.replace(std::path::MAIN_SEPARATOR, "/")
}

/// A file name turned into an identifier.
fn identifier(stem: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    let word: String = stem.chars().map(letter).collect();
    match word.chars().next() {
        Some(first) if !first.is_ascii_digit() => word,
        _ => format!("_{word}"),
    }
}
