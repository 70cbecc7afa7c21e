//! Mistakes in declarations other than protocols, and tokens between declarations that do not begin one.

use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::syntax::ascii::{is_number, is_word};
use crate::syntax::failure::{Context, Part, STATE};
use duologue_grammar::{Kind, Node};

impl<'a> Context<'a> {
    pub(super) fn in_item(&self) -> Option<Diagnostic> {
        // What the declaration is, after its attributes.
        let item = self
            .node
            .children()
            .find(|part| part.kind() != Kind::attribute);
        let kind = item.map_or(Kind::item, Node::kind);
        let name = item.and_then(|item| item.child(Kind::ident));
        let name = name.map_or("name", Node::text);
        let has_parts = matches!(kind, Kind::structure | Kind::enumeration);
        if self.expects("\"") && self.found.contains('\\') {
            return Some(self.backslash());
        }
        if self.found == "<" && has_parts {
            return Some(
                self.error("structs and enums have no type parameters")
                    .help("only states have them: declare the type once for each argument, or carry its parts as the payload of a message"),
            );
        }
        if self.found == "#" && matches!(self.part, Part::Import | Part::Package) {
            return Some(
                self.error("attributes go before declarations, states and messages")
                    .help("move the attribute there"),
            );
        }
        let error = match kind {
            Kind::instance => self.in_instance(name),
            Kind::structure | Kind::enumeration => self.in_parts(kind == Kind::structure),
            Kind::alias => self.in_alias(item?, name),
            _ => None,
        };
        if error.is_some() {
            return error;
        }
        if self.expects(";") && !self.expects("]") && self.found != ";" {
            return Some(self.missing_semicolon());
        }
        self.in_type()
    }

    /// A string with a `\`.
    fn backslash(&self) -> Diagnostic {
        let (before, rest) = self.found.split_once('\\').unwrap_or_default();
        let start = self.here.start + before.len();
        if self.part != Part::Import {
            return self
                .error_at(
                    start..start + 1,
                    "a string has no escapes, and cannot contain `\\`",
                )
                .help("remove the `\\`");
        }
        let rest = rest
            .trim_end_matches('"')
            .split('\\')
            .filter(|part| !part.is_empty());
        let repaired: String = rest.map(|part| format!("/{part}")).collect();
        let text = "the parts of a path are separated by `/`, on every system";
        let whole = self.span(start..self.here.end - 1);
        self.error_at(start..start + 1, text)
            .fix("write `/`", whole, repaired, false)
    }

    /// `proto! a = ...`
    fn in_instance(&self, name: &str) -> Option<Diagnostic> {
        if self.before == "=" && matches!(self.found, "{" | "(") {
            return Some(
                self.error("the states of a protocol come directly after its name")
                    .fix("remove the `=`", self.span(self.last.clone()), "", false),
            );
        }
        if self.before == "=" && matches!(self.found, "!" | "?" | "+" | "&") {
            return Some(self.session_type());
        }
        if !self.expects("<") {
            return None;
        }
        if matches!(self.before, "rec" | "mu") {
            let error = self.error("recursion has no keyword: a message leads back to a state");
            return Some(error.help("write `loop:send { again -> loop, stop -> ! }`"));
        }
        let generic = self.before;
        Some(
            self.error(format!("expected `<`, found {}", self.what_is_found()))
                .help(format!(
                    "an instance names the type arguments of a protocol: `proto! {name} = {generic}<u64>;`"
                )),
        )
    }

    /// A struct or an enum.
    fn in_parts(&self, is_struct: bool) -> Option<Diagnostic> {
        let is_complete = self.expects(",") && self.expects("}");
        let is_start = self.expects_name() && self.expects("}");
        Some(match self.found {
            ";" if is_complete => {
                let what = if is_struct { "fields" } else { "variants" };
                let words = format!("{what} are separated by commas, not semicolons");
                self.error(words)
                    .fix("write a comma", self.found_span(), ",", true)
            }
            "=" if is_complete && is_struct => self
                .error("fields have no numbers and no default values")
                .label("remove this and the value after it")
                .help("a field that may be missing is written `name: type?`"),
            "=" if is_complete => self
                .error("variants have no numbers")
                .help("remove the `=` and the number; a variant is sent as its position among the variants"),
            "{" | ":" if !is_struct && is_complete && is_word(self.before) => {
                let value = match self.found {
                    ":" => self.token_ahead(1),
                    _ => "name: type",
                };
                self.error("the values of a variant are written in parentheses")
                    .help(format!("write `{}({value})`", self.before))
            }
            found if is_start && is_number(found) => {
                let help = match is_struct {
                    true => "write `name: type`; fields are sent in the order in which they are declared",
                    false => "write the name of the variant alone",
                };
                self.error("fields and variants have no numbers").help(help)
            }
            "[" | "(" | "~" if is_start && is_struct => self
                .error("a field is written `name: type`")
                .label("the name comes first")
                .help("write the name of the field and a `:` before this"),
            found if is_struct && self.expects(":") && is_word(found) => self.two_words("a field"),
            "?" | "<" | "[" if is_struct && self.expects(":") => self
                .error("a field is written `name: type`")
                .label("here the type comes first")
                .help("write the name of the field and a `:` before the type"),
            found if is_struct && is_complete && is_word(found) => {
                // A type cannot be followed by a word, and only a field's name by a colon.
                let is_safe = self.token_ahead(1) == ":";
                self.error("fields are separated by commas")
                    .label("a comma is missing before this")
                    .fix("add it", self.end_of_last(), ",", is_safe)
            }
            _ => return None,
        })
    }

    /// `type name = ...`
    fn in_alias(&self, item: Node<'a>, name: &str) -> Option<Diagnostic> {
        match (self.before, self.found) {
            ("=", "{") => {
                let whole = self.span(item.range().start..self.last.end);
                let repaired = format!("struct {name}");
                Some(
                    self.error("a type with fields is declared with `struct`")
                        .fix(format!("write `{repaired}`"), whole, repaired, false),
                )
            }
            (_, "|") => Some(self.error("an alias stands for one type").help(format!(
                "a choice of values is an enum: `enum {name} {{ one, other(type) }}`"
            ))),
            (before, found) if self.expects(";") && is_word(before) && is_word(found) => Some(
                self.error("the name of a type is one word")
                    .help("numbers are `u8` to `u64`, `i8` to `i64`, `f32` and `f64`"),
            ),
            _ => None,
        }
    }

    /// The `;` is added automatically only if nothing follows with which the declaration could continue.
    fn missing_semicolon(&self) -> Diagnostic {
        let end = self.last.end..self.last.end;
        let is_mapping =
            self.before.ends_with('"') && self.token_ahead(1) == "=" && is_word(self.found);
        let is_safe = self.found.is_empty() || is_mapping || self.found == "}";
        let text = format!("expected `;`, found {}", self.what_is_found());
        let error = self.error_at(end, text).label("missing here");
        error.fix("add it", self.end_of_last(), ";", is_safe)
    }

    pub(super) fn outside(&self) -> Diagnostic {
        let next = self.token_ahead(1);
        match self.found {
            "syntax" | "edition" => {
                return self.protocol_buffers("this is a Protocol Buffers file");
            }
            "message" | "service" if !self.declared.has_protocol => {
                return self.protocol_buffers("this looks like part of a Protocol Buffers file");
            }
            "}" | ")" | "]" => {
                return self
                    .error(format!("this `{}` closes nothing", self.found))
                    .help("remove it, or open what it closes");
            }
            "proto" | "protocol" | "session" | "global" => {
                let whole = self.here.start..match next {
                    "!" | "protocol" => self.ahead(1).end,
                    _ => self.here.end,
                };
                return self.error("a protocol begins with `proto!`").fix(
                    "write `proto!`",
                    self.span(whole),
                    "proto!",
                    false,
                );
            }
            _ => {}
        }
        if let Some(error) = self.declaration_of_another_language(next) {
            return error;
        }
        let is_directed = matches!((next, self.token_ahead(2)), (":", "send" | "recv"));
        if is_word(self.found) && (is_directed || self.expects(STATE)) {
            return self
                .error(format!("the state `{}` is outside any protocol", self.found))
                .help("a protocol ends with the `}` that closes it: move the state before that, or begin with `proto! name {`");
        }
        let error = self.error(format!(
            "expected a declaration, found {}",
            self.what_is_found()
        ));
        let keywords = ["package", "import", "type", "struct", "enum", "extern"];
        match nearest(self.found, keywords) {
            Some(near) => error.fix(
                format!("did you mean `{near}`?"),
                self.found_span(),
                near,
                false,
            ),
            None => error
                .help("a declaration begins with `proto!`, `type`, `struct`, `enum` or `extern`"),
        }
    }

    fn protocol_buffers(&self, message: &str) -> Diagnostic {
        self.error(message)
            .label("Duologue has no such declaration")
            .note("the two languages share the file extension `.proto`, and nothing else")
            .help("compile it with `protoc`; `duologue explain syntax` shows what a Duologue file looks like")
    }

    /// A declaration that begins with a keyword of this or another language, and continues in a different way.
    fn declaration_of_another_language(&self, next: &str) -> Option<Diagnostic> {
        let name = if is_word(next) { next } else { "name" };
        let quoted = self.token_ahead(2);
        let instead = |keyword: &str, what: &str| {
            self.error(format!("{what} is declared with `{keyword}`"))
                .fix(
                    format!("write `{keyword}`"),
                    self.found_span(),
                    keyword,
                    false,
                )
        };
        Some(match self.found {
            "import" | "use" | "using" | "include" | "require" | "from" | "open" => self
                .error("an import names a file, in quotes")
                .help(format!(
                    "write `import \"{}.proto\";`",
                    if next == "'" && is_word(quoted) { quoted } else { name }
                )),
            "namespace" | "module" | "mod" => instead("package", "the namespace of the generated code"),
            "package" => self
                .error("a package is written `package outer.inner;`")
                .help("name its parts with `.` between them, and end it with `;`"),
            "message" | "interface" | "class" | "record" | "data" | "case" => {
                instead("struct", "a type with fields")
            }
            "union" | "oneof" | "sealed" | "choice" => instead("enum", "a choice of values"),
            "typedef" => {
                let (ty, alias) = (self.token_ahead(1), self.token_ahead(2));
                let error = self.error("an alias is written `type name = other_type;`");
                if is_word(ty) && is_word(alias) && self.token_ahead(3) == ";" {
                    let whole = self.here.start..self.ahead(2).end;
                    let repaired = format!("type {alias} = {ty}");
                    error.fix("the new name comes first", self.span(whole), repaired, false)
                } else {
                    error.help("the new name comes first")
                }
            }
            "type" if is_word(next) => match self.token_ahead(2) {
                keyword @ ("struct" | "enum") => {
                    let whole = self.here.start..self.ahead(2).end;
                    self.error(format!("the keyword `{keyword}` comes first"))
                        .fix(
                            format!("write `{keyword} {name}`"),
                            self.span(whole),
                            format!("{keyword} {name}"),
                            false,
                        )
                }
                ":" => self
                    .error("an alias is written `type name = other_type;`")
                    .fix("write `=`", self.span(self.ahead(2)), " =", false),
                "{" => instead("struct", "a type with fields"),
                ";" => self
                    .error(format!("the alias `{name}` does not name its type"))
                    .help(format!("write `type {name} = other_type;`; a type of the host program is `extern type {name};`")),
                _ => self
                    .error("an alias is written `type name = other_type;`")
                    .help(format!("write `type {name} = other_type;`")),
            },
            found => {
                let (what, form) = form(found)?;
                self.error(format!("{what} is written `{form}`"))
                    .help(format!("write `{}`", form.replacen("name", name, 1)))
            }
        })
    }
}

/// What a declaration that begins with a keyword is called, and how it is written.
fn form(keyword: &str) -> Option<(&'static str, &'static str)> {
    Some(match keyword {
        "type" => ("an alias", "type name = other_type;"),
        "struct" => ("a struct", "struct name { field: type, ... }"),
        "enum" => ("an enum", "enum name { variant, variant(type), ... }"),
        "extern" => ("a type of the host program", "extern type name;"),
        _ => return None,
    })
}
