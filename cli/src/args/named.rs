//! A protocol that the command line names: `FILE#PROTOCOL`.

use crate::args::{Checked, Sources};
use crate::terminal::Terminal;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use duologue::check::CheckedProgram;
use duologue::languages::Options;
use duologue::name::instead;
use duologue::protocol::{Instance, Protocol, ProtocolId, Side, StateId};
use duologue::relation::View;
use duologue_project::Failure;
use std::path::{Path, PathBuf};

/// The sides, by their names on the command line.
pub fn sides() -> impl TypedValueParser<Value = Side> {
    let words = PossibleValuesParser::new(Side::BOTH.map(Side::word));
    words.try_map(|word| Side::named(&word).ok_or("there are two sides"))
}

/// A file, and a protocol in it.
pub struct Named {
    pub file: PathBuf,
    pub protocol: Option<String>,
}

impl Named {
    /// Reads `FILE#PROTOCOL`, or `FILE` alone. A file that has a `#` in its own name is found too.
    pub fn parse(text: &Path) -> Named {
        let whole = Named {
            file: text.to_path_buf(),
            protocol: None,
        };
        if text.exists() {
            return whole;
        }
        match text.to_str().and_then(|text| text.rsplit_once('#')) {
            Some((file, protocol)) => Named {
                file: file.into(),
                protocol: Some(protocol.to_owned()),
            },
            None => whole,
        }
    }

    /// Reads `PROTOCOL/STATE` as the name of a state, and leaves the protocol.
    pub fn take_state(&mut self) -> Option<String> {
        let (protocol, state) = self.protocol.as_deref()?.split_once('/')?;
        let (protocol, state) = (protocol.to_owned(), state.to_owned());
        self.protocol = Some(protocol);
        Some(state)
    }

    /// Reads and checks the file, and prints the findings.
    pub fn compile(&self, sources: Sources, terminal: &Terminal) -> Result<Checked, Failure> {
        let files = std::slice::from_ref(&self.file);
        sources.checked(files, Options::default(), terminal)
    }

    /// The protocol that is meant: the named one, or the only one in the file.
    pub fn find(&self, checked: &CheckedProgram) -> Result<ProtocolId, Failure> {
        let found = select(checked, self.protocol.as_deref())?;
        match &found[..] {
            [only] => Ok(*only),
            [] => Err(usage!("{} declares no protocol", self.file.display())),
            [first, ..] => {
                let name = &checked.program().protocol(*first).name;
                let file = self.file.display();
                Err(usage!(
                    "{file} declares {} protocols: say which, as in {file}#{name}",
                    found.len()
                ))
            }
        }
    }

    /// The protocol that is meant, or the instance of a generic one.
    pub fn view<'c>(&self, checked: &'c CheckedProgram) -> Result<View<'c>, Failure> {
        let program = checked.program();
        let mut instances = program.instances.iter();
        let is_meant =
            |instance: &&Instance| Some(instance.name.text()) == self.protocol.as_deref();
        match instances.find(is_meant) {
            Some(instance) => Ok(View::instance(program, instance)),
            None => Ok(View::of(program, self.find(checked)?)),
        }
    }
}

/// The protocols of the input files, or only the one called `name`.
pub fn select(checked: &CheckedProgram, name: Option<&str>) -> Result<Vec<ProtocolId>, Failure> {
    let program = checked.program();
    let inputs = program.inputs();
    let ids = inputs.flat_map(|file| file.protocols.iter().copied());
    let Some(name) = name else {
        return Ok(ids.collect());
    };
    let names = ids.clone().map(|id| program.protocol(id).name.text());
    let mut found = ids.clone();
    if let Some(id) = found.find(|id| program.protocol(*id).name.text() == name) {
        return Ok(vec![id]);
    }
    if name.is_empty() {
        bail_usage!("write the name of a protocol after `#`");
    }
    if name.contains('/') {
        bail_usage!("`{name}` is the name of a state: leave out what follows the protocol");
    }
    let mut instances = program.instances.iter();
    if let Some(instance) = instances.find(|instance| instance.name.text() == name) {
        let generic = &program.protocol(instance.protocol).name;
        bail_usage!("`{name}` is an instance of `{generic}`: name `{generic}`");
    }
    let instead = instead(name, names);
    Err(usage!("there is no protocol `{name}`{instead}"))
}

/// The state of this name.
pub fn find_state(protocol: &Protocol, name: &str) -> Result<StateId, Failure> {
    let mut names = protocol.states.iter().map(|state| state.name.text());
    let instead = instead(name, names.clone());
    let index = names.position(|known| known == name);
    index.map(StateId::new).ok_or_else(|| {
        let protocol = &protocol.name;
        usage!("there is no state `{name}` in `{protocol}`{instead}")
    })
}
