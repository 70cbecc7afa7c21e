//! What a process publishes, and its addresses.

use std::fmt::Write;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;

use rustix::rand::{getrandom, GetRandomFlags};

use super::packet::Packet;
use super::Broker;

/// What all addresses of processes begin with.
const PREFIX: &str = "duo.at.";

/// No address is longer.
const LONGEST: usize = 256;

/// How much credit a session gets while three quarters of the process's are left, while half of it is left, and then. The largest is as much as
/// a session writes at once.
const LARGE_WINDOW: usize = 64 << 10;
const WINDOW: usize = 16 << 10;
const SMALL_WINDOW: usize = 4 << 10;

/// How much credit all sessions of a process may have together: less than what makes a broker give up a slow process.
pub(super) const ALL_WINDOWS: usize = 48 << 20;

/// What a message costs in addition to its bytes, so that many short messages do not take more memory than their credit.
pub(super) const OVERHEAD: usize = 64;

/// Random bytes, as 32 hexadecimal digits.
pub(super) fn random() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    let mut text = String::with_capacity(32);
    for byte in bytes {
        let _infallible = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Whether this is one or more tokens of a subject, separated by dots.
pub(super) fn is_name(text: &str) -> bool {
    let is_token = |token: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !token.is_empty() && token.bytes().all(is_plain)
    };
    text.len() <= LONGEST && text.split('.').all(is_token)
}

/// The process and the token of an address in a process.
pub(super) fn parts(address: &str) -> Option<(&str, &str)> {
    let rest = address.strip_prefix(PREFIX)?;
    is_name(rest).then(|| rest.rsplit_once('.')).flatten()
}

/// The process of the address of a side of a session, whose token is random.
pub(super) fn process_of_side(address: &str) -> Option<&str> {
    let (process, token) = parts(address)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (token.len() == 32 && token.bytes().all(is_digit)).then_some(process)
}

/// The address of a side of a session, or of something else in a process.
pub(super) fn address(process: &str, token: &str) -> String {
    format!("{PREFIX}{process}.{token}")
}

/// How a process publishes.
pub(super) struct Post {
    pub(super) broker: Box<dyn Broker>,
    /// The name of this process.
    pub(super) process: String,
    /// How much credit its sessions have given.
    given: AtomicUsize,
}

impl Post {
    pub(super) fn new(broker: Box<dyn Broker>, process: String) -> Post {
        Post {
            broker,
            process,
            given: AtomicUsize::new(0),
        }
    }

    pub(super) fn publish(&self, subject: &str, reply: Option<&str>, packet: &Packet<'_>) {
        self.broker.publish(subject, reply, packet.encode());
    }

    /// The credit of a further session, with that for `first`, the cost of a message that has arrived; `None` if this process has too
    /// many sessions.
    pub(super) fn window(self: &Arc<Post>, first: u64) -> Option<Window> {
        let first = usize::try_from(first).ok()?;
        let mut size = 0;
        let take = |given: usize| {
            size = first;
            size += match given {
                given if given < ALL_WINDOWS / 4 => LARGE_WINDOW,
                given if given < ALL_WINDOWS / 2 => WINDOW,
                _ => SMALL_WINDOW,
            };
            (given + size <= ALL_WINDOWS).then_some(given + size)
        };
        let taken = self.given.fetch_update(SeqCst, SeqCst, take);
        taken.is_ok().then(|| Window {
            post: Arc::clone(self),
            size,
        })
    }
}

/// The credit of a session.
pub(super) struct Window {
    post: Arc<Post>,
    pub(super) size: usize,
}

impl Drop for Window {
    fn drop(&mut self) {
        self.post.given.fetch_sub(self.size, SeqCst);
    }
}
