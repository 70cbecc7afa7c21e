//! Traces and logs of OpenTelemetry as JSON: an event of a span, or a record of a log, is an event of a session if its attributes say
//! so.

use super::event::{Event, Text, WORDS, Word, logged};
use super::problem::Problem;
use duologue::protocol::Side;
use serde::Deserialize;
use serde_json::Value as Json;
use std::borrow::Cow;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Document<'a> {
    #[serde(borrow)]
    resource_spans: Vec<Resource<'a>>,
    resource_logs: Vec<Resource<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resource<'a> {
    #[serde(borrow)]
    resource: Attributed<'a>,
    #[serde(rename = "scopeSpans", alias = "scopeLogs")]
    scopes: Vec<Scope<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Scope<'a> {
    #[serde(borrow, rename = "spans", alias = "logRecords")]
    records: Vec<Record<'a>>,
}

/// A span, an event of one, or a record of a log.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow)]
    span_id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    body: Option<Value<'a>>,
    attributes: Vec<Attribute<'a>>,
    events: Vec<Record<'a>>,
}

impl<'a> Resource<'a> {
    fn records(&self) -> impl Iterator<Item = &Record<'a>> {
        self.scopes.iter().flat_map(|scope| &scope.records)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Attributed<'a> {
    #[serde(borrow)]
    attributes: Vec<Attribute<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Attribute<'a> {
    #[serde(borrow)]
    key: Option<Text<'a>>,
    value: Option<Value<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Value<'a> {
    #[serde(borrow)]
    string_value: Option<Text<'a>>,
    int_value: Option<Json>,
}

impl<'a> Value<'a> {
    fn text(&self) -> Option<Cow<'a, str>> {
        match (&self.string_value, &self.int_value) {
            (Some(text), _) => Some(text.0.clone()),
            (None, Some(Json::String(text))) => Some(Cow::Owned(text.clone())),
            (None, Some(Json::Number(number))) => Some(Cow::Owned(number.to_string())),
            _ => None,
        }
    }
}

/// The value of the first attribute of this name, with or without `duologue.` in front.
fn value<'a>(lists: &[&[Attribute<'a>]], name: &str) -> Option<Cow<'a, str>> {
    let mut all = lists.iter().flat_map(|list| list.iter());
    let found = all.find(|attribute| {
        let key = attribute.key.as_ref().map_or("", |key| key.0.as_ref());
        key.strip_prefix("duologue.").unwrap_or(key) == name
    })?;
    found.value.as_ref()?.text()
}

fn word(name: &str, text: Option<&str>) -> Result<Option<Word>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let mut words = WORDS.iter().filter(|(known, _)| *known == text);
    match words.next() {
        Some((_, word)) => Ok(Some(*word)),
        None => Err(Problem::new(format!(
            "the attribute `{name}` is `{text}`, which has no meaning"
        ))),
    }
}

/// The events of sessions in a document of a side, or of neither, in its order.
///
/// # Errors
/// Why the document cannot be read.
pub fn events(document: &[u8], log: Option<Side>) -> Result<Vec<Event<'_>>, Problem> {
    let document: Document<'_> =
        serde_json::from_slice(document).map_err(|error| Problem::of(&error))?;
    let mut events = Vec::new();
    for resource in &document.resource_spans {
        for span in resource.records() {
            for event in &span.events {
                let lists: [&[_]; 3] = [
                    &event.attributes,
                    &span.attributes,
                    &resource.resource.attributes,
                ];
                let name = event.name.as_ref().map(|name| name.0.clone());
                events.extend(event_of(&lists, name, span.span_id.as_ref(), log)?);
            }
        }
    }
    for resource in &document.resource_logs {
        for record in resource.records() {
            let lists: [&[_]; 2] = [&record.attributes, &resource.resource.attributes];
            let name = record.body.as_ref().and_then(Value::text);
            events.extend(event_of(&lists, name, record.span_id.as_ref(), log)?);
        }
    }
    Ok(events)
}

/// The event with these attributes, the most specific first; `None` if it is not one of a session.
fn event_of<'a>(
    lists: &[&[Attribute<'a>]],
    name: Option<Cow<'a, str>>,
    span: Option<&Text<'a>>,
    log: Option<Side>,
) -> Result<Option<Event<'a>>, Problem> {
    let own = &lists[..1];
    let session = value(lists, "session");
    let session = session.or_else(|| span.map(|span| span.0.clone()).filter(|id| !id.is_empty()));
    let message = value(own, "message");
    let sender = value(own, "from").or_else(|| value(own, "sender"));
    let kind = match word("kind", value(own, "kind").as_deref()) {
        // An attribute of another program, whose event is not one of a session.
        Err(_) if message.is_none() && sender.is_none() => return Ok(None),
        kind => kind?,
    };
    let Some(session) = session else {
        return Ok(None);
    };
    let protocol = value(lists, "protocol");
    // The observers of the runtimes report the runs of a session, which have a number of messages, and its end.
    if message.is_none() && kind.is_none() && value(own, "messages").is_some() {
        return Ok(None);
    }
    if message.is_none() && sender.is_none() && kind.is_none() {
        let is_end = name.as_deref() == Some("ended") && protocol.is_some();
        let ended = Event::new(session, protocol, None, [None, log], Some(Word::Ended));
        return if is_end { ended.map(Some) } else { Ok(None) };
    }
    let side = |name: &str, text: Option<Cow<'a, str>>| match word(name, text.as_deref())? {
        None => Ok(None),
        Some(Word::Side(side)) => Ok(Some(side)),
        Some(_) => Err(Problem::new(format!(
            "the attribute `{name}` is not a side"
        ))),
    };
    let at = logged(side("at", value(lists, "at"))?, log)?;
    let sides = [side("from", sender)?, at];
    Event::new(session, protocol, message.or(name), sides, kind).map(Some)
}
