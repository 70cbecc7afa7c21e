//! Random programs: files that import each other, packages, deeply nested types, generic protocols and their instances, endpoints
//! in payloads, unreachable states, types of the host, and names that are difficult for generated code.

use super::Choices;
use super::words::{Limits, NUMBERS, PLAIN, Vocabulary};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A random program: what is compiled, and what the program around the generated code has to supply.
pub struct RandomProgram {
    /// Names and texts of the protocol files, in an order in which imports come first.
    pub files: Vec<(String, String)>,
    /// The types that the program around the generated code supplies under their own names.
    pub hosts: Vec<HostType>,
    /// The prefix of names in C.
    pub c_prefix: Option<String>,
}

/// A type that the host program supplies under its own name.
pub struct HostType {
    /// The stem of the file that declares it, or mentions it without a declaration.
    pub file: String,
    /// The package of the file, empty if it has none.
    pub package: String,
    pub name: String,
    /// Whether C programs supply it too, because no mapping says what it is in C.
    pub in_c: bool,
}

/// A state as other protocols see it.
#[derive(Clone)]
struct State {
    name: String,
    parameters: usize,
}

/// A protocol as other protocols see it.
#[derive(Clone)]
struct Protocol {
    name: String,
    states: Vec<State>,
}

/// The name of a declared type.
type Declared = String;

/// Where a type is written.
struct Where<'a> {
    /// Type parameters that can be named.
    parameters: &'a [String],
    /// Types that may be mentioned directly.
    direct: &'a [Declared],
    /// Types that may be mentioned inside a list.
    listed: &'a [Declared],
    /// Protocols whose endpoints may be mentioned.
    protocols: &'a [Protocol],
}

/// The file that is being written.
struct Unit {
    stem: String,
    package: String,
}

pub struct Generator {
    choices: Choices,
    vocabulary: Vocabulary,
    /// A part of the name of each of the program's packages.
    mark: String,
    /// The names of types and protocols, in the form in which clashes are found.
    taken: BTreeSet<String>,
    limits: Limits,
    program: RandomProgram,
}

impl Generator {
    /// The generator of the program with this number; `mark` is a name that no other program has.
    pub fn new(seed: u64, mark: &str) -> Generator {
        let mut choices = Choices::new(seed);
        let vocabulary = Vocabulary::new(&mut choices);
        Generator {
            choices,
            vocabulary,
            mark: mark.to_owned(),
            taken: BTreeSet::new(),
            limits: Limits::default(),
            program: RandomProgram {
                files: Vec::new(),
                hosts: Vec::new(),
                c_prefix: None,
            },
        }
    }

    pub fn program(mut self) -> RandomProgram {
        if self.choices.once_in(8) {
            let word = self.word().trim_end_matches('_').to_lowercase();
            self.program.c_prefix = Some(format!("{word}_"));
        }
        let mut stems = BTreeSet::new();
        // What a file can see of the files that it imports.
        let mut types: Vec<Vec<Declared>> = Vec::new();
        let mut protocols: Vec<Vec<Protocol>> = Vec::new();
        for number in 0..=self.choices.below(3) {
            let stem = self.fresh(&mut stems);
            let mut text = String::new();
            let package = self.package();
            if !package.is_empty() {
                line(&mut text, &format!("package {package};"));
            }
            let unit = Unit { stem, package };
            let mut seen = Vec::new();
            if self.choices.once_in(6) {
                seen.push(self.undeclared(&unit));
            }
            let mut known = Vec::new();
            for earlier in 0..number {
                if self.choices.once_in(2) {
                    let (file, _) = &self.program.files[earlier];
                    line(&mut text, &format!("import \"{file}\";"));
                    seen.extend(types[earlier].iter().cloned());
                    known.extend(protocols[earlier].iter().cloned());
                }
            }
            let own = self.types(&mut text, &seen, &unit);
            let visible: Vec<Declared> = seen.iter().chain(&own).cloned().collect();
            let added = self.protocols(&mut text, &visible, known);
            types.push(own);
            protocols.push(added);
            let file = format!("{}.proto", unit.stem);
            self.program.files.push((file, text));
        }
        self.program
    }

    /// A package that no other program has, or none.
    fn package(&mut self) -> String {
        let word = self.word();
        match self.choices.below(6) {
            0 | 1 => format!("{}.{word}", self.mark),
            2 => format!("{word}.{}", self.mark),
            3 => {
                let second = self.word();
                format!("{}.{word}.{second}", self.mark)
            }
            _ => String::new(),
        }
    }

    /// A type that no file declares, so the program around the generated code has to supply it.
    fn undeclared(&mut self, unit: &Unit) -> Declared {
        let name = format!("absent{}", self.taken.len());
        self.taken.insert(name.clone());
        self.supply(unit, &name, true);
        name
    }

    fn supply(&mut self, unit: &Unit, name: &str, in_c: bool) {
        self.program.hosts.push(HostType {
            file: unit.stem.clone(),
            package: unit.package.clone(),
            name: name.to_owned(),
            in_c,
        });
    }

    /// A word that is difficult for generated code, or sometimes one that is not.
    fn word(&mut self) -> String {
        if self.choices.once_in(5) {
            return self.plain();
        }
        self.vocabulary.word(&mut self.choices)
    }

    fn plain(&mut self) -> String {
        let number = self.choices.below(20);
        format!("{}{number}", self.choices.one_of(&PLAIN))
    }

    /// A word that does not clash with any in `taken`.
    fn fresh(&mut self, taken: &mut BTreeSet<String>) -> String {
        loop {
            let word = self.word();
            if taken.insert(folded(&word)) {
                return word;
            }
        }
    }

    /// A name for a type or a protocol, which no other type or protocol of the program has.
    fn global(&mut self) -> String {
        let mut taken = std::mem::take(&mut self.taken);
        let word = self.fresh(&mut taken);
        self.taken = taken;
        word
    }

    /// Declares types; a struct refers directly to earlier ones only, and through lists to all.
    fn types(&mut self, text: &mut String, seen: &[Declared], unit: &Unit) -> Vec<Declared> {
        let mut own: Vec<Declared> = Vec::new();
        let count = self.choices.below(7);
        let names: Vec<Declared> = (0..count).map(|_| self.global()).collect();
        let listed: Vec<Declared> = seen.iter().chain(&names).cloned().collect();
        for declared in names {
            let direct: Vec<Declared> = seen.iter().chain(&own).cloned().collect();
            let place = Where {
                parameters: &[],
                direct: &direct,
                listed: &listed,
                protocols: &[],
            };
            let name = &declared;
            match self.choices.below(8) {
                0 | 1 => {
                    let ty = self.ty(&place, 3);
                    line(text, &format!("type {name} = {ty};"));
                }
                2..=4 => {
                    let fields = self.fields(&place);
                    line(text, &format!("struct {name} {{ {fields} }}"));
                }
                5 | 6 => {
                    let variants = self.variants(&place);
                    line(text, &format!("enum {name} {{ {variants} }}"));
                }
                _ => self.host(text, name, unit),
            }
            own.push(declared);
        }
        own
    }

    fn fields(&mut self, place: &Where) -> String {
        let mut taken = BTreeSet::new();
        let fields = (0..self.choices.below(6)).map(|_| {
            let name = self.fresh(&mut taken);
            let ty = self.ty(place, 3);
            format!("{name}: {}", self.limits.sometimes_in(ty))
        });
        fields.collect::<Vec<_>>().join(", ")
    }

    fn variants(&mut self, place: &Where) -> String {
        let mut taken = BTreeSet::new();
        let variants = (0..=self.choices.below(5)).map(|_| {
            let name = self.fresh(&mut taken);
            format!("{name}{}", self.payload(place))
        });
        variants.collect::<Vec<_>>().join(", ")
    }

    fn host(&mut self, text: &mut String, name: &str, unit: &Unit) {
        let bounds = ["", ": clone debug eq ord hash", ": clone + debug"];
        let bounds = self.choices.one_of(&bounds);
        let c = "c = \"struct zz_value *\" from \"zz_value.h\" drop \"zz_value_free\";";
        // The program around the generated code declares names that every target spells without escaping.
        let is_plain = |word: &str| {
            word.starts_with(|first: char| first.is_ascii_lowercase())
                && word
                    .chars()
                    .all(|letter| matches!(letter, 'a'..='z' | '0'..='9'))
        };
        let mapping = if !name.split('_').all(is_plain) || name == "self" || self.choices.once_in(2)
        {
            format!(" {{ rust = \"crate::HostValue\"; {c} scala = \"_root_.hosts.HostValue\"; }}")
        } else {
            // In C, the program may not declare a word that has a meaning of its own.
            let in_c = PLAIN.iter().any(|word| name.starts_with(word));
            self.supply(unit, name, in_c);
            if in_c {
                ";".to_owned()
            } else {
                format!(" {{ {c} }}")
            }
        };
        line(text, &format!("extern type {name}{bounds}{mapping}"));
    }

    /// The entries of a message or a variant, in parentheses, or nothing.
    fn payload(&mut self, place: &Where) -> String {
        if self.choices.once_in(4) {
            return String::new();
        }
        let mut taken = BTreeSet::new();
        let is_named = self.choices.once_in(2);
        let count = match self.choices.below(40) {
            0 => 12 + self.choices.below(30),
            _ => self.choices.below(4),
        };
        let entries = (0..count).map(|_| {
            let ty = self.ty(place, 3);
            let ty = self.limits.sometimes_in(ty);
            if is_named {
                format!("{}: {ty}", self.fresh(&mut taken))
            } else {
                ty
            }
        });
        format!("({})", entries.collect::<Vec<_>>().join(", "))
    }

    fn ty(&mut self, place: &Where, depth: usize) -> String {
        if depth == 0 {
            return self.choices.one_of(&NUMBERS).to_owned();
        }
        match self.choices.below(16) {
            0 => {
                let inner = Where {
                    direct: place.listed,
                    ..*place
                };
                format!("[{}]", self.ty(&inner, depth - 1))
            }
            1 => format!("{}?", self.ty(place, depth - 1)),
            2 => {
                let first = self.ty(place, depth - 1);
                format!("({first}, {})", self.ty(place, depth - 1))
            }
            3 => "str".to_owned(),
            4 => self.choices.one_of(&["bytes", "f32", "f64"]).to_owned(),
            5..=7 if !place.parameters.is_empty() => {
                let index = self.choices.below(place.parameters.len());
                place.parameters[index].clone()
            }
            8..=11 if !place.direct.is_empty() => {
                let index = self.choices.below(place.direct.len());
                place.direct[index].clone()
            }
            12 if !place.protocols.is_empty() => self.endpoint(place, depth),
            _ => self.choices.one_of(&NUMBERS).to_owned(),
        }
    }

    fn endpoint(&mut self, place: &Where, depth: usize) -> String {
        let protocol = &place.protocols[self.choices.below(place.protocols.len())];
        let state = &protocol.states[self.choices.below(protocol.states.len())];
        let side = self.choices.one_of(&["client", "server"]);
        // Arguments that name no parameter: otherwise a loop could make them grow.
        let closed = Where {
            parameters: &[],
            protocols: &[],
            ..*place
        };
        let arguments = self.arguments(&closed, state.parameters, depth - 1);
        format!("{}::{side}::{}{arguments}", protocol.name, state.name)
    }

    fn arguments(&mut self, place: &Where, count: usize, depth: usize) -> String {
        if count == 0 {
            return String::new();
        }
        let arguments = (0..count).map(|_| self.ty(place, depth.min(2)));
        format!("<{}>", arguments.collect::<Vec<_>>().join(", "))
    }

    /// Declares protocols and instances; returns the protocols.
    fn protocols(
        &mut self,
        text: &mut String,
        types: &[Declared],
        known: Vec<Protocol>,
    ) -> Vec<Protocol> {
        let first = known.len();
        let mut all = known;
        for _ in 0..=self.choices.below(2) {
            let name = self.global();
            let mut taken = BTreeSet::new();
            let states = (0..=self.choices.below(5)).map(|_| State {
                name: self.fresh(&mut taken),
                parameters: [0, 0, 0, 1, 1, 2][self.choices.below(6)],
            });
            let states = states.collect();
            all.push(Protocol { name, states });
        }
        for protocol in &all[first..] {
            line(text, &format!("proto! {} {{", protocol.name));
            for state in &protocol.states {
                self.state(text, state, protocol, types, &all);
            }
            line(text, "}");
        }
        for (index, protocol) in all.iter().enumerate() {
            let parameters = protocol.states[0].parameters;
            let count = match parameters {
                0 => 0,
                _ if index < first => usize::from(self.choices.once_in(4)),
                _ => 1 + self.choices.below(2),
            };
            for _ in 0..count {
                let place = Where {
                    parameters: &[],
                    direct: types,
                    listed: types,
                    protocols: &[],
                };
                let arguments = self.arguments(&place, parameters, 2);
                let name = self.global();
                let instance = format!("proto! {name} = {}{arguments};", protocol.name);
                line(text, &instance);
            }
        }
        all.split_off(first)
    }

    fn state(
        &mut self,
        text: &mut String,
        state: &State,
        protocol: &Protocol,
        types: &[Declared],
        protocols: &[Protocol],
    ) {
        let mut taken: BTreeSet<String> = types.iter().map(|ty| folded(ty)).collect();
        let parameters: Vec<String> = (0..state.parameters)
            .map(|_| self.fresh(&mut taken))
            .collect();
        let declared = parameters.iter().map(|parameter| {
            let bounds = ["", ": send", ":", ": clone", ": debug + eq"];
            let bound = bounds.get(self.choices.below(30)).unwrap_or(&"");
            format!("{parameter}{bound}")
        });
        let declared: Vec<String> = declared.collect();
        let mut head = state.name.clone();
        let is_over = self.choices.once_in(20) && parameters.is_empty();
        if !is_over {
            head += self.choices.one_of(&[":send", ":recv"]);
        }
        if !declared.is_empty() {
            let _ = write!(head, "<{}>", declared.join(", "));
        }
        if is_over {
            line(text, &format!("    {head} {{\n    }}"));
            return;
        }
        let limit = self.limits.sometimes_before_state();
        line(text, &format!("    {limit}{head} {{"));
        let mut names = BTreeSet::new();
        let count = if self.choices.once_in(15) {
            0
        } else {
            1 + self.choices.below(3)
        };
        let stays = self.choices.once_in(8);
        for _ in 0..count {
            let place = Where {
                parameters: &parameters,
                direct: types,
                listed: types,
                protocols,
            };
            let name = self.fresh(&mut names);
            let payload = self.payload(&place);
            let next = match parameters.join(", ") {
                _ if !stays => self.next(&place, protocol),
                arguments if arguments.is_empty() => state.name.clone(),
                arguments => format!("{}<{arguments}>", state.name),
            };
            line(text, &format!("        {name}{payload} -> {next},"));
        }
        line(text, "    }");
    }

    /// What a message leads to. Arguments are parameters of this state or name none, so no loop makes them grow.
    fn next(&mut self, place: &Where, protocol: &Protocol) -> String {
        if self.choices.once_in(4) {
            return "!".to_owned();
        }
        let state = &protocol.states[self.choices.below(protocol.states.len())];
        if state.parameters == 0 {
            return state.name.clone();
        }
        let arguments = (0..state.parameters).map(|_| {
            if !place.parameters.is_empty() && !self.choices.once_in(3) {
                let index = self.choices.below(place.parameters.len());
                place.parameters[index].clone()
            } else {
                let closed = Where {
                    parameters: &[],
                    protocols: &[],
                    ..*place
                };
                self.ty(&closed, 2)
            }
        });
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        format!("{}<{arguments}>", state.name)
    }
}

/// A name as `clashing-names` compares it.
fn folded(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
