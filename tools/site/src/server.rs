//! A server for a few files in memory, for the browser of this machine alone.
//!
//! Everything that connects may be hostile: other users of the machine, and pages of other sites in the same browser. A request names one
//! of the files or gets an error, so no path leads to the disk. Only requests for this host are answered, so a page whose name
//! points to 127.0.0.1 cannot read the files. All paths begin with that of the site, which contains a secret if the files are private.
//! A connection has a few seconds and a small head, and there are few at once. So other users can delay the page, but not read it.

use std::hint::black_box;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A file that is served.
pub struct Asset {
    /// Its path below that of the site; the page has an empty one.
    pub path: String,
    /// Its type.
    pub kind: &'static str,
    /// What it contains.
    pub bytes: Vec<u8>,
}

/// What is served, and where.
pub struct Site {
    /// The port of requests that are answered.
    pub port: u16,
    /// What all paths begin with. It begins and ends with `/`.
    pub root: String,
    /// The files.
    pub assets: Vec<Asset>,
}

/// How long a connection may take to send its request.
const ASKING: Duration = Duration::from_secs(5);
/// How long a connection may take to read its answer.
const READING: Duration = Duration::from_secs(20);
/// The longest head of a request, in bytes.
const LONGEST: usize = 16 << 10;
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
            let started = thread::Builder::new().spawn_scoped(scope, move || {
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
    let head = head(stream, Instant::now() + ASKING)?;
    let found = find(&head, site);
    let wrong;
    let (status, kind, bytes) = match &found {
        Ok(asset) => ("200 OK", asset.kind, &asset.bytes[..]),
        Err(status) => {
            wrong = format!("{status}: open the address that `duologue play` printed\n");
            (*status, "text/plain; charset=utf-8", wrong.as_bytes())
        }
    };
    let allow = if status.starts_with("405") {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let end = Instant::now() + READING;
    let first = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\n\r\n",
        bytes.len()
    );
    write_until(stream, first.as_bytes(), end)?;
    if !head.starts_with("HEAD ") {
        write_until(stream, bytes, end)?;
    }
    Ok(())
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

/// The head of a request, up to the empty line. A head that is too long, too slow or not ASCII is empty, which `find` rejects.
fn head(mut stream: &TcpStream, end: Instant) -> io::Result<String> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    let mut seen: usize = 0;
    while !head[seen.saturating_sub(3)..]
        .windows(4)
        .any(|four| four == b"\r\n\r\n")
    {
        seen = head.len();
        let Some(left) = left(end).filter(|_| seen <= LONGEST) else {
            return Ok(String::new());
        };
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(String::new()),
            Ok(read) => head.extend(&part[..read]),
            Err(error) if is_temporary(&error) => {}
            Err(error) => return Err(error),
        }
    }
    match head.is_ascii() {
        true => Ok(String::from_utf8(head).unwrap_or_default()),
        false => Ok(String::new()),
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

/// The file that a request asks for, or the status of the answer.
fn find<'a>(head: &str, site: &'a Site) -> Result<&'a Asset, &'static str> {
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = line[..] else {
        return Err("400 Bad Request");
    };
    if !version.starts_with("HTTP/1.") {
        return Err("400 Bad Request");
    }
    let hosts = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let hosts: Vec<&str> = hosts.collect();
    if hosts.len() != 1 || !is_own(hosts[0], site.port) {
        return Err("421 Misdirected Request");
    }
    if !["GET", "HEAD"].contains(&method) {
        return Err("405 Method Not Allowed");
    }
    let path = target.split('?').next().unwrap_or_default();
    let found = below(&site.root, path)
        .and_then(|path| site.assets.iter().find(|asset| asset.path == path));
    found.ok_or("404 Not Found")
}

/// Whether a host is this one. Browsers leave out the port 80.
fn is_own(host: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost"].iter().any(|name| {
        host.eq_ignore_ascii_case(&format!("{name}:{port}"))
            || port == 80 && host.eq_ignore_ascii_case(name)
    })
}

/// The rest of a path that begins with `root`. The time this takes does not depend on how much of it is right, because it may be guessed.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let (start, rest) = path.split_at_checked(root.len())?;
    let pairs = start.bytes().zip(root.bytes());
    let difference = pairs.fold(0, |found, (one, other)| black_box(found | (one ^ other)));
    (difference == 0).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_at(port: u16, root: &str, head: &str) -> &'static str {
        let asset = |path: &str| Asset {
            path: path.to_owned(),
            kind: "text/plain",
            bytes: Vec::new(),
        };
        let site = Site {
            port,
            root: root.to_owned(),
            assets: vec![asset(""), asset("play.js")],
        };
        match find(head, &site) {
            Ok(asset) if asset.path.is_empty() => "the page",
            Ok(_) => "the script",
            Err(status) => &status[..3],
        }
    }

    fn status(head: &str) -> &'static str {
        status_at(8421, "/", head)
    }

    #[test]
    fn a_site_with_a_secret_is_served_only_below_it() {
        let get = |target: &str| {
            let head = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:8421\r\n\r\n");
            status_at(8421, "/0123abcd/", &head)
        };
        assert_eq!(get("/0123abcd/"), "the page");
        assert_eq!(get("/0123abcd/?files"), "the page");
        assert_eq!(get("/0123abcd/play.js"), "the script");
        for target in [
            "/",
            "/play.js",
            "/?files",
            "/0123abcd",
            "/0123abcd?/",
            "/0123abcd//",
            "/0123abce/",
            "/1123abcd/play.js",
            "/0123ABCD/",
            "//0123abcd/",
            "/0123abc\u{e9}/",
        ] {
            assert_eq!(get(target), "404", "{target}");
        }
    }

    #[test]
    fn the_port_80_may_be_left_out() {
        let host = |port, host: &str| {
            status_at(
                port,
                "/",
                &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            )
        };
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
        assert_eq!(slow.expect("the connection stays"), "");
        // The end of the head may be in two parts.
        client.write_all(b"x\r\n\r").expect("it is connected");
        let second = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            client.write_all(b"\n").expect("it is connected");
            client
        });
        let whole = head(&stream, Instant::now() + Duration::from_secs(60));
        assert_eq!(whole.expect("the connection stays"), "x\r\n\r\n");
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
        assert_eq!(get("/?files"), "the page");
        assert_eq!(get("/play.js"), "the script");
        for target in [
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
        assert_eq!(
            status("POST / HTTP/1.1\r\nHost: localhost:8421\r\n\r\n"),
            "405"
        );
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
