//! When two payload types are the same, whatever they are called.

use crate::protocol::{Definition, EndpointType, Entry, Program, Type, TypeId};
use std::collections::HashSet;

/// Compares types by structure: aliases are what they stand for; structs have the same fields and enums the same variants, in the
/// same order; types of the host program have the same name; endpoints have the same protocol, side and state.
pub struct SameType<'a> {
    program: &'a Program,
    /// Pairs that are the same if all pairs looked at are. After one that is not, nothing more may be asked.
    assumed: HashSet<(TypeId, TypeId)>,
}

impl<'a> SameType<'a> {
    pub fn new(program: &'a Program) -> SameType<'a> {
        SameType {
            program,
            assumed: HashSet::new(),
        }
    }

    /// Whether both types have the same structure. Types may be nested and recursive at will: what is left to compare is kept in
    /// a list, and no pair of declarations is compared twice.
    pub fn are_same(&mut self, left: &Type, right: &Type) -> bool {
        let mut open: Vec<(Type, Type)> = vec![(left.clone(), right.clone())];
        while let Some((left, right)) = open.pop() {
            let is_same = match (left, right) {
                (Type::Named(left), Type::Named(right)) => self.named(left, right, &mut open),
                (Type::Named(named), other) | (other, Type::Named(named)) => {
                    match &self.program.ty(named).definition {
                        Definition::Alias(ty) => {
                            open.push((ty.clone(), other));
                            true
                        }
                        Definition::Struct(_)
                        | Definition::Enum(_)
                        | Definition::Extern(..)
                        | Definition::Undeclared => false,
                    }
                }
                (Type::List(left), Type::List(right))
                | (Type::Option(left), Type::Option(right)) => {
                    open.push((*left, *right));
                    true
                }
                (Type::Tuple(left), Type::Tuple(right)) => both(left, right, &mut open),
                (Type::Endpoint(left), Type::Endpoint(right)) => {
                    let place = |end: &EndpointType| (end.protocol, end.side, end.state);
                    let is_same = place(&left) == place(&right);
                    is_same && both(left.arguments, right.arguments, &mut open)
                }
                (left, right) => left == right,
            };
            if !is_same {
                return false;
            }
        }
        true
    }

    fn named(&mut self, left: TypeId, right: TypeId, open: &mut Vec<(Type, Type)>) -> bool {
        if left == right || !self.assumed.insert((left, right)) {
            return true;
        }
        let (one, other) = (self.program.ty(left), self.program.ty(right));
        match (&one.definition, &other.definition) {
            (Definition::Alias(ty), _) => {
                open.push((ty.clone(), Type::Named(right)));
                true
            }
            (_, Definition::Alias(ty)) => {
                open.push((Type::Named(left), ty.clone()));
                true
            }
            (Definition::Struct(one), Definition::Struct(other)) => {
                let names = one.iter().map(|field| field.name.text());
                let is_same = names.eq(other.iter().map(|field| field.name.text()));
                let pairs = one.iter().zip(other);
                open.extend(pairs.map(|(one, other)| (one.ty.clone(), other.ty.clone())));
                is_same
            }
            (Definition::Enum(one), Definition::Enum(other)) => {
                let names = one.iter().map(|variant| variant.name.text());
                let is_same = names.eq(other.iter().map(|variant| variant.name.text()));
                let mut pairs = one.iter().zip(other);
                is_same && pairs.all(|(one, other)| entries(&one.entries, &other.entries, open))
            }
            (
                Definition::Extern(..) | Definition::Undeclared,
                Definition::Extern(..) | Definition::Undeclared,
            ) => one.name.text() == other.name.text(),
            (
                Definition::Struct(_)
                | Definition::Enum(_)
                | Definition::Extern(..)
                | Definition::Undeclared,
                _,
            ) => false,
        }
    }
}

fn entries(one: &[Entry], other: &[Entry], open: &mut Vec<(Type, Type)>) -> bool {
    let types = |entries: &[Entry]| entries.iter().map(|entry| entry.ty.clone()).collect();
    both(types(one), types(other), open)
}

fn both(left: Vec<Type>, right: Vec<Type>, open: &mut Vec<(Type, Type)>) -> bool {
    let is_same = left.len() == right.len();
    open.extend(left.into_iter().zip(right));
    is_same
}
