//! What the names of generated C are, as diagnostics describe them.

use super::names::{OfState, OfUnit};
use super::units::{Unit, UnitKind};
use crate::protocol::{Program, State};

/// A description of a unit for diagnostics.
pub fn title(program: &Program, unit: &Unit) -> String {
    match unit.kind {
        UnitKind::Instance(id) => format!("the instance `{}`", program.instance(id).name),
        UnitKind::Protocol | UnitKind::Mentioned => {
            format!("the protocol `{}`", program.protocol(unit.protocol).name)
        }
    }
}

impl OfUnit {
    /// A description for diagnostics.
    pub fn title(self, unit: &str) -> String {
        match self {
            OfUnit::Init | OfUnit::InitIn => format!("the function that starts {unit}"),
            OfUnit::MemoryTag | OfUnit::Memory => format!("the memory of a session of {unit}"),
            OfUnit::Attach(_) => format!("the function that attaches {unit}"),
            OfUnit::Begin(..) => format!("a function that begins {unit} over a byte stream"),
            OfUnit::Call(_) => format!("an internal function of {unit}"),
            OfUnit::Any(..) | OfUnit::Ended(_) => {
                format!("a declaration for endpoints of {unit} in any state")
            }
            OfUnit::RobotTable => format!("the table of the robots of {unit}"),
            OfUnit::Robot(_) | OfUnit::RobotHooks(_) => {
                format!("a declaration for a robot of {unit}")
            }
            OfUnit::Name => format!("the name of {unit}"),
            OfUnit::Capacity => format!("the capacity of {unit}"),
            OfUnit::Fingerprint => format!("the fingerprint of {unit}"),
            OfUnit::Own(_) => format!("a table of {unit}"),
        }
    }
}

impl OfState<'_> {
    /// A description for diagnostics.
    pub fn title(self, state: &State) -> String {
        let (what, message) = match self {
            OfState::Received => ("the message type", None),
            OfState::Tag => ("the tag type", None),
            OfState::Nothing => ("the constant", None),
            OfState::Free | OfState::TagText | OfState::Function(..) => ("a function", None),
            OfState::Endpoint(_) => ("an endpoint type", None),
            OfState::Shared(_) => ("the shared endpoint type", None),
            OfState::InState(_) => ("the tag of an endpoint", None),
            OfState::Constant(message) => ("the constant", Some(message)),
            OfState::Send(_, _, message) => ("a function", Some(message)),
        };
        match message {
            Some(message) => format!("{what} of the message `{}`", message.name),
            None => format!("{what} of the state `{}`", state.name),
        }
    }
}
