//! Every name that generated C declares: the `clashing-names` rule reads these lists. Templates compose the same names from the words
//! of a unit, a state and a message; a test finds names that are on no list.
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

/// What a unit declares once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfUnit {
    /// The function that starts a session.
    Init,
    /// The same in the caller's memory.
    InitIn,
    /// The struct of that memory.
    MemoryTag,
    /// Its type.
    Memory,
    /// The function that attaches a side in memory that two processes share.
    Attach(Side),
    /// A function by which a side begins over a byte stream.
    Begin(Side, &'static str),
    /// The internal function that calls a side's handler.
    Call(Side),
    /// A type or function for the endpoints of a side in all states.
    Any(Side, &'static str),
    /// The tag of such an endpoint whose session is over.
    Ended(Side),
    /// What robots know about the protocol.
    RobotTable,
    /// The function that plays a side.
    Robot(Side),
    /// The type of what it calls.
    RobotHooks(Side),
    /// The macro of the protocol's name.
    Name,
    /// The enumerator of the capacity.
    Capacity,
    /// The macro of the fingerprint.
    Fingerprint,
    /// An internal name.
    Own(&'static str),
}

/// The kinds of internal names of a unit. That of a shape is the beginning of what `DUO_SHAPE` declares.
const OWN: [&str; 14] = [
    "protocol",
    "states",
    "messages",
    "payload",
    "shape",
    "wire",
    "wires",
    "parts",
    "encodings",
    "counts",
    "within",
    "accepts",
    "state_names",
    "message_names",
];

/// How a side begins over a byte stream.
const BEGINS: [&str; 5] = ["connect", "connect_over", "accept", "accept_over", "serve"];

/// What `DUO_SHAPE` declares: the name that it is given, with each of these suffixes.
pub const SHAPE: [&str; 6] = ["per_line", "pitch", "fills", "lines", "ready", "shape"];

/// What a unit declares for each of its states.
#[derive(Clone, Copy, Debug)]
pub enum OfState<'p> {
    /// The type of the received message.
    Received,
    /// The type of its tag.
    Tag,
    /// The function that returns a tag's name as text.
    TagText,
    /// The function that frees it.
    Free,
    /// The internal function that checks its tag.
    Checked,
    /// The macro for what a message consists of.
    As(&'p Message),
    /// The constant of a message.
    Constant(&'p Message),
    /// The constant of an enum without messages.
    Nothing,
    /// The type of a side's endpoint.
    Endpoint(Side),
    /// A function of that endpoint.
    Function(Side, &'static str),
    /// A function that sends a message, with the verb that precedes the message's name.
    Send(Side, &'static str, &'p Message),
    /// The type of the shared endpoint.
    Shared(Side),
    /// The tag of the state among all states of a side.
    InState(Side),
}

/// The words of a side's types and functions for its endpoints in all states; `OfUnit::Any` puts the side before them.
pub const ANY: [&str; 9] = [
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
    /// A name that the unit declares.
    pub fn own(&self, what: OfUnit) -> String {
        let prefix = &self.prefix;
        match what {
            OfUnit::Init => format!("{prefix}_init"),
            OfUnit::InitIn => format!("{prefix}_init_in"),
            OfUnit::MemoryTag => format!("{prefix}_session_memory"),
            OfUnit::Memory => format!("{prefix}_session_memory_t"),
            OfUnit::Attach(side) => format!("{prefix}_{}_attach", side.word()),
            OfUnit::Begin(side, begin) => format!("{prefix}_{}_{begin}", side.word()),
            OfUnit::Call(side) => of("call", &format!("{prefix}_{}", side.word())),
            OfUnit::Any(side, what) => format!("{prefix}_{}_{what}", side.word()),
            OfUnit::Ended(side) => {
                spelling::constant(&format!("{prefix}_{}", side.word()), "ANY_ENDED")
            }
            OfUnit::RobotTable => format!("{prefix}_robots"),
            OfUnit::Robot(side) => format!("{prefix}_robot_{}", side.word()),
            OfUnit::RobotHooks(side) => format!("{prefix}_robot_{}_hooks_t", side.word()),
            OfUnit::Name => spelling::constant(prefix, "NAME"),
            OfUnit::Capacity => spelling::constant(prefix, "CAPACITY"),
            OfUnit::Fingerprint => spelling::constant(prefix, "FINGERPRINT"),
            OfUnit::Own(own) => of(own, prefix),
        }
    }

    /// A name that the unit declares for the state at `index`.
    pub fn of_state(&self, index: usize, what: OfState) -> String {
        spelled(&self.prefix, &self.states[index].name, what)
    }

    /// The name of a table that describes the payload of the message with this number.
    pub fn said(&self, table: &str, number: usize) -> String {
        of(table, &format!("{}_{number}", self.prefix))
    }

    /// The macro that no header of another protocol with the same name defines.
    pub fn owner(&self, file: &str) -> String {
        let prefix = &self.prefix;
        format!("duo_owner_of_{prefix}_in_{file}").to_ascii_uppercase()
    }

    /// The guard of one of the unit's headers: the macro that shows that it is included.
    pub fn guard(&self, header: &str) -> String {
        format!("duo{header}_h_of_{}", self.prefix).to_ascii_uppercase()
    }

    /// The name of one of the unit's headers, without its ending; a source has the same.
    pub fn file(&self, header: &str) -> String {
        format!("{}{header}", self.file_name)
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

/// An internal name, from its kind and its owner.
pub fn of(what: &str, owner: &str) -> String {
    format!("duo_{what}_of_{owner}")
}

/// The include guard of a header with types.
pub fn types_guard(header: &str) -> String {
    of("types_h", header).to_ascii_uppercase()
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

/// A name that is declared for a state, which is spelled `state` in names of the unit.
pub fn spelled(prefix: &str, state: &str, what: OfState) -> String {
    let name = format!("{prefix}_{state}");
    let endpoint = |side: Side| format!("{prefix}_{}_{state}", side.word());
    match what {
        OfState::Received => format!("{name}_t"),
        OfState::Tag => format!("{name}_tag_t"),
        OfState::TagText => format!("{name}_tag_text"),
        OfState::Free => format!("{name}_free"),
        OfState::Checked => of("checked", &name),
        OfState::As(message) => {
            format!("{name}_as_{}", spelling::word(message.name.text()))
        }
        OfState::Constant(message) => spelling::message(&name, message.name.text()),
        OfState::Nothing => spelling::constant(&name, "NOTHING"),
        OfState::Endpoint(side) => format!("{}_t", endpoint(side)),
        OfState::Function(side, function) => format!("{}_{function}", endpoint(side)),
        OfState::Send(side, verb, message) => {
            let message = spelling::word(message.name.text());
            // The suffix `_within` follows the message's name in a send, and the verb in a receive.
            match verb.strip_suffix("_within") {
                Some(verb) => format!("{}_{verb}_{message}_within", endpoint(side)),
                None => format!("{}_{verb}_{message}", endpoint(side)),
            }
        }
        OfState::Shared(side) => format!("{}_shared_t", endpoint(side)),
        OfState::InState(side) => spelling::message(&format!("{prefix}_{}", side.word()), state),
    }
}

/// Everything that a state can declare, including the extras. Names that only some endpoints have, such as `take`, are left out
/// if this one is known not to have them.
pub fn of_state<'p>(
    protocol: &'p Protocol,
    state: &UnitState,
    travels: bool,
    extras: Extras,
) -> Vec<OfState<'p>> {
    let id = state.state;
    let state: &'p State = protocol.state(id);
    let mut names = Vec::new();
    for side in [Side::Client, Side::Server] {
        names.push(OfState::Endpoint(side));
        names.extend(["close", "cleanup"].map(|name| OfState::Function(side, name)));
        if travels {
            names.push(OfState::Function(side, "take"));
        }
        if extras.events {
            names.push(OfState::InState(side));
            names.extend(["any", "from"].map(|name| OfState::Function(side, name)));
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
                    let send = |verb: &&'static str| OfState::Send(side, verb, message);
                    names.extend(verbs.iter().map(send));
                    names.extend(extras.leaves().then_some("send_within").iter().map(send));
                }
                if is_shared {
                    names.push(OfState::Shared(side));
                    let functions = ["share", "shared_retain", "shared_release"];
                    names.extend(functions.map(|name| OfState::Function(side, name)));
                }
            }
            Activity::Receives => {
                let functions = ["recv", "try_recv", "recv_within"];
                names.extend(functions.map(|name| OfState::Function(side, name)));
            }
            Activity::Over => {}
        }
    }
    if state.active_side().is_some() {
        names.extend([
            OfState::Received,
            OfState::Tag,
            OfState::TagText,
            OfState::Free,
            OfState::Checked,
        ]);
        if state.messages.is_empty() {
            names.push(OfState::Nothing);
        }
        names.extend(state.messages.iter().map(OfState::Constant));
        names.extend(state.messages.iter().map(OfState::As));
    }
    names
}

/// Everything that a unit declares once, including the extras.
pub fn of_unit(unit: &Unit, extras: Extras) -> Vec<OfUnit> {
    let mut names = vec![OfUnit::Name, OfUnit::Capacity];
    if unit.kind != UnitKind::Mentioned {
        names.extend([
            OfUnit::Init,
            OfUnit::InitIn,
            OfUnit::MemoryTag,
            OfUnit::Memory,
        ]);
        let sides = [Side::Client, Side::Server];
        if extras.shm {
            names.extend(sides.map(OfUnit::Attach));
        }
        if extras.net {
            for side in sides {
                names.extend(BEGINS.map(|begin| OfUnit::Begin(side, begin)));
                names.push(OfUnit::Call(side));
            }
        }
        if extras.leaves() {
            names.push(OfUnit::Fingerprint);
        }
        if extras.events {
            for side in sides {
                names.extend(ANY.map(|what| OfUnit::Any(side, what)));
                names.push(OfUnit::Ended(side));
            }
        }
    }
    if extras.robots && unit.kind != UnitKind::Mentioned {
        names.push(OfUnit::RobotTable);
        for side in [Side::Client, Side::Server] {
            names.extend([OfUnit::Robot(side), OfUnit::RobotHooks(side)]);
        }
        names.push(OfUnit::Own("robot_types"));
    }
    names.extend(OWN.map(OfUnit::Own));
    names
}

/// What a declared type declares.
#[derive(Clone, Copy, Debug)]
pub enum OfType<'p> {
    /// The type.
    Type,
    /// The type of an enum's tag.
    Tag,
    /// The function that returns the name of an enum's tag as text.
    Text,
    /// The function that copies a value with what is stored outside of it.
    Copy,
    /// The function that takes a value of a host type.
    Take,
    /// The constant of a variant.
    Variant(&'p str),
    /// The table of its layout.
    Layout,
    /// The table of its fields.
    Fields,
    /// The function that destroys a value.
    Drop,
}
