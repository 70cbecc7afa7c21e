//! The rules that a protocol must follow. Only this module creates a [`CheckedProgram`], and code is generated from nothing else.
//!
//! A rule is one file in a folder here, one line in [`RULES`], one page in `docs/rules/` and one folder in `tests/fail/`.

/// Declares the rule of a file, with its level, whose function is `find`; or, with a name for the constant, any rule or error. Its page has
/// its name.
macro_rules! rule {
    ($name:literal, error, $summary:literal) => {
        rule! { RULE, $name, None, Some(find), $summary }
    };
    ($name:literal, $level:ident, $summary:literal) => {
        rule! { RULE, $name, Some($crate::diagnostic::Level::$level), Some(find), $summary }
    };
    ($constant:ident, $name:literal, $default:expr, $find:expr, $summary:literal) => {
        pub const $constant: $crate::check::Rule = $crate::check::Rule {
            name: $name,
            summary: $summary,
            default: $default,
            page: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/docs/rules/",
                $name,
                ".md"
            )),
            find: $find,
        };
    };
}

mod attributes;
mod checked;
mod declarations;
mod findings;
mod levels;
mod names;
mod stage_errors;
mod states;
mod types;
mod wording;

pub(crate) use checked::instantiations;
pub use checked::{CheckedProgram, CheckedProtocol};
pub use names::target_names::{Scope, Spelled, spelled};

use crate::diagnostic::{Diagnostic, Level};
use crate::protocol::Program;
use crate::source::Span;
use checked::Facts;
use findings::{Findings, Subject};
pub use levels::{Levels, Location, WARNINGS};
use std::sync::Arc;

/// An error or a rule.
#[derive(Debug)]
pub struct Rule {
    /// Its kebab-case name.
    pub name: &'static str,
    /// One line on what it finds.
    pub summary: &'static str,
    /// The default level; `None` for an error, which has no level.
    pub default: Option<Level>,
    /// The page that explains it, in Markdown.
    pub page: &'static str,
    /// Finds violations in a resolved program; `None` if another stage finds them.
    find: Option<fn(&Subject<'_>, &mut Findings)>,
}

impl Rule {
    /// A finding of the rule at a location, where its level is not set yet.
    pub(crate) fn finding(&self, at: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.name, at, message)
    }
}

/// Passes on, scope by scope, the names that the targets will declare.
pub type Spell<'a> = dyn Fn(&Program, &mut dyn FnMut(Scope)) + 'a;

/// All errors and rules: errors first, in the order in which a run can find them.
pub static RULES: &[Rule] = &[
    stage_errors::SYNTAX,
    stage_errors::UNRESOLVED_IMPORT,
    stage_errors::IMPORT_CYCLE,
    stage_errors::DUPLICATE_NAME,
    stage_errors::EMPTY_PROTOCOL,
    stage_errors::UNKNOWN_STATE,
    stage_errors::UNKNOWN_SIDE,
    stage_errors::UNKNOWN_PROTOCOL,
    stage_errors::UNKNOWN_BOUND,
    stage_errors::TYPE_ARGUMENT_COUNT,
    states::missing_direction::RULE,
    states::too_many_messages::RULE,
    types::too_many_values::RULE,
    types::recursive_type::RULE,
    types::expanding_recursion::RULE,
    types::deep_type::RULE,
    attributes::unusable_limit::RULE,
    types::unsatisfied_bound::RULE,
    states::not_dual::RULE,
    attributes::unusable_acceptance::RULE,
    names::clashing_names::RULE,
    names::target_clash::RULE,
    states::unreachable_state::RULE,
    states::stuck_state::RULE,
    states::cannot_finish::RULE,
    states::never_ends::RULE,
    states::verbose_terminal::RULE,
    states::equivalent_states::RULE,
    states::unbounded_run::RULE,
    types::undeclared_type::RULE,
    declarations::unused_type_parameter::RULE,
    declarations::unused_declaration::RULE,
    declarations::unused_import::RULE,
    declarations::misplaced_documentation::RULE,
    declarations::missing_docs::RULE,
    attributes::unknown_rule::RULE,
    attributes::unused_suppression::RULE,
];

/// The errors that are found only when two versions are compared.
pub static EVOLUTION: &[Rule] = &[
    stage_errors::INCOMPATIBLE_WITH_OLD_CLIENT,
    stage_errors::INCOMPATIBLE_WITH_OLD_SERVER,
    stage_errors::UNSOUND_ACCEPTANCE,
    stage_errors::PROTOCOL_REMOVED,
];

/// All errors and rules, whether `check` or a comparison of two versions finds them.
pub fn every_rule() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(EVOLUTION)
}

/// The error or rule with this name.
#[must_use]
pub fn rule(name: &str) -> Option<&'static Rule> {
    every_rule().find(|rule| rule.name == name)
}

/// The error or rule whose name is closest to an unknown name.
#[must_use]
pub fn nearest_rule(name: &str) -> Option<&'static str> {
    let kebab = name.replace('_', "-");
    let exact = rule(&kebab).map(|rule| rule.name);
    exact.or_else(|| crate::name::nearest(&kebab, RULES.iter().map(|rule| rule.name)))
}

/// What `check` returns.
#[derive(Debug)]
pub struct Outcome {
    /// The program with what was established about it, if no stage found anything at level deny.
    pub checked: Option<CheckedProgram>,
    /// All findings above level allow.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks the program against every rule. `reported` is what earlier stages found: a program with errors is checked as far as it is
/// known, and never becomes a [`CheckedProgram`]. `levels` holds the settings from outside the source files: those of the project, which
/// attributes in the source override, and those of the run, which override everything.
#[must_use]
pub fn check(
    program: &Arc<Program>,
    reported: &[Diagnostic],
    levels: Levels,
    spell: &Spell<'_>,
) -> Outcome {
    let subject = Subject::new(program, spell);
    let mut findings = Findings::new(levels, reported);
    for rule in RULES {
        if let Some(find) = rule.find {
            find(&subject, &mut findings);
        }
    }
    let facts = subject.shapes.into_iter().map(|shape| {
        let shape = shape?;
        Some(Facts::of(&shape.graph, shape.reachable))
    });
    let facts: Option<Vec<Facts>> = facts.collect();
    let diagnostics = findings.list;
    let is_clean = diagnostics
        .iter()
        .all(|diagnostic| diagnostic.level < Level::Deny);
    let checked = facts
        .filter(|_| is_clean && reported.is_empty())
        .map(|facts| CheckedProgram::new(Arc::clone(program), facts));
    Outcome {
        checked,
        diagnostics,
    }
}
