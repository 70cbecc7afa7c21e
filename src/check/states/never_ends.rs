//! A protocol without any terminal.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::protocol::{Known, Next, Protocol};

// Allowed by default, because streams and services are meant to run until a side disconnects.
rule! {
    "never-ends", Allow,
    "a protocol has no terminal: sessions end only when a side disconnects"
}

/// Whether a protocol has a terminal, reachable or not.
pub fn has_terminal(protocol: &Protocol) -> bool {
    protocol.states.iter().any(|state| {
        let ends = |next: &Next| matches!(next, Next::End);
        state.direction.is_none() || state.messages.iter().any(|message| ends(&message.next))
    })
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases_of(Known::Behavior) {
        let protocol = case.protocol;
        let is_stuck = protocol
            .states
            .iter()
            .any(|state| state.messages.is_empty());
        if is_stuck || has_terminal(protocol) {
            continue;
        }
        findings.report(&RULE, Location::protocol(protocol), || {
            let name = &protocol.name;
            RULE.finding(name.span, format!("protocol `{name}` never ends"))
                .label("no message leads to `!`")
                .note("a session ends only when one side disconnects")
                .help("add a message such as `quit -> !`")
        });
    }
}
