//! How names and types are written in Rust.

use crate::languages::{Options, spelling};
use crate::name::Name;
use crate::protocol::text::builtin_word;
use crate::protocol::{
    Bound, BoundId, Builtin, Definition, EndpointType, FileId, Mapping, Parameter, Program,
    ProtocolId, State, Type, TypeId,
};
use std::collections::BTreeSet;

/// The keywords of all editions, including reserved ones.
const KEYWORDS: [&str; 51] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords that cannot be raw identifiers.
const NEVER_RAW: [&str; 3] = ["self", "super", "crate"];

/// File names that Windows reserves, whatever the extension, and `mod`, which is the package's own file.
const NO_FILES: [&str; 6] = ["aux", "con", "mod", "nul", "prn", "conin"];

/// Names of the prelude that generated code uses, with their full paths for protocols that declare the short name.
const PRELUDE: [(&str, &str); 9] = [
    ("Clone", "::std::clone::Clone"),
    ("Copy", "::std::marker::Copy"),
    ("Eq", "::std::cmp::Eq"),
    ("Option", "::std::option::Option"),
    ("Ord", "::std::cmp::Ord"),
    ("Result", "::std::result::Result"),
    ("Send", "::std::marker::Send"),
    ("String", "::std::string::String"),
    ("Vec", "::std::vec::Vec"),
];

/// A type, a state or a variant: `LoginResponse`. A name that starts with a digit after its underscores gets a letter.
pub fn type_name(name: &Name) -> String {
    let camel = spelling::upper_camel(name.text());
    if camel == "Self" {
        return "Self_".to_owned();
    }
    match camel.strip_prefix('_') {
        Some(digits) => format!("N{digits}"),
        None => camel,
    }
}

/// A method, a parameter or a field: `login_response`.
pub fn value_name(name: &Name) -> String {
    let snake = spelling::snake(name.text());
    if NEVER_RAW.contains(&snake.as_str()) {
        snake + "_"
    } else if KEYWORDS.contains(&snake.as_str()) {
        format!("r#{snake}")
    } else {
        snake
    }
}

/// Whether a directory of this name can be declared as a module.
pub fn is_module(name: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let begins = |letter: char| letter.is_ascii_alphabetic();
    name.starts_with(begins) && name.chars().all(is_word) && !KEYWORDS.contains(&name)
}

/// The module of a protocol or of a package segment, which is also a file.
pub fn module_name(name: &Name) -> String {
    let snake = spelling::snake(name.text());
    let is_port = |port| {
        snake
            .strip_prefix(port)
            .is_some_and(|rest: &str| rest.len() == 1 && rest < "a")
    };
    if NO_FILES.contains(&snake.as_str()) || is_port("com") || is_port("lpt") {
        return snake + "_";
    }
    value_name(name)
}

/// The file name of a module, without the extension.
pub fn file_name(name: &Name) -> String {
    let module = module_name(name);
    module
        .strip_prefix("r#")
        .map_or(module.clone(), str::to_owned)
}

/// A name of the prelude, as a full path if `taken` contains it.
pub fn prelude(name: &'static str, taken: &BTreeSet<String>) -> &'static str {
    let full = PRELUDE.iter().find(|(short, _)| *short == name);
    match full {
        Some((_, full)) if taken.contains(name) => full,
        _ => name,
    }
}

/// A position in the generated tree, from which everything is named by a relative path.
#[derive(Clone, Copy)]
pub struct NameScope<'a> {
    pub program: &'a Program,
    pub options: &'a Options,
    /// The file with the declaration that is being generated.
    pub file: FileId,
    /// How many modules deep this is below the package's module.
    pub depth: usize,
    /// The type names declared here, which may hide those of the prelude.
    pub taken: &'a BTreeSet<String>,
}

impl<'a> NameScope<'a> {
    /// The module of a protocol or an instance.
    pub fn of(
        program: &'a Program,
        options: &'a Options,
        file: FileId,
        taken: &'a BTreeSet<String>,
    ) -> NameScope<'a> {
        NameScope {
            program,
            options,
            file,
            depth: 1,
            taken,
        }
    }

    /// The same position, but some modules deeper.
    pub fn inside(self, further: usize) -> Self {
        NameScope {
            depth: self.depth + further,
            ..self
        }
    }

    fn package(&self) -> &[Name] {
        &self.program.file(self.file).package
    }

    /// The path from here to the module of a file's package; empty, or with `::` at the end.
    fn package_of(&self, file: FileId) -> String {
        self.path(&self.program.file(file).package)
    }

    /// The shortest path to a package: up to the innermost common package, then down.
    fn path(&self, package: &[Name]) -> String {
        let pairs = package.iter().zip(self.package());
        let common = pairs
            .take_while(|(to, from)| to.text() == from.text())
            .count();
        let up = self.depth + self.package().len() - common;
        let mut path = "super::".repeat(up);
        if up == 0 && common < package.len() {
            path.push_str("self::");
        }
        for segment in &package[common..] {
            path.push_str(&module_name(segment));
            path.push_str("::");
        }
        path
    }

    /// The path from here to the module that includes the tree.
    fn root(&self) -> String {
        let path = self.path(&[]);
        if path.is_empty() {
            "self::".to_owned()
        } else {
            path
        }
    }

    /// A type or trait that the host program supplies.
    fn of_host(&self, name: &Name, mapping: Option<&Mapping>) -> String {
        match (mapping, &self.options.rust.host) {
            (Some(mapping), _) => mapping.name.clone(),
            (None, Some(host)) => format!("{}::{}", host.trim_end_matches("::"), type_name(name)),
            (None, None) => format!("{}{}", self.root(), type_name(name)),
        }
    }

    /// A declared or undeclared type.
    fn named(&self, id: TypeId) -> String {
        let declaration = self.program.ty(id);
        match &declaration.definition {
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => {
                format!(
                    "{}{}",
                    self.package_of(declaration.file),
                    type_name(&declaration.name)
                )
            }
            Definition::Extern(mappings, _) => {
                self.of_host(&declaration.name, mappings.get(super::super::WORD))
            }
        }
    }

    /// The module of a protocol, with `::` at the end.
    pub fn protocol(&self, id: ProtocolId) -> String {
        let protocol = self.program.protocol(id);
        format!(
            "{}{}::",
            self.package_of(protocol.file),
            module_name(&protocol.name)
        )
    }

    /// A type; `parameters` are the parameter names of the state in which it appears.
    pub fn ty(&self, ty: &Type, parameters: &[String]) -> String {
        let of =
            |name: &'static str, item: String| format!("{}<{item}>", prelude(name, self.taken));
        match ty {
            Type::Builtin(Builtin::Str) => prelude("String", self.taken).to_owned(),
            Type::Builtin(Builtin::Bytes) => of("Vec", "u8".to_owned()),
            Type::Builtin(builtin) => builtin_word(*builtin).to_owned(),
            Type::Error => "()".to_owned(),
            Type::List(item) => of("Vec", self.ty(item, parameters)),
            Type::Option(item) => of("Option", self.ty(item, parameters)),
            Type::Tuple(items) => tuple(&self.types(items, parameters)),
            Type::Named(id) => self.named(*id),
            Type::Parameter(index) => parameters[*index as usize].clone(),
            Type::Endpoint(endpoint) => self.endpoint(endpoint, parameters),
        }
    }

    /// Several types.
    pub fn types(&self, types: &[Type], parameters: &[String]) -> Vec<String> {
        types.iter().map(|ty| self.ty(ty, parameters)).collect()
    }

    fn endpoint(&self, endpoint: &EndpointType, parameters: &[String]) -> String {
        let protocol = self.program.protocol(endpoint.protocol);
        let name = type_name(&protocol.state(endpoint.state).name);
        let arguments = generics(&self.types(&endpoint.arguments, parameters));
        let (module, side) = (self.protocol(endpoint.protocol), endpoint.side.word());
        format!("{module}{side}::{name}{arguments}")
    }

    /// The bounds of a type parameter, joined by `+`. Every payload has to be `Send`.
    pub fn bounds(&self, parameter: &Parameter) -> String {
        let mut bounds = vec![prelude("Send", self.taken).to_owned()];
        for bound in &parameter.bounds {
            let text = self.bound(*bound);
            if !bounds.contains(&text) {
                bounds.push(text);
            }
        }
        bounds.join(" + ")
    }

    fn bound(&self, bound: Bound) -> String {
        match bound {
            Bound::Send => prelude("Send", self.taken).to_owned(),
            Bound::Copy => prelude("Copy", self.taken).to_owned(),
            Bound::Clone => prelude("Clone", self.taken).to_owned(),
            Bound::Eq => prelude("Eq", self.taken).to_owned(),
            Bound::Ord => prelude("Ord", self.taken).to_owned(),
            Bound::Hash => "::std::hash::Hash".to_owned(),
            Bound::Debug => "::std::fmt::Debug".to_owned(),
            Bound::Extern(id) => self.extern_bound(id),
        }
    }

    fn extern_bound(&self, id: BoundId) -> String {
        let bound = self.program.bound(id);
        self.of_host(&bound.name, bound.mappings.get(super::super::WORD))
    }
}

/// The names of a state's type parameters. They differ from the names of states and of the prelude, which they would hide.
pub fn parameter_names(state: &State, taken: &BTreeSet<String>) -> Vec<String> {
    let spell = |parameter: &Parameter| {
        let mut name = type_name(&parameter.name);
        while taken.contains(&name) || PRELUDE.iter().any(|(short, _)| *short == name) {
            name.push('_');
        }
        name
    };
    state.parameters.iter().map(spell).collect()
}

/// `<A, B>`, or nothing.
pub fn generics(types: &[String]) -> String {
    match types {
        [] => String::new(),
        _ => format!("<{}>", types.join(", ")),
    }
}

/// `::<A, B>`, or nothing.
pub fn turbofish(arguments: &[String]) -> String {
    match arguments {
        [] => String::new(),
        _ => format!("::{}", generics(arguments)),
    }
}

/// `()`, the only item, or `(a, b)`.
pub fn tuple(items: &[String]) -> String {
    match items {
        [only] => only.clone(),
        _ => format!("({})", items.join(", ")),
    }
}
