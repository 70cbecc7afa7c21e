//! The server of `duologue play`: what it serves, to whom, and what hostile clients get.

use crate::support::program::Scratch;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
    fn start(scratch: &Scratch, arguments: &str) -> Server {
        for (name, text) in [
            ("pages/index.html", "the page"),
            ("pages/play.css", "the style"),
            ("pages/play.js", "the script"),
            ("pages/check.wasm", "the smaller module"),
            ("pages/duologue.wasm", "the module"),
            ("pages/secret.txt", "not served"),
        ] {
            scratch.write(name, text);
        }
        Server::of(scratch.duologue(&format!("play --pages pages {arguments}")))
    }

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

    /// The path of the page, without what follows `?`.
    fn root(&self) -> &str {
        let start = format!("http://127.0.0.1:{}", self.port);
        let path = self.address.strip_prefix(&start).expect("an address");
        path.split('?').next().expect("a path")
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
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
}

#[test]
fn the_page_and_the_files_are_served() {
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
    let server = Server::start(&scratch, "a.proto");
    let (root, host) = (server.root(), server.host());
    assert!(
        server.address.ends_with(&format!("{root}?files")),
        "{}",
        server.address
    );
    let get = |name: &str| server.get(&format!("{root}{name}"), &host);
    let page = get("?files");
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"),
        "{page}"
    );
    assert!(page.ends_with("\r\n\r\nthe page"), "{page}");
    let module = get("duologue.wasm");
    assert!(
        module.contains("Content-Type: application/wasm\r\n"),
        "{module}"
    );
    let files = get("files.json");
    let files = files
        .split_once("\r\n\r\n")
        .expect("an answer has a body")
        .1;
    let opened: serde_json::Value = serde_json::from_str(files).expect("JSON");
    assert_eq!(opened["import_dirs"], serde_json::json!([]));
    let files = &opened["files"];
    let names: Vec<&String> = files.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["a.proto", "b/c.proto"]);
    assert_eq!(files["b/c.proto"], "type t = u8;\n");
    let head = server.send(format!("HEAD {root} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    assert!(
        head.contains("Content-Length: 8\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}

/// Other paths, other hosts, and bytes that are no request.
#[test]
fn hostile_requests_get_errors_and_the_server_stays() {
    let scratch = Scratch::new("web-hostile");
    let server = Server::start(&scratch, "");
    let host = format!("localhost:{}", server.port);
    for target in [
        "/secret.txt",
        "/../secret.txt",
        "/pages/../secret.txt",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/files.json",
        "file:///etc/passwd",
        "/play.js\0",
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
        assert!(!answer.contains("the page"), "{foreign}: {answer}");
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
    assert!(answer.ends_with("\r\n\r\nthe page"), "{answer}");
}

/// Other users of the machine can connect, but do not know the address.
#[test]
fn opened_files_are_served_only_to_those_who_know_the_address() {
    let files = [("a.proto", "proto! p { a:send { secret -> ! } }\n")];
    let scratch = Scratch::with("web-secret", &files);
    let servers = [(); 2].map(|()| Server::start(&scratch, "a.proto"));
    let [secret, other] = servers.each_ref().map(|server| {
        let secret = server.root().trim_matches('/').to_owned();
        let is_digit = |letter: char| letter.is_ascii_hexdigit();
        assert!(
            secret.len() == 32 && secret.chars().all(is_digit),
            "{secret}"
        );
        secret
    });
    assert_ne!(secret, other, "it is a new one each time");
    let [server, _] = &servers;
    let last = secret.chars().next_back();
    let wrong = format!(
        "{}{}",
        &secret[..31],
        if last == Some('0') { '1' } else { '0' }
    );
    for target in [
        "/".to_owned(),
        "/?files".to_owned(),
        "/files.json".to_owned(),
        format!("/files.json?{secret}"),
        format!("/{secret}"),
        format!("/{wrong}/files.json"),
        format!("/{other}/files.json"),
        format!("/{}/files.json", &secret[..31]),
        format!("//{secret}/files.json"),
    ] {
        let answer = server.get(&target, &server.host());
        assert!(answer.starts_with("HTTP/1.1 404 "), "{target}: {answer}");
        assert!(
            !answer.contains("secret") && !answer.contains(&secret),
            "{target}: {answer}"
        );
    }
    let answer = server.get(&format!("/{secret}/files.json"), &server.host());
    assert!(answer.contains("secret -> !"), "{answer}");
    // The page alone is no secret.
    let public = Server::start(&scratch, "");
    assert_eq!(public.root(), "/");
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
    let server = Server::start(&scratch, ".");
    let answer = server.get(&format!("{}files.json", server.root()), &server.host());
    let opened = answer.split_once("\r\n\r\n").expect("it has a body").1;
    let opened: serde_json::Value = serde_json::from_str(opened).expect("JSON");
    let names: Vec<&String> = opened["files"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(names, ["a.proto", "shared/c.proto"], "{opened}");
    assert_eq!(opened["import_dirs"], serde_json::json!(["shared"]));

    scratch.write("bytes.proto", b"// \xff\n");
    let refused = scratch.transcript("play --pages pages bytes.proto");
    assert!(
        refused.contains("bytes.proto") && refused.contains("not valid UTF-8"),
        "{refused}"
    );
}

#[test]
fn without_the_page_play_says_how_to_get_it() {
    let scratch = Scratch::new("web-missing");
    let missing = scratch.transcript("play --pages nowhere");
    assert!(
        missing.contains("cannot read nowhere") && missing.contains("tools/editors/web/build"),
        "{missing}"
    );
    let none = scratch.transcript("play");
    assert!(
        none.contains("is not installed with this program"),
        "{none}"
    );
}
