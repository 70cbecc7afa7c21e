//! The whole pipeline: source texts -> checked protocols -> files.

use crate::check::{self, CheckedProgram, Levels, Scope};
use crate::diagnostic::{Diagnostic, Level};
use crate::load;
use crate::protocol::Program;
use crate::resolve;
use crate::source::Sources;
use crate::target::{self, Options};
use std::io;
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

/// What to compile, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The texts, in order.
    pub inputs: Vec<Input>,
    /// The directories in which imports are searched for after the folder of the importing file, in order.
    pub import_dirs: Vec<PathBuf>,
    /// Rule levels that replace the built-in ones, as set by a project. Attributes in the texts override them.
    pub defaults: Vec<(String, Level)>,
    /// Rule levels by name. They override attributes in the texts, and a later one overrides an earlier one; `all` means every
    /// rule that has a level.
    pub levels: Vec<(String, Level)>,
    /// The user's options for generated code.
    pub options: Options,
}

/// The result of a request.
#[derive(Debug, Default)]
pub struct Compilation {
    /// All texts, so that diagnostics can be shown.
    pub sources: Sources,
    /// All findings above level allow, ordered by file, position and rule.
    pub diagnostics: Vec<Diagnostic>,
    /// The program, if nothing at level deny was found.
    pub checked: Option<CheckedProgram>,
    /// Every file that was read, in order.
    pub files_read: Vec<PathBuf>,
    /// Every path at which an import was searched for but not found: if a file appears there, the result changes.
    pub files_missed: Vec<PathBuf>,
}

/// An input that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Its path.
    pub path: PathBuf,
    /// Why it could not be read.
    pub error: io::Error,
}

/// Reads, resolves and checks everything in the request.
///
/// # Errors
/// An input that cannot be read. Everything else that can go wrong is reported as a diagnostic.
pub fn compile(request: &Request, files: &dyn Files) -> Result<Compilation, Unreadable> {
    let mut compilation = Compilation::default();
    let loaded = load::load(request, files, &mut compilation)?;
    let (mut program, errors) = resolve::resolve(loaded);
    compilation.diagnostics.extend(errors);
    let has_errors = !compilation.diagnostics.is_empty();
    program.is_incomplete = has_errors;
    let mut found = compilation.diagnostics.iter();
    let has_duplicates = found.any(|found| found.rule == "duplicate-name");
    let spell = |program: &Program, hand_over: &mut dyn FnMut(Scope)| {
        // Duplicate declarations are spelled the same everywhere, and have already been reported.
        if !has_duplicates {
            target::spellings(program, &request.options, hand_over);
        }
    };
    let outcome = check::check(
        program,
        Levels::new(&request.defaults, &request.levels),
        &spell,
    );
    compilation.checked = outcome.checked.filter(|_| !has_errors);
    compilation.diagnostics.extend(outcome.diagnostics);
    let helps = compilation.diagnostics.iter_mut();
    for help in helps.flat_map(|found| &mut found.helps) {
        let mut edits = help.edits.iter();
        help.is_safe &= !edits.any(|edit| edit.removes_comment(&compilation.sources));
    }
    compilation
        .diagnostics
        .sort_by_key(|found| (found.primary.span, found.rule));
    Ok(compilation)
}
