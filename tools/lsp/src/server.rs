//! Handles messages in order, and checks texts while none waits.

use crate::answer::Encoding;
use crate::documents::Document;
use crate::files::{MOST, read};
use crate::framing::{Output, code};
use crate::handlers::{capabilities, edits, params, requests};
use crate::lens::{Job, Lenses};
use crate::queue::{Incoming, Queue};
use crate::reading::{Asked, Reading};
use crate::state::State;
use crate::uri;
use duologue_project::inputs;
use duologue_project::terminal::Terminal;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// How many messages are handled at most before a text is checked, although more wait.
const BETWEEN: usize = 64;

const INTERNAL: &str = "an internal error: standard error has the details";

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// `initialize` has not arrived yet.
    New,
    Running,
    /// `shutdown` was asked for.
    Down,
}

struct Server<'a> {
    queue: &'a Arc<Queue>,
    output: &'a Output,
    /// `None` if its thread could not be started.
    lenses: Option<&'a Arc<Lenses>>,
    reading: Reading,
    state: State<'a>,
    stage: Stage,
    /// The texts to check, the most urgent first.
    stale: VecDeque<PathBuf>,
    can_watch: bool,
    can_refresh: [bool; 2],
    requests: u64,
}

/// Serves until `exit` or the end of the stream. Returns whether the client ended the session as agreed.
pub fn serve(queue: &Arc<Queue>, output: &Output, terminal: &Terminal) -> bool {
    let lenses = Arc::new(Lenses::default());
    let (thread_lenses, thread_output) = (Arc::clone(&lenses), output.clone());
    // Git may take long; the process does not wait for it at its end.
    let thread = thread::Builder::new().stack_size(crate::STACK);
    let started = thread.spawn(move || thread_lenses.serve(&thread_output));
    let mut server = Server {
        queue,
        output,
        lenses: started.is_ok().then_some(&lenses),
        reading: Reading::default(),
        state: State::new(terminal),
        stage: Stage::New,
        stale: VecDeque::new(),
        can_watch: false,
        can_refresh: [false; 2],
        requests: 0,
    };
    let is_clean = server.run();
    lenses.end();
    is_clean
}

impl Server<'_> {
    fn run(&mut self) -> bool {
        let mut handled = 0;
        loop {
            // A check that a change would make stale at once is not begun.
            let may_check = !self.stale.is_empty() && !self.queue.has_change();
            if may_check && (handled >= BETWEEN || !self.queue.has_more()) {
                handled = 0;
                self.check_next();
                continue;
            }
            handled += 1;
            match self.queue.pop() {
                Incoming::End => return false,
                Incoming::Indexed(number, found) => {
                    let finished = self.reading.finish(number, found, &mut self.state.index);
                    if let Some(waiting) = finished {
                        self.state.changed();
                        self.all_stale();
                        for asked in waiting {
                            self.answer(&asked.id, &asked.method, &asked.params);
                        }
                    }
                }
                Incoming::Message { method, .. } if method == "exit" => {
                    return self.stage == Stage::Down;
                }
                Incoming::Message {
                    id: Some(id),
                    method,
                    params,
                    ..
                } => self.request(&id, &method, &params),
                Incoming::Message { method, params, .. } => {
                    if self.stage == Stage::Running {
                        self.guarded(|server| server.notified(&method, &params));
                    }
                }
            }
            for words in std::mem::take(&mut self.state.complaints) {
                let message = json!({ "type": 2, "message": words });
                self.output.notify("window/showMessage", message);
            }
        }
    }

    /// Runs something whose internal errors must not end the server.
    fn guarded<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(|| run(self))).ok();
        if done.is_none() {
            self.state.changed();
            let message = json!({ "type": 1, "message": INTERNAL });
            self.output.notify("window/logMessage", message);
        }
        done
    }

    fn request(&mut self, id: &Value, method: &str, asked: &Value) {
        match (self.stage, method) {
            (Stage::New, "initialize") => {
                match self.guarded(|server| server.initialize(asked)) {
                    Some(result) => {
                        self.output.answer(id, result);
                        self.stage = Stage::Running;
                    }
                    None => self.output.refuse(id, code::INTERNAL, INTERNAL),
                }
                return;
            }
            (Stage::New, _) => {
                let words = "`initialize` comes first";
                return self.output.refuse(id, code::NOT_INITIALIZED, words);
            }
            (Stage::Down, _) => {
                let words = "after `shutdown` comes `exit`";
                return self.output.refuse(id, code::INVALID_REQUEST, words);
            }
            (Stage::Running, "initialize") => {
                let words = "`initialize` comes only once";
                return self.output.refuse(id, code::INVALID_REQUEST, words);
            }
            (Stage::Running, "shutdown") => {
                self.stage = Stage::Down;
                let waiting = self.reading.remove_all();
                self.refuse_all(waiting, code::CANCELLED, "the session ends");
                return self.output.answer(id, Value::Null);
            }
            (Stage::Running, "textDocument/codeLens") => {
                if self
                    .guarded(|server| server.ask_lenses(id, asked))
                    .is_none()
                {
                    self.output.refuse(id, code::INTERNAL, INTERNAL);
                }
                return;
            }
            (Stage::Running, _) => {}
        }
        if !self.reading.delays(method) {
            return self.answer(id, method, asked);
        }
        let refused = self.reading.delay(Asked {
            id: id.clone(),
            method: method.to_owned(),
            params: asked.clone(),
        });
        let words = "the files of the workspace are still being read: try again";
        self.refuse_all(refused, code::REQUEST_FAILED, words);
    }

    fn refuse_all(&self, all: impl IntoIterator<Item = Asked>, code: i32, words: &str) {
        for asked in all {
            self.output.refuse(&asked.id, code, words);
        }
    }

    fn answer(&mut self, id: &Value, method: &str, asked: &Value) {
        let needs_object = !asked.is_object();
        let answered = self.guarded(|server| {
            let state = &mut server.state;
            match requests::answer(state, method, asked) {
                Some(found) => Some(Ok(found)),
                None => edits::answer(state, method, asked),
            }
        });
        match answered {
            None => self.output.refuse(id, code::INTERNAL, INTERNAL),
            Some(None) => {
                let words = format!("there is no method `{method}`");
                self.output.refuse(id, code::UNKNOWN_METHOD, &words);
            }
            Some(Some(_)) if needs_object => {
                let words = "the parameters are missing";
                self.output.refuse(id, code::INVALID_PARAMS, words);
            }
            Some(Some(Ok(found))) => self.output.answer(id, found),
            Some(Some(Err(words))) => self.output.refuse(id, code::REQUEST_FAILED, &words),
        }
    }

    fn initialize(&mut self, asked: &Value) -> Value {
        let encodings = params::list(asked, "/capabilities/general/positionEncodings");
        if encodings.iter().any(|encoding| encoding == "utf-8") {
            self.state.encoding = Encoding::Utf8;
        }
        let can = |pointer: &str| params::is_true(asked, pointer);
        self.can_watch = can("/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration");
        self.can_refresh = [
            can("/capabilities/workspace/codeLens/refreshSupport"),
            can("/capabilities/workspace/inlayHint/refreshSupport"),
        ];
        let folders = params::list(asked, "/workspaceFolders").iter();
        let folders = folders.filter_map(|folder| params::text(folder, "/uri"));
        let mut folders: Vec<PathBuf> = folders.map(uri::path_of).collect();
        if folders.is_empty() {
            folders.extend(params::text(asked, "/rootUri").map(uri::path_of));
        }
        self.state.folders = folders;
        if let Some(options) = asked.get("initializationOptions") {
            self.configure(options);
        }
        capabilities::of(self.state.encoding)
    }

    /// Settings, with or without the name of the server around them.
    fn configure(&mut self, settings: &Value) {
        let own = settings.get("duologue").unwrap_or(settings);
        if let Some(against) = params::text(own, "/against") {
            against.clone_into(&mut self.state.against);
        }
    }

    fn notified(&mut self, method: &str, said: &Value) {
        match method {
            "initialized" => self.start(),
            "textDocument/didOpen" => self.opened(said),
            "textDocument/didChange" => self.changed(said),
            "textDocument/didClose" => self.closed(said),
            "textDocument/didSave" => {
                let paths = params::uri(said).map(uri::path_of);
                self.disk_changed(&Vec::from_iter(paths));
            }
            "workspace/didChangeWatchedFiles" => {
                let changes = params::list(said, "/changes").iter();
                let uris = changes.filter_map(|change| params::text(change, "/uri"));
                self.disk_changed(&Vec::from_iter(uris.map(uri::path_of)));
            }
            "$/cancelRequest" => {
                let found = said.get("id").and_then(|id| self.reading.remove(id));
                self.refuse_all(found, code::CANCELLED, "cancelled");
            }
            "workspace/didChangeWorkspaceFolders" => {
                for folder in params::list(said, "/event/removed") {
                    if let Some(uri) = params::text(folder, "/uri") {
                        let gone = uri::path_of(uri);
                        self.state.folders.retain(|folder| *folder != gone);
                    }
                }
                let added = params::list(said, "/event/added").iter();
                let added = added.filter_map(|folder| params::text(folder, "/uri"));
                self.state.folders.extend(added.map(uri::path_of));
                self.read_folders();
            }
            "workspace/didChangeConfiguration" => {
                if let Some(settings) = said.get("settings") {
                    self.configure(settings);
                    self.refresh();
                }
            }
            _ => {}
        }
    }

    fn start(&mut self) {
        if self.can_watch {
            let globs = ["**/*.proto", "**/*.duo", "**/duologue.toml"];
            let watchers = globs.map(|glob| json!({ "globPattern": glob }));
            let registration = json!({
                "id": "files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": { "watchers": watchers },
            });
            let all = json!({ "registrations": [registration] });
            self.output
                .request("watch", "client/registerCapability", all);
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
        self.reading.start(configs, self.queue);
    }

    fn opened(&mut self, said: &Value) {
        let (Some(uri), Some(text)) = (params::uri(said), params::text(said, "/textDocument/text"))
        else {
            return;
        };
        let version = said
            .pointer("/textDocument/version")
            .and_then(Value::as_i64);
        let path = self.state.documents.identity_of(&uri::path_of(uri));
        let document = Document::new(uri, version, text.to_owned());
        self.state.documents.open.insert(path.clone(), document);
        self.touched(path);
    }

    fn changed(&mut self, said: &Value) {
        let path = params::uri(said).and_then(|uri| self.state.opened(uri));
        let Some(path) = path else { return };
        let version = said
            .pointer("/textDocument/version")
            .and_then(Value::as_i64);
        let changes = params::list(said, "/contentChanges").iter();
        let changes = changes.filter_map(|change| {
            let text = params::text(change, "/text")?;
            let range = change.get("range").filter(|range| !range.is_null());
            // A range that cannot be read must not replace the whole text.
            match range {
                Some(range) => Some((Some(params::range(range)?), text)),
                None => Some((None, text)),
            }
        });
        let changes: Vec<_> = changes.collect();
        self.forget_requests(said);
        let encoding = self.state.encoding;
        if let Some(document) = self.state.documents.open.get_mut(&path) {
            document.change(version, &changes, encoding);
            self.touched(path);
        }
    }

    fn closed(&mut self, said: &Value) {
        let uri = params::uri(said);
        let path = uri.and_then(|uri| self.state.opened(uri));
        let (Some(path), Some(uri)) = (path, uri) else {
            return;
        };
        self.forget_requests(said);
        self.state.documents.open.remove(&path);
        self.stale.retain(|stale| *stale != path);
        let cleared = json!({ "uri": uri, "diagnostics": [] });
        self.output
            .notify("textDocument/publishDiagnostics", cleared);
        self.disk_changed(&[path]);
    }

    /// Refuses the requests about a text that wait, because their positions are those of the text before it changed.
    fn forget_requests(&mut self, said: &Value) {
        let uri = params::uri(said).unwrap_or_default();
        let stale = self.reading.remove_about(uri);
        self.refuse_all(stale, code::CONTENT_MODIFIED, "the text has changed");
    }

    /// A text has changed: it is checked first, then those that may depend on it.
    fn touched(&mut self, path: PathBuf) {
        self.state.changed();
        let dependents = self.state.dependents(&path);
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
        for path in self.state.documents.open.keys() {
            if !self.stale.contains(path) {
                self.stale.push_back(path.clone());
            }
        }
    }

    /// Asks the client to refresh what it shows all the time.
    fn refresh(&mut self) {
        let methods = ["workspace/codeLens/refresh", "workspace/inlayHint/refresh"];
        for (method, can) in methods.into_iter().zip(self.can_refresh) {
            if can {
                self.requests += 1;
                let id = format!("refresh-{}", self.requests);
                self.output.request(&id, method, Value::Null);
            }
        }
    }

    /// Checks the next text, and publishes what was found unless a change has arrived in the meantime.
    fn check_next(&mut self) {
        let Some(path) = self.stale.pop_front() else {
            return;
        };
        let checked = self.guarded(|server| {
            let view = server.state.view(&path)?;
            let document = server.state.documents.open.get(&path)?;
            let mut found = json!({
                "uri": document.uri,
                "diagnostics": view.findings(&server.state.documents),
            });
            if let Some(version) = document.version {
                found["version"] = json!(version);
            }
            Some(found)
        });
        if self.queue.has_change() {
            return self.stale.push_front(path);
        }
        if let Some(Some(found)) = checked {
            self.output.notify("textDocument/publishDiagnostics", found);
        }
    }

    fn ask_lenses(&mut self, id: &Value, asked: &Value) {
        let path = params::uri(asked).and_then(|uri| self.state.opened(uri));
        let path = path.filter(|_| !self.state.against.is_empty());
        let view = path.as_ref().and_then(|path| self.state.view(path));
        let (Some(path), Some(view), Some(lenses)) = (path, view, self.lenses) else {
            return self.output.answer(id, json!([]));
        };
        let request = self.state.request(view.needed.clone());
        let job = Job {
            id: id.clone(),
            path,
            request,
            documents: self.state.documents.clone(),
            against: self.state.against.clone(),
            encoding: self.state.encoding,
        };
        lenses.ask(job, self.output);
    }
}
