//! Tokens between declarations that do not begin a declaration.

use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::syntax::ascii::is_word;
use crate::syntax::failure::Context;
use crate::syntax::failure::STATE;

impl<'a> Context<'a> {
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
