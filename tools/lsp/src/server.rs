//! Handles messages in order, and checks texts while none waits.

use crate::answer::Encoding;
use crate::closed::Closed;
use crate::documents::Document;
use crate::files::{Index, MOST, read};
use crate::handlers::{self, capabilities};
use crate::lens::{self, Job};
use crate::reading::Reading;
use crate::state::State;
use crate::transport::Output;
use crate::uri;
use duologue_project::inputs;
use duologue_project::terminal::Terminal;
use gen_lsp_types as lsp;
use lsp::{PublishDiagnosticsNotification, PublishDiagnosticsParams, TextDocumentIdentifier, Uri};
use lsp_server::{ErrorCode, Message, Request};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How many messages are handled at most before a text is checked, although more wait.
const BETWEEN: usize = 64;
/// How many messages may wait here, where a request can be canceled.
const WAITING: usize = 64;

const INTERNAL: &str = "an internal error: standard error has the details";

/// What the server handles.
pub enum Incoming {
    Message(Message),
    /// The files of the workspace have been read, by the reading with this number.
    Indexed(u64, Index),
    /// The client has closed the stream.
    End,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// `initialize` has not arrived yet.
    New,
    Running,
    /// `shutdown` was asked for.
    Down,
}

struct Server<'a> {
    /// Where others than the client hand something over.
    queue: SyncSender<Incoming>,
    incoming: Receiver<Incoming>,
    /// What has arrived, and is not handled yet.
    waiting: VecDeque<Incoming>,
    output: &'a Output,
    /// Requests for lenses; nobody takes them if that thread could not be started.
    lenses: SyncSender<Job>,
    reading: Reading,
    state: State<'a>,
    stage: Stage,
    /// The texts to check, the most urgent first.
    stale: VecDeque<PathBuf>,
    closed: Closed,
    client: capabilities::Client,
    requests: u64,
}

/// Serves until `exit` or the end of the stream. Returns whether the client ended the session as agreed.
pub fn serve(
    queue: SyncSender<Incoming>,
    incoming: Receiver<Incoming>,
    output: &Output,
    terminal: &Terminal,
) -> bool {
    let (lenses, jobs) = sync_channel(lens::MOST);
    let thread_output = output.clone();
    // Git may take long; the process does not wait for it at its end.
    let thread = thread::Builder::new().stack_size(crate::STACK);
    let _ = thread.spawn(move || lens::serve(&jobs, &thread_output));
    let mut server = Server {
        queue,
        incoming,
        waiting: VecDeque::new(),
        output,
        lenses,
        reading: Reading::default(),
        state: State::new(terminal),
        stage: Stage::New,
        stale: VecDeque::new(),
        closed: Closed::default(),
        client: capabilities::Client::default(),
        requests: 0,
    };
    server.run()
}

/// The parameters of a message, if they have the right shape.
fn parsed<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}

/// The id that a notification cancels.
fn canceled(message: &Incoming) -> Option<&Value> {
    match message {
        Incoming::Message(Message::Notification(found)) if found.method == "$/cancelRequest" => {
            found.params.get("id")
        }
        Incoming::Message(_) | Incoming::Indexed(..) | Incoming::End => None,
    }
}

/// Lets a request wait. Returns it if too many wait already.
fn delayed(waiting: &mut Vec<Request>, asked: Request) -> Option<Request> {
    if waiting.len() >= WAITING {
        return Some(asked);
    }
    waiting.push(asked);
    None
}

fn has_id(request: &Request, id: &Value) -> bool {
    json!(request.id) == *id
}

impl Server<'_> {
    fn run(&mut self) -> bool {
        let mut handled = 0;
        loop {
            self.collect();
            // A check that a change would make stale at once is not begun.
            let has_stale = !self.stale.is_empty() || !self.closed.waiting.is_empty();
            let may_check = has_stale && !self.has_change();
            if may_check && (handled >= BETWEEN || self.waiting.is_empty()) {
                handled = 0;
                self.check_next();
                continue;
            }
            handled += 1;
            let next = self.waiting.pop_front();
            match next.unwrap_or_else(|| self.incoming.recv().unwrap_or(Incoming::End)) {
                Incoming::End => return false,
                Incoming::Indexed(number, found) => {
                    let finished = self.reading.finish(number, found, &mut self.state.index);
                    if let Some(waiting) = finished {
                        self.state.changed();
                        self.all_stale();
                        waiting.into_iter().for_each(|asked| self.answer(asked));
                    }
                }
                Incoming::Message(Message::Request(request)) => self.request(request),
                Incoming::Message(Message::Notification(said)) if said.method == "exit" => {
                    return self.stage == Stage::Down;
                }
                Incoming::Message(Message::Notification(said)) => {
                    if self.stage == Stage::Running {
                        self.guarded(|server| server.notified(&said.method, said.params));
                    }
                }
                // Nothing depends on the answers to our requests.
                Incoming::Message(Message::Response(_)) => {}
            }
            for message in std::mem::take(&mut self.state.complaints) {
                let kind = lsp::MessageType::Warning;
                let shown = lsp::ShowMessageParams { kind, message };
                self.output.notify::<lsp::ShowMessageNotification>(shown);
            }
        }
    }

    /// Takes over what has arrived. A request that is canceled before its turn is refused.
    fn collect(&mut self) {
        while self.waiting.len() < WAITING
            && let Ok(next) = self.incoming.try_recv()
        {
            let is_it = |id: &Value| {
                let mut waiting = self.waiting.iter();
                waiting.position(
                    |other| matches!(other, Incoming::Message(Message::Request(it)) if has_id(it, id)),
                )
            };
            match canceled(&next).and_then(is_it) {
                Some(at) => {
                    if let Some(Incoming::Message(Message::Request(it))) = self.waiting.remove(at) {
                        self.refuse_all([it], ErrorCode::RequestCanceled, "cancelled");
                    }
                }
                None => self.waiting.push_back(next),
            }
        }
    }

    /// Whether a change of a text waits, so that what is known about the text is stale.
    fn has_change(&self) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|incoming| {
            matches!(incoming, Incoming::Message(Message::Notification(said)) if said.method == "textDocument/didChange")
        })
    }

    /// Runs something whose internal errors must not end the server.
    fn guarded<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(|| run(self))).ok();
        if done.is_none() {
            self.state.changed();
            self.output.log(INTERNAL.to_owned());
        }
        done
    }

    fn request(&mut self, asked: Request) {
        let refuse = |words: &str, code| self.output.refuse(asked.id.clone(), code, words);
        match (self.stage, asked.method.as_str()) {
            (Stage::New, "initialize") => {
                match self.guarded(|server| server.initialize(&asked.params)) {
                    Some(result) => {
                        self.output.answer(asked.id, result);
                        self.stage = Stage::Running;
                    }
                    None => {
                        let code = ErrorCode::InternalError;
                        self.output.refuse(asked.id, code, INTERNAL);
                    }
                }
            }
            (Stage::New, _) => refuse("`initialize` comes first", ErrorCode::ServerNotInitialized),
            (Stage::Down, _) => refuse("after `shutdown` comes `exit`", ErrorCode::InvalidRequest),
            (Stage::Running, "initialize") => {
                refuse("`initialize` comes only once", ErrorCode::InvalidRequest);
            }
            (Stage::Running, "shutdown") => {
                self.stage = Stage::Down;
                let waiting = self.take_waiting(|_| true);
                self.refuse_all(waiting, ErrorCode::RequestCanceled, "the session ends");
                self.output.answer(asked.id, Value::Null);
            }
            (Stage::Running, method) if self.reading.delays(method) => {
                let refused = delayed(&mut self.reading.waiting, asked);
                let words = "the files of the workspace are still being read: try again";
                self.refuse_all(refused, ErrorCode::RequestFailed, words);
            }
            (Stage::Running, _) => self.answer(asked),
        }
    }

    /// Removes the requests that are meant from those that wait until something is known.
    fn take_waiting(&mut self, is_meant: impl Fn(&Request) -> bool) -> Vec<Request> {
        let mut found = self.reading.remove(&is_meant);
        let closed = &mut self.closed.waiting;
        found.extend(closed.extract_if(.., |asked| is_meant(asked)));
        found
    }

    fn refuse_all(&self, all: impl IntoIterator<Item = Request>, code: ErrorCode, words: &str) {
        for asked in all {
            self.output.refuse(asked.id, code, words);
        }
    }

    fn answer(&mut self, asked: Request) {
        if asked.method == "workspace/diagnostic" {
            // Without a watch, nothing says when a file changes.
            if self.closed.waiting.is_empty() && !self.client.can_watch {
                self.closed.restart();
            }
            let refused = delayed(&mut self.closed.waiting, asked);
            let words = "others have asked for the same: try again";
            return self.refuse_all(refused, ErrorCode::RequestFailed, words);
        }
        let Request { id, method, params } = asked;
        let answered = self.guarded(|server| {
            if method == "textDocument/codeLens" {
                return server.ask_lenses(&id, params);
            }
            let answered = handlers::answer(&mut server.state, &method, params);
            match answered {
                Ok(found) => server.output.answer(id.clone(), found),
                Err((code, words)) => server.output.refuse(id.clone(), code, &words),
            }
        });
        if answered.is_none() {
            self.output.refuse(id, ErrorCode::InternalError, INTERNAL);
        }
    }

    fn initialize(&mut self, asked: &Value) -> Value {
        self.client = capabilities::Client::of(asked);
        if self.client.counts_bytes {
            self.state.encoding = Encoding::Utf8;
        }
        self.state.folders = capabilities::folders(asked);
        if let Some(options) = asked.get("initializationOptions") {
            self.configure(options);
        }
        capabilities::of(self.state.encoding, &self.client)
    }

    /// Settings, with or without the name of the server around them.
    fn configure(&mut self, settings: &Value) {
        let own = settings.get("duologue").unwrap_or(settings);
        if let Some(against) = own.get("against").and_then(Value::as_str) {
            against.clone_into(&mut self.state.against);
        }
    }

    fn notified(&mut self, method: &str, said: Value) -> Option<()> {
        match method {
            "initialized" => self.start(),
            "textDocument/didOpen" => {
                let lsp::TextDocumentItem {
                    uri, version, text, ..
                } = parsed::<lsp::DidOpenTextDocumentParams>(said)?.text_document;
                let path = self.state.path(&uri);
                let document = Document::new(uri, version, text);
                self.state.documents.open.insert(path.clone(), document);
                self.touched(path);
            }
            "textDocument/didChange" => {
                let said = parsed::<lsp::DidChangeTextDocumentParams>(said)?;
                let document = said.text_document;
                let path = self.forget_requests(&document.text_document_identifier.uri);
                let encoding = self.state.encoding;
                let open = self.state.documents.open.get_mut(&path)?;
                open.change(document.version, said.content_changes, encoding);
                self.touched(path);
            }
            "textDocument/didClose" => {
                let uri = document(&said)?.uri;
                let path = self.forget_requests(&uri);
                self.state.documents.open.remove(&path)?;
                self.stale.retain(|stale| *stale != path);
                self.publish(uri, None, Vec::new());
                self.disk_changed(&[path]);
            }
            "textDocument/didSave" => {
                let path = self.state.path(&document(&said)?.uri);
                self.disk_changed(&[path]);
            }
            "workspace/didChangeWatchedFiles" => {
                let said = parsed::<lsp::DidChangeWatchedFilesParams>(said)?;
                let paths = said.changes.iter().map(|change| uri::path_of(&change.uri));
                self.disk_changed(&Vec::from_iter(paths));
            }
            "$/cancelRequest" => {
                let id = said.get("id")?;
                let found = self.take_waiting(|asked| has_id(asked, id));
                self.refuse_all(found, ErrorCode::RequestCanceled, "cancelled");
            }
            "workspace/didChangeWorkspaceFolders" => {
                let event = parsed::<lsp::DidChangeWorkspaceFoldersParams>(said)?.event;
                let paths = |folders: &[lsp::WorkspaceFolder]| {
                    let paths = folders.iter().map(|folder| uri::path_of(&folder.uri));
                    paths.collect::<Vec<_>>()
                };
                let gone = paths(&event.removed);
                self.state.folders.retain(|folder| !gone.contains(folder));
                self.state.folders.extend(paths(&event.added));
                self.read_folders();
            }
            "workspace/didChangeConfiguration" => {
                self.configure(said.get("settings")?);
                self.refresh();
            }
            _ => {}
        }
        Some(())
    }

    fn start(&mut self) {
        if self.client.can_watch {
            let globs = ["**/*.proto", "**/*.duo", "**/duologue.toml"];
            let watchers = globs.map(|glob| json!({ "globPattern": glob }));
            let registration = lsp::Registration {
                id: "files".to_owned(),
                method: "workspace/didChangeWatchedFiles".to_owned(),
                register_options: Some(json!({ "watchers": watchers })),
            };
            let registrations = vec![registration];
            let all = lsp::RegistrationParams { registrations };
            self.output
                .request::<lsp::RegistrationRequest>("watch", all);
        }
        self.read_folders();
    }

    fn read_folders(&mut self) {
        let folders = self.state.folders.clone();
        self.state.changed();
        let configs = folders.into_iter().map(|folder| {
            let config = self.state.config(&folder);
            (folder, config.exclude.clone())
        });
        let configs: Vec<_> = configs.collect();
        let queue = self.queue.clone();
        self.reading.start(configs, move |number, found| {
            let _ = queue.send(Incoming::Indexed(number, found));
        });
    }

    /// Refuses the requests about a text that wait, because their positions are those of the text before it changed. Returns its path.
    fn forget_requests(&mut self, uri: &Uri) -> PathBuf {
        let is_about =
            |asked: &Request| document(&asked.params).is_some_and(|found| found.uri == *uri);
        let stale = self.reading.remove(is_about);
        self.refuse_all(stale, ErrorCode::ContentModified, "the text has changed");
        self.state.path(uri)
    }

    /// A text has changed: it is checked first, then those that may depend on it.
    fn touched(&mut self, path: PathBuf) {
        self.state.changed();
        let dependents = self.state.dependents(&path);
        if self.client.asks_for_findings {
            // It asks for those of the text itself.
            if !dependents.is_empty() {
                self.refresh_findings();
            }
            return;
        }
        self.stale.retain(|stale| *stale != path);
        self.stale.push_front(path);
        for dependent in dependents {
            if !self.stale.contains(&dependent) {
                self.stale.push_back(dependent);
            }
        }
    }

    /// Files have changed on disk.
    fn disk_changed(&mut self, paths: &[PathBuf]) {
        let is_config = |path: &&PathBuf| path.ends_with("duologue.toml");
        for path in paths.iter().filter(|path| !is_config(path)) {
            let path = self.state.documents.identity_of(path);
            let is_known = self.state.index.contains_key(&path);
            let is_read = is_known || self.state.index.len() < MOST && self.is_in_workspace(&path);
            match is_read.then(|| read(&path)).flatten() {
                Some(heads) => self.state.index.insert(path.clone(), heads),
                None => self.state.index.remove(&path),
            };
            self.reading.has_changed(path);
        }
        if paths.iter().any(|path| is_config(&path)) {
            self.state.reconfigured();
            self.read_folders();
        }
        if !paths.is_empty() {
            self.state.changed();
            self.all_stale();
            self.refresh();
        }
    }

    /// Whether reading a folder of the workspace finds a file.
    fn is_in_workspace(&mut self, path: &Path) -> bool {
        let folders = self.state.folders.clone();
        folders.iter().any(|folder| {
            let config = self.state.config(folder);
            let folder = folder.canonicalize();
            folder.is_ok_and(|folder| inputs::finds(&folder, path, &config.exclude))
        })
    }

    fn all_stale(&mut self) {
        if self.client.asks_for_findings {
            return self.refresh_findings();
        }
        for path in self.state.documents.open.keys() {
            if !self.stale.contains(path) {
                self.stale.push_back(path.clone());
            }
        }
    }

    fn ask_to<R: lsp::Request<Params = ()>>(&mut self, can: bool) {
        if can {
            self.requests += 1;
            let id = format!("refresh-{}", self.requests);
            self.output.request::<R>(&id, ());
        }
    }

    /// Asks the client to refresh what it shows all the time.
    fn refresh(&mut self) {
        self.ask_to::<lsp::CodeLensRefreshRequest>(self.client.can_refresh_lenses);
        self.ask_to::<lsp::InlayHintRefreshRequest>(self.client.can_refresh_hints);
    }

    fn refresh_findings(&mut self) {
        self.ask_to::<lsp::DiagnosticRefreshRequest>(self.client.can_refresh_findings);
    }

    fn publish(&self, uri: Uri, version: Option<i32>, diagnostics: Vec<lsp::Diagnostic>) {
        self.output
            .notify::<PublishDiagnosticsNotification>(PublishDiagnosticsParams {
                uri,
                version,
                diagnostics,
            });
    }

    /// Checks the next text, and publishes what was found unless a change has arrived in the meantime.
    fn check_next(&mut self) {
        let Some(path) = self.stale.pop_front() else {
            return self.check_closed();
        };
        let checked = self.guarded(|server| {
            let view = server.state.view(&path)?;
            let document = server.state.documents.open.get(&path)?;
            let findings = view.findings(&server.state.documents);
            Some((document.uri.clone(), document.version, findings))
        });
        self.collect();
        if self.has_change() {
            return self.stale.push_front(path);
        }
        if let Some(Some((uri, version, found))) = checked {
            self.publish(uri, Some(version), found);
        }
    }

    /// Checks the next text that is not open. After the last, the requests for their findings are answered.
    fn check_closed(&mut self) {
        if let Some(path) = self.closed.next(&self.state) {
            let checked = self.guarded(|server| {
                let view = server.state.view(&path)?;
                Some(view.findings(&server.state.documents))
            });
            match checked {
                Some(found) => {
                    let found = found.unwrap_or_default();
                    self.closed.checked(&path, found, &self.state);
                }
                None => self.closed.failed(&self.state),
            }
            return;
        }
        for Request { id, params, .. } in std::mem::take(&mut self.closed.waiting) {
            match parsed(params) {
                Some(asked) => self
                    .output
                    .answer(id, json!(self.closed.report(asked, &self.state))),
                None => {
                    let words = "the parameters have another shape";
                    self.output.refuse(id, ErrorCode::InvalidParams, words);
                }
            }
        }
    }

    /// Hands a request for lenses to their thread.
    fn ask_lenses(&mut self, id: &lsp_server::RequestId, asked: Value) {
        let path = document(&asked).map(|found| self.state.path(&found.uri));
        let path = path.filter(|_| !self.state.against.is_empty());
        let view = path.as_ref().and_then(|path| self.state.view(path));
        let (Some(path), Some(view)) = (path, view) else {
            return self.output.answer(id.clone(), json!([]));
        };
        let job = Job {
            id: id.clone(),
            path,
            request: self.state.request(view.needed.clone()),
            documents: self.state.documents.clone(),
            against: self.state.against.clone(),
            encoding: self.state.encoding,
        };
        if self.lenses.try_send(job).is_err() {
            let words = "other lenses are still being computed: try again";
            self.output
                .refuse(id.clone(), ErrorCode::RequestFailed, words);
        }
    }
}

/// The text that a message is about.
fn document(params: &Value) -> Option<TextDocumentIdentifier> {
    parsed(params.get("textDocument")?.clone())
}
