//! The C target: which files are generated.
//!
//! There is one header and source per protocol, per named instance of a generic protocol, and per file with types. A
//! `scope::Scope` answers questions about one of them, and a `view::UnitView` has the words, types and flags that
//! its templates fill in: `templates/c/protocol.h.jinja` shows the header, and `protocol.c.jinja` the source.
//!
//! The operations are inline functions in the header, so the compiler can inline them. Messages of a few plain bytes go to and from
//! the ring there; everything else is a call into the runtime. The source holds tables that describe to the runtime what a payload
//! consists of and where each message leads, so copying, destroying and closing are done by the runtime and need no generated
//! code. If sessions between processes are requested, a second header and source describe how payloads are encoded.

mod clashes;
mod ctype;
mod names;
mod paths;
mod protocol;
mod robots;
mod scope;
mod types;
mod values;
mod view;
mod wire;

pub use clashes::spellings;
pub use names::public_names::public_names;

use crate::check::CheckedProgram;
use crate::languages::{Generated, Options, OutputFile, Target};
use crate::protocol::FileId;
use crate::robots::Makeable;
use crate::wire::Sizes;
use names::units::{UnitKind, Units};
use scope::Scope;
use std::path::Path;
use types::Types;
use types::header::{self, FileTypes};
use view::UnitView;

/// The version that the included headers must have, as arguments of `DUO_MADE_BY`.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION_MAJOR"),
    ", ",
    env!("CARGO_PKG_VERSION_MINOR")
);

/// What the user can configure in generated C.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct COptions {
    /// A prefix for every declared name.
    pub prefix: Option<String>,
    /// Also generate what sessions between processes need.
    pub shm: bool,
    /// The size in bytes of the ring of a protocol with unbounded runs; the ring may be a little larger. Without it, the
    /// runtime's `DUO_RING` applies.
    pub ring: Option<u32>,
    /// Store text, bytes and lists that have a bound inline, so that they need no allocator.
    pub inline_bounds: bool,
    /// Also generate endpoints in any state and a dispatcher with callbacks, for event loops.
    pub events: bool,
}

/// The word for this target in mappings.
const WORD: &str = Target::C.name();

/// How many messages of an unbounded run always fit, so that its sender does not have to wait for a free slot.
const ALWAYS_FIT: u32 = 64;

/// The line with which a program uses a header. That for sockets includes all others of its protocol.
pub fn usage(_: &Path, path: &Path, is_generated: &dyn Fn(&Path) -> bool) -> Option<String> {
    if path.extension()? != "h" {
        return None;
    }
    let sockets = path.with_file_name(format!("{}_net.h", path.file_stem()?.to_str()?));
    let header = if is_generated(&sockets) {
        &sockets
    } else {
        path
    };
    Some(format!("#include \"{}\"", header.display()))
}

/// The library of the runtime, as the arguments of a compiler that pkg-config finds, and without it from a clone.
pub fn runtime(options: &Options) -> String {
    let library = if options.remote {
        "duologue-net"
    } else {
        "duologue"
    };
    let robots = if options.robots {
        "; duologue-robots too for tests with robots"
    } else {
        ""
    };
    format!(
        "for the compiler: $(pkg-config --cflags --libs {library}), or runtime/c/src/*.c -Iruntime/c/include -pthread \
         of a clone{robots}"
    )
}

/// Generates C code for the program.
#[must_use]
pub fn generate(checked: &CheckedProgram, options: &Options) -> Generated {
    let program = checked.program();
    let prefix = options.c.prefix.as_deref().unwrap_or_default();
    let units = Units::of(program, prefix);
    let types = Types::of(program, &units, prefix, options.c.inline_bounds);
    let sizes = Sizes::of(program);
    let makeable = options.robots.then(|| Makeable::of(program));
    let mut generated = Generated::default();
    let mut obstacles = Vec::new();
    let mut write = |name: &str, ending: &str, text: String| {
        let path = format!("{name}.{ending}");
        generated.files.push(OutputFile::new(path, text));
    };
    for (id, unit) in units.units.iter().enumerate() {
        let mut scope = Scope::of(checked, &types, id);
        let leaves = options.c.shm || options.remote;
        let wire = leaves.then(|| wire::Wire::of(&scope));
        scope.ring = options.c.ring;
        scope.leaves = matches!(wire, Some(Ok(Some(_))));
        scope.has_single_line_turns = scope.leaves && options.c.shm;
        let view = UnitView::of(&scope);
        obstacles.extend(scope.allocation_note());
        write(&unit.file_name, "h", protocol::header(&scope, &view));
        write(&unit.file_name, "c", protocol::source(&scope, &view));
        if options.c.events && unit.kind != UnitKind::Mentioned {
            write(&unit.file("_events"), "h", protocol::events_header(&view));
        }
        if let Some(makeable) = &makeable {
            let name = unit.file("_robots");
            match robots::files(&scope, &view, makeable) {
                Ok([header, source]) => {
                    write(&name, "h", header);
                    write(&name, "c", source);
                }
                Err(absent) => obstacles.extend(absent.note("C", &unit.prefix)),
            }
        }
        match wire {
            None | Some(Ok(None)) => {}
            Some(Ok(Some(wire))) => {
                let name = unit.file("_wire");
                write(&name, "h", wire.header(&scope, &view));
                let source = wire.source(&scope, &view, &sizes, options.remote);
                write(&name, "c", source);
                if options.c.shm {
                    write(&unit.file("_shm"), "h", wire::shm_header(&view));
                }
                if options.remote {
                    write(&unit.file("_net"), "h", wire::net_header(&view));
                }
            }
            Some(Err(obstacle)) => obstacles.push(format!(
                "C: `{}` stays in one process: {obstacle}",
                unit.prefix
            )),
        }
    }
    for (index, file) in program.files.iter().enumerate() {
        if header::has_types(&types, file) {
            let id = FileId::new(index);
            let view = FileTypes::of(&types, id);
            let name = types.header_of(id);
            write(&name, "h", view.header());
            if let Some(source) = view.source() {
                write(&name, "c", source);
            }
        }
    }
    generated
        .files
        .sort_by(|left, right| left.path.cmp(&right.path));
    generated.notes = notes(checked, &units);
    generated.notes.extend(obstacles);
    generated
}

/// Notes on generic protocols for which there is no C code, or no way to start a session in C.
fn notes(checked: &CheckedProgram, units: &Units) -> Vec<String> {
    let program = checked.program();
    let inputs = program.inputs();
    let protocols = inputs.flat_map(|file| &file.protocols);
    let lacking = protocols.filter(|id| {
        let mut written = units.of_protocol(**id);
        program.protocol(**id).is_generic() && written.all(|unit| unit.kind == UnitKind::Mentioned)
    });
    let note = |id: &crate::protocol::ProtocolId| {
        let protocol = program.protocol(*id);
        let arguments = vec!["u64"; protocol.start().parameters.len()].join(", ");
        let name = &protocol.name;
        format!(
            "C has no generic types, and `{name}` has no named instance, so C cannot start it. \
             Name one: `proto! {name}_u64 = {name}<{arguments}>;`"
        )
    };
    lacking.map(note).collect()
}
