//! Messages on a stream, as `lsp-server` frames them. Everything that arrives is bounded, and a message that is malformed ends nothing.

use gen_lsp_types as lsp;
use lsp::{LogMessageNotification, LogMessageParams, MessageType};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::Value;
use std::io::{self, BufRead, ErrorKind, Read, Stdout};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest message, in bytes. It may contain the largest text with every character escaped.
const LARGEST: usize = 128 << 20;
/// The longest line of a header, in bytes.
const LONGEST_LINE: u64 = 4096;
/// How much of a message that cannot be read is shown.
const SHOWN: usize = 200;

/// Where answers go. Clones write to the same stream, each message as a whole.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Stdout>>);

impl Output {
    pub fn new(stream: Stdout) -> Output {
        Output(Arc::new(Mutex::new(stream)))
    }

    fn send(&self, message: impl Into<Message>) {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If the client is gone, reading ends too.
        let _ = message.into().write(&mut *stream);
    }

    pub fn answer(&self, id: RequestId, result: Value) {
        self.send(Response::new_ok(id, result));
    }

    pub fn refuse(&self, id: RequestId, code: ErrorCode, words: &str) {
        self.send(Response::new_err(id, code as i32, words.to_owned()));
    }

    pub fn notify<N: lsp::Notification>(&self, params: N::Params) {
        self.send(Notification::new(N::METHOD.as_str().to_owned(), params));
    }

    pub fn request<R: lsp::Request>(&self, id: &str, params: R::Params) {
        let (id, method) = (id.to_owned().into(), R::METHOD.as_str().to_owned());
        self.send(Request::new(id, method, params));
    }

    pub fn log(&self, message: String) {
        let kind = MessageType::Error;
        self.notify::<LogMessageNotification>(LogMessageParams { kind, message });
    }
}

/// Reads messages until the end of the stream.
pub fn read_all(stream: impl BufRead, output: &Output, take: impl Fn(Message)) {
    let mut stream = Bounded(stream);
    loop {
        match Message::read(&mut stream) {
            Ok(Some(message)) => take(message),
            Ok(None) => return,
            Err(error) => {
                let words: String = error.to_string().chars().take(SHOWN).collect();
                output.log(format!("a message cannot be read: {words}"));
                if error.kind() != ErrorKind::InvalidData {
                    return;
                }
            }
        }
    }
}

/// A stream whose headers are short and announce no message that is too large: memory of the announced size is allocated at once.
struct Bounded<S>(S);

impl<S: BufRead> Read for Bounded<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl<S: BufRead> BufRead for Bounded<S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.0.consume(bytes);
    }

    fn read_line(&mut self, line: &mut String) -> io::Result<usize> {
        let read = (&mut self.0).take(LONGEST_LINE).read_line(line)?;
        let value = line.split_once(": ").map(|(_, value)| value.trim());
        let length = value.and_then(|value| value.parse::<usize>().ok());
        match length.is_some_and(|length| length > LARGEST) {
            true => Err(io::Error::other("it is larger than 128 MiB")),
            false => Ok(read),
        }
    }
}
