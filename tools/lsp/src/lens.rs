//! Above each protocol: in which order the two sides can be deployed, compared with a git revision. A thread of its own asks git and
//! answers the request itself, so that nothing waits for it.

use crate::answer::{Encoding, Lines};
use crate::convert::range_in;
use crate::documents::Documents;
use crate::transport::Output;
use duologue::compile::{Input, Request, compile};
use duologue::relation::{Travel, Verdict, versions};
use duologue_project::baseline::Old;
use gen_lsp_types::{CodeLens, Command};
use lsp_server::{ErrorCode, RequestId};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

/// How many requests may wait.
pub const MOST: usize = 16;

/// A request for the lenses of a text.
pub struct Job {
    pub id: RequestId,
    pub path: PathBuf,
    /// The text with the other files that it needs.
    pub request: Request,
    /// The open texts.
    pub documents: Documents,
    /// The revision to compare with.
    pub against: String,
    pub encoding: Encoding,
}

/// Answers requests until there are no more. One about a text for which there is a newer one is refused, because its answer is stale.
pub fn serve(jobs: &Receiver<Job>, output: &Output) {
    while let Ok(first) = jobs.recv() {
        let waiting: Vec<Job> = std::iter::once(first).chain(jobs.try_iter()).collect();
        for (at, job) in waiting.iter().enumerate() {
            let mut newer = waiting[at + 1..].iter();
            if newer.any(|other| other.path == job.path) {
                let words = "there is a newer request";
                output.refuse(job.id.clone(), ErrorCode::ContentModified, words);
                continue;
            }
            let found = catch_unwind(AssertUnwindSafe(|| lenses(job)));
            let lenses = found.ok().flatten().unwrap_or_default();
            output.answer(job.id.clone(), json!(lenses));
        }
    }
}

/// The lenses of a text; `None` if it has errors, or there is no such revision.
fn lenses(job: &Job) -> Option<Vec<CodeLens>> {
    let new = compile(&job.request, &job.documents).ok()?;
    let new_checked = new.checked.as_ref()?;
    let paths = job.request.inputs.iter().map(|input| match input {
        Input::Path(path) | Input::Text { path, .. } => path.clone(),
    });
    let paths: Vec<PathBuf> = paths.collect();
    let old = Old::revision(&job.against, &paths).ok()?;
    let compiled = old.check(&job.request, &paths).ok()?;
    let old_checked = compiled.checked.as_ref()?;
    let program = new_checked.program();
    let (source, text) = new.sources.iter().next()?;
    let lines = Lines::of(text.text());
    let mut found = Vec::new();
    let all = versions(old_checked.program(), program, Travel::Names);
    for verdict in all.iter().map(Verdict::on) {
        let mut protocols = program.protocols.iter();
        let protocol = protocols.find(|protocol| {
            protocol.name.span.source == source
                && program.full_name(protocol.file, protocol.name.text()) == verdict.name
        });
        let Some(protocol) = protocol else { continue };
        let at = protocol.name.span.range();
        let reason = match verdict.reason.is_empty() {
            true => String::new(),
            false => format!(" ({})", verdict.reason),
        };
        let title = format!("since {}: {}{reason}", job.against, verdict.outcome.words());
        found.push(CodeLens {
            range: range_in(text.text(), &lines, &at, job.encoding),
            command: Some(Command {
                title,
                ..Command::default()
            }),
            data: None,
        });
    }
    Some(found)
}
