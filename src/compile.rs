//! The whole pipeline: source texts -> checked protocols -> files.

use crate::check::{self, CheckedProgram, Levels, Scope};
use crate::diagnostic::{Diagnostic, Level};
use crate::languages::{self, Options};
use crate::protocol::Program;
use crate::resolve;
use crate::resolve::load;
use crate::source::Sources;
use std::path::PathBuf;
use std::sync::Arc;

#[doc(hidden)]
pub use crate::resolve::load::slashed;
pub use crate::resolve::load::{Files, Input, Unreadable};

/// What to compile, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Compilation {
    /// All texts, so that diagnostics can be shown.
    pub sources: Sources,
    /// All findings above level allow, ordered by file, position and rule.
    pub diagnostics: Vec<Diagnostic>,
    /// The program as far as it could be parsed and resolved, with everything that was parsed even if there are errors.
    pub program: Arc<Program>,
    /// The program with what the checks established about it, if nothing at level deny was found.
    pub checked: Option<CheckedProgram>,
    /// Every file that was read, in order.
    pub files_read: Vec<PathBuf>,
    /// Every path at which an import was searched for but not found: if a file appears there, the result changes.
    pub files_missed: Vec<PathBuf>,
}

/// Reads, resolves and checks everything in the request.
///
/// # Errors
/// An input that cannot be read. Everything else that can go wrong is reported as a diagnostic.
pub fn compile(request: &Request, files: &dyn Files) -> Result<Compilation, Unreadable> {
    let texts = load::load(&request.inputs, &request.import_dirs, files)?;
    let (program, errors) = resolve::resolve(texts.loaded);
    let program = Arc::new(program);
    let mut diagnostics = texts.diagnostics;
    diagnostics.extend(errors);
    let mut found = diagnostics.iter();
    let has_duplicates = found.any(|found| found.rule == "duplicate-name");
    let spell = |program: &Program, hand_over: &mut dyn FnMut(Scope)| {
        // Duplicate declarations are spelled the same everywhere, and have already been reported.
        if !has_duplicates {
            languages::spellings(program, &request.options, hand_over);
        }
    };
    let outcome = check::check(
        &program,
        &diagnostics,
        Levels::new(&request.defaults, &request.levels),
        &spell,
    );
    diagnostics.extend(outcome.diagnostics);
    for found in &mut diagnostics {
        let repairs = found.helps.iter().filter(|help| !help.edits.is_empty());
        let has_one_reading = repairs.count() == 1;
        for help in &mut found.helps {
            let mut edits = help.edits.iter();
            let removes_comment = edits.any(|edit| edit.removes_comment(&texts.sources));
            help.is_safe &= has_one_reading && !removes_comment;
        }
    }
    diagnostics.sort_by_key(|found| (found.primary.span, found.rule));
    Ok(Compilation {
        sources: texts.sources,
        diagnostics,
        program,
        checked: outcome.checked,
        files_read: texts.files_read,
        files_missed: texts.files_missed,
    })
}
