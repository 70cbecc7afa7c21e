//! The words of states whose plain words would make two names equal.

use super::spelling;
use super::units::{Unit, Units};
use super::{Extras, of_state, of_unit};
use crate::protocol::{Program, Protocol, Side};
use std::collections::{BTreeSet, HashSet};

impl Units {
    /// The units of a program, whose states have their final words. Terminates even for a program that breaks rules.
    pub fn of(program: &Program, prefix: &str) -> Units {
        let mut units = Units::with_plain_words(program, prefix);
        for unit in &mut units.units {
            let settled = settled(program.protocol(unit.protocol), unit);
            for (state, name) in unit.states.iter_mut().zip(settled) {
                if let Some(name) = name {
                    state.name = name;
                }
            }
        }
        units
    }
}

/// The spelling of states whose plain word would make two names of the unit equal, or make a name equal to one of the unit itself
/// or of the C library. For example, `server_hello` becomes `state_server_hello` because of the server's endpoint in the state
/// `hello`. The state with the shorter word keeps it. The result depends only on this protocol, not on what is compiled with it.
///
/// Returns the new name of each state that gets one.
fn settled(protocol: &Protocol, unit: &Unit) -> Vec<Option<String>> {
    let mut settled = vec![None; unit.states.len()];
    let mut risky = risky(unit);
    if risky.is_empty() {
        return settled;
    }
    let names = |index: usize, word: &str| -> Vec<String> {
        let state = &unit.states[index];
        let all = of_state(protocol, unit, state, word, true, Extras::ALL);
        all.into_iter().map(|declared| declared.name).collect()
    };
    let shortest_first = |index: &usize| (unit.states[*index].name.len(), *index);
    risky.sort_by_key(shortest_first);
    let own = of_unit(unit, Extras::ALL).into_iter();
    let mut taken: HashSet<String> = own.map(|(name, _)| name).collect();
    let mut losers = Vec::new();
    for index in risky {
        let word = &unit.states[index].name;
        let names = names(index, word);
        // In a state `client`, the tag of the client's endpoint has the name of the constant of a message `client`.
        let tags = Side::BOTH.map(|side| spelling::message(&unit.side(side), word));
        let is_twice = |tag: &String| names.iter().filter(|name| *name == tag).count() > 1;
        let meets_itself = tags.iter().any(is_twice);
        let is_taken = names.iter().any(|name| taken.contains(name));
        if meets_itself || is_taken || is_of_library(unit, word) {
            losers.push(index);
        } else {
            taken.extend(names);
        }
    }
    if losers.is_empty() {
        return settled;
    }
    // A new name could be equal to any other.
    for index in 0..unit.states.len() {
        if !losers.contains(&index) {
            taken.extend(names(index, &unit.states[index].name));
        }
    }
    for index in losers {
        let plain = &unit.states[index].name;
        let candidates = (1u32..).map(|number| match number {
            1 => format!("state_{plain}"),
            _ => format!("state{number}_{plain}"),
        });
        for candidate in candidates {
            let names = names(index, &candidate);
            if !is_of_library(unit, &candidate) && !names.iter().any(|name| taken.contains(name)) {
                taken.extend(names);
                settled[index] = Some(candidate);
                break;
            }
        }
    }
    settled
}

/// Whether a state with this word would have a name of the C library. Names of its endpoints have `_client_` or `_server_` inside,
/// as no name of the library has.
fn is_of_library(unit: &Unit, word: &str) -> bool {
    let name = format!("{}_{word}", unit.prefix);
    spelling::has_any(&name, &["t", "tag_t", "tag_text", "free"])
}

/// The states whose names may be equal to those of another state, of the unit, or of the C library. For the first two: after
/// the unit's prefix and, for an endpoint, the side, a name continues with the state's word and `_`. So two names can only be
/// equal if their words are equal, with or without a side before them, or if one word is a prefix of the other up to a `_`.
fn risky(unit: &Unit) -> Vec<usize> {
    // A word that begins with a side also counts without it, because the name of an endpoint has the side before the word.
    let forms = |word: &str| {
        let of_side = |side: &str| {
            let rest = word.strip_prefix(side)?;
            rest.strip_prefix('_').or(rest.is_empty().then_some(""))
        };
        let rests = Side::BOTH.map(|side| of_side(side.word()).map(str::to_owned));
        std::iter::once(Some(word.to_owned()))
            .chain(rests)
            .flatten()
    };
    let units = ["init", "session_memory", "name", "capacity", "fingerprint"].map(str::to_owned);
    let begins = ["attach", "connect", "accept", "serve"];
    let begins = begins
        .iter()
        .flat_map(|word| [format!("client_{word}"), format!("server_{word}")]);
    // These have the side before them, as endpoints do.
    let any = ["any", "handlers", "dispatch"].into_iter();
    let any = any
        .flat_map(|word| forms(&format!("client_{word}")).chain(forms(&format!("server_{word}"))));
    let mut owners: Vec<(String, usize)> = Vec::new();
    for (index, state) in unit.states.iter().enumerate() {
        owners.extend(forms(&state.name).map(|form| (form, index)));
    }
    let nobody = unit.states.len();
    owners.extend(
        units
            .into_iter()
            .chain(begins)
            .chain(any)
            .map(|word| (word, nobody)),
    );
    // With `_` after each, one word is a prefix of another up to a `_` if its text is a prefix of the other's.
    for (form, _) in &mut owners {
        if !form.is_empty() {
            form.push('_');
        }
    }
    owners.sort();
    let of_library = |index: &usize| is_of_library(unit, &unit.states[*index].name);
    let mut risky: BTreeSet<usize> = (0..nobody).filter(of_library).collect();
    // Those that are prefixes of the current one, shortest first.
    let mut open: Vec<&(String, usize)> = Vec::new();
    for owner in &owners {
        while open
            .last()
            .is_some_and(|(form, _)| !owner.0.starts_with(form))
        {
            open.pop();
        }
        if open.iter().any(|(_, other)| *other != owner.1) {
            risky.insert(owner.1);
            risky.extend(open.iter().map(|(_, other)| *other));
        }
        open.push(owner);
    }
    risky.remove(&nobody);
    risky.into_iter().collect()
}
