//! Findings, and verdicts on changes.

use super::context::Context;
use super::talk::{PLAYED, play};
use super::{Compared, Comparison};
use crate::html::{Html, sentence};
use duologue::diagnostic::Diagnostic;
use duologue::endpoint::next;
use duologue::protocol::{Protocol, ProtocolId};
use duologue::source::Sources;

/// A finding.
pub struct FindingView {
    pub message: Html,
    pub notes: Vec<Html>,
    pub place: Html,
    /// The address that opens its dialogue in the stepper.
    pub play: Option<String>,
}

/// What became of a protocol since an older version.
pub struct VerdictView {
    pub against: String,
    pub words: &'static str,
    pub reason: Html,
    pub findings: Vec<FindingView>,
}

/// The finding, with its dialogue in the stepper of the protocol's page. The texts are those that its spans refer to.
pub fn finding(
    context: &Context<'_>,
    found: &Diagnostic,
    sources: &Sources,
    protocol: Option<ProtocolId>,
) -> FindingView {
    // A dialogue of another version is named by the names in its text.
    let spoken = found.dialogue.iter();
    let names: Vec<&str> = spoken.map(|step| sources.slice(step.span)).collect();
    let play = protocol.and_then(|id| {
        let known = spoken_here(context.program.protocol(id), &names);
        let page = context.addresses.protocol(id);
        (1..=PLAYED)
            .contains(&known)
            .then(|| play(page, names[..known].iter().copied()))
    });
    FindingView {
        message: sentence(&found.message),
        notes: found.notes.iter().map(|note| sentence(note)).collect(),
        place: context.place(found.primary.span),
        play,
    }
}

pub fn verdict(
    context: &Context<'_>,
    id: ProtocolId,
    name: &str,
    versions: &Comparison<'_>,
) -> Option<VerdictView> {
    let compared = versions.compared;
    let place = compared.binary_search_by(|compared| compared.verdict.name.as_str().cmp(name));
    let Compared { verdict, findings } = &compared[place.ok()?];
    let findings = findings.iter();
    Some(VerdictView {
        against: versions.against.to_owned(),
        words: verdict.outcome.words(),
        reason: sentence(&verdict.reason),
        findings: findings
            .map(|found| finding(context, found, versions.sources, Some(id)))
            .collect(),
    })
}

/// How many of the messages, from the first, a session of the protocol can begin with.
fn spoken_here(protocol: &Protocol, names: &[&str]) -> usize {
    let mut at = Some(protocol.start());
    for (count, name) in names.iter().enumerate() {
        let messages = at.map_or(&[][..], |state| &state.messages);
        let Some(message) = messages.iter().find(|message| message.name.text() == *name) else {
            return count;
        };
        at = next(protocol, &message.next);
    }
    names.len()
}
