//! How long `duologue lsp` takes from a change to the findings, and how much memory it needs: `cargo bench --bench lsp` types mistakes into
//! files of several sizes and prints percentiles, and the memory for a workspace of 1,000 files of which 20 are open. `-- --quick` does each
//! once with small files.
//!
//! If `DUOLOGUE_BUF` is the path of the program `buf` (in the npm package `@bufbuild/buf`), `buf lsp serve` takes turns with it, on files of
//! Protocol Buffers of the same sizes, and both are also measured with 1,000 open files. Both get the whole text with each change, because
//! buf asks for it.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

impl Client {
    fn of(mut server: Command, folder: &Path) -> Client {
        let mut child = server
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the compiler is built");
        let input = child.stdin.take().expect("it is a pipe");
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut client = Client {
            child,
            input,
            output,
        };
        let root = json!({ "rootUri": uri(folder), "capabilities": {} });
        client.send(json!({ "id": 1, "method": "initialize", "params": root }));
        client.wait(|message| message["id"] == 1);
        client.send(json!({ "method": "initialized", "params": {} }));
        client
    }

    fn send(&mut self, message: Value) {
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        let body = message.to_string();
        let sent = write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len());
        sent.and_then(|()| self.input.flush())
            .expect("the server reads");
    }

    fn wait(&mut self, is_it: impl Fn(&Value) -> bool) {
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                let read = self.output.read_line(&mut line).expect("it can be read");
                assert!(read > 0, "the server has ended");
                if let Some(value) = line.trim_end().strip_prefix("Content-Length: ") {
                    length = value.parse().expect("a number");
                } else if line.trim_end().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            self.output.read_exact(&mut body).expect("it can be read");
            let message: Value = serde_json::from_slice(&body).expect("JSON");
            if is_it(&message) {
                return;
            }
            if message["method"].is_string() && !message["id"].is_null() {
                self.send(json!({ "id": message["id"], "result": null }));
            }
        }
    }

    fn wait_for_findings(&mut self, uri: &str, version: usize) {
        self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && message["params"]["version"] == version
        });
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "duologue", "version": 1, "text": text });
        let params = json!({ "textDocument": document });
        self.send(json!({ "method": "textDocument/didOpen", "params": params }));
        self.wait_for_findings(uri, 1);
    }

    /// A size in MiB that the system reports about the server.
    fn status(&self, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with(name))?;
        let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kibibytes / 1024)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A protocol with about this number of bytes.
fn protocol(name: &str, bytes: usize) -> String {
    let states = (bytes / 110).max(2);
    let mut text = format!("proto! {name} {{\n");
    for state in 0..states {
        let direction = ["send", "recv"][state % 2];
        let [next, far] = [state + 1, state * 7 + 3].map(|to| to % states);
        text += &format!(
            "    state{state}:{direction} {{\n        go(u64, note: str) -> state{next},\n        jump([bytes]) -> state{far},\n        quit -> !\n    }}\n"
        );
    }
    text + "}\n"
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a writable target directory");
    folder.canonicalize().expect("it exists")
}

/// A language server with a text in its language of which a name is mistyped, again and again.
struct Typist {
    client: Client,
    uri: String,
    text: String,
    /// Where the name begins, and on which line.
    at: usize,
    line: usize,
    /// What the name is if an `x` is typed before it.
    mistyped: String,
    version: usize,
}

impl Typist {
    /// A file with about this number of bytes in Protocol Buffers' language or in ours.
    fn new(server: Command, is_buffers: bool, folder: &Path, bytes: usize) -> Typist {
        let (text, before) = match is_buffers {
            true => (messages("m", bytes), "repeated bytes jump = 3;\n  "),
            false => (protocol("p", bytes), "note: str) -> "),
        };
        let middle = text.len() / 2;
        let at = text[middle..].find(before).expect("a name") + middle + before.len();
        let line = text[..at].matches('\n').count();
        let name: String = text[at..]
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        // buf finds mistakes only in files that are also on the disk.
        let path = folder.join("a.proto");
        fs::write(&path, &text).expect("it can be written");
        let mut client = Client::of(server, folder);
        let uri = uri(&path);
        client.open(&uri, &text);
        Typist {
            client,
            uri,
            text,
            at,
            line,
            mistyped: format!("x{name}"),
            version: 1,
        }
    }

    /// Types the mistake or removes it, and waits until the findings name it or no longer do. Returns how long that took.
    fn turn(&mut self) -> Duration {
        self.version += 1;
        let is_mistake = self.version.is_multiple_of(2);
        let changed = match is_mistake {
            true => self.text[..self.at].to_owned() + "x" + &self.text[self.at..],
            false => self.text.clone(),
        };
        let document = json!({ "uri": self.uri, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": changed }] });
        let start = Instant::now();
        self.client
            .send(json!({ "method": "textDocument/didChange", "params": params }));
        let (uri, version) = (&self.uri, self.version);
        let line = self.line..self.line + 1;
        let names = |finding: &Value| {
            let message = finding["message"].as_str().unwrap_or_default();
            let at = finding["range"]["start"]["line"]
                .as_u64()
                .unwrap_or_default();
            message.contains(&self.mistyped)
                && line.contains(&usize::try_from(at).unwrap_or_default())
        };
        self.client.wait(|message| {
            let params = &message["params"];
            let findings = params["diagnostics"].as_array();
            message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == *uri
                && params["version"] == version
                && findings.is_some_and(|all| all.iter().any(names) == is_mistake)
        });
        start.elapsed()
    }
}

/// A file of Protocol Buffers with about this number of bytes.
fn messages(package: &str, bytes: usize) -> String {
    let count = (bytes / 110).max(2);
    let mut text = format!("syntax = \"proto3\";\n\npackage {package};\n\n");
    for message in 0..count {
        let [next, far] = [message + 1, message * 7 + 3].map(|to| to % count);
        text += &format!(
            "message M{message} {{\n  M{next} next = 1;\n  string note = 2;\n  repeated bytes jump = 3;\n  M{far} far = 4;\n  uint64 number = 5;\n}}\n\n"
        );
    }
    text
}

fn buf_server(buf: &Path) -> Command {
    let mut server = Command::new(buf);
    server.args(["lsp", "serve"]).stderr(Stdio::null());
    server
}

fn own_server() -> Command {
    let mut server = Command::new(env!("CARGO_BIN_EXE_duologue"));
    server.arg("lsp");
    server
}

/// The servers, in turns, on files of these sizes.
fn latencies(buf: Option<&Path>, sizes: &[usize], rounds: usize) {
    println!(
        "| server | bytes | p50, ms | p95, ms | most, ms |\n| --- | ---: | ---: | ---: | ---: |"
    );
    for bytes in sizes {
        let [own, other] = ["lsp-own", "lsp-buf"].map(folder);
        let mut typists = vec![(
            OURS,
            Typist::new(own_server(), false, &own, *bytes),
            Vec::new(),
        )];
        if let Some(buf) = buf {
            fs::write(other.join("buf.yaml"), "version: v2\n").expect("it can be written");
            let typist = Typist::new(buf_server(buf), true, &other, *bytes);
            typists.push((BUFS, typist, Vec::new()));
        }
        for _ in 0..rounds {
            for (_, typist, measured) in &mut typists {
                measured.push(typist.turn());
            }
        }
        for (name, _, mut measured) in typists {
            measured.sort();
            let at =
                |share: usize| measured[(measured.len() - 1) * share / 100].as_secs_f64() * 1e3;
            let [half, most, all] = [50, 95, 100].map(at);
            println!("| {name} | {bytes} | {half:.2} | {most:.2} | {all:.2} |");
        }
    }
}

const OURS: &str = "duologue lsp";
const BUFS: &str = "buf lsp serve";

/// The memory of both servers with this many open files.
fn open_files(buf: &Path, files: usize) {
    println!(
        "\n| server | open files | most memory, MiB | memory, MiB |\n| --- | ---: | ---: | ---: |"
    );
    for (name, server, is_buffers) in [(OURS, own_server(), false), (BUFS, buf_server(buf), true)] {
        let folder = folder("lsp-open");
        fs::write(folder.join("buf.yaml"), "version: v2\n").expect("it can be written");
        let text = |file: usize| match is_buffers {
            true => messages(&format!("p{file}"), 2_000),
            false => protocol(&format!("p{file}"), 2_000),
        };
        let path = |file: usize| folder.join(format!("f{file}.proto"));
        for file in 0..files {
            fs::write(path(file), text(file)).expect("it can be written");
        }
        let mut client = Client::of(server, &folder);
        for file in 0..files {
            client.open(&uri(&path(file)), &text(file));
        }
        let [most, now] = ["VmHWM:", "VmRSS:"].map(|name| client.status(name));
        println!("| {name} | {files} | {} | {} |", shown(most), shown(now));
    }
}

fn shown(size: Option<u64>) -> String {
    size.map_or("?".to_owned(), |size| size.to_string())
}

fn main() {
    let is_quick = std::env::args().any(|word| word == "--quick");
    let (sizes, rounds, files) = match is_quick {
        true => (&[1_000, 2_000][..], 4, 10),
        false => (&[1_000, 10_000, 100_000][..], 400, 1_000),
    };
    let buf = std::env::var_os("DUOLOGUE_BUF").map(PathBuf::from);
    let is_absolute = buf.as_ref().is_none_or(|buf| buf.is_absolute());
    assert!(is_absolute, "DUOLOGUE_BUF is not an absolute path");
    latencies(buf.as_deref(), sizes, rounds);
    let folder = folder("lsp-memory");
    for file in 0..files {
        let text = match file {
            0 => "type shared = u64;\n".to_owned(),
            _ => {
                format!("import \"f0.proto\";\ntype own{file} = shared;\n")
                    + &protocol(&format!("p{file}"), 2_000)
            }
        };
        fs::write(folder.join(format!("f{file}.proto")), text).expect("it can be written");
    }
    let mut client = Client::of(own_server(), &folder);
    for file in 0..20.min(files) {
        let path = folder.join(format!("f{file}.proto"));
        let text = fs::read_to_string(&path).expect("it was written");
        client.open(&uri(&path), &text);
    }
    let opened = client.status("VmRSS:");
    let place = json!({ "line": 0, "character": 6 });
    let first = uri(&folder.join("f0.proto"));
    let asked = json!({ "textDocument": { "uri": first }, "position": place, "context": { "includeDeclaration": true } });
    let start = Instant::now();
    client.send(json!({ "id": 2, "method": "textDocument/references", "params": asked }));
    client.wait(|message| message["id"] == 2);
    let references = start.elapsed();
    println!(
        "\n{files} files: {} MiB with 20 of them open, {} MiB after references to a type of all files, which took {:.0} ms",
        shown(opened),
        shown(client.status("VmRSS:")),
        references.as_secs_f64() * 1e3
    );
    drop(client);
    if let Some(buf) = buf {
        open_files(&buf, files);
    }
    if is_quick {
        println!("every case works");
    }
}
