//! A unit as its templates see it: words, types and flags. A template composes names from them: the function that sends `deposit` is
//! the name of the endpoint, `_send_` and the word of the message. What is composed is what [`names`](super::names) declares.

use super::ctype::CType;
use super::names::handle;
use super::names::spelling;
use super::names::units::UnitKind;
use super::paths::TagCheck;
use super::scope::Scope;
use super::types::{Facts, Types};
use super::{ALWAYS_FIT, VERSION};
use crate::endpoint::{Activity, Edge};
use crate::graph::Capacity;
use crate::languages::limits::{message_docs, state_docs, time_limit};
use crate::protocol::{Message, Side};

/// The header checks for at most this many messages of a state that it can receive by itself; the library finds the others.
const MOST_CHECKED: usize = 4;

/// A unit.
pub struct UnitView<'a> {
    /// The file that it is generated from.
    pub source: String,
    /// The version that the included headers must have, as arguments of `DUO_MADE_BY`.
    pub version: &'static str,
    /// What its names begin with, and the same in macros.
    pub prefix: &'a str,
    pub upper: String,
    /// What distinguishes its header from that of a unit with the same name, in the name of a macro.
    pub owner: String,
    /// The name of its files.
    pub file: &'a str,
    /// The name of the protocol with its package.
    pub name: String,
    pub capacity: u32,
    pub capacity_name: String,
    pub is_unbounded: bool,
    pub ring: Option<u32>,
    pub most_messages: usize,
    /// Whether only endpoint types mention it, so that no session starts in it.
    pub is_mentioned: bool,
    /// Whether its sessions can be between processes.
    pub leaves: bool,
    pub sides: [SideView; 2],
    pub states: Vec<StateView<'a>>,
}

/// A side of a unit.
pub struct SideView {
    pub word: &'static str,
    pub upper: &'static str,
    /// The position of its endpoint among those of a state.
    pub index: usize,
    /// What the names begin with of its endpoints in any state: `bank_client_any`; and the tag of one whose session is over.
    pub any: String,
    pub ended: String,
    /// Whether it has no callbacks.
    pub has_nothing: bool,
}

/// A state.
pub struct StateView<'a> {
    /// Its position in the unit.
    pub number: usize,
    /// What the names of its types begin with: `bank_login`.
    pub name: String,
    /// Its name in the protocol, and as a word of longer names.
    pub text: &'a str,
    pub word: &'a str,
    /// Its name as a member.
    pub member: String,
    pub docs: Vec<String>,
    pub time_limit: Option<String>,
    /// Both.
    pub limited_docs: Vec<String>,
    pub is_over: bool,
    /// The side that receives, and the one that sends in the runtime's constants.
    pub receiver: &'static str,
    pub role: &'static str,
    pub ends: [EndView; 2],
    pub messages: Vec<MessageView<'a>>,
    /// The constant of an enum without messages.
    pub nothing: String,
    /// Whether its endpoints can be in messages or values.
    pub travels: bool,
    /// Whether sessions can be in it, and whether they start in this unit.
    pub is_own: bool,
    pub is_begun: bool,
    /// Whether several senders can share its sending endpoint.
    pub is_shared: bool,
    /// Whether a sender may find the ring full, and whether it may have to wait for that or another reason.
    pub fills: bool,
    pub may_wait: bool,
    /// Whether some message keeps the direction, leads to another state, or is the last.
    pub stays: bool,
    pub may_continue: bool,
    pub may_end: bool,
    /// Whether parts of some message are stored outside of it, and whether some message owns something.
    pub spreads: bool,
    pub owns: bool,
    /// Whether it has one message only.
    pub is_single: bool,
    /// Whether the header receives messages of plain bytes by itself, reversals in a single line, and numbers in a lane; and
    /// whether only one message can be in the lane.
    pub has_plain: bool,
    pub has_turns: bool,
    pub has_lane: bool,
    pub has_only_lane: bool,
}

/// An endpoint of a state.
pub struct EndView {
    /// What its names begin with: `bank_client_login`.
    pub name: String,
    pub side: &'static str,
    pub peer: &'static str,
    /// The side in the runtime's constants.
    pub role: &'static str,
    pub sends: bool,
    pub receives: bool,
    /// The member of its struct.
    pub handle: &'static str,
    /// The tag of the state among all states of the side.
    pub in_state: String,
}

/// A message of a state.
pub struct MessageView<'a> {
    /// Its name in the protocol, as a word of longer names, and as a member.
    pub text: &'a str,
    pub word: String,
    pub member: String,
    /// Its tag.
    pub constant: String,
    pub docs: Vec<String>,
    /// Its position in the state, and among all messages of the unit.
    pub position: usize,
    pub number: usize,
    pub entries: Vec<EntryView>,
    pub next: Option<NextView>,
    /// Which side sends after it, as the end of the runtime's constant.
    pub edge: &'static str,
    pub checks: bool,
    pub spreads: bool,
    pub moves: bool,
    /// Whether it may be refused for its size: text or bytes for their bound, or everything between processes.
    pub is_too_large: bool,
    /// Whether the ring has to have space for more than a number or an address.
    pub is_large: bool,
    /// What the header checks before it sends the message without the library; `None` if it always calls the library.
    pub inline: Option<Vec<TagCheck>>,
    /// Whether the header receives it without the library: from the ring, and as a reversal in a single line.
    pub arrives: bool,
    pub arrives_in_line: bool,
    /// Whether it may be a reversal in a single line, or a number in a lane.
    pub is_turn: bool,
    pub is_lane: bool,
}

/// An entry of a message.
pub struct EntryView {
    pub ty: String,
    pub parameter: String,
    pub member: String,
    pub moves: bool,
    /// For text or bytes that are stored inline, how functions take and show them.
    pub view: Option<InlineView>,
}

/// The functions of a value that is stored inline: `duo_str` and `duo_str32_set`.
pub struct InlineView {
    pub ty: &'static str,
    pub word: String,
}

impl InlineView {
    /// For text or bytes that are stored inline.
    pub fn of(types: &Types, ty: &CType, by: Option<usize>) -> Option<InlineView> {
        let ty = types.underlying(ty);
        let CType::Inline(bytes, _) = ty else {
            return None;
        };
        Some(InlineView {
            ty: bytes.view(),
            word: types.words(ty, by),
        })
    }
}

/// The state after a message.
pub struct NextView {
    pub number: usize,
    /// Its endpoints, and the members of their structs: of the side that has sent the message, and of the other.
    pub sender: String,
    pub receiver: String,
    pub sender_handle: &'static str,
    pub receiver_handle: &'static str,
    /// Whether it has messages that keep the direction.
    pub stays: bool,
}

/// The side in the runtime's constants.
pub fn role(side: Side) -> &'static str {
    match side {
        Side::Client => "CLIENT",
        Side::Server => "SERVER",
    }
}

impl<'a> UnitView<'a> {
    /// The view of a unit.
    pub fn of(scope: &Scope<'a>) -> UnitView<'a> {
        let unit = scope.unit;
        let sides = Side::BOTH.map(|side| SideView {
            word: side.word(),
            upper: role(side),
            index: usize::from(side == Side::Server),
            any: unit.side(side) + "_any",
            ended: spelling::constant(&unit.side(side), "ANY_ENDED"),
            has_nothing: scope.most_messages() == 0,
        });
        let stays: Vec<bool> = (0..unit.states.len()).map(|at| scope.stays(at)).collect();
        let mut count = 0;
        let states = (0..unit.states.len()).map(|index| {
            let state = StateView::of(scope, index, count, &stays);
            count += state.messages.len();
            state
        });
        UnitView {
            states: states.collect(),
            source: spelling::harmless(&scope.types.program.file(unit.file).path),
            version: VERSION,
            prefix: &unit.prefix,
            upper: unit.prefix.to_ascii_uppercase(),
            owner: scope.types.owner_of(unit.file).to_ascii_uppercase(),
            file: &unit.file_name,
            name: scope.full_name(),
            capacity: match scope.capacity {
                Capacity::Bounded(most) => most,
                // Small messages leave space for more.
                Capacity::Unbounded => ALWAYS_FIT,
            },
            capacity_name: spelling::constant(&unit.prefix, "CAPACITY"),
            is_unbounded: scope.capacity == Capacity::Unbounded,
            ring: scope.ring.filter(|_| scope.capacity == Capacity::Unbounded),
            most_messages: scope.most_messages(),
            is_mentioned: unit.kind == UnitKind::Mentioned,
            leaves: scope.leaves,
            sides,
        }
    }
}

impl<'a> StateView<'a> {
    fn of(scope: &Scope<'a>, index: usize, first: usize, stays: &[bool]) -> StateView<'a> {
        let (state, unit) = (scope.state(index), scope.unit);
        let active = state.active_side();
        let sender = active.unwrap_or(Side::Client);
        let name = unit.state(index);
        let messages = state.messages.iter().enumerate();
        let mut facts = Facts::default();
        let mut messages: Vec<MessageView> = messages
            .map(|(position, message)| {
                let (view, own) = MessageView::of(scope, index, message, stays);
                facts = facts.or(own);
                MessageView {
                    position,
                    number: first + position,
                    ..view
                }
            })
            .collect();
        let checked = messages.iter_mut().filter(|message| message.arrives);
        checked
            .skip(MOST_CHECKED)
            .for_each(|message| message.arrives = false);
        let checked = messages
            .iter_mut()
            .filter(|message| message.arrives_in_line);
        checked
            .skip(MOST_CHECKED)
            .for_each(|message| message.arrives_in_line = false);
        let lanes = messages.iter();
        let is_back = |next: &NextView| next.number == index;
        let lanes = lanes.filter(|message| {
            message.next.as_ref().is_some_and(is_back) && !message.entries.is_empty()
        });
        StateView {
            number: index,
            text: state.name.text(),
            word: &unit.states[index].name,
            member: spelling::member(&unit.states[index].name),
            docs: spelling::docs(&state.docs),
            limited_docs: spelling::docs(&state_docs(state)),
            time_limit: time_limit(state),
            is_over: active.is_none(),
            receiver: sender.dual().word(),
            role: role(sender),
            ends: Side::BOTH.map(|side| EndView::of(scope, index, side)),
            nothing: spelling::constant(&name, "NOTHING"),
            travels: unit.states[index].travels,
            is_own: scope.is_own(index),
            is_begun: scope.begun[index],
            is_shared: scope.can_be_shared(index),
            fills: scope.may_wait[index],
            may_wait: scope.leaves || scope.may_wait[index],
            stays: stays[index],
            may_continue: messages.iter().any(|message| message.next.is_some()),
            may_end: messages.iter().any(|message| message.next.is_none()),
            spreads: facts.spreads,
            owns: !facts.is_plain(),
            is_single: messages.len() == 1,
            has_plain: messages.iter().any(|message| message.arrives),
            has_turns: messages.iter().any(|message| message.arrives_in_line),
            has_lane: messages.iter().any(|message| message.is_lane),
            has_only_lane: lanes.count() == 1,
            name,
            messages,
        }
    }
}

impl EndView {
    fn of(scope: &Scope, index: usize, side: Side) -> EndView {
        let unit = scope.unit;
        let activity = Activity::of(scope.state(index).direction, side);
        EndView {
            name: unit.end(index, side),
            side: side.word(),
            peer: side.dual().word(),
            role: role(side),
            sends: activity == Activity::Sends,
            receives: activity == Activity::Receives,
            handle: handle(scope.state(index).direction, side),
            in_state: spelling::message(&unit.side(side), &unit.states[index].name),
        }
    }
}

impl<'a> MessageView<'a> {
    /// A message, without its position, and the facts about its entries.
    fn of(
        scope: &Scope<'a>,
        index: usize,
        message: &'a Message,
        stays: &[bool],
    ) -> (MessageView<'a>, Facts) {
        let (types, state) = (scope.types, scope.state(index));
        let sender = state.active_side().unwrap_or(Side::Client);
        let entries = message.entries.iter();
        let stored: Vec<CType> = entries
            .map(|entry| scope.entry_type(index, entry))
            .collect();
        let all = stored.iter().map(|ty| types.facts(ty));
        let facts = all.fold(Facts::default(), Facts::or);
        let entries = message.entries.iter().zip(&stored);
        let entries: Vec<EntryView> = entries
            .map(|(entry, ty)| EntryView {
                ty: types.name(ty, Some(scope.id)),
                parameter: types.parameter(entry.name.text()),
                member: spelling::entry(entry.name.text()),
                moves: types.facts(ty).moves,
                view: InlineView::of(types, ty, Some(scope.id)),
            })
            .collect();
        let next = scope.next(index, message);
        let edge = Edge::of(state, next.map(|next| scope.state(next)));
        let is_plain = edge != Edge::End && facts.is_plain() && !facts.has_inline;
        let is_turn = edge == Edge::Turn && scope.is_single_line(&stored);
        let is_small = matches!(stored.as_slice(), [] | [CType::Builtin(_)]);
        let view = MessageView {
            text: message.name.text(),
            word: spelling::word(message.name.text()),
            member: spelling::member(message.name.text()),
            constant: spelling::message(&scope.unit.state(index), message.name.text()),
            docs: spelling::docs(&message_docs(types.program, state, message)),
            position: 0,
            number: 0,
            next: next.map(|next| NextView {
                number: next,
                sender: scope.unit.end(next, sender),
                receiver: scope.unit.end(next, sender.dual()),
                sender_handle: handle(scope.state(next).direction, sender),
                receiver_handle: handle(scope.state(next).direction, sender.dual()),
                stays: stays[next],
            }),
            edge: match edge {
                Edge::End => "END",
                Edge::Stay => "STAY",
                Edge::Turn => "TURN",
            },
            checks: facts.checks,
            spreads: facts.spreads,
            moves: facts.moves,
            is_too_large: facts.spreads && scope.leaves
                || entries.iter().any(|entry| entry.view.is_some()),
            is_large: !is_small && !facts.spreads,
            inline: is_plain
                .then(|| {
                    let parameters = entries.iter().map(|entry| entry.parameter.as_str());
                    scope.tag_checks(parameters.zip(&stored))
                })
                .flatten(),
            arrives: is_plain,
            arrives_in_line: is_turn,
            is_turn,
            is_lane: next == Some(index) && scope.is_lane(&stored),
            entries,
        };
        (view, facts)
    }
}
