//! A client of `duologue lsp`: sends messages and waits for answers, for a bounded time.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A limit for servers that hang, not for slow ones.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, and what it has sent that nothing has waited for yet.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    kept: VecDeque<Value>,
    next: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The URI of a path without unusual characters.
pub fn uri(path: &Path) -> String {
    format!("file://{}", path.to_str().expect("a UTF-8 path"))
}

/// An empty folder.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lsp-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder.canonicalize().expect("it exists")
}

/// Writes a file, and the folders that it is in.
pub fn write(path: &Path, text: &str) {
    let above = path.parent().expect("it is in a folder");
    std::fs::create_dir_all(above).expect("it can be created");
    std::fs::write(path, text).expect("it can be written");
}

impl Client {
    /// A server that has not been initialized.
    pub fn start(folder: &Path) -> Client {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duologue"))
            .arg("lsp")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the compiler is built");
        let output = child.stdout.take().expect("it is a pipe");
        let (send, messages) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Client {
            input: child.stdin.take(),
            child,
            messages,
            kept: VecDeque::new(),
            next: 1,
        }
    }

    /// A server of a workspace.
    pub fn open(folder: &Path) -> Client {
        let mut client = Client::start(folder);
        client.initialize(folder, json!({}));
        client
    }

    pub fn initialize(&mut self, folder: &Path, capabilities: Value) -> Value {
        let answer = self.request(
            "initialize",
            json!({
                "processId": null,
                "rootUri": uri(folder),
                "capabilities": capabilities,
            }),
        );
        self.notify("initialized", json!({}));
        answer
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("it is open");
        input.write_all(bytes).expect("the server reads");
        input.flush().expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message that `is_it` accepts; others are kept.
    pub fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is_it) {
            return self.kept.remove(at).expect("it was found");
        }
        let start = Instant::now();
        loop {
            let rest = PATIENCE.saturating_sub(start.elapsed());
            match self.messages.recv_timeout(rest) {
                Ok(message) if is_it(&message) => return message,
                Ok(message) => self.kept.push_back(message),
                Err(RecvTimeoutError::Timeout) => panic!("no {what} within {PATIENCE:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("no {what}: the server has ended"),
            }
        }
    }

    /// The whole answer to a request: with its result or its error.
    pub fn response(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.wait(method, |message| {
            message["id"] == json!(id) && message.get("method").is_none()
        })
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.response(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Why a request is refused.
    pub fn refused(&mut self, method: &str, params: Value) -> String {
        let answer = self.response(method, params);
        let message = answer.pointer("/error/message").and_then(Value::as_str);
        message
            .unwrap_or_else(|| panic!("{method} is not refused: {answer}"))
            .to_owned()
    }

    pub fn did_open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "duologue", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces the whole text.
    pub fn did_change(&mut self, uri: &str, version: i64, text: &str) {
        self.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "text": text }],
            }),
        );
    }

    /// The findings of a version of a text.
    pub fn findings(&mut self, uri: &str, version: i64) -> Vec<Value> {
        let message = self.wait("findings", |message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && message["params"]["version"] == version
        });
        let list = message["params"]["diagnostics"].as_array();
        list.expect("a list").clone()
    }

    /// The versions of a text whose findings have arrived so far, in order, except for those that something waited for.
    pub fn versions(&mut self, uri: &str) -> Vec<i64> {
        let mut versions = Vec::new();
        self.kept.retain(|message| {
            let is_it = message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri;
            if is_it {
                versions.extend(message["params"]["version"].as_i64());
            }
            !is_it
        });
        versions
    }

    /// Ends the session; returns the exit code.
    pub fn end(mut self) -> Option<i32> {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.exit_code()
    }

    /// Waits for the end of the process.
    pub fn exit_code(&mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => {
                if let Some(value) = line.strip_prefix("Content-Length: ") {
                    length = value.parse().ok()?;
                }
            }
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("the server sends JSON"))
}

/// A text with marks: `$0` is removed, and its position is returned.
pub fn marked(text: &str) -> (String, Value) {
    let at = text.find("$0").expect("the text has a mark");
    let before = &text[..at];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[start..].encode_utf16().count();
    let position = json!({ "line": line, "character": column });
    (text.replacen("$0", "", 1), position)
}

/// The text of a file after edits, whose ranges are in UTF-16 units.
pub fn edited(text: &str, edits: &Value) -> String {
    let offset = |place: &Value| {
        let line = place["line"].as_u64().expect("a number") as usize;
        let column = place["character"].as_u64().expect("a number") as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let mut units = 0;
        let mut letters = text[start..].char_indices();
        let found = letters.find(|(_, letter)| {
            let is_there = units >= column;
            units += letter.len_utf16();
            is_there
        });
        found.map_or(text.len(), |(at, _)| start + at)
    };
    let edits = edits.as_array().expect("a list").iter();
    let mut edits: Vec<(usize, usize, &str)> = edits
        .map(|edit| {
            let range = &edit["range"];
            let with = edit["newText"].as_str().expect("a text");
            (offset(&range["start"]), offset(&range["end"]), with)
        })
        .collect();
    edits.sort_unstable();
    let mut result = text.to_owned();
    for (start, end, with) in edits.into_iter().rev() {
        result.replace_range(start..end, with);
    }
    result
}
