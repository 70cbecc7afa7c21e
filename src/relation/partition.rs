//! The coarsest partition of the nodes of a graph into classes of nodes that no edge can distinguish.

use std::collections::HashMap;

/// An edge with a label.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Where it starts.
    pub from: u32,
    /// Where it leads.
    pub to: u32,
    /// Equal for edges that cannot be distinguished.
    pub label: u32,
}

/// The class of each node: two nodes share a class if they have equal colors and, for every label, edges into
/// the same classes. The graph is deterministic: no node has two edges with one label.
///
/// The algorithm is Hopcroft's ("An n log n algorithm for minimizing states in a finite automaton", 1971): a class is split into
/// the nodes with an edge into another class and the nodes without one, and only the smaller of the two halves is processed again.
/// So each edge is processed at most as often as the logarithm of the number of nodes.
#[must_use]
pub fn coarsest(colors: &[u32], edges: &[Edge]) -> Vec<u32> {
    let mut into: Vec<Vec<(u32, u32)>> = vec![Vec::new(); colors.len()];
    for edge in edges {
        into[edge.to as usize].push((edge.label, edge.from));
    }
    let mut classes = Classes::new(colors);
    let mut waiting: Vec<u32> = (0..classes.count()).collect();
    let mut is_waiting = vec![true; waiting.len()];
    while let Some(splitter) = waiting.pop() {
        is_waiting[splitter as usize] = false;
        let mut sources: Vec<(u32, u32)> = classes
            .members(splitter)
            .iter()
            .flat_map(|node| &into[*node as usize])
            .copied()
            .collect();
        sources.sort_unstable();
        for group in sources.chunk_by(|one, other| one.0 == other.0) {
            for (kept, split) in classes.split(group.iter().map(|(_, from)| *from)) {
                is_waiting.push(false);
                let smaller = if classes.members(kept).len() < classes.members(split).len() {
                    kept
                } else {
                    split
                };
                let next = if is_waiting[kept as usize] {
                    split
                } else {
                    smaller
                };
                is_waiting[next as usize] = true;
                waiting.push(next);
            }
        }
    }
    classes.class
}

/// A partition whose classes are ranges of one list of nodes.
struct Classes {
    class: Vec<u32>,
    nodes: Vec<u32>,
    place: Vec<u32>,
    /// Start and end of each class in `nodes`, and how many of its nodes at the start are marked.
    ranges: Vec<(u32, u32, u32)>,
}

impl Classes {
    fn new(colors: &[u32]) -> Classes {
        let mut names: HashMap<u32, u32> = HashMap::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut class = Vec::with_capacity(colors.len());
        for (node, color) in (0u32..).zip(colors) {
            let next = u32::try_from(members.len()).expect("fewer classes than nodes");
            let name = *names.entry(*color).or_insert(next);
            if name == next {
                members.push(Vec::new());
            }
            members[name as usize].push(node);
            class.push(name);
        }
        let mut ranges = Vec::new();
        let mut start = 0;
        for members in &members {
            let end = start + u32::try_from(members.len()).expect("fewer than 2^32 nodes");
            ranges.push((start, end, 0));
            start = end;
        }
        let nodes: Vec<u32> = members.into_iter().flatten().collect();
        let mut place = vec![0; nodes.len()];
        for (at, node) in (0u32..).zip(&nodes) {
            place[*node as usize] = at;
        }
        Classes {
            class,
            nodes,
            place,
            ranges,
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.ranges.len()).expect("fewer classes than nodes")
    }

    fn members(&self, class: u32) -> &[u32] {
        let (start, end, _) = self.ranges[class as usize];
        &self.nodes[start as usize..end as usize]
    }

    /// Moves the given nodes out of their classes. Returns the classes that were split, each with the new class that holds the
    /// nodes moved out.
    fn split(&mut self, taken: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
        let mut touched = Vec::new();
        for node in taken {
            let class = self.class[node as usize];
            let (start, _, marked) = &mut self.ranges[class as usize];
            let border = *start + *marked;
            let at = self.place[node as usize];
            if at < border {
                continue;
            }
            if *marked == 0 {
                touched.push(class);
            }
            *marked += 1;
            let other = self.nodes[border as usize];
            self.nodes.swap(at as usize, border as usize);
            self.place[node as usize] = border;
            self.place[other as usize] = at;
        }
        let mut splits = Vec::new();
        for class in touched {
            let (start, end, marked) = self.ranges[class as usize];
            self.ranges[class as usize].2 = 0;
            if start + marked == end {
                continue;
            }
            let new = self.count();
            self.ranges[class as usize].0 = start + marked;
            self.ranges.push((start, start + marked, 0));
            for at in start..start + marked {
                self.class[self.nodes[at as usize] as usize] = new;
            }
            splits.push((class, new));
        }
        splits
    }
}
