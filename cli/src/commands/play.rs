//! `duologue play`: the playground in a browser, served from this machine.

use crate::args::TEMPLATE;
use crate::args::config::Choice;
use crate::terminal::Terminal;
use clap::Args;
use duologue::compile::Request;
use duologue::files::Disk;
use duologue_project::baseline::checked;
use duologue_project::{Failure, Outcome, inputs, needs_native};
use duologue_site::server::{Asset, Site, serve};
use serde::Serialize;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
\x1b[1;32mExamples:\x1b[0m
  duologue play                       a page with examples to check, draw, play and compile
  duologue play protocols/bank.proto  the same with your files
  duologue play --port 8421           the page with examples, at an address that stays the same
";

/// Serve a page on this machine that checks, draws, plays and compiles protocols
///
/// If files are opened, the address contains a secret, so that other users of this machine cannot read them. Imports and excluded files
/// are those of `duologue.toml`; its rule levels do not apply in the page.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = TEMPLATE)]
pub struct Play {
    /// Files to open, with the files that they import; nothing is written to them
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    config: Choice,
    /// The port, at 127.0.0.1 only [default: one that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// The directory with the page, as tools/editors/web/build writes it [default: that of DUOLOGUE_PLAYGROUND, or the one that is installed
    /// with the program, ../share/duologue/playground]
    #[arg(long, value_name = "DIR")]
    pages: Option<PathBuf>,
}

/// The files of the page, with their types.
const PAGES: [(&str, &str); 5] = [
    ("index.html", "text/html; charset=utf-8"),
    ("play.css", "text/css; charset=utf-8"),
    ("play.js", "text/javascript; charset=utf-8"),
    ("check.wasm", "application/wasm"),
    ("duologue.wasm", "application/wasm"),
];

/// What is opened in the page.
#[derive(Serialize)]
struct Opened {
    /// The texts by their paths.
    files: BTreeMap<String, String>,
    import_dirs: Vec<PathBuf>,
}

impl Play {
    pub fn run(self, terminal: &Terminal) -> Outcome {
        needs_native("`duologue play`", "sockets")?;
        let mut assets = read_pages(&directory(self.pages)?)?;
        let (mut root, mut address) = ("/".to_owned(), "/".to_owned());
        if !self.files.is_empty() {
            let opened = opened(&self.files, &self.config, terminal)?;
            let opened = serde_json::to_vec(&opened).map_err(|error| {
                Failure::Environment(format!("cannot open the files in a page: {error}"))
            })?;
            assets.push(Asset {
                path: "files.json".to_owned(),
                kind: "application/json",
                bytes: opened,
            });
            root = format!("/{}/", secret()?);
            address = format!("{root}?files");
        }
        let unusable = |port: u16| {
            move |error: io::Error| {
                let words = format!("cannot listen on 127.0.0.1:{port}: {error}");
                Failure::Environment(words)
            }
        };
        let wanted = self.port;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted));
        let listener = listener.map_err(unusable(wanted))?;
        let port = listener.local_addr().map_err(unusable(wanted))?.port();
        terminal.print(format_args!("http://127.0.0.1:{port}{address}\n"))?;
        terminal.tell("The playground is at this address until you press Ctrl-C.\n")?;
        let site = Site { port, root, assets };
        serve(&listener, &site).map_err(unusable(port))
    }
}

/// A text that nobody can guess: 128 bits of the system's random numbers.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::Environment(format!("the system has no random numbers: {error}"))
    })?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Where the page is.
fn directory(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let variable = env::var_os("DUOLOGUE_PLAYGROUND").map(PathBuf::from);
    if let Some(directory) = named.or(variable) {
        return Ok(directory);
    }
    let program = env::current_exe().and_then(fs::canonicalize);
    let root = program
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.to_path_buf()));
    let installed = root.map(|root| root.join("share/duologue/playground"));
    installed.filter(|found| found.join("index.html").is_file()).ok_or_else(|| {
        Failure::Environment(
            "the page of the playground is not installed with this program; build it in a copy of the repository with \
             `tools/editors/web/build DIR`, and run `duologue play --pages DIR`"
                .to_owned(),
        )
    })
}

fn read_pages(directory: &Path) -> Result<Vec<Asset>, Failure> {
    let pages = PAGES.map(|(name, kind)| {
        let path = directory.join(name);
        let read = duologue::files::open(&path).and_then(duologue::files::read_limited);
        let bytes = read.map_err(|error| {
            Failure::Environment(format!(
                "cannot read {}: {error}; `tools/editors/web/build DIR` in a copy of the repository writes the playground",
                path.display()
            ))
        })?;
        let path = if name == "index.html" { "" } else { name };
        let path = path.to_owned();
        Ok(Asset { path, kind, bytes })
    });
    pages.into_iter().collect()
}

/// The texts of the files and of everything they import. Errors in them are for the page to show, except for bytes that a page cannot have.
fn opened(paths: &[PathBuf], config: &Choice, terminal: &Terminal) -> Result<Opened, Failure> {
    let config = config.read(paths, terminal)?;
    let found = inputs::find(paths, &config.import_dirs, &config.exclude)?;
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
    Ok(Opened { files, import_dirs })
}
