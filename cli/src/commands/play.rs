//! `duologue play`: the playground in a browser, served from this machine or written as one file.

use crate::args::TEMPLATE;
use crate::args::config::Choice;
use crate::terminal::Terminal;
use clap::Args;
use duologue::compile::Request;
use duologue::files::{self, Disk, Outputs, Tree};
use duologue::languages::OutputFile;
use duologue_project::baseline::checked;
use duologue_project::{Failure, Outcome, inputs, needs_native};
use duologue_site::play::server::{Site, serve};
use duologue_site::play::{Compiler, Opened, answer, page};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue play                       a page with examples to check, draw, play and compile
  duologue play protocols/bank.proto  the same with your files
  duologue play bank.proto -o bank.html
                                      the same as one file, which works on any server and from a disk
";

/// Serve a page on this machine that checks, draws, plays and compiles protocols
///
/// The address contains a key, so that other users of this machine cannot read what is open. Imports and excluded files are those of
/// `duologue.toml`; its rule levels do not apply in the page.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Play {
    /// Files to open, with the files that they import; nothing is written to them
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    config: Choice,
    /// Write the page to this file instead, with the compiler in it as WebAssembly
    #[arg(short, long, value_name = "HTML", conflicts_with = "port")]
    output: Option<PathBuf>,
    /// The port, at 127.0.0.1 only [default: one that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// The compiler as WebAssembly, as tools/editors/wasm/build writes it [default: the one in this program, which packages have]
    #[arg(long, value_name = "WASM", requires = "output")]
    module: Option<PathBuf>,
}

#[cfg(has_module)]
const MODULE: Option<&[u8]> = Some(include_bytes!("../../module/duologue.wasm.gz"));
#[cfg(not(has_module))]
const MODULE: Option<&[u8]> = None;

impl Play {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        if let Some(output) = &self.output {
            return self.write(output, terminal);
        }
        needs_native("`duologue play` without `-o`", "sockets")?;
        let opened = self.opened(terminal)?;
        let opened = serde_json::to_string(&opened).map_err(|error| {
            Failure::Environment(format!("cannot open the files in a page: {error}"))
        })?;
        let unusable = |port: u16| {
            move |error: io::Error| {
                let words = format!("cannot listen on 127.0.0.1:{port}: {error}");
                Failure::Environment(words)
            }
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port));
        let listener = listener.map_err(unusable(self.port))?;
        let port = listener.local_addr().map_err(unusable(self.port))?.port();
        let site = Site {
            port,
            key: key()?,
            page: page(&Compiler::Server, None),
            opened,
            answer,
        };
        terminal.print(format_args!("http://127.0.0.1:{port}/#key={}\n", site.key))?;
        terminal.tell("The playground is at this address until you press Ctrl-C.\n")?;
        serve(&listener, &site).map_err(unusable(port))
    }

    /// Writes the page as one file.
    fn write(&self, output: &Path, terminal: &Terminal) -> Outcome {
        let module = match (&self.module, MODULE) {
            (Some(path), _) => Cow::Owned(read(path)?),
            (None, Some(module)) => Cow::Borrowed(module),
            (None, None) => {
                return Err(Failure::Environment(
                    "this program was built without the compiler as WebAssembly, which a page without a server needs; in a copy of the \
                     repository, `tools/editors/wasm/build duologue.wasm` writes it: then add `--module duologue.wasm`"
                        .to_owned(),
                ));
            }
        };
        let opened = self.opened(terminal)?;
        let text = page(&Compiler::Module(&module), opened.as_ref());
        let (Some(directory), Some(name)) = (output.parent(), output.file_name()) else {
            let words = format!("{} is no name of a file", output.display());
            return Err(Failure::Usage(words));
        };
        let path = name.to_string_lossy().into_owned();
        let file = OutputFile { path, text };
        let outputs = Outputs::plan(vec![Tree::of_site(directory.to_owned(), vec![file])])?;
        outputs.refuse_foreign()?;
        outputs.write(&[])?;
        terminal.tell(format_args!("wrote {}\n", output.display()))?;
        Ok(())
    }

    /// The texts of the files and of everything they import. Errors in them are for the page to show, except for bytes that a page cannot
    /// have.
    fn opened(&self, terminal: &Terminal) -> Result<Option<Opened>, Failure> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let config = self.config.read(&self.files, terminal)?;
        let found = inputs::find(&self.files, &config.import_dirs, &config.exclude)?;
        found.tell_skipped(terminal)?;
        let mut request = Request::default();
        request.inputs = found.inputs;
        request.import_dirs.clone_from(&config.import_dirs);
        let compiled = checked(&request, &Disk)?;
        let mut files = BTreeMap::new();
        for (_, source) in compiled.sources.iter() {
            if source.is_lossy() {
                return Err(Failure::Environment(format!(
                    "cannot open {} in the page: it is not valid UTF-8; `duologue check` shows where",
                    source.name()
                )));
            }
            files.insert(source.name().to_owned(), source.text().to_owned());
        }
        let import_dirs = config.import_dirs;
        Ok(Some(Opened { files, import_dirs }))
    }
}

/// A text that nobody can guess: 128 bits of the system's random numbers.
fn key() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::Environment(format!("the system has no random numbers: {error}"))
    })?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// A module, which is one: a page with something else would only say so when it is opened.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |words: &str| Failure::Environment(format!("{}: {words}", path.display()));
    let bytes = files::open(path).and_then(files::read_limited);
    let bytes = bytes.map_err(|error| wrong(&error.to_string()))?;
    match bytes.starts_with(b"\0asm") || bytes.starts_with(b"\x1f\x8b") {
        true => Ok(bytes),
        false => Err(wrong("this is not a WebAssembly module")),
    }
}
