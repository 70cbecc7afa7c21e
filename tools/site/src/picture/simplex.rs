//! The network simplex method: whole numbers for vertices, so that edges are long enough and, by their weights, as short as possible.

/// Says that `to` is at least `least` after `from`, and what each unit between them costs.
#[derive(Clone, Copy)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub least: i32,
    pub weight: i32,
}

/// A tree of edges without slack that reaches every vertex from a root.
struct Tree<'e> {
    edges: &'e [Edge],
    /// The edges of each vertex.
    near: Vec<Vec<usize>>,
    at: Vec<i32>,
    /// The edge to the vertex above; the root has none.
    above: Vec<Option<usize>>,
    below: Vec<Vec<usize>>,
    /// For each vertex and all below it: the weights of their edges that lead out, less those that lead in. Edges inside cancel out.
    pull: Vec<i32>,
}

/// Where each vertex is. The edges have no circle.
pub fn solve(count: usize, edges: &[Edge]) -> Vec<i32> {
    let mut has_before = vec![false; count];
    for edge in edges {
        has_before[edge.to] = true;
    }
    // A root before all others connects what is not connected.
    let first = (0..count).filter(|vertex| !has_before[*vertex]);
    let first = first.map(|to| Edge {
        from: count,
        to,
        least: 0,
        weight: 0,
    });
    let edges: Vec<Edge> = edges.iter().copied().chain(first).collect();
    let mut tree = Tree::of(count + 1, &edges);
    let mut vertex = 0;
    let mut without_change = 0;
    // Steps that change no position could repeat without end; every position in between satisfies the edges.
    let mut steps = 100 * edges.len();
    while without_change < count && steps > 0 {
        without_change += 1;
        if tree.improve(vertex) {
            without_change = 0;
            steps -= 1;
        }
        vertex = (vertex + 1) % count;
    }
    let least = tree.at[..count].iter().min().copied().unwrap_or_default();
    tree.at[..count].iter().map(|at| at - least).collect()
}

impl<'e> Tree<'e> {
    /// Every vertex as early as possible: an edge that keeps it from being earlier is in the tree.
    fn of(count: usize, edges: &'e [Edge]) -> Tree<'e> {
        let mut near = vec![Vec::new(); count];
        let mut missing = vec![0; count];
        let mut pull = vec![0; count];
        for (index, edge) in edges.iter().enumerate() {
            near[edge.from].push(index);
            near[edge.to].push(index);
            missing[edge.to] += 1;
            pull[edge.from] += edge.weight;
            pull[edge.to] -= edge.weight;
        }
        let mut at = vec![i32::MIN; count];
        at[count - 1] = 0;
        let mut above = vec![None; count];
        let mut order = vec![count - 1];
        let mut next = 0;
        while let Some(vertex) = order.get(next).copied() {
            next += 1;
            for index in &near[vertex] {
                let edge = &edges[*index];
                if edge.from != vertex {
                    continue;
                }
                if at[vertex] + edge.least > at[edge.to] {
                    at[edge.to] = at[vertex] + edge.least;
                    above[edge.to] = Some(*index);
                }
                missing[edge.to] -= 1;
                if missing[edge.to] == 0 {
                    order.push(edge.to);
                }
            }
        }
        let mut below = vec![Vec::new(); count];
        for vertex in order.into_iter().rev() {
            if let Some(index) = above[vertex] {
                below[edges[index].from].push(vertex);
                pull[edges[index].from] += pull[vertex];
            }
        }
        Tree {
            edges,
            near,
            at,
            above,
            below,
            pull,
        }
    }

    fn other_end(&self, edge: usize, vertex: usize) -> usize {
        let Edge { from, to, .. } = self.edges[edge];
        if from == vertex { to } else { from }
    }

    /// Moves a vertex and all below it, away from the vertex above, if that makes the sum of all edges less. They move until
    /// another edge has no slack, which replaces the edge above. Returns whether it has.
    fn improve(&mut self, vertex: usize) -> bool {
        let Some(old) = self.above[vertex] else {
            return false;
        };
        // What leads out of the part pulls it to later positions.
        let is_later = self.edges[old].to == vertex;
        let gain = if is_later {
            self.pull[vertex]
        } else {
            -self.pull[vertex]
        };
        if gain <= 0 {
            return false;
        }
        let mut part = vec![vertex];
        let mut is_inside = vec![false; self.at.len()];
        is_inside[vertex] = true;
        let mut next = 0;
        while let Some(found) = part.get(next).copied() {
            next += 1;
            for below in &self.below[found] {
                is_inside[*below] = true;
                part.push(*below);
            }
        }
        let mut best: Option<(i32, usize, usize)> = None;
        for inside in &part {
            for index in &self.near[*inside] {
                let edge = &self.edges[*index];
                let limits = if is_later { edge.from } else { edge.to };
                if limits != *inside || is_inside[self.other_end(*index, *inside)] {
                    continue;
                }
                let slack = self.at[edge.to] - self.at[edge.from] - edge.least;
                if best.is_none_or(|(least, ..)| slack < least) {
                    best = Some((slack, *index, *inside));
                }
            }
        }
        let Some((slack, new, inside)) = best else {
            return false;
        };
        for moved in &part {
            self.at[*moved] += if is_later { slack } else { -slack };
        }
        self.replace(vertex, new, inside);
        true
    }

    /// Takes a part, which is below `top`, from the tree, and puts it back with another edge, which ends in the part at `inside`.
    fn replace(&mut self, top: usize, new: usize, inside: usize) {
        let whole = self.pull[top];
        let mut old = self.above[top];
        let mut at = top;
        while let Some(edge) = old {
            let above = self.other_end(edge, at);
            if at == top {
                self.below[above].retain(|vertex| *vertex != top);
            }
            self.pull[above] -= whole;
            at = above;
            old = self.above[above];
        }
        // From `inside` to `top`, what was above is now below.
        let (mut vertex, mut edge) = (inside, new);
        let mut under: Option<usize> = None;
        let mut of_under = 0;
        loop {
            let above = self.above[vertex].replace(edge);
            let old_pull = self.pull[vertex];
            self.pull[vertex] = whole - of_under;
            if let Some(under) = under {
                self.below[vertex].retain(|below| *below != under);
                self.below[under].push(vertex);
            }
            if vertex == top {
                break;
            }
            let Some(up) = above else { break };
            of_under = old_pull;
            under = Some(vertex);
            vertex = self.other_end(up, vertex);
            edge = up;
        }
        let mut at = self.other_end(new, inside);
        self.below[at].push(inside);
        loop {
            self.pull[at] += whole;
            let Some(edge) = self.above[at] else { break };
            at = self.other_end(edge, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edge, solve};

    const VERTICES: usize = 4;
    /// As many positions as the longest edges can need.
    const POSITIONS: usize = 8;

    /// The sum of all edges; `None` if one is too short.
    fn cost(at: &[i32], edges: &[Edge]) -> Option<i32> {
        let mut sum = 0;
        for edge in edges {
            let length = at[edge.to] - at[edge.from];
            if length < edge.least {
                return None;
            }
            sum += edge.weight * (length - edge.least);
        }
        Some(sum)
    }

    #[test]
    fn no_other_positions_are_better() {
        let mut number = 1_u32;
        let mut next = |below: u32| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 16) % below
        };
        for _ in 0..300 {
            let mut edges = Vec::new();
            for from in 0..VERTICES {
                for to in from + 1..VERTICES {
                    if next(2) == 0 {
                        let least = i32::try_from(next(4)).unwrap_or_default() - 1;
                        let weight = i32::try_from(next(5)).unwrap_or_default();
                        edges.push(Edge {
                            from,
                            to,
                            least,
                            weight,
                        });
                    }
                }
            }
            let found = cost(&solve(VERTICES, &edges), &edges).expect("no edge is too short");
            let all = (0..POSITIONS.pow(4)).filter_map(|mut code| {
                let at = [(); VERTICES].map(|()| {
                    let position = code % POSITIONS;
                    code /= POSITIONS;
                    i32::try_from(position).unwrap_or_default()
                });
                cost(&at, &edges)
            });
            assert_eq!(Some(found), all.min());
        }
    }
}
