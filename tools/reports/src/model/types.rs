//! Types, bounds and what messages carry.

use super::names::ByTarget;
use super::{Context, HeadModel, SpanModel, docs};
use duologue::protocol::{
    Bound, Builtin, Definition, Entry, Lengths, Mappings, Parameter, Type, TypeDeclaration,
};
use duologue::wire::Size;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub struct BuiltinModel {
    name: &'static str,
    words: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
pub struct TypeModel {
    #[serde(flatten)]
    head: HeadModel,
    #[serde(flatten)]
    definition: DefinitionModel,
    /// How many bytes encoded values take.
    bytes: SizeModel,
    names: ByTarget<Option<String>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum DefinitionModel {
    Alias {
        target: TypeUse,
    },
    Struct {
        fields: Vec<FieldModel>,
    },
    Enum {
        variants: Vec<VariantModel>,
    },
    Extern {
        mappings: BTreeMap<&'static str, MappingModel>,
        bounds: Vec<BoundUse>,
    },
    Undeclared,
}

#[derive(Debug, Serialize)]
struct FieldModel {
    name: String,
    docs: String,
    span: SpanModel,
    #[serde(rename = "type")]
    ty: TypeUse,
    text: String,
}

#[derive(Debug, Serialize)]
struct VariantModel {
    name: String,
    docs: String,
    span: SpanModel,
    entries: Vec<EntryModel>,
}

#[derive(Debug, Serialize)]
pub struct EntryModel {
    name: String,
    /// Whether the name was derived from the type.
    is_derived: bool,
    span: SpanModel,
    #[serde(rename = "type")]
    ty: TypeUse,
    /// The type as it is written.
    text: String,
}

/// A type where it is used.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TypeUse {
    Builtin {
        name: &'static str,
        /// The most bytes of a text.
        #[serde(skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    List {
        item: Box<TypeUse>,
        /// The most items.
        #[serde(skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    Option {
        item: Box<TypeUse>,
    },
    Tuple {
        items: Vec<TypeUse>,
    },
    Named {
        #[serde(rename = "type")]
        id: usize,
        name: String,
    },
    Parameter {
        position: u32,
        name: String,
    },
    Endpoint {
        protocol: usize,
        side: &'static str,
        state: usize,
        arguments: Vec<TypeUse>,
    },
}

#[derive(Debug, Serialize)]
pub struct SizeModel {
    least: u64,
    /// `null` if there is no bound, or none that is known.
    most: Option<u64>,
}

impl From<Size> for SizeModel {
    fn from(size: Size) -> SizeModel {
        SizeModel {
            least: size.least,
            most: size.most,
        }
    }
}

#[derive(Debug, Serialize)]
struct MappingModel {
    name: String,
    from: Option<String>,
    drop: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct BoundModel {
    #[serde(flatten)]
    head: HeadModel,
    mappings: BTreeMap<&'static str, MappingModel>,
}

/// A bound where it is used.
#[derive(Debug, Serialize)]
pub struct BoundUse {
    name: String,
    /// `null` for a built-in one.
    bound: Option<usize>,
}

#[derive(Debug, Serialize)]
pub struct ParameterModel {
    name: String,
    bounds: Vec<BoundUse>,
}

/// The built-in types, each with all words for it.
pub fn builtins() -> Vec<BuiltinModel> {
    let mut found: Vec<(Builtin, BuiltinModel)> = Vec::new();
    for (word, builtin) in Builtin::WORDS {
        match found.iter_mut().find(|(known, _)| *known == builtin) {
            Some((_, model)) => model.words.push(word),
            None => {
                let words = vec![word];
                found.push((builtin, BuiltinModel { name: word, words }));
            }
        }
    }
    found.into_iter().map(|(_, model)| model).collect()
}

pub fn types(context: &Context<'_>) -> Vec<TypeModel> {
    let types = context.program.types.iter().enumerate();
    let types = types.map(|(index, declared)| TypeModel {
        head: context.head(&declared.name, declared.file, &declared.docs),
        definition: context.definition(declared),
        bytes: SizeModel::from(
            context
                .sizes
                .of_type(&Type::Named(duologue::protocol::TypeId::new(index))),
        ),
        names: context.names.of_type(index),
    });
    types.collect()
}

pub fn bounds(context: &Context<'_>) -> Vec<BoundModel> {
    let bounds = context.program.bounds.iter();
    let bounds = bounds.map(|bound| BoundModel {
        head: context.head(&bound.name, bound.file, &bound.docs),
        mappings: mappings(&bound.mappings),
    });
    bounds.collect()
}

fn mappings(mappings: &Mappings) -> BTreeMap<&'static str, MappingModel> {
    let each = mappings.iter().map(|(language, mapping)| {
        let mapping = MappingModel {
            name: mapping.name.clone(),
            from: mapping.from.clone(),
            drop: mapping.drop.clone(),
        };
        (language.word, mapping)
    });
    each.collect()
}

impl Context<'_> {
    fn definition(&self, declared: &TypeDeclaration) -> DefinitionModel {
        match &declared.definition {
            Definition::Alias(target) => DefinitionModel::Alias {
                target: self.type_use(target, &declared.lengths, &[]),
            },
            Definition::Struct(fields) => {
                let fields = fields.iter().map(|field| FieldModel {
                    name: field.name.to_string(),
                    docs: docs(&field.docs),
                    span: self.span(field.name.span),
                    ty: self.type_use(&field.ty, &field.lengths, &[]),
                    text: self.written(field.ty_span),
                });
                DefinitionModel::Struct {
                    fields: fields.collect(),
                }
            }
            Definition::Enum(variants) => {
                let variants = variants.iter().map(|variant| VariantModel {
                    name: variant.name.to_string(),
                    docs: docs(&variant.docs),
                    span: self.span(variant.name.span),
                    entries: self.entries(&variant.entries, &[]),
                });
                DefinitionModel::Enum {
                    variants: variants.collect(),
                }
            }
            Definition::Extern(..) if !declared.is_declared => DefinitionModel::Undeclared,
            Definition::Extern(at, bounds) => DefinitionModel::Extern {
                mappings: mappings(at),
                bounds: bounds.iter().map(|bound| self.bound_use(*bound)).collect(),
            },
        }
    }

    pub fn entries(&self, entries: &[Entry], parameters: &[Parameter]) -> Vec<EntryModel> {
        let entries = entries.iter().map(|entry| EntryModel {
            name: entry.name.to_string(),
            is_derived: entry.is_derived,
            span: self.span(entry.name.span),
            ty: self.type_use(&entry.ty, &entry.lengths, parameters),
            text: self.written(entry.ty_span),
        });
        entries.collect()
    }

    pub fn parameters(&self, parameters: &[Parameter]) -> Vec<ParameterModel> {
        let parameters = parameters.iter().map(|parameter| {
            let bounds = parameter.bounds.iter();
            ParameterModel {
                name: parameter.name.to_string(),
                bounds: bounds.map(|bound| self.bound_use(*bound)).collect(),
            }
        });
        parameters.collect()
    }

    fn bound_use(&self, bound: Bound) -> BoundUse {
        let mut builtins = Bound::BUILTINS.iter();
        if let Some((word, _)) = builtins.find(|(_, builtin)| *builtin == bound) {
            let name = (*word).to_owned();
            return BoundUse { name, bound: None };
        }
        let Bound::Extern(id) = bound else {
            unreachable!("every other bound is built in");
        };
        BoundUse {
            name: self.program.bound(id).name.to_string(),
            bound: Some(id.index()),
        }
    }

    /// A type in a state with these parameters. Recurses as deeply as the type is written.
    pub fn type_use(&self, ty: &Type, lengths: &Lengths, parameters: &[Parameter]) -> TypeUse {
        let inner = |ty: &Type, at: usize| self.type_use(ty, lengths.part(at), parameters);
        let all = |types: &[Type]| {
            let types = types.iter().enumerate();
            types.map(|(at, ty)| inner(ty, at)).collect()
        };
        let most = lengths.most.map(|limit| limit.most);
        match ty {
            Type::Builtin(builtin) => TypeUse::Builtin {
                name: duologue::protocol::text::builtin_word(*builtin),
                most,
            },
            Type::List(item) => TypeUse::List {
                item: Box::new(inner(item, 0)),
                most,
            },
            Type::Option(item) => TypeUse::Option {
                item: Box::new(inner(item, 0)),
            },
            Type::Tuple(items) => TypeUse::Tuple { items: all(items) },
            Type::Named(id) => TypeUse::Named {
                id: id.index(),
                name: self.program.ty(*id).name.to_string(),
            },
            Type::Parameter(position) => {
                let parameter = parameters.get(*position as usize);
                TypeUse::Parameter {
                    position: *position,
                    name: parameter.map_or_else(String::new, |found| found.name.to_string()),
                }
            }
            Type::Endpoint(endpoint) => TypeUse::Endpoint {
                protocol: endpoint.protocol.index(),
                side: endpoint.side.word(),
                state: endpoint.state.index(),
                arguments: all(&endpoint.arguments),
            },
            // Never in a checked program.
            Type::Error => TypeUse::Tuple { items: Vec::new() },
        }
    }
}
