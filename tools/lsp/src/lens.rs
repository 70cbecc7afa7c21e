//! Above each protocol: in which order the two sides can be deployed, compared with a git revision. A thread of its own asks git and
//! answers the request itself, so that nothing waits for it.

use crate::answer::{Encoding, Lines};
use crate::convert::range_in;
use crate::documents::Documents;
use crate::framing::{Output, code};
use duologue::compile::{Input, Request, compile};
use duologue::relation::{Travel, Verdict, versions};
use duologue_project::baseline::Old;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

/// How many requests may wait; older ones are refused.
const MOST: usize = 16;

/// A request for the lenses of a text.
pub struct Job {
    pub id: Value,
    pub path: PathBuf,
    /// The text with the other files that it needs.
    pub request: Request,
    /// The open texts.
    pub documents: Documents,
    /// The revision to compare with.
    pub against: String,
    pub encoding: Encoding,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    is_over: bool,
}

/// The requests that wait.
#[derive(Default)]
pub struct Lenses {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Lenses {
    /// Adds a request. An older one about the same text is refused, because its answer is stale.
    pub fn ask(&self, job: Job, output: &Output) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let same = waiting.jobs.iter().position(|other| other.path == job.path);
        let is_full = waiting.jobs.len() >= MOST;
        if let Some(stale) = same.or(is_full.then_some(0))
            && let Some(stale) = waiting.jobs.remove(stale)
        {
            output.refuse(
                &stale.id,
                code::CONTENT_MODIFIED,
                "there is a newer request",
            );
        }
        waiting.jobs.push_back(job);
        self.changed.notify_all();
    }

    /// Ends the thread after the request it answers now.
    pub fn end(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_over = true;
        self.changed.notify_all();
    }

    /// Answers requests until the end.
    pub fn serve(&self, output: &Output) {
        loop {
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let is_idle = |waiting: &mut Waiting| waiting.jobs.is_empty() && !waiting.is_over;
            let waiting = self.changed.wait_while(waiting, is_idle);
            let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
            if waiting.is_over {
                return;
            }
            let Some(job) = waiting.jobs.pop_front() else {
                continue;
            };
            drop(waiting);
            let found = catch_unwind(AssertUnwindSafe(|| lenses(&job)));
            let lenses = found.ok().flatten().unwrap_or_default();
            output.answer(&job.id, json!(lenses));
        }
    }
}

/// The lenses of a text; `None` if it has errors, or there is no such revision.
fn lenses(job: &Job) -> Option<Vec<Value>> {
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
        found.push(json!({
            "range": range_in(text.text(), &lines, &at, job.encoding),
            "command": { "title": title, "command": "" },
        }));
    }
    Some(found)
}
