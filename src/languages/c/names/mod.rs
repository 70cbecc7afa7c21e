//! Every name that generated C declares, except for internal ones: the `clashing-names` rule reads these lists. Templates compose the same
//! names from the words of a unit, a state and a message; a test finds names that are on no list.
//!
//! Internal names begin with `duo_`, their kind, and `_of_`; no name that comes from a protocol begins like this. Two of them are
//! equal only if they have the same kind and the same owner.

pub mod public_names;
mod settle;
pub mod spelling;
pub mod units;

use crate::endpoint::{Activity, Endpoint};
use crate::protocol::{Direction, Message, Protocol, Side, State};
use units::{Unit, UnitKind, UnitState};

/// How a side begins over a byte stream.
const BEGINS: [&str; 5] = ["connect", "connect_over", "accept", "accept_over", "serve"];

/// The words of a side's types and functions for its endpoints in all states.
const ANY: [&str; 9] = [
    "any_t",
    "any_tag_t",
    "any_receives",
    "any_ready",
    "any_text",
    "any_close",
    "any_cleanup",
    "handlers_t",
    "dispatch",
];

impl Unit {
    /// The name of one of the unit's headers, without its ending; a source has the same.
    pub fn file(&self, header: &str) -> String {
        format!("{}{header}", self.file_name)
    }

    /// What the names of a side begin with: `bank_client`.
    pub fn side(&self, side: Side) -> String {
        format!("{}_{}", self.prefix, side.word())
    }

    /// What the names of a state begin with: `bank_login`.
    pub fn state(&self, index: usize) -> String {
        format!("{}_{}", self.prefix, self.states[index].name)
    }

    /// What the names of a side's endpoint in a state begin with: `bank_client_login`.
    pub fn end(&self, index: usize, side: Side) -> String {
        format!("{}_{}", self.side(side), self.states[index].name)
    }
}

/// The headers of a unit, as the ends of their names: the endpoints; how payloads are encoded, and the fingerprint; how a side begins in
/// memory that two processes share, and over a byte stream; endpoints in any state, and callbacks; and robots.
pub const HEADERS: [&str; 6] = ["", "_wire", "_shm", "_net", "_events", "_robots"];

/// What is generated besides the endpoints of sessions within a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extras {
    /// Sessions in memory that two processes share.
    pub shm: bool,
    /// Sessions over byte streams.
    pub net: bool,
    /// Endpoints in any state, and callbacks.
    pub events: bool,
    /// Robots.
    pub robots: bool,
}

impl Extras {
    /// Everything.
    pub const ALL: Extras = Extras {
        shm: true,
        net: true,
        events: true,
        robots: true,
    };

    /// Whether sessions can leave their process.
    pub fn leaves(self) -> bool {
        self.shm || self.net
    }
}

/// The name of the member in an endpoint's struct: what the side does in a state of that direction. So the compiler rejects a
/// sending endpoint where a receiving one is expected.
pub fn handle(direction: Option<Direction>, side: Side) -> &'static str {
    match Activity::of(direction, side) {
        Activity::Sends => "sends",
        Activity::Receives => "receives",
        Activity::Over => "over",
    }
}

/// Everything that a unit declares once, including the extras, each with what it is, where `{}` stands for the unit.
pub fn of_unit(unit: &Unit, extras: Extras) -> Vec<(String, &'static str)> {
    let prefix = &unit.prefix;
    let mut names = vec![
        (spelling::constant(prefix, "NAME"), "the name of {}"),
        (spelling::constant(prefix, "CAPACITY"), "the capacity of {}"),
    ];
    if unit.kind == UnitKind::Mentioned {
        return names;
    }
    let own = |end: &str| format!("{prefix}_{end}");
    let start = "the function that starts {}";
    names.extend(["init", "init_in"].map(|end| (own(end), start)));
    let memory = "the memory of a session of {}";
    names.extend(["session_memory", "session_memory_t"].map(|end| (own(end), memory)));
    if extras.leaves() {
        let fingerprint = spelling::constant(prefix, "FINGERPRINT");
        names.push((fingerprint, "the fingerprint of {}"));
    }
    if extras.robots {
        names.push((own("robots"), "the table of the robots of {}"));
    }
    for side in Side::BOTH {
        let of_side = unit.side(side);
        let own = |end: &str| format!("{of_side}_{end}");
        if extras.shm {
            names.push((own("attach"), "the function that attaches {}"));
        }
        if extras.net {
            let begin = "a function that begins {} over a byte stream";
            names.extend(BEGINS.map(|end| (own(end), begin)));
        }
        if extras.events {
            let any = "a declaration for endpoints of {} in any state";
            names.extend(ANY.map(|end| (own(end), any)));
            names.push((spelling::constant(&of_side, "ANY_ENDED"), any));
        }
        if extras.robots {
            let robot = format!("{prefix}_robot_{}", side.word());
            let what = "a declaration for a robot of {}";
            names.extend([(format!("{robot}_hooks_t"), what), (robot, what)]);
        }
    }
    names
}

/// A name that is declared for a state, what it is, and the message that it is for, if it is for one.
pub struct OfState<'p> {
    pub name: String,
    pub what: &'static str,
    pub message: Option<&'p Message>,
}

/// Everything that a state with this word in its names can declare, including the extras. Names that only some endpoints have, such as
/// `take`, are left out if this one is known not to have them.
pub fn of_state<'p>(
    protocol: &'p Protocol,
    unit: &Unit,
    state: &UnitState,
    word: &str,
    travels: bool,
    extras: Extras,
) -> Vec<OfState<'p>> {
    const FUNCTION: &str = "a function";
    let id = state.state;
    let state: &'p State = protocol.state(id);
    let mut names = Vec::new();
    let mut add = |name: String, what, message| {
        names.push(OfState {
            name,
            what,
            message,
        });
    };
    for side in Side::BOTH {
        let of_side = unit.side(side);
        let own = |end: &str| format!("{of_side}_{word}_{end}");
        add(own("t"), "an endpoint type", None);
        let mut functions = vec!["close", "cleanup"];
        if travels {
            functions.push("take");
        }
        if extras.events {
            let tag = spelling::message(&of_side, word);
            add(tag, "the tag of an endpoint", None);
            functions.extend(["any", "from"]);
        }
        let endpoint = Endpoint::of(protocol, side);
        match endpoint.activity(id) {
            Activity::Sends => {
                let is_shared = endpoint.can_be_shared(id);
                let verbs: &[&str] = match is_shared {
                    true => &["send", "try_send", "shared_send", "shared_try_send"],
                    false => &["send", "try_send"],
                };
                for message in &state.messages {
                    let name = spelling::word(message.name.text());
                    for verb in verbs {
                        add(own(&format!("{verb}_{name}")), FUNCTION, Some(message));
                    }
                    if extras.leaves() {
                        let limited = own(&format!("send_{name}_within"));
                        add(limited, FUNCTION, Some(message));
                    }
                }
                if is_shared {
                    add(own("shared_t"), "the shared endpoint type", None);
                    functions.extend(["share", "shared_retain", "shared_release"]);
                }
            }
            Activity::Receives => functions.extend(["recv", "try_recv", "recv_within"]),
            Activity::Over => {}
        }
        for function in functions {
            add(own(function), FUNCTION, None);
        }
    }
    if state.active_side().is_some() {
        let of_state = format!("{}_{word}", unit.prefix);
        let own = |end: &str| format!("{of_state}_{end}");
        add(own("t"), "the message type", None);
        add(own("tag_t"), "the tag type", None);
        add(own("tag_text"), FUNCTION, None);
        add(own("free"), FUNCTION, None);
        if state.messages.is_empty() {
            let nothing = spelling::constant(&of_state, "NOTHING");
            add(nothing, "the constant", None);
        }
        for message in &state.messages {
            let constant = spelling::message(&of_state, message.name.text());
            add(constant, "the constant", Some(message));
            let part = own(&format!("as_{}", spelling::word(message.name.text())));
            add(part, "a macro", Some(message));
        }
    }
    names
}
