//! The position of a piece of generated code, and how types are written there: with a short name unless something hides it.

use super::spelling;
use super::whole::Whole;
use crate::languages::Options;
use crate::protocol::{
    Builtin, Definition, EndpointType, FileId, Message, Program, Protocol, State, Type, TypeId,
};
use std::collections::BTreeSet;

/// A file of the program, with the names that are taken in one generated object.
pub struct ObjectScope<'a> {
    pub whole: &'a Whole<'a>,
    pub file: FileId,
    /// Short names of types that mean something else in this object.
    hidden: BTreeSet<String>,
    /// In the object of a file's types, the names of its enums' variants.
    variants: Option<BTreeSet<String>>,
    /// The states' types, if a type parameter could hide one.
    states: BTreeSet<String>,
    /// The type parameters of the current state, as they are spelled.
    pub parameters: Vec<String>,
    /// Terms (methods and values) that the current class declares, without their escapes.
    terms: BTreeSet<String>,
    /// Whether everything is written with its full path.
    is_distant: bool,
}

impl<'a> ObjectScope<'a> {
    /// The object of the file's types.
    pub fn of_types(whole: &'a Whole<'a>, file: FileId) -> ObjectScope<'a> {
        let (mut declared, mut named) = (BTreeSet::new(), BTreeSet::new());
        for id in &whole.program.file(file).types {
            let ty = whole.program.ty(*id);
            declared.insert(spelling::type_name(ty.name.text()));
            if let Definition::Enum(variants) = &ty.definition {
                let names = variants.iter().map(|variant| variant.name.text());
                named.extend(names.map(spelling::type_name));
            }
        }
        declared.extend(named.iter().cloned());
        ObjectScope {
            variants: Some(named),
            ..ObjectScope::new(whole, file, declared)
        }
    }

    /// The object of a protocol.
    pub fn of_protocol(whole: &'a Whole<'a>, protocol: &Protocol) -> ObjectScope<'a> {
        let mut scope = ObjectScope::new(whole, protocol.file, BTreeSet::new());
        let is_wanted = |name: &String| spelling::is_common_type(name) || whole.is_host(name);
        let mut hidden = BTreeSet::new();
        for state in &protocol.states {
            let messages = state.messages.iter().map(|message| &message.name);
            let names = messages
                .chain([&state.name])
                .map(|name| spelling::type_name(name.text()));
            hidden.extend(names.filter(is_wanted));
        }
        scope.hidden.extend(hidden);
        let mut states = protocol.states.iter();
        if states.any(|state| !state.parameters.is_empty()) {
            let names = protocol.states.iter().map(|state| state.name.text());
            scope.states = names.map(spelling::type_name).collect();
        }
        scope
    }

    fn new(whole: &'a Whole<'a>, file: FileId, mut hidden: BTreeSet<String>) -> ObjectScope<'a> {
        hidden.extend(whole.hiding.iter().cloned());
        ObjectScope {
            whole,
            file,
            hidden,
            variants: None,
            states: BTreeSet::new(),
            parameters: Vec::new(),
            terms: BTreeSet::new(),
            is_distant: false,
        }
    }

    /// The same scope, where everything is written with its full path.
    pub fn distant(self) -> ObjectScope<'a> {
        ObjectScope {
            is_distant: true,
            ..self
        }
    }

    /// Sets the type parameters to those of `state`, spelled so that they hide no type that is in scope.
    pub fn enter(&mut self, state: &State) {
        let spell = |name: &str| {
            let spelled = spelling::type_name(name);
            let of_message =
                |message: &Message| spelling::type_name(message.name.text()) == spelled;
            let is_taken = spelling::is_common_type(&spelled)
                || self.whole.is_host(&spelled)
                || self.states.contains(&spelled)
                || state.messages.iter().any(of_message);
            if is_taken { spelled + "_" } else { spelled }
        };
        let names = state.parameters.iter().map(|one| one.name.text());
        self.parameters = names.map(spell).collect();
    }

    /// Sets the terms that hide objects of the package in the current class.
    pub fn hide(&mut self, terms: impl Iterator<Item = String>) {
        self.terms = terms
            .map(|term| term.trim_matches('`').to_owned())
            .collect();
    }

    /// `[T, U]`, or the empty string.
    pub fn parameter_list(&self) -> String {
        type_arguments(&self.parameters)
    }

    /// The package of a file's code, outermost part first.
    pub fn package_of(&self, file: FileId) -> Vec<String> {
        package(self.whole.program, self.whole.options, file)
    }

    /// An object of a package, as it is referred to from here.
    pub fn object(&self, file: FileId, object: &str) -> String {
        let package = self.package_of(file);
        if self.is_distant
            || package != self.package_of(self.file)
            || spelling::is_in_sight(object)
            || self.terms.contains(object.trim_matches('`'))
        {
            return format!("_root_.{}.{object}", package.join("."));
        }
        object.to_owned()
    }

    /// A type that the object of the file's types declares.
    pub fn own(&self, name: &str) -> String {
        let object = spelling::types_object(&self.whole.program.file(self.file).stem);
        format!("{}.{name}", self.object(self.file, &object))
    }

    /// A type of the standard library.
    pub fn standard(&self, name: &'static str) -> String {
        if !self.is_distant && !self.hidden.contains(name) {
            return name.to_owned();
        }
        match name {
            "String" => format!("_root_.java.lang.{name}"),
            "Vector" => format!("_root_.scala.collection.immutable.{name}"),
            _ => format!("_root_.scala.{name}"),
        }
    }

    /// A payload type.
    pub fn payload_type(&self, ty: &Type) -> String {
        match ty {
            Type::Builtin(builtin) => self.builtin(*builtin),
            Type::Error => self.standard("Unit"),
            Type::List(item) => format!("{}[{}]", self.standard("Vector"), self.payload_type(item)),
            Type::Option(item) => {
                format!("{}[{}]", self.standard("Option"), self.payload_type(item))
            }
            Type::Tuple(items) => self.payload(items),
            Type::Named(id) => self.named(*id),
            Type::Parameter(index) => self.parameters[*index as usize].clone(),
            Type::Endpoint(endpoint) => self.endpoint(endpoint),
        }
    }

    fn builtin(&self, builtin: Builtin) -> String {
        match builtin {
            Builtin::Bool => self.standard("Boolean"),
            Builtin::I8 => self.standard("Byte"),
            Builtin::I16 => self.standard("Short"),
            Builtin::U8 | Builtin::U16 | Builtin::I32 => self.standard("Int"),
            Builtin::U32 | Builtin::U64 | Builtin::I64 => self.standard("Long"),
            Builtin::F32 => self.standard("Float"),
            Builtin::F64 => self.standard("Double"),
            Builtin::Str => self.standard("String"),
            Builtin::Bytes => "_root_.duologue.Bytes".to_owned(),
        }
    }

    /// The type of several values: a tuple, except for one. Scala has tuples of up to 22 values; longer ones are nested.
    pub fn payload<'t>(&self, types: impl IntoIterator<Item = &'t Type>) -> String {
        let types = types.into_iter().map(|ty| self.payload_type(ty));
        match types.collect::<Vec<_>>() {
            mut only if only.len() == 1 => only.remove(0),
            several => nested(several, &|parts| format!("({})", parts.join(", "))),
        }
    }

    /// Types as the arguments of a type.
    pub fn arguments(&self, types: &[Type]) -> String {
        let types = types.iter().map(|ty| self.payload_type(ty));
        type_arguments(&types.collect::<Vec<_>>())
    }

    /// The type, if it is another name of a built-in type and a type of its own.
    pub fn distinct(&self, ty: &Type) -> Option<String> {
        let is_distinct = self.whole.is_distinct(ty);
        is_distinct.then(|| self.payload_type(ty))
    }

    fn named(&self, id: TypeId) -> String {
        let ty = self.whole.program.ty(id);
        let name = spelling::type_name(ty.name.text());
        match &ty.definition {
            Definition::Alias(_) | Definition::Struct(_) | Definition::Enum(_) => {
                self.declared(ty.file, &name)
            }
            Definition::Extern(mappings, _) => match mappings.get(super::super::WORD) {
                Some(mapping) => mapping.name.clone(),
                None => self.host(ty.file, name),
            },
        }
    }

    fn declared(&self, file: FileId, name: &str) -> String {
        let is_bare = self
            .variants
            .as_ref()
            .is_some_and(|variants| !variants.contains(name));
        if is_bare && file == self.file {
            return name.to_owned();
        }
        let object = spelling::types_object(&self.whole.program.file(file).stem);
        format!("{}.{name}", self.object(file, &object))
    }

    /// The object that encodes a declared type.
    pub fn wire(&self, id: TypeId) -> String {
        let ty = self.whole.program.ty(id);
        let object = spelling::types_object(&self.whole.program.file(ty.file).stem);
        let wire = spelling::wire_object(ty.name.text());
        format!("{}.{wire}", self.object(ty.file, &object))
    }

    /// A type of the program that uses the generated code, which is in the package.
    fn host(&self, file: FileId, name: String) -> String {
        let package = self.package_of(file);
        let is_hidden = self.is_distant || self.hidden.contains(&name);
        if is_hidden || package != self.package_of(self.file) {
            return format!("_root_.{}.{name}", package.join("."));
        }
        name
    }

    fn endpoint(&self, endpoint: &EndpointType) -> String {
        let protocol = self.whole.program.protocol(endpoint.protocol);
        let object = self.object(protocol.file, &spelling::object_name(protocol.name.text()));
        let state = spelling::type_name(protocol.state(endpoint.state).name.text());
        let side = self.whole.side_object(endpoint.protocol, endpoint.side);
        format!(
            "{object}.{side}.{state}{}",
            self.arguments(&endpoint.arguments)
        )
    }
}

/// `[A, B]`, or the empty string.
pub fn type_arguments(arguments: &[String]) -> String {
    if arguments.is_empty() {
        String::new()
    } else {
        format!("[{}]", arguments.join(", "))
    }
}

/// Groups of at most 22, groups of such groups, and so on, each combined by `join`.
pub fn nested<T>(mut parts: Vec<T>, join: &dyn Fn(Vec<T>) -> T) -> T {
    const LONGEST: usize = 22;
    while parts.len() > LONGEST {
        let mut groups = Vec::new();
        let mut rest = parts.into_iter().peekable();
        while rest.peek().is_some() {
            // A group of one would not be a tuple, so the last two groups share their items.
            let left = rest.len();
            let size = if left == LONGEST + 1 {
                LONGEST - 1
            } else {
                LONGEST.min(left)
            };
            groups.push(join(rest.by_ref().take(size).collect()));
        }
        parts = groups;
    }
    join(parts)
}

/// The path to each of `count` values in the tuple that [`nested`] makes of them: `._1._2`.
pub fn tuple_paths(count: usize) -> Vec<String> {
    let join = |parts: Vec<Vec<String>>| {
        let numbered = parts.into_iter().zip(1..);
        let paths = numbered.flat_map(|(part, number)| {
            part.into_iter()
                .map(move |path| format!("._{number}{path}"))
        });
        paths.collect()
    };
    nested(vec![vec![String::new()]; count], &join)
}

/// The package of a file, outermost part first.
pub fn package(program: &Program, options: &Options, file: FileId) -> Vec<String> {
    let written = &program.file(file).package;
    if written.is_empty() {
        let chosen = options.scala.package.as_deref().unwrap_or("protocols");
        return chosen.split('.').map(spelling::package_segment).collect();
    }
    let segments = written.iter().map(|segment| segment.text());
    segments.map(spelling::package_segment).collect()
}
