//! How long `duologue lsp` takes from a change to the findings, and how much memory it needs: `cargo bench --bench lsp` types mistakes into
//! files of several sizes and prints percentiles, and the memory for a workspace of 1,000 files of which 20 are open. `-- --quick` does each
//! once with small files.

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
    fn start(folder: &Path) -> Client {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duologue"))
            .arg("lsp")
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

    /// The resident memory in MiB, where the system reports it.
    fn memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
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

/// Types and removes one character of a state's name, each time in the middle of the text.
fn latencies(bytes: usize, rounds: usize) -> Vec<Duration> {
    let folder = folder("lsp-latency");
    let mut client = Client::start(&folder);
    let uri = uri(&folder.join("a.proto"));
    let text = protocol("p", bytes);
    client.open(&uri, &text);
    let line = text.lines().count() / 2 / 5 * 5 + 2;
    let column = text
        .lines()
        .nth(line)
        .and_then(|line| line.find("-> "))
        .expect("a message")
        + 3;
    let mut measured = Vec::new();
    for round in 0..rounds {
        let (end, with) = match round % 2 {
            0 => (column, "x"),
            _ => (column + 1, ""),
        };
        let place = |column: usize| json!({ "line": line, "character": column });
        let change =
            json!({ "range": { "start": place(column), "end": place(end) }, "text": with });
        let version = round + 2;
        let start = Instant::now();
        client.send(json!({
            "method": "textDocument/didChange",
            "params": { "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] },
        }));
        client.wait_for_findings(&uri, version);
        measured.push(start.elapsed());
    }
    measured.sort();
    measured
}

fn main() {
    let is_quick = std::env::args().any(|word| word == "--quick");
    let (sizes, rounds, files) = match is_quick {
        true => (&[1_000, 2_000][..], 4, 10),
        false => (&[1_000, 10_000, 100_000][..], 400, 1_000),
    };
    println!("| bytes | p50, ms | p95, ms | most, ms |\n| ---: | ---: | ---: | ---: |");
    for bytes in sizes {
        let measured = latencies(*bytes, rounds);
        let at = |share: usize| measured[(measured.len() - 1) * share / 100].as_secs_f64() * 1e3;
        println!(
            "| {bytes} | {:.2} | {:.2} | {:.2} |",
            at(50),
            at(95),
            at(100)
        );
    }
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
    let mut client = Client::start(&folder);
    for file in 0..20.min(files) {
        let path = folder.join(format!("f{file}.proto"));
        let text = fs::read_to_string(&path).expect("it was written");
        client.open(&uri(&path), &text);
    }
    let opened = client.memory();
    let place = json!({ "line": 0, "character": 6 });
    let first = uri(&folder.join("f0.proto"));
    let asked = json!({ "textDocument": { "uri": first }, "position": place, "context": { "includeDeclaration": true } });
    let start = Instant::now();
    client.send(json!({ "id": 2, "method": "textDocument/references", "params": asked }));
    client.wait(|message| message["id"] == 2);
    let references = start.elapsed();
    println!(
        "\n{files} files: {} MiB with 20 of them open, {} MiB after references to a type of all files, which took {:.0} ms",
        opened.map_or("?".to_owned(), |memory| memory.to_string()),
        client
            .memory()
            .map_or("?".to_owned(), |memory| memory.to_string()),
        references.as_secs_f64() * 1e3
    );
    if is_quick {
        println!("every case works");
    }
}
