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

/// Where texts come from. The pipeline itself touches no file.
pub trait Files {
    /// The bytes of a file.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::NotFound`] means that an import is looked for elsewhere.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// A path that is equal for two spellings of the same file.
    ///
    /// # Errors
    /// As [`Files::read`].
    fn identity(&self, path: &Path) -> io::Result<PathBuf>;
}

/// One text to compile.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// A text that is at hand, such as standard input; its imports are looked for relative to `path`.
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
    /// Where imports are looked for behind the folder of the importing file, in order.
    pub import_dirs: Vec<PathBuf>,
    /// Levels of rules that replace the built-in ones, as a project settles them; attributes in the texts win over them.
    pub defaults: Vec<(String, Level)>,
    /// Levels of rules by name, the later winning, also over attributes in the texts; `all` stands for every rule that has a level.
    pub levels: Vec<(String, Level)>,
    /// What the user chose about generated code.
    pub options: Options,
}

/// What came of a request.
#[derive(Debug, Default)]
pub struct Compilation {
    /// All texts, so that diagnostics can be shown.
    pub sources: Sources,
    /// All findings above level allow, ordered by file, place and rule.
    pub diagnostics: Vec<Diagnostic>,
    /// The program, if nothing at level deny was found.
    pub checked: Option<CheckedProgram>,
    /// Every file that was read, in order.
    pub files_read: Vec<PathBuf>,
    /// Every path at which an import was looked for and not found: should one appear, the answer changes.
    pub files_missed: Vec<PathBuf>,
}

/// An input that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// Reads, resolves and checks everything that was asked for.
///
/// # Errors
/// An input that cannot be read. Everything else that can go wrong is a diagnostic.
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
        // What is declared twice is spelled alike everywhere, and has been reported.
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
