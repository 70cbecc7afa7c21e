//! The server of `duologue play`: what it serves, to whom, and what hostile clients get.

use crate::support::program::Scratch;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A running server, which ends with the test.
struct Server {
    child: Child,
    port: u16,
    address: String,
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
            ("pages/duologue.wasm", "the module"),
            ("pages/secret.txt", "not served"),
        ] {
            scratch.write(name, text);
        }
        let mut command = scratch.duologue(&format!("play --pages pages {arguments}"));
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
        let address = server
            .address
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .expect("an address");
        let port = address.split('/').next().and_then(|port| port.parse().ok());
        server.port = port.expect("a port");
        server
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

    fn get(&self, target: &str, host: &str) -> String {
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
    assert!(server.address.ends_with("/?files\n"), "{}", server.address);
    let host = format!("127.0.0.1:{}", server.port);
    let page = server.get("/?files", &host);
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"),
        "{page}"
    );
    assert!(page.ends_with("\r\n\r\nthe page"), "{page}");
    let module = server.get("/duologue.wasm", &host);
    assert!(
        module.contains("Content-Type: application/wasm\r\n"),
        "{module}"
    );
    let files = server.get("/files.json", &host);
    let files = files
        .split_once("\r\n\r\n")
        .expect("an answer has a body")
        .1;
    let files: serde_json::Value = serde_json::from_str(files).expect("JSON");
    let names: Vec<&String> = files.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["a.proto", "b/c.proto"]);
    assert_eq!(files["b/c.proto"], "type t = u8;\n");
    let head = server.send(format!("HEAD / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
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
    // More connections that say nothing than are served at once, all of which time out.
    let silent: Vec<TcpStream> = (0..40).map(|_| server.connect()).collect();
    for mut stream in silent {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    let answer = server.get("/", &host);
    assert!(answer.ends_with("\r\n\r\nthe page"), "{answer}");
}

#[test]
fn without_the_page_play_says_how_to_get_it() {
    let scratch = Scratch::new("web-missing");
    let missing = scratch.transcript("play --pages nowhere");
    assert!(
        missing.contains("cannot read nowhere") && missing.contains("editors/web/build"),
        "{missing}"
    );
    let none = scratch.transcript("play");
    assert!(
        none.contains("is not installed with this program"),
        "{none}"
    );
}
