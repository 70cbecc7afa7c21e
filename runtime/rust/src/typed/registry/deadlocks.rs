//! Deadlocks: threads and tasks of which each waits for what the next one has to do.
//!
//! A thread that waits in several sessions at once, as `select!` does, goes on as soon as one of them is ready. So first everything is left
//! out that may still go on: what waits for one that does not wait, or that is left out itself. Each of the others waits only for others,
//! and so following them from any one leads into a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::{Blocked, Deadlock, Live};

/// The deadlocks among these sessions.
pub(super) fn among(sessions: &[Live]) -> Vec<Deadlock> {
    let mut waiting: BTreeMap<&str, Vec<(Blocked, Option<&str>)>> = BTreeMap::new();
    for session in sessions {
        for (side, other) in session.sides.iter().zip(session.sides.iter().rev()) {
            let is_stuck = match side.for_space {
                true => other.in_flight > 0,
                false => side.in_flight == 0,
            };
            let goes_on = side.has_left || other.has_left || side.is_in_set;
            if let (Some(owner), Some(waits), true, false) =
                (&side.owner, side.waits, is_stuck, goes_on)
            {
                let awaited = other.owner.as_deref();
                let blocked = Blocked {
                    owner: owner.clone(),
                    session: session.session.clone(),
                    side: side.side,
                    state: side.state,
                    waits,
                    awaited: awaited.unwrap_or_default().to_owned(),
                };
                waiting.entry(owner).or_default().push((blocked, awaited));
            }
        }
    }
    leave_out(&mut waiting);
    circles(&waiting)
}

/// Leaves out what may still go on.
fn leave_out(waiting: &mut BTreeMap<&str, Vec<(Blocked, Option<&str>)>>) {
    let mut waiters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut free = Vec::new();
    for (owner, waits) in &*waiting {
        for (_, awaited) in waits {
            match awaited {
                Some(awaited) if waiting.contains_key(awaited) => {
                    waiters.entry(awaited).or_default().push(owner);
                }
                _ => free.push(*owner),
            }
        }
    }
    while let Some(owner) = free.pop() {
        if waiting.remove(owner).is_some() {
            free.extend(waiters.remove(owner).unwrap_or_default());
        }
    }
}

fn circles(waiting: &BTreeMap<&str, Vec<(Blocked, Option<&str>)>>) -> Vec<Deadlock> {
    let first = |owner: &str| waiting.get(owner).and_then(|waits| waits.first());
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for start in waiting.keys() {
        let mut path: Vec<&Blocked> = Vec::new();
        let mut owner = *start;
        // Ends at one that was seen, which is on this path if the circle is a new one.
        while let (true, Some((blocked, Some(awaited)))) = (seen.insert(owner), first(owner)) {
            path.push(blocked);
            owner = awaited;
        }
        if let Some(at) = path.iter().position(|one| one.owner == owner) {
            let waits = path[at..].iter().copied().cloned().collect();
            found.push(Deadlock { waits });
        }
    }
    found
}
