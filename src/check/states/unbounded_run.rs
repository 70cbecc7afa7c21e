//! A loop in one direction.

use crate::check::findings::{Findings, Subject};
use crate::check::levels::Location;
use crate::protocol::{Direction, Known, Next, Side};

// Allowed by default, because streams are such loops.
rule! {
    "unbounded-run", Allow,
    "a loop stays in one direction, so a sender can be made to wait"
}

fn find(subject: &Subject<'_>, findings: &mut Findings) {
    for case in subject.cases_of(Known::Behavior) {
        for run in case.shape.graph.one_way_loops() {
            let protocol = case.protocol;
            let first = protocol.state(run[0]);
            findings.report(&RULE, Location::state(protocol, first), || {
                let active = first.direction.map_or(Side::Server, Direction::active_side).word();
                let name = &first.name;
                let message = format!("the {active} can keep sending from state `{name}` without an answer");
                let inside = |next: &Next| next.state().is_some_and(|state| run.contains(&state));
                let mut finding = RULE.finding(name.span, message).label("the loop begins here");
                let states = run.iter().take(4).map(|id| protocol.state(*id));
                let going_on = states.flat_map(|state| state.messages.iter().find(|message| inside(&message.next)));
                for message in going_on {
                    finding = finding.related(message.next_span, "the direction does not change here");
                }
                finding
                    .note("the number of messages in a row has no limit, so the pipe is a ring of fixed size, and sending waits when it is full")
                    .help("let the other side answer from time to time, or allow the rule")
            });
        }
    }
}
