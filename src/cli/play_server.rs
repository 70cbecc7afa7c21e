//! A server for a few files in memory, for the browser of this machine alone.
//!
//! Everything that connects may be hostile: other users of the machine, and pages of other sites in the same browser. A request names one
//! of the files or gets an error, so no path leads to the disk. Only requests for this host are answered, so a page whose name
//! points to 127.0.0.1 cannot read the files. A connection has a few seconds and a small head, and there are few at once.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A file that is served.
pub struct Asset {
    /// Its path in the address, which begins with `/`.
    pub path: String,
    /// Its type.
    pub kind: &'static str,
    pub bytes: Vec<u8>,
}

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a request, in bytes.
const LONGEST: usize = 16 << 10;
/// How many connections are served at once.
const MOST: usize = 32;
/// How many times in a row accepting a connection may fail.
const FAILURES: usize = 100;

/// Serves the files until the process ends.
///
/// # Errors
/// That no connection can be accepted any more.
pub fn serve(listener: &TcpListener, port: u16, assets: &[Asset]) -> io::Result<()> {
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
            scope.spawn(move || {
                // A client that disconnects is no error of the server.
                let _ = answer(&stream, port, assets);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        }
    })
}

fn answer(mut stream: &TcpStream, port: u16, assets: &[Asset]) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(stream)?;
    let found = find(&head, port, assets);
    let (status, kind, bytes) = match &found {
        Ok(asset) => ("200 OK", asset.kind, &asset.bytes[..]),
        Err(status) => (*status, "text/plain; charset=utf-8", status.as_bytes()),
    };
    let allow = if status.starts_with("405") {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\n\r\n",
        bytes.len()
    )?;
    if !head.starts_with("HEAD ") {
        stream.write_all(bytes)?;
    }
    stream.flush()
}

/// The head of a request, up to the empty line. A head that is too long, too slow or not ASCII is cut, which `find` rejects.
fn head(mut stream: &TcpStream) -> io::Result<String> {
    let end = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST {
            return Ok(String::new());
        }
        stream.set_read_timeout(Some(left))?;
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Ok(String::new());
        }
        head.extend(&part[..read]);
    }
    match head.is_ascii() {
        true => Ok(String::from_utf8(head).unwrap_or_default()),
        false => Ok(String::new()),
    }
}

/// The file that a request asks for, or the status of the answer.
fn find<'a>(head: &str, port: u16, assets: &'a [Asset]) -> Result<&'a Asset, &'static str> {
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
    let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
    if hosts.len() != 1 || !own.iter().any(|own| hosts[0].eq_ignore_ascii_case(own)) {
        return Err("421 Misdirected Request");
    }
    if !["GET", "HEAD"].contains(&method) {
        return Err("405 Method Not Allowed");
    }
    let path = target.split('?').next().unwrap_or_default();
    let found = assets.iter().find(|asset| asset.path == path);
    found.ok_or("404 Not Found")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> &'static str {
        let asset = |path: &str| Asset {
            path: path.to_owned(),
            kind: "text/plain",
            bytes: Vec::new(),
        };
        match find(head, 8421, &[asset("/"), asset("/play.js")]) {
            Ok(asset) if asset.path == "/" => "the page",
            Ok(_) => "the script",
            Err(status) => &status[..3],
        }
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
