//! The playground: a page with an editor, what answers it, and its server.

mod answer;
mod breaking;
mod memory;
mod reply;
mod request;
pub mod server;

pub use answer::answer;

use crate::script::{STEPPER, joined};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use duologue::files::MARKER;
use duologue::pages::EXAMPLES;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The scripts of the page, in an order in which each uses only those before it.
const SCRIPTS: &[&str] = &[
    include_str!("../../templates/play/text.mjs"),
    include_str!("../../templates/play/link.mjs"),
    include_str!("../../templates/play/duologue.mjs"),
    include_str!("../../templates/play/compiler.mjs"),
    include_str!("../../templates/play/language.mjs"),
    include_str!("../../templates/play/editor.mjs"),
    include_str!("../../templates/play/code.mjs"),
    include_str!("../../templates/play/panes.mjs"),
    include_str!("../../templates/play/main.mjs"),
];

/// What a page opens.
#[derive(Serialize)]
pub struct Opened {
    /// The texts by their paths.
    pub files: BTreeMap<String, String>,
    /// Where else to look for imports.
    pub import_dirs: Vec<PathBuf>,
}

/// Where a page gets its answers.
pub enum Compiler<'a> {
    /// From the server that it came from.
    Server,
    /// From the compiler as a WebAssembly module, which may be compressed by gzip.
    Module(&'a [u8]),
}

#[derive(Template)]
#[template(path = "play/page.html", escape = "none")]
struct Page<'a> {
    marker: String,
    policy: String,
    style: [&'a str; 2],
    /// What is given to the scripts, as JSON.
    given: String,
    module: String,
    script: String,
}

/// The page: one file that needs no other.
#[must_use]
pub fn page(compiler: &Compiler<'_>, opened: Option<&Opened>) -> String {
    let given = json!({ "examples": EXAMPLES, "opened": opened });
    let modules = [STEPPER, SCRIPTS].concat();
    let script = format!("\"use strict\";(() => {{\n{}}})();", joined(&modules));
    let hash = STANDARD.encode(Sha256::digest(&script));
    let (connect, module) = match compiler {
        Compiler::Server => ("'self'", String::new()),
        Compiler::Module(bytes) => ("'none'", STANDARD.encode(bytes)),
    };
    let page = Page {
        marker: format!("{MARKER} play"),
        policy: format!(
            "default-src 'none'; img-src data:; script-src 'sha256-{hash}' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; connect-src {connect}; \
             base-uri 'none'; form-action 'none'"
        ),
        style: [
            include_str!("../../templates/duologue.css"),
            include_str!("../../templates/play/play.css"),
        ],
        // A `<` could end the element.
        given: given.to_string().replace('<', "\\u003c"),
        module,
        script,
    };
    page.render().expect("a text can be written into a text")
}
