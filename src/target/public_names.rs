//! The names in generated code that programs use, as a target spells them: for tools that show or generate code which calls it.

use crate::protocol::{Definition, Program, TypeDeclaration};

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

/// The names of the generated types of a program.
pub fn of_types(
    program: &Program,
    name: impl Fn(&TypeDeclaration) -> String,
) -> Vec<Option<String>> {
    let names = program.types.iter().map(|declared| {
        let is_generated = match declared.definition {
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => true,
            Definition::Extern(..) | Definition::Undeclared => false,
        };
        is_generated.then(|| name(declared))
    });
    names.collect()
}
