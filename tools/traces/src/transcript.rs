//! Transcripts: one line for each message that a side has received, such as `server <- login("holk", "1234")`.

use super::event::{Event, Word};
use super::problem::Problem;
use duologue::protocol::Side;
use std::borrow::Cow;

/// Reads transcripts, each of which is one session.
#[derive(Debug)]
pub struct Transcript {
    /// The id of the session.
    session: String,
}

impl Transcript {
    /// A transcript, which becomes the session of this name.
    #[must_use]
    pub fn new(session: impl Into<String>) -> Transcript {
        Transcript {
            session: session.into(),
        }
    }

    /// The event in a line; `None` if the line is empty.
    ///
    /// # Errors
    /// Why the line cannot be read.
    pub fn read<'a>(&'a self, line: &'a [u8]) -> Result<Option<Event<'a>>, Problem> {
        let line = std::str::from_utf8(line).map_err(|error| Problem {
            message: "the line is not UTF-8".to_owned(),
            byte: Some(error.valid_up_to()),
            is_cut: false,
        })?;
        let line = line.trim();
        if line.is_empty() {
            return Ok(None);
        }
        let read = line.split_once(" <- ");
        let (receiver, message) = read.ok_or_else(|| {
            Problem::new("this is no line of a transcript, such as `server <- login(\"holk\")`")
        })?;
        let side = Side::named(receiver);
        let receiver = side.ok_or_else(|| {
            Problem::new(format!("`{receiver}` is neither `client` nor `server`"))
        })?;
        let session = Cow::Borrowed(self.session.as_str());
        // The transcript is that of both sides.
        let sides = [Some(receiver.dual()), None];
        if message == "closed" {
            return Event::new(session, None, None, sides, Some(Word::Left)).map(Some);
        }
        let name = message.split('(').next().unwrap_or_default();
        let name = Some(Cow::Borrowed(name));
        Event::new(session, None, name, sides, None).map(Some)
    }
}
