//! The text of protocols from the server's side. Only directions and sides change. Everything else stays as written, so that the
//! dual of the dual is the original text.

use crate::protocol::{FileId, Program, ProtocolId, Referent};
use crate::source::Sources;
use std::collections::BTreeSet;
use std::ops::Range;

/// The text of a file with all its protocols seen from the server's side. In the types of their endpoints, `client` and `server`
/// are swapped too, so that the same endpoints are meant, and so are those in `#[accepts(...)]`.
#[must_use]
pub fn file(program: &Program, sources: &Sources, file: FileId) -> String {
    let text = sources.get(program.file(file).source).text();
    let edits = edits(program, file, &program.file(file).protocols);
    apply(text, &edits, 0..text.len())
}

/// The declaration of one protocol, seen from the server's side.
#[must_use]
pub fn protocol(program: &Program, sources: &Sources, id: ProtocolId) -> String {
    let protocol = program.protocol(id);
    let text = sources.get(program.file(protocol.file).source).text();
    let edits = edits(program, protocol.file, &[id]);
    apply(text, &edits, protocol.span.range()) + "\n"
}

/// The edits of a file that turn these protocols into their duals, in order: of the directions of their states, of the sides
/// that accept older fingerprints, and of the sides of their endpoints wherever they are mentioned.
fn edits(
    program: &Program,
    file: FileId,
    turned: &[ProtocolId],
) -> Vec<(Range<usize>, &'static str)> {
    let source = program.file(file).source;
    let turned: BTreeSet<ProtocolId> = turned.iter().copied().collect();
    let mut edits = Vec::new();
    // The last protocol whose state was declared, and the last one that was named.
    let (mut owner, mut named) = (None, None);
    // Sides in the attributes of the protocol or instance that is declared next.
    let mut acceptors = Vec::new();
    for found in program.uses.in_source(source) {
        let is_turned = |id: Option<ProtocolId>| id.is_some_and(|id| turned.contains(&id));
        let range = found.span.range();
        let declared = if let Referent::Protocol(id) = found.referent {
            Some(id)
        } else if let Referent::Instance(id) = found.referent {
            Some(program.instance(id).protocol)
        } else {
            None
        };
        let declared = declared.filter(|_| found.is_declaration);
        if declared.is_some() {
            let acceptors = std::mem::take(&mut acceptors).into_iter();
            edits.extend(acceptors.filter(|_| is_turned(declared)));
        }
        if let Referent::State(id, _) = found.referent
            && found.is_declaration
        {
            owner = Some(id);
        } else if let Referent::Protocol(id) = found.referent {
            named = Some(id);
        } else if let Referent::Direction(direction) = found.referent
            && is_turned(owner)
        {
            edits.push((range, direction.dual().word()));
        } else if let Referent::Acceptor(side) = found.referent {
            acceptors.push((range, side.dual().word()));
        } else if let Referent::Side(side) = found.referent
            && is_turned(named)
        {
            edits.push((range, side.dual().word()));
        }
    }
    edits
}

fn apply(text: &str, edits: &[(Range<usize>, &str)], shown: Range<usize>) -> String {
    let mut result = String::new();
    let mut at = shown.start;
    for (range, word) in edits {
        if range.start >= at && range.end <= shown.end {
            result += &text[at..range.start];
            result += word;
            at = range.end;
        }
    }
    result + &text[at..shown.end]
}
