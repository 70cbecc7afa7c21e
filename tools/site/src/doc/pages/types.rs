//! The page of a type.

use super::page::Page;
use crate::doc::context::{Context, bytes};
use crate::html::Html;
use askama::Template;
use duologue::protocol::text::bounded_type_text;
use duologue::protocol::{Definition, Lengths, Program, ProtocolId, StateId, Type, TypeId};
use std::collections::BTreeMap;

/// The most elements that are listed as using a type.
const USERS: usize = 60;

#[derive(Template)]
#[template(path = "type.html")]
struct TypePage<'a> {
    name: &'a str,
    kind: &'static str,
    docs: Html,
    target: Option<Html>,
    parts_title: &'static str,
    parts: Vec<Part>,
    /// Whether a part has documentation.
    has_docs: bool,
    languages: Vec<LanguageView>,
    bytes: String,
    users: Vec<Html>,
    more_users: usize,
    place: Html,
}

struct Part {
    name: String,
    ty: Html,
    docs: Html,
}

struct LanguageView {
    title: &'static str,
    name: String,
}

/// Where each type is used: in a state or in another type.
pub struct Users(Vec<Vec<User>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    State(ProtocolId, StateId),
    Type(TypeId),
}

impl Users {
    pub fn of(program: &Program) -> Users {
        let mut users = vec![Vec::new(); program.types.len()];
        for (index, protocol) in program.protocols.iter().enumerate() {
            for state in protocol.state_ids() {
                let messages = protocol.state(state).messages.iter();
                let entries = messages.flat_map(|message| &message.entries);
                for entry in entries {
                    let user = User::State(ProtocolId::new(index), state);
                    let named = entry.ty.named().into_iter();
                    named.for_each(|id| add(&mut users, id, user));
                }
            }
        }
        for (index, declared) in program.types.iter().enumerate() {
            let user = User::Type(TypeId::new(index));
            for ty in declared.definition.parts() {
                let named = ty.named().into_iter();
                named.for_each(|id| add(&mut users, id, user));
            }
        }
        Users(users)
    }
}

fn add(users: &mut [Vec<User>], id: TypeId, user: User) {
    let users = &mut users[id.index()];
    if users.last() != Some(&user) {
        users.push(user);
    }
}

pub fn page(context: &Context<'_>, id: TypeId, users: &Users) -> Page {
    let declared = context.program.ty(id);
    let full_name = context.full_name(declared.file, &declared.name);
    let (kind, parts_title, target, parts) = definition(context, id);
    let users = &users.0[id.index()];
    let names = context.names.iter();
    let template = TypePage {
        name: &full_name,
        kind,
        docs: context.docs(&declared.docs),
        target,
        parts_title,
        has_docs: parts.iter().any(|part| !part.docs.is_empty()),
        parts,
        languages: names
            .filter_map(|(target, names)| {
                Some(LanguageView {
                    title: target.title(),
                    name: names.types[id.index()].clone()?,
                })
            })
            .collect(),
        bytes: bytes(context.sizes.of_type(&Type::Named(id))),
        users: users
            .iter()
            .take(USERS)
            .map(|user| used_by(context, *user))
            .collect(),
        more_users: users.len().saturating_sub(USERS),
        place: context.place(declared.name.span),
    };
    Page::new(context.addresses.ty(id), full_name.clone(), &template)
}

fn used_by(context: &Context<'_>, user: User) -> Html {
    match user {
        User::State(id, state) => {
            let name = context.program.protocol(id).name.text();
            let mut html = Html::linked(context.addresses.protocol(id), name);
            html.push(" / ");
            html.add(&context.state(id, state));
            html
        }
        User::Type(id) => {
            Html::linked(context.addresses.ty(id), context.program.ty(id).name.text())
        }
    }
}

fn definition(
    context: &Context<'_>,
    id: TypeId,
) -> (&'static str, &'static str, Option<Html>, Vec<Part>) {
    let declared = context.program.ty(id);
    match &declared.definition {
        Definition::Alias(ty) => {
            let target = alias(context, ty, &declared.lengths);
            ("Alias", "", Some(target), Vec::new())
        }
        Definition::Struct(fields) => {
            let fields = fields.iter().map(|field| Part {
                name: field.name.to_string(),
                ty: context.code(field.ty_span),
                docs: context.docs(&field.docs),
            });
            ("Struct", "Field", None, fields.collect())
        }
        Definition::Enum(variants) => {
            let variants = variants.iter().map(|variant| {
                let mut ty = Html::default();
                context.payload(&mut ty, &variant.entries);
                Part {
                    name: variant.name.to_string(),
                    ty,
                    docs: context.docs(&variant.docs),
                }
            });
            ("Enum", "Variant", None, variants.collect())
        }
        Definition::Extern(mappings, _) => {
            let languages = mappings.iter().map(|(language, mapping)| Part {
                name: language.title.to_owned(),
                ty: Html::text(&mapping.name),
                docs: Html::default(),
            });
            match declared.is_declared {
                true => ("External type", "Language", None, languages.collect()),
                false => ("Undeclared type", "", None, Vec::new()),
            }
        }
    }
}

/// What an alias stands for, with its types linked.
fn alias(context: &Context<'_>, ty: &Type, lengths: &Lengths) -> Html {
    let mut named: BTreeMap<&str, TypeId> = BTreeMap::new();
    for id in ty.named() {
        named.insert(context.program.ty(id).name.text(), id);
    }
    let text = bounded_type_text(context.program, &[], ty, lengths);
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut html = Html::default();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            true => rest.find(|letter| !is_word(letter)),
            false => rest.find(is_word),
        };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        match named.get(part) {
            Some(id) => html.link(context.addresses.ty(*id), part),
            None => html.push(part),
        }
        rest = after;
    }
    html
}
