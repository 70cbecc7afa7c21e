//! Events, and the JSON objects that hold them.

use super::problem::Problem;
use duologue::name::nearest;
use duologue::protocol::Side;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The most bytes in the id of a session.
pub const ID_LIMIT: usize = 256;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message was sent or received.
    Message,
    /// A side has left the session.
    Left,
    /// The session has ended.
    Ended,
    /// The line is one of the session, and the mapping does not say what happened.
    Unnamed,
}

/// One event of a session.
#[derive(Debug)]
pub struct Event<'a> {
    /// The session.
    pub session: Cow<'a, str>,
    /// The name of its protocol.
    pub protocol: Option<Cow<'a, str>>,
    /// What happened.
    pub kind: Kind,
    /// The name of the message; empty for other kinds.
    pub message: Cow<'a, str>,
    /// The side that sent the message, or that has left.
    pub from: Option<Side>,
    /// The side that logged the event.
    pub at: Option<Side>,
}

impl Event<'_> {
    /// Where the message is in a line, or the whole line if it is not there as it is.
    #[must_use]
    pub fn place(&self, line: &[u8]) -> Range<usize> {
        let whole = 0..line.len();
        let Cow::Borrowed(message) = self.message else {
            return whole;
        };
        let lines = line.as_ptr_range();
        let start = message.as_ptr();
        if message.is_empty() || !lines.contains(&start) {
            return whole;
        }
        let start = start.addr() - lines.start.addr();
        start..(start + message.len()).min(line.len())
    }
}

/// What a log calls the parts of an event, and the words in it.
#[derive(Debug)]
pub struct Mapping {
    tree: Node,
    words: Vec<(String, Word)>,
    conditions: Vec<String>,
    /// Whether lines that hold no event are skipped instead of reported.
    is_foreign: bool,
}

/// A value that a word of a log stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A side.
    Side(Side),
    /// The message was sent.
    Send,
    /// The message was received.
    Receive,
    /// A side has left.
    Left,
    /// The session has ended.
    Ended,
}

/// The parts of an event that a mapping can place.
pub const PARTS: [&str; 6] = ["session", "protocol", "message", "from", "at", "kind"];

/// The words of a log of our own.
pub const WORDS: [(&str, Word); 6] = [
    ("client", Word::Side(Side::Client)),
    ("server", Word::Side(Side::Server)),
    ("send", Word::Send),
    ("receive", Word::Receive),
    ("left", Word::Left),
    ("ended", Word::Ended),
];

/// The most conditions of a mapping.
pub const CONDITION_LIMIT: usize = 8;

/// A member of a JSON document that is read, or leads to some.
#[derive(Debug, Default)]
struct Node {
    part: Option<usize>,
    children: Vec<(String, Node)>,
}

impl Node {
    /// Adds the place that a JSON pointer names.
    fn add(&mut self, pointer: &str, part: usize) -> Result<(), String> {
        let Some(steps) = pointer.strip_prefix('/') else {
            return Err(format!(
                "`{pointer}` is not a JSON pointer: it does not begin with `/`"
            ));
        };
        let mut node = self;
        for step in steps.split('/') {
            let step = step.replace("~1", "/").replace("~0", "~");
            let known = node.children.iter().position(|(name, _)| *name == step);
            let index = known.unwrap_or_else(|| {
                node.children.push((step, Node::default()));
                node.children.len() - 1
            });
            node = &mut node.children[index].1;
        }
        if node.part.replace(part).is_some() {
            return Err(format!("two parts or conditions are at `{pointer}`"));
        }
        Ok(())
    }

    fn child(&self, name: &str) -> Option<&Node> {
        let mut children = self.children.iter();
        children
            .find(|(known, _)| known == name)
            .map(|(_, node)| node)
    }
}

impl Mapping {
    /// That of a log of our own: each part is a member of the object.
    #[must_use]
    pub fn own() -> Mapping {
        let mut tree = Node::default();
        for (part, name) in PARTS.iter().enumerate() {
            tree.add(&format!("/{name}"), part)
                .expect("the names differ");
        }
        let words = WORDS.iter().map(|(text, word)| ((*text).to_owned(), *word));
        Mapping {
            tree,
            words: words.collect(),
            conditions: Vec::new(),
            is_foreign: false,
        }
    }

    /// That of another log: JSON pointers of parts by their names, words with what they stand for, which are added to ours, and
    /// pointers with the values that the events' lines have there.
    ///
    /// # Errors
    /// What cannot be used.
    pub fn new(
        parts: &[(&str, &str)],
        words: Vec<(String, Word)>,
        conditions: Vec<(String, String)>,
    ) -> Result<Mapping, String> {
        let mut mapping = Mapping::own();
        mapping.tree = Node::default();
        mapping.is_foreign = true;
        for (name, pointer) in parts {
            let part = PARTS.iter().position(|known| known == name);
            let part = part.ok_or_else(|| format!("an event has no part `{name}`"))?;
            mapping.tree.add(pointer, part)?;
        }
        if conditions.len() > CONDITION_LIMIT {
            return Err(format!("there are more than {CONDITION_LIMIT} conditions"));
        }
        for (at, (pointer, value)) in conditions.into_iter().enumerate() {
            mapping.tree.add(&pointer, PARTS.len() + at)?;
            mapping.conditions.push(value);
        }
        // A later meaning of a word overrides ours.
        mapping.words.splice(0..0, words);
        Ok(mapping)
    }

    fn word(&self, text: &str) -> Option<Word> {
        let mut words = self.words.iter();
        words
            .find(|(known, _)| known == text)
            .map(|(_, word)| *word)
    }

    fn side(&self, part: &str, text: Option<&str>) -> Result<Option<Side>, Problem> {
        let Some(text) = text else { return Ok(None) };
        match self.word(text) {
            Some(Word::Side(side)) => Ok(Some(side)),
            _ => Err(Problem::new(format!(
                "`{part}` is `{text}`, and not a side: client or server"
            ))),
        }
    }

    /// The event in a line of the log of a side, or of neither; `None` if another log has no session there.
    ///
    /// # Errors
    /// Why the line cannot be read.
    pub fn read<'a>(
        &self,
        line: &'a [u8],
        side: Option<Side>,
    ) -> Result<Option<Event<'a>>, Problem> {
        if line.trim_ascii_start().first() != Some(&b'{') && !self.is_foreign {
            return Err(Problem::new("this is not a JSON object"));
        }
        let mut found = Found::default();
        let mut input = serde_json::Deserializer::from_slice(line);
        let slot = Slot {
            node: &self.tree,
            found: &mut found,
            is_root: true,
        };
        let read = slot.deserialize(&mut input).and_then(|()| input.end());
        if let Err(error) = read {
            return Err(Problem::of(&error));
        }
        let values = &found.values[PARTS.len()..];
        let mut conditions = self.conditions.iter().zip(values);
        if conditions.any(|(wanted, value)| value.as_deref() != Some(wanted)) {
            return Ok(None);
        }
        let [session, protocol, message, from, at, kind, ..] = found.values;
        let unnamed = |session: Option<Cow<'a, str>>| {
            let session = session.filter(|session| session.len() <= ID_LIMIT)?;
            Some(Event {
                session,
                protocol: None,
                kind: Kind::Unnamed,
                message: Cow::Borrowed(""),
                from: None,
                at: None,
            })
        };
        if self.is_foreign && (session.is_none() || message.is_none() && kind.is_none()) {
            return Ok(unnamed(session));
        }
        let session = session.ok_or_else(|| Problem::new("the event has no `session`"))?;
        let kind = match kind {
            None => None,
            Some(kind) => match self.word(&kind) {
                None | Some(Word::Side(_)) if self.is_foreign => return Ok(unnamed(Some(session))),
                None | Some(Word::Side(_)) => {
                    let words = "is none of send, receive, left and ended";
                    let near = nearest(&kind, ["send", "receive", "left", "ended"]);
                    let near = near.map(|near| format!("; did you mean `{near}`?"));
                    let near = near.unwrap_or_default();
                    return Err(Problem::new(format!("the kind `{kind}` {words}{near}")));
                }
                kind => kind,
            },
        };
        let sides = [
            self.side("from", from.as_deref())?,
            logged(self.side("at", at.as_deref())?, side)?,
        ];
        Event::new(session, protocol, message, sides, kind).map(Some)
    }
}

/// The side that logged an event, of which the event and the whole log may each say which it is.
pub(super) fn logged(at: Option<Side>, log: Option<Side>) -> Result<Option<Side>, Problem> {
    match (at, log) {
        (Some(at), Some(log)) if at != log => Err(Problem::new(format!(
            "the {} logged the event, and the log is that of the {}",
            at.word(),
            log.word()
        ))),
        (at, log) => Ok(at.or(log)),
    }
}

impl<'a> Event<'a> {
    /// The event that has these parts, if they agree.
    pub(super) fn new(
        session: Cow<'a, str>,
        protocol: Option<Cow<'a, str>>,
        message: Option<Cow<'a, str>>,
        [from, at]: [Option<Side>; 2],
        kind: Option<Word>,
    ) -> Result<Event<'a>, Problem> {
        if session.len() > ID_LIMIT {
            return Err(Problem::new(format!(
                "the id of the session has more than {ID_LIMIT} bytes"
            )));
        }
        let event = |kind, message, from, at| Event {
            session,
            protocol,
            kind,
            message,
            from,
            at,
        };
        let is_sent = match kind {
            Some(Word::Left) => return Ok(event(Kind::Left, Cow::Borrowed(""), from.or(at), at)),
            Some(Word::Ended) => return Ok(event(Kind::Ended, Cow::Borrowed(""), from, at)),
            Some(Word::Send) => Some(true),
            Some(Word::Receive) => Some(false),
            Some(Word::Side(_)) | None => None,
        };
        let Some(message) = message else {
            return Err(Problem::new("the event has no `message`"));
        };
        let sender = |at: Side, is_sent| if is_sent { at } else { at.dual() };
        let (from, at) = match (from, at, is_sent) {
            (Some(from), Some(at), Some(is_sent)) if sender(at, is_sent) != from => {
                return Err(Problem::new(
                    "`from`, `at` and `kind` contradict each other",
                ));
            }
            (Some(from), None, Some(is_sent)) => (Some(from), Some(sender(from, is_sent))),
            (None, Some(at), Some(is_sent)) => (Some(sender(at, is_sent)), Some(at)),
            (None, Some(_), None) => {
                return Err(Problem::new(
                    "the event does not say which side sends: add `from` or `kind`",
                ));
            }
            (None, None, Some(_)) => {
                return Err(Problem::new(
                    "the event does not say which side it is about: add `from` or `at`",
                ));
            }
            (from, at, _) => (from, at),
        };
        Ok(event(Kind::Message, message, from, at))
    }
}

/// A text that refers to the document where it is written there without escapes.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The values that a mapping has found.
#[derive(Default)]
struct Found<'de> {
    values: [Option<Cow<'de, str>>; PARTS.len() + CONDITION_LIMIT],
}

/// A value of the document with what is read of it. What is not read is skipped without recursion, however deep it is.
struct Slot<'n, 'f, 'de> {
    node: &'n Node,
    found: &'f mut Found<'de>,
    is_root: bool,
}

impl<'de> Slot<'_, '_, 'de> {
    fn keep<E: serde::de::Error>(self, text: Option<Cow<'de, str>>) -> Result<(), E> {
        if self.is_root {
            return Err(E::custom("this is a single value, not a JSON object"));
        }
        if let Some(part) = self.node.part {
            self.found.values[part] = text;
        }
        Ok(())
    }

    /// What is read of a value inside this one.
    fn inner<'s>(&'s mut self, node: &'s Node) -> Slot<'s, 's, 'de> {
        Slot {
            node,
            found: self.found,
            is_root: false,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Slot<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Slot<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<(), E> {
        self.keep(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.keep(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        self.keep(Some(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<(), E> {
        self.keep(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<(), E> {
        if self.node.part == Some(0) {
            let words =
                "the session is not a whole number of at most 64 bits: write it as a string";
            return Err(E::custom(words));
        }
        self.keep(Some(Cow::Owned(number.to_string())))
    }

    fn visit_bool<E: serde::de::Error>(self, is: bool) -> Result<(), E> {
        self.keep(Some(Cow::Borrowed(if is { "true" } else { "false" })))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.keep(None)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match self.node.child(&name) {
                Some(node) => map.next_value_seed(self.inner(node))?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        if self.is_root {
            return Err(A::Error::custom("this is a list, not a JSON object"));
        }
        for index in 0_usize.. {
            let child = match self.node.children.is_empty() {
                true => None,
                false => self.node.child(&index.to_string()),
            };
            let more = match child {
                Some(node) => list.next_element_seed(self.inner(node))?.is_some(),
                None => list.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }
}
