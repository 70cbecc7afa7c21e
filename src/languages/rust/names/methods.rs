//! The names of the methods that send a message, and of the types that have them.

use super::spelling::{type_name, value_name};
use crate::protocol::State;
use std::collections::BTreeSet;

/// For each message of a state, the methods that send it: one that blocks the thread, one for tasks, and one that never waits. An
/// endpoint that never has to wait lacks the last one. Tasks have theirs everywhere, so that they stay right if the protocol changes.
pub fn method_names(state: &State) -> Vec<[String; 3]> {
    let plain = state.messages.iter();
    let plain: Vec<String> = plain.map(|message| value_name(&message.name)).collect();
    let mut taken: BTreeSet<String> = plain.iter().cloned().collect();
    let mut unused = |name: String| {
        let name = free(name, &taken);
        taken.insert(name.clone());
        name
    };
    let mut of = |plain: &String| {
        let bare = plain.strip_prefix("r#").unwrap_or(plain);
        let bare = bare.trim_end_matches('_');
        let for_tasks = unused(format!("{bare}_async"));
        // `_2` is snake case, but `try__2` is not.
        let tries = unused(format!("try_{}", bare.trim_start_matches('_')));
        [plain.clone(), for_tasks, tries]
    };
    plain.iter().map(&mut of).collect()
}

/// The name of a state's shared sender; `taken` contains the names of all states.
pub fn shared_name(state: &State, taken: &BTreeSet<String>) -> String {
    free(format!("Shared{}", type_name(&state.name)), taken)
}

/// The name, with as many `_` appended as it takes to make it unused.
fn free(mut name: String, taken: &BTreeSet<String>) -> String {
    while taken.contains(&name) {
        name.push('_');
    }
    name
}
