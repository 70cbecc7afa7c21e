//! A server of a small protocol, written by hand, that can skip each of its checks.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// What it serves.
pub const PROTOCOL: &str = "proto! notes {
    open:send { put(flag: bool, text: str<8>) -> open, ask -> asked, quit -> ! }
    #[within(300ms)]
    asked:recv { answer(u8) -> open }
}
";

/// What the server does wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// It takes any byte for a `bool`.
    Bool,
    /// It does not check that text is UTF-8.
    Text,
    /// It does not check the bound of the text.
    Bound,
    /// It does not check that a payload ends with its last value.
    Rest,
    /// It ignores control frames that it does not know.
    Control,
    /// It takes a count that is longer than necessary.
    Count,
    /// It closes the connection without a reason.
    Reason,
    /// It says that it left.
    Left,
    /// It waits forever when the format is broken.
    Hang,
    /// It stops serving when the format is broken.
    Death,
    /// It sends more after it has left.
    More,
    /// It answers what the hello of another protocol says with a session.
    Fingerprint,
    /// It waits for the rest of a hello without a limit.
    Patience,
    /// It rejects an empty text.
    Strict,
    /// It admits hellos with any token.
    Admit,
    /// It checks nothing in a message with a value that only a program would send.
    Deep,
    /// It never answers.
    Mute,
}

/// Why a session ends before its last message.
enum End {
    Broken,
    Gone,
}

/// How long the server waits for a hello and for each byte. It is less than a test waits, and no session is slower.
const LIMIT: Duration = Duration::from_millis(700);
const FOREVER: Duration = Duration::from_secs(20);

/// Serves one connection after the other, until a connection on which the word `stop` comes.
/// With a token, it admits only hellos that have it.
pub fn serve(listener: &UnixListener, fingerprint: [u8; 16], flaw: Flaw, token: Option<&str>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        let limit = if flaw == Flaw::Patience {
            FOREVER
        } else {
            LIMIT
        };
        stream
            .set_read_timeout(Some(limit))
            .expect("it is not zero");
        let token = token.map(str::to_owned);
        let mut server = Server {
            stream,
            flaw,
            token,
        };
        match server.greet(fingerprint) {
            Some(true) => {}
            Some(false) => continue,
            None => return,
        }
        if let Err(End::Broken) = server.play() {
            if flaw == Flaw::Death {
                return;
            }
            if flaw == Flaw::Hang {
                let limit = Some(FOREVER);
                let stream = &mut server.stream;
                stream.set_read_timeout(limit).expect("it is not zero");
                let _end = stream.read_to_end(&mut Vec::new());
                continue;
            }
            let others: [(Flaw, &[u8]); 3] = [
                (Flaw::Reason, &[]),
                (Flaw::Left, &[0, 3, 0]),
                (Flaw::More, &[0, 3, 1, 0, 1]),
            ];
            let other = others.into_iter().find(|(of, _)| *of == flaw);
            let leave = other.map_or(&[0, 3, 1][..], |(_, leave)| leave);
            // The client may have closed the connection.
            drop(server.stream.write_all(leave));
        }
        server.discard();
    }
}

struct Server {
    stream: UnixStream,
    flaw: Flaw,
    token: Option<String>,
}

impl Server {
    fn take<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], End> {
        let mut bytes = [0; COUNT];
        match self.stream.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(_) => Err(End::Gone),
        }
    }

    /// Reads what has arrived, so that what was sent is not lost.
    fn discard(&mut self) {
        self.stream.set_nonblocking(true).expect("it is a socket");
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(length) if length > 0 => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }

    fn refuse(&mut self, verdict: u8) -> Option<bool> {
        let answer = [&b"duologue\x01"[..], &[verdict, 4, 0, 0, 0, 0, 0]].concat();
        drop(self.stream.write_all(&answer));
        self.discard();
        Some(false)
    }

    /// Whether a session begins; `None` if the server is stopped.
    fn greet(&mut self, fingerprint: [u8; 16]) -> Option<bool> {
        let Ok(magic) = self.take::<4>() else {
            return Some(false);
        };
        if magic == *b"stop" {
            return None;
        }
        let Ok(rest) = self.take::<4>() else {
            return Some(false);
        };
        if [magic, rest].concat() != b"duologue" {
            self.discard();
            return Some(false);
        }
        let Ok([version, flags, low, high]) = self.take() else {
            return Some(false);
        };
        if version != 1 {
            return self.refuse(17);
        }
        let length = usize::from(u16::from_le_bytes([low, high]));
        let has_token = flags & 4 != 0 && self.token.is_some();
        let longest = if has_token { 4096 } else { 1024 };
        if flags > 1 && !(has_token && flags < 6) || !(28..=longest).contains(&length) {
            return self.refuse(21);
        }
        let mut rest = vec![0; length];
        if self.stream.read_exact(&mut rest).is_err() {
            return Some(false);
        }
        let end = rest
            .len()
            .checked_sub(rest.get(26).map_or(0, |length| 28 + usize::from(*length)));
        let (head, token) = match end.filter(|_| has_token) {
            Some(end) => rest.split_at(rest.len() - end),
            None => (&rest[..], &[][..]),
        };
        let token = match token.split_first() {
            Some((length, token)) if usize::from(*length) == token.len() => Some(token),
            _ => None,
        };
        if !is_hello(head) || has_token && token.is_none() {
            return self.refuse(21);
        }
        if rest[..16] != fingerprint && self.flaw != Flaw::Fingerprint {
            return self.refuse(16);
        }
        if flags & 1 != 0 {
            return self.refuse(22);
        }
        if self.flaw != Flaw::Admit && token != self.token.as_deref().map(str::as_bytes) {
            return self.refuse(19);
        }
        let mut answer = b"duologue\x01\x00\x1a\x00".to_vec();
        answer.extend(fingerprint);
        answer.extend(1024_u32.to_le_bytes());
        answer.extend([0; 6]);
        drop(self.stream.write_all(&answer));
        Some(true)
    }

    fn count(&mut self) -> Result<u64, End> {
        let mut count = 0_u64;
        for index in 0..10 {
            let [byte] = self.take()?;
            if index == 9 && byte > 1 {
                return Err(End::Broken);
            }
            count |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                let is_longer = byte == 0 && index > 0 && self.flaw != Flaw::Count;
                return if is_longer {
                    Err(End::Broken)
                } else {
                    Ok(count)
                };
            }
        }
        Err(End::Broken)
    }

    fn play(&mut self) -> Result<(), End> {
        loop {
            match self.count()? {
                0 => {
                    let [kind] = self.take()?;
                    match kind {
                        1 => {}
                        3 => return Err(End::Gone),
                        _ if self.flaw == Flaw::Control => {}
                        _ => return Err(End::Broken),
                    }
                }
                1 => self.put()?,
                2 if self.flaw == Flaw::Mute => {
                    let limit = Some(FOREVER);
                    self.stream.set_read_timeout(limit).expect("it is not zero");
                    let _end = self.stream.read_to_end(&mut Vec::new());
                    return Err(End::Gone);
                }
                2 => drop(self.stream.write_all(&[1, 7])),
                3 => return Ok(()),
                _ => return Err(End::Broken),
            }
        }
    }

    /// Reads the payload of `put`.
    fn put(&mut self) -> Result<(), End> {
        let size = self.count()?;
        let most = if self.flaw == Flaw::Bound { 1024 } else { 10 };
        if !(2..=most).contains(&size) {
            return Err(End::Broken);
        }
        let mut payload = vec![0; usize::try_from(size).expect("it is small")];
        if self.stream.read_exact(&mut payload).is_err() {
            return Err(End::Gone);
        }
        let (flag, length, text) = (payload[0], usize::from(payload[1]), &payload[2..]);
        let is_long = length > text.len() || length < text.len() && self.flaw != Flaw::Rest;
        let is_beyond =
            length > 8 && self.flaw != Flaw::Bound || length == 0 && self.flaw == Flaw::Strict;
        let text = &text[..length.min(text.len())];
        if self.flaw == Flaw::Deep && text == b"key" {
            return Ok(());
        }
        let is_text = std::str::from_utf8(text).is_ok() || self.flaw == Flaw::Text;
        match flag > 1 && self.flaw != Flaw::Bool || is_long || is_beyond || !is_text {
            true => Err(End::Broken),
            false => Ok(()),
        }
    }
}

/// Whether the rest of a hello is as the format says.
fn is_hello(rest: &[u8]) -> bool {
    let largest = u32::from_le_bytes([rest[16], rest[17], rest[18], rest[19]]);
    let length = usize::from(rest[26]);
    let (length, begin) = match (length, rest.get(27)) {
        (..0x80, _) => (length, 27),
        (_, Some(high @ 1)) => (length & 0x7f | usize::from(*high) << 7, 28),
        _ => return false,
    };
    let Some((name, list)) = rest[begin..].split_at_checked(length) else {
        return false;
    };
    let count = list.first().map_or(usize::MAX, |count| usize::from(*count));
    largest >= 1024
        && std::str::from_utf8(name).is_ok()
        && count <= 16
        && list.len() == 1 + 16 * count
}
