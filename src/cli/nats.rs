//! A connection to a NATS server, by its text protocol: what sessions and attacks need, without options that they do not.

use super::socket::{connect, is_late};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How many bytes a line has at most. The longest is the description of the server.
const LONGEST_LINE: usize = 64 << 10;

/// How many bytes a message has at most. More than a session gives credit for, and as much as a server delivers if nobody has configured it.
const LONGEST_MESSAGE: usize = 2 << 20;

/// The longest messages that a server has to accept, and those that are published at most.
const LEAST_PAYLOAD: u64 = 8 << 10;
const MOST_PAYLOAD: u64 = 1 << 20;

/// How long the server may take to read what is written.
const WRITING: Duration = Duration::from_secs(5);

/// The status of a message that reports that nothing has subscribed to a subject.
pub const NO_RESPONDERS: u16 = 503;

/// Where a NATS server is, and what it has to know about the user.
pub struct Server {
    place: String,
    /// A user and a password, or a token alone.
    login: Option<(String, Option<String>)>,
}

/// A message that was delivered.
pub struct Delivered {
    pub subject: String,
    pub reply: Option<String>,
    /// The status in its headers, if it has one.
    pub status: Option<u16>,
    pub body: Vec<u8>,
}

/// What the server has sent.
pub enum Event {
    Message(Delivered),
    Ping,
    Pong,
    /// Why the server rejects something.
    Rejected(String),
    /// Something that needs no reaction.
    Other,
}

impl Server {
    /// From `HOST:PORT`, `USER:PASSWORD@HOST:PORT` or `TOKEN@HOST:PORT`.
    pub fn parse(text: &str) -> Server {
        let (login, place) = match text.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, text),
        };
        let login = login.map(|login| match login.split_once(':') {
            Some((user, password)) => (user.to_owned(), Some(password.to_owned())),
            None => (login.to_owned(), None),
        });
        Server {
            place: place.to_owned(),
            login,
        }
    }

    /// The host and the port.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Connects, and subscribes to this subject.
    pub fn connect(&self, subject: &str, deadline: Instant) -> io::Result<(Writer, Reader)> {
        let stream = connect(&self.place, deadline)?;
        stream.set_write_timeout(Some(WRITING))?;
        let mut reader = Reader {
            stream: stream.try_clone()?,
            buffer: Vec::new(),
            start: 0,
        };
        let mut writer = Writer { stream, longest: 0 };
        let line = reader.line(deadline)?;
        let info = line.strip_prefix("INFO ");
        let info = info.and_then(|info| serde_json::from_str::<Value>(info).ok());
        let info = info.ok_or_else(|| io::Error::other("no NATS server listens there"))?;
        if info["tls_required"].as_bool() == Some(true) {
            let words =
                "the NATS server requires TLS, which this command does not speak with NATS servers";
            return Err(io::Error::other(words));
        }
        let longest = info["max_payload"].as_u64().unwrap_or(0);
        if longest < LEAST_PAYLOAD {
            return Err(io::Error::other(format!(
                "the longest message of the NATS server has {longest} bytes: set its `max_payload` to {LEAST_PAYLOAD} or more"
            )));
        }
        writer.longest = longest.min(MOST_PAYLOAD) as usize;
        let mut options = json!({
            "verbose": false, "pedantic": false, "protocol": 1, "headers": true, "no_responders": true, "echo": true,
            "lang": "duologue", "version": env!("CARGO_PKG_VERSION"),
        });
        match &self.login {
            Some((user, Some(password))) => {
                options["user"] = json!(user);
                options["pass"] = json!(password);
            }
            Some((token, None)) => options["auth_token"] = json!(token),
            None => {}
        }
        writer.send(format!("CONNECT {options}\r\nSUB {subject} 1\r\nPING\r\n").as_bytes())?;
        loop {
            match reader.next(deadline)? {
                Event::Pong => return Ok((writer, reader)),
                Event::Ping => writer.send(b"PONG\r\n")?,
                Event::Rejected(words) => {
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
                }
                Event::Message(_) | Event::Other => {}
            }
        }
    }
}

/// What a side sends to the server.
pub struct Writer {
    stream: TcpStream,
    /// The longest message that is published.
    longest: usize,
}

impl Writer {
    /// The longest message that can be published.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Publishes a message, with headers if it has some.
    pub fn publish(
        &mut self,
        subject: &str,
        reply: Option<&str>,
        headers: &str,
        body: &[u8],
    ) -> io::Result<()> {
        let reply = reply.map_or(String::new(), |reply| format!(" {reply}"));
        let size = body.len();
        let mut out = match headers.len() {
            0 => format!("PUB {subject}{reply} {size}\r\n"),
            length => format!("HPUB {subject}{reply} {length} {}\r\n", length + size),
        };
        // Writing into memory does not fail.
        let _ = out.write_str(headers);
        let mut out = out.into_bytes();
        out.extend_from_slice(body);
        out.extend_from_slice(b"\r\n");
        self.send(&out)
    }

    /// Writes these lines.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Ends the connection. What was written still arrives.
    pub fn end(&mut self) {
        // The connection may have ended.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }
}

/// What arrives from the server.
pub struct Reader {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
}

impl Reader {
    /// What the server sends next. An error of the kind `TimedOut` loses nothing.
    pub fn next(&mut self, deadline: Instant) -> io::Result<Event> {
        if self.start > LONGEST_LINE || self.start == self.buffer.len() {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let (begin, line) = (self.start, self.line(deadline)?);
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let has_headers = word.eq_ignore_ascii_case("HMSG");
        if has_headers || word.eq_ignore_ascii_case("MSG") {
            let message = self.message(rest, has_headers, deadline);
            if message.as_ref().is_err_and(is_late) {
                self.start = begin;
            }
            return message.map(Event::Message);
        }
        Ok(match word.to_ascii_uppercase().as_str() {
            "PING" => Event::Ping,
            "PONG" => Event::Pong,
            "-ERR" => Event::Rejected(rest.trim_matches('\'').to_owned()),
            "INFO" | "+OK" => Event::Other,
            _ => return Err(malformed()),
        })
    }

    /// `SUBJECT SID [REPLY] [SIZE OF HEADERS] SIZE`, and what follows.
    fn message(
        &mut self,
        rest: &str,
        has_headers: bool,
        deadline: Instant,
    ) -> io::Result<Delivered> {
        let mut words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let mut size = || words.pop()?.parse::<usize>().ok();
        let length = size().ok_or_else(malformed)?;
        let headers = match has_headers {
            true => size().ok_or_else(malformed)?,
            false => 0,
        };
        let (subject, reply) = match words[..] {
            [subject, _] => (subject, None),
            [subject, _, reply] => (subject, Some(reply)),
            _ => return Err(malformed()),
        };
        if headers > length || length > LONGEST_MESSAGE {
            return Err(malformed());
        }
        while self.rest().len() < length + 2 {
            self.fill(deadline)?;
        }
        let body = self.rest()[..length].to_vec();
        self.start += length + 2;
        // `NATS/1.0 503`, and then lines with names and values.
        let status = std::str::from_utf8(&body[..headers]).ok();
        let status = status.and_then(|text| text.strip_prefix("NATS/1.0 "));
        let status = status.and_then(|text| text.get(..3)?.parse().ok());
        Ok(Delivered {
            subject: subject.to_owned(),
            reply: reply.map(str::to_owned),
            status,
            body: body[headers..].to_vec(),
        })
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn line(&mut self, deadline: Instant) -> io::Result<String> {
        loop {
            if let Some(end) = self.rest().iter().position(|byte| *byte == b'\n') {
                let line = self.rest()[..end].trim_ascii_end();
                let line = std::str::from_utf8(line).map_err(|_| malformed())?;
                let line = line.to_owned();
                self.start += end + 1;
                return Ok(line);
            }
            if self.rest().len() > LONGEST_LINE {
                return Err(malformed());
            }
            self.fill(deadline)?;
        }
    }

    fn fill(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut bytes = [0; 16 << 10];
        let length = match self.stream.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            length => length?,
        };
        if length == 0 {
            let words = "the NATS server has closed the connection";
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, words));
        }
        self.buffer.extend_from_slice(&bytes[..length]);
        Ok(())
    }
}

fn malformed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the NATS server has sent something that its protocol does not have",
    )
}
