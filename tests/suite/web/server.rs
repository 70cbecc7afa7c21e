//! The server of `duologue play`: what it serves, to whom, and what hostile clients get.

use crate::support::FOREVER;
use crate::support::program::Scratch;
use serde_json::json;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};

/// A running server, which ends with the test.
pub struct Server {
    child: Child,
    port: u16,
    /// What it prints: the address of the page.
    pub address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts the program.
    pub fn of(mut command: Command) -> Server {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut server = Server {
            child: child.expect("it starts"),
            port: 0,
            address: String::new(),
        };
        let out = server.child.stdout.take().expect("its output is a pipe");
        BufReader::new(out)
            .read_line(&mut server.address)
            .expect("it prints its address");
        let length = server.address.trim_end().len();
        server.address.truncate(length);
        let address = server.address.strip_prefix("http://127.0.0.1:");
        let port = address.and_then(|address| address.split('/').next()?.parse().ok());
        server.port = port.expect("an address with a port");
        server
    }

    /// What everything but the page needs.
    fn key(&self) -> &str {
        let (_, key) = self.address.split_once("/#key=").expect("it has a key");
        key
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream
            .set_read_timeout(Some(FOREVER))
            .expect("it has a limit");
        stream
    }

    /// The answer to some bytes. The server may close before it has read them all.
    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn get(&self, target: &str, host: &str) -> String {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
    }

    /// The answer to the page, or to what claims to be it.
    fn post(&self, path: &str, key: &str, more: &str, body: &str) -> String {
        let host = self.host();
        let length = body.len();
        self.send(
            format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\nDuologue-Key: {key}\r\nContent-Length: {length}\r\n{more}\r\n{body}"
            )
            .as_bytes(),
        )
    }

    /// What the page gets.
    pub fn answer(&self, path: &str, body: &serde_json::Value) -> serde_json::Value {
        let origin = format!("Origin: http://{}\r\n", self.host());
        let answer = self.post(path, self.key(), &origin, &body.to_string());
        let body = answer.split_once("\r\n\r\n").expect("it has a body").1;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        serde_json::from_str(body).expect("JSON")
    }
}

#[test]
fn the_page_gets_the_files_and_answers() {
    let scratch = Scratch::with(
        "web-served",
        &[
            (
                "a.proto",
                "import \"b/c.proto\";\nproto! p { s:send { m(t) -> ! } }\n",
            ),
            ("b/c.proto", "type t = u8;\n"),
            ("d.proto", "not opened"),
        ],
    );
    let server = Server::of(scratch.duologue("play a.proto"));
    let page = server.get("/", &server.host());
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"),
        "{page}"
    );
    // The page is no secret.
    assert!(page.ends_with("</html>"));
    assert!(!page.contains(server.key()) && !page.contains("b/c.proto"));
    let opened = server.answer("/opened", &json!(null));
    let files = json!({
        "a.proto": "import \"b/c.proto\";\nproto! p { s:send { m(t) -> ! } }\n",
        "b/c.proto": "type t = u8;\n",
    });
    assert_eq!(opened, json!({ "files": files, "import_dirs": [] }));
    let answer = server.answer("/run", &json!({ "command": "check", "files": files }));
    assert_eq!(answer["ok"], true, "{answer}");
    let request =
        json!({ "command": "gen", "targets": ["rust"], "files": files, "inputs": ["a.proto"] });
    let answer = server.answer("/run", &request);
    scratch
        .duologue("gen a.proto --rust rust")
        .output()
        .expect("it runs");
    let names = answer["files"].as_array().expect("files").iter();
    let mut names = names.map(|file| {
        let path = file["path"].as_str().expect("a path");
        assert_eq!(
            file["text"],
            scratch.read(&format!("rust/{path}")),
            "{path}"
        );
        path
    });
    assert!(names.any(|name| name == "p.rs"), "{answer}");
    let wrong = server.answer("/run", &json!({ "command": "nonsense" }));
    assert!(wrong["error"].is_string(), "{wrong}");
    let head =
        server.send(format!("HEAD / HTTP/1.1\r\nHost: {}\r\n\r\n", server.host()).as_bytes());
    let length = page.split_once("\r\n\r\n").expect("a body").1.len();
    assert!(
        head.contains(&format!("Content-Length: {length}\r\n")) && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}

/// Other paths, other hosts, and bytes that are no request.
#[test]
fn hostile_requests_get_errors_and_the_server_stays() {
    let scratch = Scratch::with("web-hostile", &[("secret.txt", "not served")]);
    let server = Server::of(scratch.duologue("play"));
    let host = format!("localhost:{}", server.port);
    for target in [
        "/secret.txt",
        "/../secret.txt",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/opened",
        "/run",
        "file:///etc/passwd",
        "/\0",
    ] {
        let answer = server.get(target, &host);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{target}: {answer}");
        assert!(!answer.contains("not served"), "{target}: {answer}");
    }
    for foreign in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1",
        "127.0.0.1:1",
    ] {
        let answer = server.get("/", foreign);
        assert!(answer.starts_with("HTTP/1.1 421 "), "{foreign}: {answer}");
        assert!(!answer.contains("<html"), "{foreign}: {answer}");
    }
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let garbage = [0xff; 5000];
    for bytes in [
        b"".as_slice(),
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n",
        long.as_bytes(),
        &garbage,
    ] {
        let answer = server.send(bytes);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
            "{answer}"
        );
    }
    // More connections that say nothing than are served at once. The server ends all of them, some at once, the others after 5 s.
    let silent: Vec<TcpStream> = (0..40).map(|_| server.connect()).collect();
    let mut late = 0;
    for mut stream in silent {
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => late += usize::from(answer.starts_with(b"HTTP/1.1 400 ")),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    assert_eq!(late, 32);
    let answer = server.get("/", &host);
    assert!(answer.ends_with("</html>"), "{answer}");
}

/// Other users of the machine can connect, and other pages in the browser can send requests, but neither knows the key.
#[test]
fn only_the_page_gets_answers() {
    let files = [("a.proto", "proto! p { a:send { secret -> ! } }\n")];
    let scratch = Scratch::with("web-secret", &files);
    let servers = [(); 2].map(|()| Server::of(scratch.duologue("play a.proto")));
    let [key, other] = servers.each_ref().map(|server| {
        let is_digit = |letter: char| letter.is_ascii_hexdigit();
        assert!(server.key().len() == 32 && server.key().chars().all(is_digit));
        server.key()
    });
    assert_ne!(key, other, "it is a new one each time");
    let [server, _] = &servers;
    let last = if key.ends_with('0') { '1' } else { '0' };
    let wrong = format!("{}{last}", &key[..31]);
    let own = format!("Origin: http://{}\r\n", server.host());
    let request = r#"{"command":"version"}"#;
    for path in ["/opened", "/run"] {
        for key in ["", &wrong, other, &key[..31]] {
            let answer = server.post(path, key, &own, request);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
            assert!(!answer.contains("secret"), "{path}: {answer}");
        }
        for origin in ["http://evil.example", "null", "http://127.0.0.1"] {
            let origin = format!("Origin: {origin}\r\n");
            let answer = server.post(path, key, &origin, request);
            assert!(answer.starts_with("HTTP/1.1 403 "), "{origin}: {answer}");
        }
        let answer = server.post(path, key, &own, request);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
    // What a browser asks before a page of another site may send a key.
    let host = server.host();
    let before =
        format!("OPTIONS /run HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n\r\n");
    let answer = server.send(before.as_bytes());
    assert!(
        answer.starts_with("HTTP/1.1 405 ") && !answer.contains("Access-Control"),
        "{answer}"
    );
}

/// A request that is cut off gets an error, and one in pieces an answer.
#[test]
fn requests_may_arrive_in_pieces() {
    let scratch = Scratch::new("web-pieces");
    let server = Server::of(scratch.duologue("play"));
    let (host, key) = (server.host(), server.key());
    let body = r#"{"command":"version"}"#;
    let head = |length: usize| {
        format!(
            "POST /run HTTP/1.1\r\nHost: {host}\r\nDuologue-Key: {key}\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let cut = server.send((head(body.len() + 1) + body).as_bytes());
    assert!(cut.starts_with("HTTP/1.1 400 "), "{cut}");
    let large = server.send(head(1 << 30).as_bytes());
    assert!(large.starts_with("HTTP/1.1 413 "), "{large}");
    let mut stream = server.connect();
    for piece in (head(body.len()) + body).as_bytes().chunks(7) {
        stream.write_all(piece).expect("it is connected");
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        answer.ends_with(&format!(r#""version":"{version}"}}"#)),
        "{answer}"
    );
    // Types that are nested too deeply are a finding, not the end of the server.
    let deep = format!("type a = {};", "(".repeat(100_000));
    let answer = server.answer(
        "/run",
        &json!({ "command": "check", "files": { "a.proto": deep } }),
    );
    assert_eq!(answer["ok"], false);
}

/// What `duologue.toml` says about files applies.
#[test]
fn play_opens_what_check_reads() {
    let scratch = Scratch::with(
        "web-configured",
        &[
            (
                "duologue.toml",
                "version = 1\nimport-dirs = [\"shared\"]\nexclude = [\"old\", \"shared\"]\n",
            ),
            (
                "a.proto",
                "import \"c.proto\";\nproto! p { s:send { m(t) -> ! } }\n",
            ),
            ("shared/c.proto", "type t = u8;\n"),
            ("old/a.proto", "left out"),
        ],
    );
    let server = Server::of(scratch.duologue("play ."));
    let opened = server.answer("/opened", &json!(null));
    let names: Vec<&String> = opened["files"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(names, ["a.proto", "shared/c.proto"], "{opened}");
    assert_eq!(opened["import_dirs"], json!(["shared"]));
}

/// A page in one file needs a module, which a copy of the repository does not have.
#[test]
fn a_page_in_one_file_contains_a_module_and_the_files() {
    let scratch = Scratch::with(
        "web-written",
        &[
            ("a.proto", "proto! p { s:send { m -> ! } } // </script>\n"),
            ("module.wasm", "\0asm for a test"),
        ],
    );
    scratch.said(
        "play a.proto -o page.html --module module.wasm",
        0,
        &["wrote page.html"],
    );
    let page = scratch.read("page.html");
    // `\0asm for a test` in base64.
    assert!(page.contains(">AGFzbSBmb3IgYSB0ZXN0</script>"), "{page}");
    assert!(
        page.contains(r"// \u003c/script>\n"),
        "the file is not in the page"
    );
    scratch.said("play a.proto -o page.html --module module.wasm", 0, &[]);
    assert_eq!(
        page,
        scratch.read("page.html"),
        "it depends on more than its input"
    );
}
