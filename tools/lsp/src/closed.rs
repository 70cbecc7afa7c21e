//! The findings of the files of the workspace that are not open, for a client that asks for them.

use crate::convert::uri_of;
use crate::state::State;
use gen_lsp_types as lsp;
use lsp::{Diagnostic, Uri, WorkspaceDocumentDiagnosticReport as Report};
use lsp_server::Request;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The requests, which wait until every file has been checked since the last change, and what was found.
#[derive(Default)]
pub struct Closed {
    pub waiting: Vec<Request>,
    stale: Vec<PathBuf>,
    /// The epoch of the state that the files are checked in.
    epoch: Option<u64>,
    /// The findings of each file that has some, and what identifies them.
    found: BTreeMap<String, (String, Vec<Diagnostic>)>,
}

impl Closed {
    /// Checks all files again.
    pub fn restart(&mut self) {
        self.epoch = None;
    }

    /// The next file to check. After a change, that is the first again.
    pub fn next(&mut self, state: &State<'_>) -> Option<PathBuf> {
        if self.epoch != Some(state.epoch()) {
            self.epoch = Some(state.epoch());
            self.found.clear();
            let is_closed = |path: &&PathBuf| !state.documents.open.contains_key(*path);
            self.stale = state.index.keys().filter(is_closed).cloned().collect();
        }
        self.stale.pop()
    }

    /// A file cannot be checked: that is no change.
    pub fn failed(&mut self, state: &State<'_>) {
        self.epoch = Some(state.epoch());
    }

    /// A file has been checked.
    pub fn checked(&mut self, path: &Path, findings: Vec<Diagnostic>, state: &State<'_>) {
        if !findings.is_empty() {
            let mut hasher = DefaultHasher::new();
            format!("{findings:?}").hash(&mut hasher);
            let id = format!("{:x}", hasher.finish());
            let uri = uri_of(path, &state.documents).0;
            self.found.insert(uri, (id, findings));
        }
    }

    /// The answer to a request when every file has been checked. Files without findings are left out, except those that the client
    /// believes to have some. It asks for the findings of open texts by other requests.
    pub fn report(
        &self,
        asked: lsp::WorkspaceDiagnosticParams,
        state: &State<'_>,
    ) -> lsp::WorkspaceDiagnosticReport {
        let known = asked.previous_result_ids.into_iter();
        let mut known: BTreeMap<String, String> =
            known.map(|known| (known.uri.0, known.value)).collect();
        let mut items = Vec::new();
        for (uri, (id, findings)) in &self.found {
            let is_known = known.remove(uri).as_ref() == Some(id);
            let (uri, id) = (Uri(uri.clone()), id.clone());
            items.push(match is_known {
                true => unchanged(uri, id),
                false => full(uri, Some(id), findings.clone()),
            });
        }
        for uri in known.into_keys().map(Uri) {
            if !state.documents.open.contains_key(&state.path(&uri)) {
                items.push(full(uri, None, Vec::new()));
            }
        }
        lsp::WorkspaceDiagnosticReport::new(items)
    }
}

fn full(uri: Uri, id: Option<String>, findings: Vec<Diagnostic>) -> Report {
    let report = lsp::FullDocumentDiagnosticReport::new(id, findings);
    lsp::WorkspaceFullDocumentDiagnosticReport::new(uri, None, report).into()
}

fn unchanged(uri: Uri, id: String) -> Report {
    let report = lsp::UnchangedDocumentDiagnosticReport::new(id);
    lsp::WorkspaceUnchangedDocumentDiagnosticReport::new(uri, None, report).into()
}
