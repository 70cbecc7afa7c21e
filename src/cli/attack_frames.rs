//! A region as a connection: frames that are written become messages in lines, and messages in lines are read as frames.

use super::attack_region::{MOMENT, Region};
use super::socket::Socket;
use duologue::attack::memory::{DONE, FLAGS, LEFT, Poke};
use duologue::talk::read_count;
use std::fs;
use std::io::{self, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

/// What is read of a side that has taken something wrong as the last message of its session.
const TAKEN: [u8; 3] = [0, 3, 255];

impl Read for Region<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.timeout;
        while self.input.is_empty() && !self.has_ended {
            // Before the line: what was sent before the end is read.
            let is_gone = self.is_gone();
            if self.receive()? {
                continue;
            }
            if is_gone {
                self.has_ended = true;
                let flags = self.number(self.peer() + FLAGS);
                if flags & DONE != 0 && self.is_spoiled {
                    self.input.extend(TAKEN);
                } else if flags & LEFT != 0 && self.position.node.is_some() {
                    self.input.extend(duologue::attack::LEAVE);
                }
            } else if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            } else {
                thread::sleep(MOMENT);
            }
        }
        let length = bytes.len().min(self.input.len());
        bytes[..length].copy_from_slice(&self.input[..length]);
        self.input.drain(..length);
        Ok(length)
    }
}

impl Write for Region<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.extend_from_slice(bytes);
        while let Ok(Some((tag, mut at))) = read_count(&self.output) {
            if tag == 0 {
                // The only control frame that a session writes is that it leaves.
                self.output.clear();
                self.leave();
                break;
            }
            let position = usize::try_from(tag - 1).unwrap_or(usize::MAX);
            let Some((encoding, _)) = self.message(position) else {
                return Err(io::Error::other("the session has no such message"));
            };
            let size = match encoding.size.fixed() {
                Some(size) => size,
                None => match read_count(&self.output[at..]) {
                    Ok(Some((size, length))) => {
                        at += length;
                        size
                    }
                    _ => break,
                },
            };
            let end = at + usize::try_from(size).unwrap_or(usize::MAX / 2);
            let Some(payload) = self.output.get(at..end).map(<[u8]>::to_vec) else {
                break;
            };
            self.send(position, &payload)?;
            self.output.drain(..end);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket for Region<'_> {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.timeout = timeout;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.leave();
        Ok(())
    }

    fn poke(&mut self, poke: &Poke) -> io::Result<()> {
        Region::poke(self, poke)
    }
}

impl Drop for Region<'_> {
    fn drop(&mut self) {
        self.leave();
        // Somebody else may have removed it.
        let _ = fs::remove_file(&self.path);
    }
}
