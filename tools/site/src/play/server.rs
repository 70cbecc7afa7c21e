//! The server of the playground, for the browser of this machine alone.
//!
//! Everything that connects may be hostile: other users of the machine, and pages of other sites in the same browser. So only requests for
//! this host are answered, and everything but the page itself needs a key, which is in the address that the user opens, after `#`, where no
//! browser sends it. A page of another site has no key, and a request from one is refused. No path leads to the disk. A connection has a few
//! seconds and a small head, and there are few at once. So other users can delay the page, but not read what is open in it.

use std::hint::black_box;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What is served, and where.
pub struct Site {
    /// The port of requests that are answered.
    pub port: u16,
    /// What a request has to know for everything but the page.
    pub key: String,
    /// The page.
    pub page: String,
    /// What it opens, as JSON.
    pub opened: String,
    /// Answers what the page asks the compiler.
    pub answer: fn(&[u8]) -> String,
}

/// How long a connection may take to send its request.
const ASKING: Duration = Duration::from_secs(5);
/// How long a connection may take to read its answer.
const READING: Duration = Duration::from_secs(20);
/// The longest head of a request, in bytes.
const LONGEST: usize = 16 << 10;
/// The longest body of a request, in bytes.
const LARGEST: usize = 8 << 20;
/// The stack of the thread of a connection: types nest, so it is that of a program's main thread.
const STACK: usize = 8 << 20;
/// How many bytes are written at once: some systems count the time of each write anew while it makes progress.
const PIECE: usize = 64 << 10;
/// How many connections are served at once.
const MOST: usize = 32;
/// How many times in a row accepting a connection may fail.
const FAILURES: usize = 100;

/// Serves the files until the process ends.
///
/// # Errors
/// That no connection can be accepted any more.
pub fn serve(listener: &TcpListener, site: &Site) -> io::Result<()> {
    let open = AtomicUsize::new(0);
    let mut failures = 0;
    thread::scope(|scope| {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if failures == FAILURES => return Err(error),
                // The client has closed it already, or there are too many open files for the moment.
                Err(_) => {
                    failures += 1;
                    thread::sleep(Duration::from_millis(50));
                    continue;
                }
            };
            failures = 0;
            if open.load(Ordering::Relaxed) >= MOST {
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let open = &open;
            let thread = thread::Builder::new().stack_size(STACK);
            let started = thread.spawn_scoped(scope, move || {
                // A client that disconnects is no error of the server.
                let _ = answer(&stream, site);
                open.fetch_sub(1, Ordering::Relaxed);
            });
            // The system has no thread left; the connection has been closed.
            if started.is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })
}

fn answer(stream: &TcpStream, site: &Site) -> io::Result<()> {
    let (head, rest) = head(stream, Instant::now() + ASKING)?;
    let found = match find(&head, site) {
        Ok(Target::Run(length)) => run(stream, rest, length, site)?,
        Ok(Target::Page) => Ok(("text/html; charset=utf-8", site.page.clone())),
        Ok(Target::Opened) => Ok(("application/json", site.opened.clone())),
        Err(status) => Err(status),
    };
    let (status, (kind, body)) = match found {
        Ok(found) => ("200 OK", found),
        Err(status) => {
            let words = format!("{status}: open the address that `duologue play` printed\n");
            (status, ("text/plain; charset=utf-8", words))
        }
    };
    let allow = if status.starts_with("405") {
        "Allow: GET, HEAD, POST\r\n"
    } else {
        ""
    };
    let end = Instant::now() + READING;
    let first = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\n\r\n",
        body.len()
    );
    write_until(stream, first.as_bytes(), end)?;
    if !head.starts_with("HEAD ") {
        write_until(stream, body.as_bytes(), end)?;
    }
    Ok(())
}

/// Reads the rest of a request for the compiler, and answers it.
fn run(
    stream: &TcpStream,
    mut body: Vec<u8>,
    length: usize,
    site: &Site,
) -> io::Result<Result<(&'static str, String), &'static str>> {
    let end = Instant::now() + READING;
    while body.len() < length {
        if !read_until(stream, &mut body, end)? {
            return Ok(Err("400 Bad Request"));
        }
    }
    body.truncate(length);
    // A mistake of the compiler is the end of this request, not of the server.
    let answered = catch_unwind(AssertUnwindSafe(|| (site.answer)(&body)));
    Ok(answered
        .map(|answer| ("application/json", answer))
        .map_err(|_| "500 Internal Server Error"))
}

/// Writes everything, or fails at that moment: a client that reads a little from time to time does not get more of it.
fn write_until(mut stream: &TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(end).ok_or(ErrorKind::TimedOut)?))?;
        match stream.write(&bytes[..bytes.len().min(PIECE)]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The time until a moment. None if it is over, because no time at all means no limit to a socket.
fn left(end: Instant) -> Option<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    Some(left).filter(|left| !left.is_zero())
}

/// The head of a request, up to the empty line, and what was read after it. A head that is too long, too slow or not ASCII is empty, which
/// `find` rejects.
fn head(stream: &TcpStream, end: Instant) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut seen: usize = 0;
    loop {
        let from = seen.saturating_sub(3);
        let mut four = head[from..].windows(4);
        if let Some(found) = four.position(|four| four == b"\r\n\r\n") {
            let rest = head.split_off(from + found + 4);
            let head = String::from_utf8(head).unwrap_or_default();
            return Ok((
                Some(head)
                    .filter(|head| head.is_ascii())
                    .unwrap_or_default(),
                rest,
            ));
        }
        seen = head.len();
        if seen > LONGEST || !read_until(stream, &mut head, end)? {
            return Ok((String::new(), Vec::new()));
        }
    }
}

/// Reads what has arrived. False if the client has sent everything, or the time is over.
fn read_until(mut stream: &TcpStream, bytes: &mut Vec<u8>, end: Instant) -> io::Result<bool> {
    let mut part = [0; 2048];
    loop {
        let Some(left) = left(end) else {
            return Ok(false);
        };
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(false),
            Ok(read) => {
                bytes.extend(&part[..read]);
                return Ok(true);
            }
            Err(error) if is_temporary(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether a read has only taken too long, which systems report in two ways, or was interrupted.
fn is_temporary(error: &io::Error) -> bool {
    let kinds = [
        ErrorKind::Interrupted,
        ErrorKind::TimedOut,
        ErrorKind::WouldBlock,
    ];
    kinds.contains(&error.kind())
}

/// What a request asks for.
#[derive(Debug)]
enum Target {
    Page,
    Opened,
    /// An answer of the compiler to a request of this many bytes.
    Run(usize),
}

/// What a request asks for, or the status of the answer.
fn find(head: &str, site: &Site) -> Result<Target, &'static str> {
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = line[..] else {
        return Err("400 Bad Request");
    };
    if !version.starts_with("HTTP/1.") {
        return Err("400 Bad Request");
    }
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let values = |name: &str| {
        let all = fields.iter();
        let own = all.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.trim()).collect::<Vec<&str>>()
    };
    let [host] = values("Host")[..] else {
        return Err("421 Misdirected Request");
    };
    if !is_own(host, site.port) {
        return Err("421 Misdirected Request");
    }
    let path = target.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET" | "HEAD", "/") => return Ok(Target::Page),
        ("POST", "/opened" | "/run") => {}
        ("GET" | "HEAD" | "POST", _) => return Err("404 Not Found"),
        _ => return Err("405 Method Not Allowed"),
    }
    let is_foreign = |origin: &str| {
        let host = origin.strip_prefix("http://");
        !host.is_some_and(|host| is_own(host, site.port))
    };
    let [key] = values("Duologue-Key")[..] else {
        return Err("403 Forbidden");
    };
    if values("Origin").into_iter().any(is_foreign) || !is_same(key, &site.key) {
        return Err("403 Forbidden");
    }
    if path == "/opened" {
        return Ok(Target::Opened);
    }
    let [length] = values("Content-Length")[..] else {
        return Err("411 Length Required");
    };
    let length = length.parse().ok().filter(|length| *length <= LARGEST);
    length.map(Target::Run).ok_or("413 Content Too Large")
}

/// Whether a host is this one. Browsers leave out the port 80.
fn is_own(host: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost"].iter().any(|name| {
        host.eq_ignore_ascii_case(&format!("{name}:{port}"))
            || port == 80 && host.eq_ignore_ascii_case(name)
    })
}

/// Whether a key is the right one. The time this takes does not depend on how much of it is right, because it may be guessed.
fn is_same(key: &str, right: &str) -> bool {
    let pairs = key.bytes().zip(right.bytes());
    let difference = pairs.fold(0, |found, (one, other)| black_box(found | (one ^ other)));
    key.len() == right.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_at(port: u16, head: &str) -> &'static str {
        let site = Site {
            port,
            key: "0123abcd".to_owned(),
            page: String::new(),
            opened: String::new(),
            answer: |_| String::new(),
        };
        match find(head, &site) {
            Ok(Target::Page) => "the page",
            Ok(Target::Opened) => "what is opened",
            Ok(Target::Run(_)) => "an answer",
            Err(status) => &status[..3],
        }
    }

    fn status(head: &str) -> &'static str {
        status_at(8421, head)
    }

    #[test]
    fn everything_but_the_page_needs_the_key() {
        let post = |path: &str, fields: &str| {
            status(&format!(
                "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:8421\r\nContent-Length: 3\r\n{fields}\r\n"
            ))
        };
        for (path, found) in [("/opened", "what is opened"), ("/run", "an answer")] {
            for fields in [
                "Duologue-Key: 0123abcd\r\n",
                "duologue-key: 0123abcd\r\nOrigin: http://127.0.0.1:8421\r\n",
                "Duologue-Key: 0123abcd\r\nOrigin: http://localhost:8421\r\n",
            ] {
                assert_eq!(post(path, fields), found, "{fields}");
            }
            for fields in [
                "",
                "Duologue-Key: \r\n",
                "Duologue-Key: 0123abce\r\n",
                "Duologue-Key: 1123abcd\r\n",
                "Duologue-Key: 0123ABCD\r\n",
                "Duologue-Key: 0123abcd0\r\n",
                "Duologue-Key: 0123abc\r\n",
                "Duologue-Key: 0123abcd\r\nDuologue-Key: 0123abcd\r\n",
                "Duologue-Key: 0123abcd\r\nOrigin: http://evil.example\r\n",
                "Duologue-Key: 0123abcd\r\nOrigin: https://127.0.0.1:8421\r\n",
                "Duologue-Key: 0123abcd\r\nOrigin: http://127.0.0.1:8422\r\n",
                "Duologue-Key: 0123abcd\r\nOrigin: http://127.0.0.1:8421.evil.example\r\n",
                "Duologue-Key: 0123abcd\r\nOrigin: null\r\n",
            ] {
                assert_eq!(post(path, fields), "403", "{fields}");
            }
        }
    }

    #[test]
    fn a_request_says_how_long_it_is() {
        let run = |fields: &str| {
            status(&format!(
                "POST /run HTTP/1.1\r\nHost: localhost:8421\r\nDuologue-Key: 0123abcd\r\n{fields}\r\n"
            ))
        };
        assert_eq!(run("Content-Length: 0\r\n"), "an answer");
        assert_eq!(run(&format!("Content-Length: {LARGEST}\r\n")), "an answer");
        assert_eq!(run(""), "411");
        assert_eq!(run("Transfer-Encoding: chunked\r\n"), "411");
        assert_eq!(run("Content-Length: 1\r\nContent-Length: 2\r\n"), "411");
        let larger = LARGEST + 1;
        for length in ["-1", "x", "99999999999999999999", &larger.to_string()] {
            assert_eq!(
                run(&format!("Content-Length: {length}\r\n")),
                "413",
                "{length}"
            );
        }
    }

    #[test]
    fn the_port_80_may_be_left_out() {
        let host =
            |port, host: &str| status_at(port, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        for name in ["127.0.0.1", "localhost", "127.0.0.1:80"] {
            assert_eq!(host(80, name), "the page", "{name}");
            assert_eq!(host(8080, name), "421", "{name}");
        }
        assert_eq!(host(80, "example.org"), "421");
    }

    /// A client that reads a little from time to time. It could read everything, but not in the time that it has.
    #[test]
    fn a_slow_reader_does_not_keep_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let reader = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).expect("it listens");
            let mut part = vec![0; 64 << 10];
            let mut read = 0;
            while let Ok(more @ 1..) = stream.read(&mut part) {
                read += more;
                thread::sleep(Duration::from_millis(5));
            }
            read
        });
        let (stream, _) = listener.accept().expect("it connects");
        let bytes = vec![0; 64 << 20];
        let written = write_until(&stream, &bytes, Instant::now() + Duration::from_millis(500));
        drop(stream);
        assert!(written.is_err(), "all has been written");
        let read = reader.join().expect("it ends");
        assert!(read > 0 && read < bytes.len(), "{read} bytes were read");
    }

    #[test]
    fn a_slow_request_is_answered_as_a_wrong_one() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let mut client = TcpStream::connect(address).expect("it listens");
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: ")
            .expect("it is connected");
        let (stream, _) = listener.accept().expect("it connects");
        let slow = head(&stream, Instant::now() + Duration::from_millis(100));
        assert_eq!(slow.expect("the connection stays").0, "");
        // The end of the head may be in two parts.
        client.write_all(b"x\r\n\r").expect("it is connected");
        let second = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            client.write_all(b"\nrest").expect("it is connected");
            client
        });
        let whole = head(&stream, Instant::now() + Duration::from_secs(60));
        let (head, mut rest) = whole.expect("the connection stays");
        while rest.len() < 4 {
            let read = read_until(&stream, &mut rest, Instant::now() + Duration::from_secs(60));
            assert!(read.expect("the connection stays"));
        }
        assert_eq!((head.as_str(), &rest[..]), ("x\r\n\r\n", &b"rest"[..]));
        drop(second.join().expect("it ends"));
    }

    #[test]
    fn only_known_files_are_served_and_only_to_this_host() {
        let get = |target: &str| {
            status(&format!(
                "GET {target} HTTP/1.1\r\nHost: 127.0.0.1:8421\r\n\r\n"
            ))
        };
        assert_eq!(get("/"), "the page");
        assert_eq!(get("/?x"), "the page");
        for target in [
            "/run",
            "/opened",
            "/../play.js",
            "//play.js",
            "/%2e%2e/etc/passwd",
            "/play.js/",
            "play.js",
            "*",
            "http://127.0.0.1:8421/",
            "",
        ] {
            assert_eq!(get(target), "404", "{target}");
        }
        let host = |lines: &str| status(&format!("GET / HTTP/1.1\r\n{lines}\r\n\r\n"));
        assert_eq!(host("host: LOCALHOST:8421"), "the page");
        for lines in [
            "Host: example.org",
            "Host: example.org:8421",
            "Host: 127.0.0.1",
            "Host: 127.0.0.1:84210",
            "Host: 127.0.0.1:8421.example.org",
            "Host: 127.0.0.1:8421\r\nHost: example.org",
            "X: 127.0.0.1:8421",
        ] {
            assert_eq!(host(lines), "421", "{lines}");
        }
        for (method, found) in [("POST", "404"), ("PUT", "405"), ("OPTIONS", "405")] {
            let head = format!("{method} / HTTP/1.1\r\nHost: localhost:8421\r\n\r\n");
            assert_eq!(status(&head), found, "{method}");
        }
        for head in [
            "",
            "GET /\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(status(head), "400", "{head:?}");
        }
    }
}
