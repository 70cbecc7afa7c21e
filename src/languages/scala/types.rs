//! The file with the types that a protocol file declares.

use super::names::object_scope::ObjectScope;
use super::names::spelling::{self, Spell, type_name};
use super::payload::{Check, Moved, check, moved};
use super::view::{Head, Parameters, docs};
use super::wire::{WireBody, WireView, is_split};
use crate::protocol::{Definition, Type, TypeId};
use crate::wire::Sizes;
use askama::Template;

#[derive(Template)]
#[template(path = "scala/types.scala.jinja")]
pub struct TypesView<'a> {
    head: Head<'a>,
    object: String,
    types: Vec<TypeView>,
    /// The objects that encode them.
    wires: Vec<WireView>,
}

struct TypeView {
    docs: Vec<String>,
    name: String,
    /// The type, as code inside of it refers to it.
    path: String,
    /// Whether values can hold endpoints.
    is_carrier: bool,
    body: Body,
}

enum Body {
    Alias(String),
    /// In code for Scala 3 alone, another name of a built-in type.
    Opaque {
        target: String,
        builtin: String,
        checks: Vec<Check>,
        /// Whether `target` is opaque too.
        is_distant: bool,
    },
    Struct(Values),
    /// In code for both versions, and without variants.
    Trait {
        /// Whether each variant has its number.
        is_numbered: bool,
        variants: Vec<VariantView>,
    },
    /// In code for Scala 3 alone.
    Enum {
        /// A case has no body. So that it checks its values, they are an argument of the constructor of the whole enum.
        has_checks: bool,
        /// Whether a case holds no endpoints.
        has_rest: bool,
        cases: Vec<VariantView>,
    },
}

struct VariantView {
    docs: Vec<String>,
    name: String,
    /// The enum, as code inside of the variant refers to it.
    path: String,
    /// Whether it has no values.
    is_object: bool,
    values: Values,
}

/// The values of a struct or a variant.
struct Values {
    fields: Parameters,
    checks: Vec<Check>,
    /// Those that hold endpoints.
    moved: Vec<(String, Moved)>,
}

impl<'a> TypesView<'a> {
    pub fn of(scope: &mut ObjectScope<'a>, sizes: Option<&Sizes>) -> TypesView<'a> {
        let declared = scope.whole.program.file(scope.file);
        let types = || declared.types.iter().copied();
        TypesView {
            head: Head::of(scope.whole, scope.file),
            object: spelling::types_object(&declared.stem),
            types: types().filter_map(|id| TypeView::of(scope, id)).collect(),
            wires: (sizes.into_iter())
                .flat_map(|sizes| types().map(move |id| (sizes, id)))
                .filter_map(|(sizes, id)| WireView::of(scope, sizes, id))
                .collect(),
        }
    }
}

impl TypeView {
    /// `None` for types that the host supplies.
    fn of(scope: &mut ObjectScope, id: TypeId) -> Option<TypeView> {
        let whole = scope.whole;
        let ty = whole.program.ty(id);
        let named = Type::Named(id);
        let name = type_name(ty.name.text());
        let mut lines: Vec<String> = ty.docs.iter().map(|line| line.to_string()).collect();
        scope.hide(std::iter::empty());
        let mut path = scope.own(&name);
        let body = match &ty.definition {
            Definition::Alias(target) if whole.is_distinct(&named) => {
                let builtin = whole.underlying(target);
                Body::Opaque {
                    target: scope.payload_type(target),
                    builtin: scope.payload_type(builtin),
                    checks: check(whole, builtin, ty.name.text(), "value"),
                    is_distant: !matches!(target, Type::Builtin(_)),
                }
            }
            Definition::Alias(target) => Body::Alias(scope.payload_type(target)),
            Definition::Struct(fields) => {
                let field = spelling::field_name;
                for one in fields {
                    if let Some((first, rest)) = one.docs.split_first() {
                        lines.push(format!("@param {} {first}", field(one.name.text())));
                        lines.extend(rest.iter().map(|line| format!("  {line}")));
                    }
                }
                let values = fields.iter().map(|one| (one.name.text(), &one.ty));
                let values = Values::of(scope, field, values, "");
                path = scope.own(&name);
                Body::Struct(values)
            }
            Definition::Enum(variants) => {
                let is_enum = whole.is_for_three() && !variants.is_empty();
                let base = if is_enum { "it." } else { "" };
                let views = variants.iter().map(|variant| {
                    let values = variant.entries.iter();
                    let values = values.map(|entry| (entry.name.text(), &entry.ty));
                    let values = Values::of(scope, whole.variant_field(), values, base);
                    VariantView {
                        docs: docs(&variant.docs),
                        name: type_name(variant.name.text()),
                        path: scope.own(&name),
                        is_object: variant.entries.is_empty(),
                        values,
                    }
                });
                let views: Vec<VariantView> = views.collect();
                match is_enum {
                    true => Body::Enum {
                        has_checks: views.iter().any(|view| !view.values.checks.is_empty()),
                        has_rest: views.iter().any(|view| view.values.moved.is_empty()),
                        cases: views,
                    },
                    false => Body::Trait {
                        is_numbered: is_split(variants),
                        variants: views,
                    },
                }
            }
            Definition::Extern(..) => return None,
        };
        Some(TypeView {
            docs: docs(&lines),
            name,
            path,
            is_carrier: whole.holds_endpoints(&named),
            body,
        })
    }
}

impl Values {
    /// Values with these names and types. Code refers to each with `base` before its name.
    fn of<'t>(
        scope: &mut ObjectScope,
        spell: Spell,
        values: impl Iterator<Item = (&'t str, &'t Type)>,
        base: &str,
    ) -> Values {
        let whole = scope.whole;
        let values = values.map(|(written, ty)| (written, spell(written), ty));
        let values: Vec<_> = values.collect();
        scope.hide(values.iter().map(|(_, name, _)| name.clone()));
        let fields = values.iter();
        let fields = fields.map(|(_, name, ty)| (name.clone(), scope.payload_type(ty)));
        let moving = values.iter().filter(|(_, _, ty)| whole.holds_endpoints(ty));
        let moving =
            moving.map(|(_, name, ty)| (name.clone(), moved(whole, ty, &format!("{base}{name}"))));
        let checks = values.iter();
        let checks = checks.flat_map(|(written, name, ty)| check(whole, ty, written, name));
        Values {
            fields: Parameters::of(fields),
            checks: checks.collect(),
            moved: moving.collect(),
        }
    }
}
