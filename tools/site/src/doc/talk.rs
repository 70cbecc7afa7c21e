//! Shortest dialogues, of which a page shows a part that does not grow with the protocol.

use super::context::Context;
use crate::html::Html;
use duologue::graph::{Step, Way};
use duologue::protocol::{ProtocolId, Side, StateId};

/// The most messages that are shown.
const SHOWN: usize = 12;
/// The longest dialogue that an address opens in the stepper.
pub const PLAYED: usize = 100;

/// A dialogue.
#[derive(Default)]
pub struct Talk {
    pub steps: Vec<StepView>,
    /// How many messages are left out, in words.
    pub earlier: String,
    pub later: String,
    /// The address that opens it in the stepper.
    pub play: Option<String>,
}

pub struct StepView {
    pub side: &'static str,
    pub message: Html,
}

/// The address of a page with a dialogue in its stepper.
pub fn play<'a>(page: &str, messages: impl Iterator<Item = &'a str>) -> String {
    messages.fold(format!("{page}#play"), |address, message| {
        address + "/" + message
    })
}

/// The shortest dialogue to a state, of which `ways` has the ends.
pub fn to(
    context: &Context<'_>,
    id: ProtocolId,
    state: StateId,
    ways: &[Option<Way>],
) -> Option<Talk> {
    let length = ways[state.index()]?.length;
    let is_played = length <= PLAYED;
    let most = if is_played { length } else { SHOWN };
    let mut steps = Vec::new();
    let mut at = state;
    while steps.len() < most {
        let step = ways[at.index()]?.step?;
        steps.push(step);
        at = step.state;
    }
    steps.reverse();
    let mut talk = Talk::default();
    if is_played {
        talk.play = Some(played(context, id, &steps));
    }
    let shown = steps.len().min(SHOWN);
    talk.steps = steps_shown(context, id, &steps[steps.len() - shown..]);
    talk.earlier = left_out(length - shown, "before these");
    Some(talk)
}

/// A shortest dialogue from a state to the end, of which `ways` has the beginnings.
pub fn out(
    context: &Context<'_>,
    id: ProtocolId,
    state: StateId,
    ways: &[Option<Way>],
) -> Option<Talk> {
    let protocol = context.program.protocol(id);
    let length = ways[state.index()]?.length;
    let mut steps = Vec::new();
    let mut at = state;
    while steps.len() < length.min(SHOWN) {
        let step = ways[at.index()]?.step?;
        steps.push(step);
        match protocol.state(at).messages[step.message].next.state() {
            None => break,
            Some(next) => at = next,
        }
    }
    Some(Talk {
        later: left_out(length - steps.len(), "after these"),
        steps: steps_shown(context, id, &steps),
        ..Talk::default()
    })
}

fn left_out(count: usize, place: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!("1 message {place} is not shown"),
        count => format!("{count} messages {place} are not shown"),
    }
}

fn played(context: &Context<'_>, id: ProtocolId, steps: &[Step]) -> String {
    let protocol = context.program.protocol(id);
    let messages = steps.iter().map(|step| {
        let messages = &protocol.state(step.state).messages;
        messages[step.message].name.text()
    });
    play(context.addresses.protocol(id), messages)
}

fn steps_shown(context: &Context<'_>, id: ProtocolId, steps: &[Step]) -> Vec<StepView> {
    let protocol = context.program.protocol(id);
    let view = |step: &Step| {
        let state = protocol.state(step.state);
        StepView {
            side: state.active_side().map_or("", Side::word),
            message: context.short_signature(&state.messages[step.message]),
        }
    };
    steps.iter().map(view).collect()
}
