//! Mistakes in declarations other than protocols, and tokens between declarations that do not begin one.

use crate::diagnostic::Diagnostic;
use crate::name::nearest;
use crate::syntax::ascii::{is_number, is_word};
use crate::syntax::failure::{Context, Part, STATE};
use duologue_grammar::{Kind, Node};

pub(super) fn in_item(cx: &Context<'_>) -> Option<Diagnostic> {
    // What the declaration is, after its attributes.
    let item = cx
        .node
        .children()
        .find(|part| part.kind() != Kind::attribute);
    let kind = item.map_or(Kind::item, Node::kind);
    let name = item.and_then(|item| item.child(Kind::ident));
    let name = name.map_or("name", Node::text);
    let has_parts = matches!(kind, Kind::structure | Kind::enumeration);
    if cx.expects("\"") && cx.found.contains('\\') {
        return Some(backslash(cx));
    }
    if cx.found == "<" && has_parts {
        return Some(
            cx.error("structs and enums have no type parameters")
                .help("only states have them: declare the type once for each argument, or carry its parts as the payload of a message"),
        );
    }
    if cx.found == "#" && matches!(cx.part, Part::Import | Part::Package) {
        return Some(
            cx.error("attributes go before declarations, states and messages")
                .help("move the attribute there"),
        );
    }
    let error = match kind {
        Kind::instance => in_instance(cx, name),
        Kind::structure | Kind::enumeration => in_parts(cx, kind == Kind::structure),
        Kind::alias => in_alias(cx, item?, name),
        _ => None,
    };
    if error.is_some() {
        return error;
    }
    if cx.expects(";") && !cx.expects("]") && cx.found != ";" {
        return Some(missing_semicolon(cx));
    }
    super::types::in_type(cx)
}

/// A string with a `\`.
fn backslash(cx: &Context<'_>) -> Diagnostic {
    let (before, rest) = cx.found.split_once('\\').unwrap_or_default();
    let start = cx.here.start + before.len();
    if cx.part != Part::Import {
        return cx
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
    let whole = cx.span(start..cx.here.end - 1);
    cx.error_at(start..start + 1, text)
        .fix("write `/`", whole, repaired)
}

/// `proto! a = ...`
fn in_instance(cx: &Context<'_>, name: &str) -> Option<Diagnostic> {
    if cx.before == "=" && matches!(cx.found, "{" | "(") {
        return Some(
            cx.error("the states of a protocol come directly after its name")
                .fix("remove the `=`", cx.span(cx.last.clone()), ""),
        );
    }
    if cx.before == "=" && matches!(cx.found, "!" | "?" | "+" | "&") {
        return Some(cx.session_type());
    }
    if !cx.expects("<") {
        return None;
    }
    if matches!(cx.before, "rec" | "mu") {
        let error = cx.error("recursion has no keyword: a message leads back to a state");
        return Some(error.help("write `loop:send { again -> loop, stop -> ! }`"));
    }
    let generic = cx.before;
    Some(
        cx.error(format!("expected `<`, found {}", cx.what_is_found()))
            .help(format!(
                "an instance names the type arguments of a protocol: `proto! {name} = {generic}<u64>;`"
            )),
    )
}

/// A struct or an enum.
fn in_parts(cx: &Context<'_>, is_struct: bool) -> Option<Diagnostic> {
    let is_complete = cx.expects(",") && cx.expects("}");
    let is_start = cx.expects_name() && cx.expects("}");
    Some(match cx.found {
        ";" if is_complete => {
            let what = if is_struct { "fields" } else { "variants" };
            let words = format!("{what} are separated by commas, not semicolons");
            cx.error(words)
                .fix("write a comma", cx.found_span(), ",")
                .safe(true)
        }
        "=" if is_complete && is_struct => cx
            .error("fields have no numbers and no default values")
            .label("remove this and the value after it")
            .help("a field that may be missing is written `name: type?`"),
        "=" if is_complete => cx.error("variants have no numbers").help(
            "remove the `=` and the number; a variant is sent as its position among the variants",
        ),
        "{" | ":" if !is_struct && is_complete && is_word(cx.before) => {
            let value = match cx.found {
                ":" => cx.token_ahead(1),
                _ => "name: type",
            };
            cx.error("the values of a variant are written in parentheses")
                .help(format!("write `{}({value})`", cx.before))
        }
        found if is_start && is_number(found) => {
            let help = match is_struct {
                true => {
                    "write `name: type`; fields are sent in the order in which they are declared"
                }
                false => "write the name of the variant alone",
            };
            cx.error("fields and variants have no numbers").help(help)
        }
        "[" | "(" | "~" if is_start && is_struct => cx
            .error("a field is written `name: type`")
            .label("the name comes first")
            .help("write the name of the field and a `:` before this"),
        found if is_struct && cx.expects(":") && is_word(found) => {
            super::types::two_words(cx, "a field")
        }
        "?" | "<" | "[" if is_struct && cx.expects(":") => cx
            .error("a field is written `name: type`")
            .label("here the type comes first")
            .help("write the name of the field and a `:` before the type"),
        found if is_struct && is_complete && is_word(found) => {
            // A type cannot be followed by a word, and only a field's name by a colon.
            let is_safe = cx.token_ahead(1) == ":";
            cx.error("fields are separated by commas")
                .label("a comma is missing before this")
                .fix("add it", cx.end_of_last(), ",")
                .safe(is_safe)
        }
        _ => return None,
    })
}

/// `type name = ...`
fn in_alias<'a>(cx: &Context<'a>, item: Node<'a>, name: &str) -> Option<Diagnostic> {
    match (cx.before, cx.found) {
        ("=", "{") => {
            let whole = cx.span(item.range().start..cx.last.end);
            let repaired = format!("struct {name}");
            Some(
                cx.error("a type with fields is declared with `struct`")
                    .fix(format!("write `{repaired}`"), whole, repaired),
            )
        }
        (_, "|") => Some(cx.error("an alias stands for one type").help(format!(
            "a choice of values is an enum: `enum {name} {{ one, other(type) }}`"
        ))),
        (before, found) if cx.expects(";") && is_word(before) && is_word(found) => Some(
            cx.error("the name of a type is one word")
                .help("numbers are `u8` to `u64`, `i8` to `i64`, `f32` and `f64`"),
        ),
        _ => None,
    }
}

/// The `;` is added automatically only if nothing follows with which the declaration could continue.
fn missing_semicolon(cx: &Context<'_>) -> Diagnostic {
    let end = cx.last.end..cx.last.end;
    let is_mapping = cx.before.ends_with('"') && cx.token_ahead(1) == "=" && is_word(cx.found);
    let is_safe = cx.found.is_empty() || is_mapping || cx.found == "}";
    let text = format!("expected `;`, found {}", cx.what_is_found());
    let error = cx.error_at(end, text).label("missing here");
    error.fix("add it", cx.end_of_last(), ";").safe(is_safe)
}

pub(super) fn outside(cx: &Context<'_>) -> Diagnostic {
    let next = cx.token_ahead(1);
    match cx.found {
        "syntax" | "edition" => {
            return protocol_buffers(cx, "this is a Protocol Buffers file");
        }
        "message" | "service" if !cx.declared.has_protocol => {
            return protocol_buffers(cx, "this looks like part of a Protocol Buffers file");
        }
        "}" | ")" | "]" => {
            return cx
                .error(format!("this `{}` closes nothing", cx.found))
                .help("remove it, or open what it closes");
        }
        "proto" | "protocol" | "session" | "global" => {
            let whole = cx.here.start..match next {
                "!" | "protocol" => cx.ahead(1).end,
                _ => cx.here.end,
            };
            return cx.error("a protocol begins with `proto!`").fix(
                "write `proto!`",
                cx.span(whole),
                "proto!",
            );
        }
        _ => {}
    }
    if let Some(error) = declaration_of_another_language(cx, next) {
        return error;
    }
    let is_directed = matches!((next, cx.token_ahead(2)), (":", "send" | "recv"));
    if is_word(cx.found) && (is_directed || cx.expects(STATE)) {
        return cx
            .error(format!("the state `{}` is outside any protocol", cx.found))
            .help("a protocol ends with the `}` that closes it: move the state before that, or begin with `proto! name {`");
    }
    let error = cx.error(format!(
        "expected a declaration, found {}",
        cx.what_is_found()
    ));
    let keywords = ["package", "import", "type", "struct", "enum", "extern"];
    match nearest(cx.found, keywords) {
        Some(near) => error.fix(format!("did you mean `{near}`?"), cx.found_span(), near),
        None => {
            error.help("a declaration begins with `proto!`, `type`, `struct`, `enum` or `extern`")
        }
    }
}

fn protocol_buffers(cx: &Context<'_>, message: &str) -> Diagnostic {
    cx.error(message)
        .label("Duologue has no such declaration")
        .note("the two languages share the file extension `.proto`, and nothing else")
        .help("compile it with `protoc`; `duologue explain syntax` shows what a Duologue file looks like")
}

/// A declaration that begins with a keyword of this or another language, and continues in a different way.
fn declaration_of_another_language(cx: &Context<'_>, next: &str) -> Option<Diagnostic> {
    let name = if is_word(next) { next } else { "name" };
    let quoted = cx.token_ahead(2);
    let instead = |keyword: &str, what: &str| {
        cx.error(format!("{what} is declared with `{keyword}`"))
            .fix(format!("write `{keyword}`"), cx.found_span(), keyword)
    };
    Some(match cx.found {
        "import" | "use" | "using" | "include" | "require" | "from" | "open" => cx
            .error("an import names a file, in quotes")
            .help(format!(
                "write `import \"{}.proto\";`",
                if next == "'" && is_word(quoted) { quoted } else { name }
            )),
        "namespace" | "module" | "mod" => instead("package", "the namespace of the generated code"),
        "package" => cx
            .error("a package is written `package outer.inner;`")
            .help("name its parts with `.` between them, and end it with `;`"),
        "message" | "interface" | "class" | "record" | "data" | "case" => {
            instead("struct", "a type with fields")
        }
        "union" | "oneof" | "sealed" | "choice" => instead("enum", "a choice of values"),
        "typedef" => {
            let (ty, alias) = (cx.token_ahead(1), cx.token_ahead(2));
            let error = cx.error("an alias is written `type name = other_type;`");
            if is_word(ty) && is_word(alias) && cx.token_ahead(3) == ";" {
                let whole = cx.here.start..cx.ahead(2).end;
                let repaired = format!("type {alias} = {ty}");
                error.fix("the new name comes first", cx.span(whole), repaired)
            } else {
                error.help("the new name comes first")
            }
        }
        "type" if is_word(next) => match cx.token_ahead(2) {
            keyword @ ("struct" | "enum") => {
                let whole = cx.here.start..cx.ahead(2).end;
                cx.error(format!("the keyword `{keyword}` comes first"))
                    .fix(
                        format!("write `{keyword} {name}`"),
                        cx.span(whole),
                        format!("{keyword} {name}"))
            }
            ":" => cx
                .error("an alias is written `type name = other_type;`")
                .fix("write `=`", cx.span(cx.ahead(2)), " ="),
            "{" => instead("struct", "a type with fields"),
            ";" => cx
                .error(format!("the alias `{name}` does not name its type"))
                .help(format!("write `type {name} = other_type;`; a type of the host program is `extern type {name};`")),
            _ => cx
                .error("an alias is written `type name = other_type;`")
                .help(format!("write `type {name} = other_type;`")),
        },
        found => {
            let (what, form) = form(found)?;
            cx.error(format!("{what} is written `{form}`"))
                .help(format!("write `{}`", form.replacen("name", name, 1)))
        }
    })
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
