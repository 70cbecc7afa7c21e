//! The members of a port set: numbered slots that are reused, some of which are linked into lists.

/// Which list a member is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum List {
    /// To be checked, in this order.
    Hot = 0,
    /// Checked without success, and without a waiter.
    Tried = 1,
}

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
    count: u32,
}

struct MemberSlot<V> {
    /// `None` while the slot is free.
    value: Option<V>,
    /// How many times the slot became free.
    generation: u32,
    list: Option<List>,
    /// The neighbors on the list; `next` also links the free slots.
    previous: u32,
    next: u32,
}

/// Values in numbered slots. Every operation takes constant time, except [`append_all`](Members::append_all).
pub(super) struct Members<V> {
    slots: Vec<MemberSlot<V>>,
    lists: [Ends; 2],
    free: u32,
    count: usize,
}

impl<V> Members<V> {
    pub(super) fn new() -> Members<V> {
        let nobody = Ends {
            first: NOBODY,
            last: NOBODY,
            count: 0,
        };
        Members {
            slots: Vec::new(),
            lists: [nobody; 2],
            free: NOBODY,
            count: 0,
        }
    }

    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds a member, which is on no list, and returns its number. Takes the slot that became free last.
    pub(super) fn insert(&mut self, value: V) -> u32 {
        self.count += 1;
        if self.free != NOBODY {
            let at = self.free;
            let slot = &mut self.slots[at as usize];
            self.free = slot.next;
            slot.value = Some(value);
            return at;
        }
        let at = u32::try_from(self.slots.len())
            .ok()
            .filter(|at| *at != NOBODY);
        let at = at.expect("a port set has at most 4,294,967,295 members");
        self.slots.push(MemberSlot {
            value: Some(value),
            generation: 0,
            list: None,
            previous: NOBODY,
            next: NOBODY,
        });
        at
    }

    /// Takes a member out, and also off its list.
    pub(super) fn remove(&mut self, at: u32) -> Option<V> {
        let (value, generation) = self.lift(at)?;
        self.release(at, generation);
        Some(value)
    }

    /// Takes a member out but keeps its slot, for [`fill`](Members::fill) or
    /// [`release`](Members::release). Also returns the generation.
    pub(super) fn lift(&mut self, at: u32) -> Option<(V, u32)> {
        let slot = self.slots.get_mut(at as usize)?;
        let value = slot.value.take()?;
        let generation = slot.generation;
        self.count -= 1;
        self.unlink(at);
        Some((value, generation))
    }

    /// Puts a member of this generation, on no list, into a slot that was kept.
    pub(super) fn fill(&mut self, at: u32, value: V, generation: u32) {
        let slot = &mut self.slots[at as usize];
        slot.value = Some(value);
        slot.generation = generation;
        self.count += 1;
    }

    /// Gives up a slot that was kept and whose last generation was this one.
    pub(super) fn release(&mut self, at: u32, generation: u32) {
        let slot = &mut self.slots[at as usize];
        slot.generation = generation.wrapping_add(1);
        slot.next = self.free;
        self.free = at;
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut V> {
        self.slots.get_mut(at as usize)?.value.as_mut()
    }

    /// Distinguishes the member in a slot from those that had the slot before.
    pub(super) fn generation(&self, at: u32) -> Option<u32> {
        let slot = self.slots.get(at as usize)?;
        slot.value.is_some().then_some(slot.generation)
    }

    /// How many members a list has.
    pub(super) fn count(&self, list: List) -> usize {
        self.lists[list as usize].count as usize
    }

    pub(super) fn first(&self, list: List) -> Option<u32> {
        let first = self.lists[list as usize].first;
        (first != NOBODY).then_some(first)
    }

    /// The member after this one on its list.
    pub(super) fn next(&self, at: u32) -> Option<u32> {
        let slot = self.slots.get(at as usize)?;
        (slot.list.is_some() && slot.next != NOBODY).then_some(slot.next)
    }

    /// Puts a member at the end of a list, wherever it was before.
    pub(super) fn append(&mut self, list: List, at: u32) {
        self.unlink(at);
        let ends = &mut self.lists[list as usize];
        let last = ends.last;
        ends.last = at;
        ends.count += 1;
        match last {
            NOBODY => ends.first = at,
            last => self.slots[last as usize].next = at,
        }
        let slot = &mut self.slots[at as usize];
        slot.list = Some(list);
        slot.previous = last;
        slot.next = NOBODY;
    }

    /// Appends the whole of one list to another.
    pub(super) fn append_all(&mut self, from: List, to: List) {
        while let Some(at) = self.first(from) {
            self.append(to, at);
        }
    }

    /// Takes a member off its list, if it is on one.
    pub(super) fn unlink(&mut self, at: u32) {
        let slot = &mut self.slots[at as usize];
        let Some(list) = slot.list.take() else {
            return;
        };
        let (previous, next) = (slot.previous, slot.next);
        let ends = &mut self.lists[list as usize];
        ends.count -= 1;
        match previous {
            NOBODY => ends.first = next,
            previous => self.slots[previous as usize].next = next,
        }
        match next {
            NOBODY => ends.last = previous,
            next => self.slots[next as usize].previous = previous,
        }
    }
}

#[cfg(all(test, not(duologue_loom)))]
mod tests {
    use super::{List, Members};

    fn listed(members: &mut Members<char>, list: List) -> String {
        let mut found = String::new();
        while let Some(at) = members.first(list) {
            found.extend(members.get_mut(at).map(|value| *value));
            members.unlink(at);
        }
        assert_eq!(members.count(list), 0);
        found
    }

    #[test]
    fn lists_keep_their_order_whatever_is_taken_from_them() {
        let mut members = Members::new();
        let [a, b, c, d] = ['a', 'b', 'c', 'd'].map(|value| members.insert(value));
        for at in [d, a, b, c] {
            members.append(List::Hot, at);
        }
        assert_eq!(members.remove(b), Some('b'));
        members.append(List::Tried, a);
        assert_eq!(
            (members.count(List::Hot), members.count(List::Tried)),
            (2, 1)
        );
        members.append_all(List::Tried, List::Hot);
        assert_eq!(listed(&mut members, List::Hot), "dca");
        assert_eq!(listed(&mut members, List::Tried), "");
        assert_eq!(members.len(), 3);
    }

    #[test]
    fn a_free_place_is_used_again_by_another_generation() {
        let mut members = Members::new();
        let first = members.insert('a');
        let before = members.generation(first);
        assert_eq!(members.remove(first), Some('a'));
        assert_eq!(members.generation(first), None);
        assert_eq!(members.remove(first), None);
        let second = members.insert('b');
        assert_eq!(first, second);
        assert_ne!(members.generation(second), before);
    }
}
