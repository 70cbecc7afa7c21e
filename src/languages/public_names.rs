//! The names in generated code that programs use, as a target spells them: for tools that show or generate code which calls it.

use crate::endpoint::Activity;
use crate::name::Name;
use crate::protocol::{
    Definition, FileId, Program, Protocol, ProtocolId, Side, StateId, TypeDeclaration,
};

/// The names of a program, in the order of its lists.
#[derive(Debug, Default)]
pub struct PublicNames {
    /// Those of each protocol; `None` if the target generates only its instances.
    pub protocols: Vec<Option<ProtocolNames>>,
    /// Those of each instance.
    pub instances: Vec<Option<ProtocolNames>>,
    /// The type that is generated for each declared type; `None` for types that the host program supplies.
    pub types: Vec<Option<String>>,
}

/// The names of a protocol or an instance.
#[derive(Debug)]
pub struct ProtocolNames {
    /// What the names of its states begin with: a module, a prefix or an object.
    pub name: String,
    /// Those of each state; `None` if the target has several endpoints for the state, one for each of its arguments, or none
    /// because no session reaches it.
    pub states: Vec<Option<StateNames>>,
}

/// The names of a state.
#[derive(Debug)]
pub struct StateNames {
    /// The type of the client's endpoint.
    pub client: String,
    /// The type of the server's endpoint.
    pub server: String,
    /// The method or function that receives a message; `None` in a terminal state.
    pub receive: Option<String>,
    /// The type of a received message; `None` in a terminal state.
    pub received: Option<String>,
    /// Those of each message.
    pub messages: Vec<MessageNames>,
}

/// The names of a message.
#[derive(Debug)]
pub struct MessageNames {
    /// The method or function that sends it.
    pub send: String,
    /// The variant, constant or class by which a receiver recognizes it.
    pub received: String,
    /// The names of its entries.
    pub entries: Vec<String>,
}

impl StateNames {
    /// The type of a side's endpoint.
    #[must_use]
    pub fn endpoint(&self, side: Side) -> &str {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// The methods or functions that a side calls.
    #[must_use]
    pub fn calls(&self, activity: Activity) -> Vec<&str> {
        match activity {
            Activity::Sends => self.messages.iter().map(|names| &*names.send).collect(),
            Activity::Receives => self.receive.as_deref().into_iter().collect(),
            Activity::Over => Vec::new(),
        }
    }
}

impl PublicNames {
    /// The names of a state.
    #[must_use]
    pub fn state(&self, protocol: ProtocolId, state: StateId) -> Option<&StateNames> {
        let names = self.protocols.get(protocol.index())?.as_ref()?;
        names.states.get(state.index())?.as_ref()
    }

    /// The names in a target that generates every protocol and every instance: those of a protocol that is called like this, or like
    /// its instance, in a file, and the type for a declared type.
    pub fn of_all(
        program: &Program,
        protocol: impl Fn(&Protocol, FileId, &Name) -> ProtocolNames,
        ty: impl Fn(&TypeDeclaration) -> String,
    ) -> PublicNames {
        let protocols = program.protocols.iter();
        let instances = program.instances.iter();
        PublicNames {
            protocols: protocols
                .map(|declared| Some(protocol(declared, declared.file, &declared.name)))
                .collect(),
            instances: instances
                .map(|instance| {
                    let declared = program.protocol(instance.protocol);
                    Some(protocol(declared, instance.file, &instance.name))
                })
                .collect(),
            types: of_types(program, ty),
        }
    }
}

/// The names of the generated types of a program.
pub fn of_types(
    program: &Program,
    name: impl Fn(&TypeDeclaration) -> String,
) -> Vec<Option<String>> {
    let names = program.types.iter().map(|declared| {
        let is_generated = match declared.definition {
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => true,
            Definition::Extern(..) => false,
        };
        is_generated.then(|| name(declared))
    });
    names.collect()
}
