//! `breaking --accept`: which side of the new version accepts the old one's fingerprint between processes, and the attribute that says so.

use crate::fix::edit;
use duologue::compile::{Compilation, Request};
use duologue::fingerprint::{Acceptance, Fingerprint, accepts, attribute};
use duologue::protocol::limits::ACCEPTED;
use duologue::protocol::{Program, Side};
use duologue::relation::{Fate, Travel, View, can_leave, tag_mismatch, versions};
use duologue::source::Span;
use duologue_project::Failure;

/// Which side may accept the fingerprint of the old version, of a protocol whose versions can both be used between processes.
pub struct Accepting<'a> {
    new: View<'a>,
    old: Fingerprint,
    pub may: Acceptance,
    /// The side for which an attribute has to be written.
    pub missing: Option<Side>,
}

impl Accepting<'_> {
    /// `None` if the two versions have the same fingerprint, or stay in one process.
    pub fn between<'a>(old: View<'_>, new: View<'a>) -> Option<Accepting<'a>> {
        // Versions with the same messages at the same positions have the same fingerprint.
        let differ = |old, new| tag_mismatch(old, new).is_some();
        let is_meant = (differ(old, new) || differ(new, old)) && can_leave(old) && can_leave(new);
        is_meant.then(|| {
            let may = Acceptance::between(old, new);
            let missing = may.unwritten(old, new);
            let old = Fingerprint::of(old);
            Accepting {
                new,
                old,
                may,
                missing,
            }
        })
    }

    /// A line about the side, if there is one. `is_added`: what was missing has been written.
    pub fn words(&self, is_added: bool) -> String {
        let Acceptance::By(side) = self.may else {
            return String::new();
        };
        let (side, old) = (side.word(), self.old);
        let (verb, rest) = match self.missing {
            Some(missing) => (
                "may accept",
                format!(": `--accept` adds `{}`", attribute(missing, old)),
            ),
            None if is_added => ("accept", ": added".to_owned()),
            None => ("accept", String::new()),
        };
        format!("    between processes {side}s {verb} {old} of the old version{rest}\n")
    }

    /// What has to be changed in the text so that the side accepts the old fingerprint.
    fn edit(&self, compilation: &Compilation) -> Option<(Span, String)> {
        let attribute = attribute(self.missing?, self.old);
        let mut written = accepts(self.new).iter();
        if let Some(wrong) = written.find(|own| own.fingerprint == self.old.0) {
            return Some((wrong.span, attribute));
        }
        let head = match self.new.instance {
            Some(instance) => instance.head,
            None => self.new.description().head,
        };
        let text = compilation.sources.get(head.source).text();
        let start = head.range().start;
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let indent = &text[line..start];
        let first = text.split('\n').next().unwrap_or_default();
        let separator = match indent.chars().all(|letter| letter == ' ' || letter == '\t') {
            true if first.ends_with('\r') => format!("\r\n{indent}"),
            true => format!("\n{indent}"),
            false => " ".to_owned(),
        };
        let place = Span {
            end: head.start,
            ..head
        };
        Some((place, attribute + &separator))
    }

    /// Whether the side for which an attribute has to be added has as many as it can have.
    fn is_full(&self) -> bool {
        let own = accepts(self.new).iter();
        let own = own.filter(|own| Some(own.side) == self.missing);
        let is_replaced = accepts(self.new)
            .iter()
            .any(|own| own.fingerprint == self.old.0);
        !is_replaced && own.count() >= ACCEPTED
    }
}

/// Writes the attributes that are missing into the files. Returns the names of the protocols that got one.
pub fn write(
    request: &Request,
    old: &Program,
    compiled: &Compilation,
    new: &Program,
) -> Result<Vec<String>, Failure> {
    let (mut names, mut edits) = (Vec::new(), Vec::new());
    for versions in versions(old, new, Travel::Names) {
        let Fate::Kept(old, new, _) = versions.fate else {
            continue;
        };
        let Some(accepting) = Accepting::between(old, new) else {
            continue;
        };
        if accepting.is_full() {
            bail_environment!(
                "`{}` accepts {ACCEPTED} fingerprints for this side already: remove the oldest first",
                versions.name
            );
        }
        if let Some(change) = accepting.edit(compiled) {
            names.push(versions.name);
            edits.push(change);
        }
    }
    edit(request, compiled, &edits, "--accept")?;
    Ok(names)
}
