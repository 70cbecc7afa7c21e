//! What a host may ask.

use duologue::check::rule;
use duologue::compile::{self, Input};
use duologue::diagnostic::Level;
use duologue::languages::{Attribute, Options, ScalaVersion, Target};
use duologue::relation::{Require, Travel};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A request. What a command does not use may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub command: Command,
    /// The texts by their paths.
    #[serde(default)]
    pub files: BTreeMap<String, Text>,
    /// The paths of the files to compile; all files if there are none.
    #[serde(default)]
    inputs: Vec<String>,
    #[serde(default)]
    import_dirs: Vec<String>,
    /// Rules and their levels, as the options `-A`, `-W` and `-D` set them.
    #[serde(default)]
    levels: Vec<(String, String)>,
    /// The languages for which `gen` generates.
    #[serde(default)]
    targets: Vec<String>,
    #[serde(default)]
    options: Choices,
    /// For `graph`: the protocol, and perhaps a state of it.
    pub protocol: Option<String>,
    pub state: Option<String>,
    #[serde(default)]
    pub format: Format,
    /// For `breaking`: the files of the old version.
    #[serde(default)]
    pub old: BTreeMap<String, Text>,
    #[serde(default)]
    old_inputs: Vec<String>,
    #[serde(default)]
    require: Order,
    #[serde(default)]
    wire: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    Check,
    Gen,
    Fmt,
    Graph,
    Model,
    Breaking,
    Play,
    Version,
}

/// A text, or bytes that need not be one.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Text {
    Text(String),
    Bytes(Vec<u8>),
}

impl Text {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Text::Text(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }
}

/// The languages of `graph`.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Svg,
    Dot,
    Mermaid,
    Promela,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    AnyOrder,
    #[default]
    SomeOrder,
}

/// The options for generated code, named as those of the command line.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Choices {
    rust_host: Option<String>,
    rust_derive: Vec<String>,
    remote: bool,
    robots: bool,
    scala_package: Option<String>,
    scala_version: Option<String>,
    c_prefix: Option<String>,
    c_shm: bool,
    c_ring: Option<u32>,
    c_inline_bounds: bool,
    c_events: bool,
}

impl Request {
    /// The paths of the files that a command is about.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let all = self.files.keys().filter(|_| self.inputs.is_empty());
        all.chain(&self.inputs).map(String::as_str)
    }

    /// The request for the compiler.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn compilation(&self) -> Result<compile::Request, String> {
        let mut request = compile::Request::default();
        request.inputs = inputs(&self.inputs, &self.files);
        request.import_dirs = self.import_dirs.iter().map(PathBuf::from).collect();
        for (name, level) in &self.levels {
            if name != "all" && rule(name).is_none_or(|rule| rule.default.is_none()) {
                return Err(format!("there is no rule `{name}` whose level can be set"));
            }
            let level = Level::named(level);
            let level = level.ok_or("the levels are `allow`, `warn` and `deny`")?;
            request.levels.push((name.clone(), level));
        }
        request.options = self.options()?;
        Ok(request)
    }

    /// The request for the old version of `breaking`. Only errors matter there.
    pub fn old_compilation(&self, new: &compile::Request) -> compile::Request {
        let mut request = new.clone();
        request.inputs = inputs(&self.old_inputs, &self.old);
        request.levels = vec![("all".to_owned(), Level::Allow)];
        request
    }

    pub fn comparison(&self) -> (Require, Travel) {
        let require = match self.require {
            Order::AnyOrder => Require::AnyOrder,
            Order::SomeOrder => Require::SomeOrder,
        };
        let travel = match self.wire {
            true => Travel::Positions,
            false => Travel::Names,
        };
        (require, travel)
    }

    fn options(&self) -> Result<Options, String> {
        let given = &self.options;
        let mut options = Options::default();
        options.rust.host.clone_from(&given.rust_host);
        for traits in &given.rust_derive {
            let derive = Attribute::derive(".", traits).map_err(|wrong| wrong.to_string())?;
            options.rust.attributes.push(derive);
        }
        options.c.prefix.clone_from(&given.c_prefix);
        options.c.shm = given.c_shm;
        options.c.ring = given.c_ring;
        if given.c_ring.is_some_and(|ring| ring == 0 || ring > 1 << 30) {
            return Err("`c_ring` is from 1 to 1073741824 bytes".to_owned());
        }
        options.c.inline_bounds = given.c_inline_bounds;
        options.c.events = given.c_events;
        options.scala.package.clone_from(&given.scala_package);
        options.scala.version = match given.scala_version.as_deref() {
            None => ScalaVersion::Cross,
            Some("3") => ScalaVersion::Three,
            Some(other) => {
                return Err(format!(
                    "`scala_version` is \"3\" or left out, not `{other}`"
                ));
            }
        };
        options.remote = given.remote;
        options.robots = given.robots;
        for name in &self.targets {
            let found = Target::ALL.into_iter().find(|target| target.name() == name);
            let target = found.ok_or_else(|| {
                format!("there is no target `{name}`; the targets are rust, c and scala")
            })?;
            options.targets.push(target);
        }
        // As the command line has them, whatever the order of its options.
        options.targets.sort();
        options.targets.dedup();
        Ok(options)
    }
}

fn inputs(named: &[String], files: &BTreeMap<String, Text>) -> Vec<Input> {
    let path = |name: &String| Input::Path(PathBuf::from(name));
    match named.is_empty() {
        true => files.keys().map(path).collect(),
        false => named.iter().map(path).collect(),
    }
}
