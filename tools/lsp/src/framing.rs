//! Messages on a stream: a header with the length, and JSON. Everything that arrives is bounded, and a message that is malformed ends
//! nothing.

use crate::queue::{Incoming, Queue};
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Stdout, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest message, in bytes. It may contain the largest text with every character escaped.
const LARGEST: u64 = 128 << 20;
/// The longest line of a header, in bytes.
const LONGEST_LINE: u64 = 4096;

/// The codes of errors.
pub mod code {
    pub const PARSE_ERROR: i32 = -32700;
    pub const INVALID_REQUEST: i32 = -32600;
    pub const UNKNOWN_METHOD: i32 = -32601;
    pub const INVALID_PARAMS: i32 = -32602;
    pub const INTERNAL: i32 = -32603;
    pub const NOT_INITIALIZED: i32 = -32002;
    pub const REQUEST_FAILED: i32 = -32803;
    pub const CONTENT_MODIFIED: i32 = -32801;
    pub const CANCELLED: i32 = -32800;
}

/// Where answers go. Clones write to the same stream, each message as a whole.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Stdout>>);

impl Output {
    pub fn new(stream: Stdout) -> Output {
        Output(Arc::new(Mutex::new(stream)))
    }

    fn send(&self, message: &Value) {
        let body = message.to_string();
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If the client is gone, reading ends too.
        let _ = write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len());
        let _ = stream.flush();
    }

    pub fn answer(&self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub fn refuse(&self, id: &Value, code: i32, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    pub fn notify(&self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn request(&self, id: &str, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }
}

/// A message as it arrives.
enum Frame {
    Body(Vec<u8>),
    /// What is wrong with it.
    Malformed(&'static str),
    End,
}

/// Reads messages until the end of the stream.
pub fn read_all(stream: &mut impl BufRead, queue: &Queue, output: &Output) {
    loop {
        let body = match frame(stream) {
            Ok(Frame::Body(body)) => body,
            Ok(Frame::Malformed(words)) => {
                output.refuse(&Value::Null, code::PARSE_ERROR, words);
                continue;
            }
            Ok(Frame::End) | Err(_) => return,
        };
        let message: Value = match serde_json::from_slice(&body) {
            Ok(message) => message,
            Err(error) => {
                let words = format!("this is not JSON: {error}");
                output.refuse(&Value::Null, code::PARSE_ERROR, &words);
                continue;
            }
        };
        let id = message.get("id").cloned();
        let is_id = |id: &Value| id.is_string() || id.is_number();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // An answer to one of our requests has no method, and needs no answer.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            if !is_answer {
                let words = "this is neither a request nor a notification";
                output.refuse(&Value::Null, code::INVALID_REQUEST, words);
            }
            continue;
        };
        if id.as_ref().is_some_and(|id| !is_id(id)) {
            let words = "the id of a request is a number or a string";
            output.refuse(&Value::Null, code::INVALID_REQUEST, words);
            continue;
        }
        if method == "$/cancelRequest" {
            let id = message.pointer("/params/id").cloned();
            if let Some(id) = id.filter(|id| queue.cancel(id)) {
                output.refuse(&id, code::CANCELLED, "cancelled");
                continue;
            }
        }
        let method = method.to_owned();
        let mut message = message;
        let params = message.get_mut("params").map(Value::take);
        queue.push(Incoming::Message {
            id,
            method,
            params: params.unwrap_or(Value::Null),
            size: body.len(),
        });
    }
}

/// The next line without its line break; `None` if it is too long. Empty at the end of the stream, like an empty line, for which the
/// second value is false.
fn line(stream: &mut impl BufRead) -> io::Result<(Option<String>, bool)> {
    let mut bytes = Vec::new();
    let read = stream.take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok((Some(String::new()), true));
    }
    if bytes.pop() != Some(b'\n') {
        return Ok((None, false));
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok((Some(text.trim_end().to_owned()), false))
}

fn frame(stream: &mut impl BufRead) -> io::Result<Frame> {
    let mut length = None;
    let mut is_malformed = false;
    let mut is_first = true;
    loop {
        let (line, is_end) = line(stream)?;
        if is_end {
            return Ok(Frame::End);
        }
        match line.as_deref() {
            // Empty lines between messages are skipped.
            Some("") if is_first => continue,
            Some("") => break,
            Some(line) => match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse::<u64>().ok();
                    is_malformed |= length.is_none();
                }
                Some(_) => {}
                None => is_malformed = true,
            },
            None => is_malformed = true,
        }
        is_first = false;
    }
    let Some(length) = length.filter(|_| !is_malformed) else {
        return Ok(Frame::Malformed("the header has no valid Content-Length"));
    };
    if length > LARGEST {
        io::copy(&mut stream.take(length), &mut io::sink())?;
        return Ok(Frame::Malformed("the message is larger than 128 MiB"));
    }
    // The memory grows with what arrives, not with what the header announces.
    let mut body = Vec::new();
    let read = stream.take(length).read_to_end(&mut body)?;
    match u64::try_from(read) == Ok(length) {
        true => Ok(Frame::Body(body)),
        false => Ok(Frame::End),
    }
}
