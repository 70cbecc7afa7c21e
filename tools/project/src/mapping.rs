//! `[traces.NAME]` of the configuration: where the lines of a log have the parts of an event.

use duologue::name::instead;
use duologue_traces::{Mapping, PARTS, WORDS, Word};
use serde::Deserialize;
use std::collections::BTreeMap;

/// JSON pointers of the parts, and what else describes a log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logs {
    session: String,
    message: String,
    protocol: Option<String>,
    from: Option<String>,
    at: Option<String>,
    kind: Option<String>,
    /// What the log says instead of `client`, `server`, `send`, `receive`, `left` and `ended`.
    #[serde(default)]
    words: BTreeMap<String, Vec<String>>,
    /// JSON pointers with the values that the lines of events have there.
    #[serde(default)]
    only: BTreeMap<String, String>,
}

impl Logs {
    /// The mapping, or why it cannot be used.
    pub fn mapping(self) -> Result<Mapping, String> {
        let pointers = [
            Some(self.session),
            self.protocol,
            Some(self.message),
            self.from,
            self.at,
            self.kind,
        ];
        let parts = PARTS.iter().zip(&pointers);
        let parts = parts.filter_map(|(name, pointer)| Some((*name, pointer.as_deref()?)));
        let parts: Vec<(&str, &str)> = parts.collect();
        let mut words = Vec::new();
        for (name, texts) in self.words {
            let word = word(&name)?;
            for text in texts {
                let mut known = words.iter();
                if known.any(|(known, other)| *known == text && *other != word) {
                    return Err(format!("the word `{text}` has two meanings"));
                }
                words.push((text, word));
            }
        }
        Mapping::new(&parts, words, self.only.into_iter().collect())
    }
}

fn word(name: &str) -> Result<Word, String> {
    let mut known = WORDS.iter();
    if let Some((_, word)) = known.find(|(text, _)| *text == name) {
        return Ok(*word);
    }
    let names = WORDS.iter().map(|(text, _)| *text);
    let instead = instead(name, names);
    Err(format!("an event has no word `{name}`{instead}"))
}
