//! `breaking`: whether a change can be deployed, and which side first.

use super::memory::Memory;
use super::reply::{Answer, findings};
use super::request::Request;
use duologue::compile::{Compilation, compile};
use duologue::relation::{Verdict, versions};

/// Compares the new version with the old one.
///
/// # Errors
/// A file that is missing, or errors in the old version.
pub fn breaking(
    request: &Request,
    mut new: Compilation,
    new_request: &duologue::compile::Request,
) -> Result<Answer, String> {
    let old_request = request.old_compilation(new_request);
    let old = compile(&old_request, &Memory(&request.old));
    let mut old = old.map_err(|missing| {
        format!(
            "{}: {} (in the old version)",
            missing.path.display(),
            missing.error
        )
    })?;
    let Some(new_checked) = &new.checked else {
        return Ok(findings(&new));
    };
    let texts = std::mem::take(&mut old.sources);
    let named = |name: &str| format!("{name} (old)");
    let Some(old_checked) = &old.checked else {
        // They are the only texts, so no span moves.
        old.sources.absorb(texts, named);
        return Ok(findings(&old));
    };
    let moved = new.sources.absorb(texts, named);
    let (require, travel) = request.comparison();
    let mut verdicts = Vec::new();
    let mut found = Vec::new();
    for versions in versions(old_checked.program(), new_checked.program(), travel) {
        found.extend(versions.findings(require, moved));
        verdicts.push(Verdict::on(&versions));
    }
    new.diagnostics = found;
    let report = duologue_reports::json_of_versions(&new.diagnostics, &new.sources, &verdicts);
    let mut answer = findings(&new);
    answer.report = report;
    Ok(answer)
}
