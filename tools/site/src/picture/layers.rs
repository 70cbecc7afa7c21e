//! The layers of a picture: what is in which one, and in which order, so that few arrows cross.

use super::simplex::{Edge, solve};
use std::collections::VecDeque;

/// The rounds after which the order is not expected to become better.
const ROUNDS: usize = 4;

/// Items in layers, from top to bottom and from left to right.
pub struct Layers {
    pub layers: Vec<Vec<usize>>,
    /// The layer of each item.
    pub layer: Vec<usize>,
    /// For each chain its items from top to bottom, one in each layer.
    pub chains: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// Where each item is in its layer.
    pub place: Vec<usize>,
}

impl Layers {
    /// Chains of items lead from top to bottom, and have no circle. Where a chain passes through a layer, there is a new item.
    pub fn of(items: usize, chains: Vec<Vec<usize>>, arrows: &[(usize, bool)]) -> Layers {
        // A label is close to the box that its arrow leaves.
        let edges = chains
            .iter()
            .zip(arrows)
            .flat_map(|(chain, (_, is_upward))| {
                chain.windows(2).enumerate().map(|(index, pair)| Edge {
                    from: pair[0],
                    to: pair[1],
                    least: 1,
                    weight: if (index == 0) == *is_upward { 1 } else { 2 },
                })
            });
        let mut layer = solve(items, &edges.collect::<Vec<_>>());
        let mut all = Layers {
            layers: Vec::new(),
            layer: Vec::new(),
            chains: Vec::new(),
            above: Vec::new(),
            below: Vec::new(),
            place: Vec::new(),
        };
        for chain in chains {
            let mut whole = vec![chain[0]];
            for pair in chain.windows(2) {
                for between in layer[pair[0]] + 1..layer[pair[1]] {
                    whole.push(layer.len());
                    layer.push(between);
                }
                whole.push(pair[1]);
            }
            all.chains.push(whole);
        }
        all.layer = layer
            .iter()
            .map(|layer| usize::try_from(*layer).unwrap_or_default())
            .collect();
        let count = all.layer.len();
        (all.above, all.below) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for pair in all.chains.iter().flat_map(|chain| chain.windows(2)) {
            all.below[pair[0]].push(pair[1]);
            all.above[pair[1]].push(pair[0]);
        }
        all.place = vec![0; count];
        let mut best: Option<(usize, Vec<Vec<usize>>)> = None;
        // Which walk leads to few crossings is different from picture to picture.
        for start in 0..8 {
            all.first_order(start);
            let found = all.order();
            if best.as_ref().is_none_or(|best| found.0 < best.0) {
                best = Some(found);
            }
        }
        all.layers = best.unwrap_or_default().1;
        (0..all.layers.len()).for_each(|layer| all.number(layer));
        all
    }

    /// What is reached from the same item is side by side. Each bit of the start is a choice in the walk.
    fn first_order(&mut self, start: usize) {
        let count = self.layer.iter().max().map_or(0, |most| most + 1);
        self.layers = vec![Vec::new(); count];
        let mut is_found = vec![false; self.layer.len()];
        for item in 0..self.layer.len() {
            let mut pending = VecDeque::from([item]);
            while let Some(item) = pending.pop_front() {
                if std::mem::replace(&mut is_found[item], true) {
                    continue;
                }
                self.layers[self.layer[item]].push(item);
                let mut near = [&self.below[item][..], &self.above[item][..]];
                if start & 1 == 1 {
                    near.reverse();
                }
                let mut near = near.concat();
                if start & 2 == 2 {
                    near.reverse();
                }
                for other in near {
                    match start & 4 == 0 {
                        true => pending.push_front(other),
                        false => pending.push_back(other),
                    }
                }
            }
        }
        (0..count).for_each(|layer| self.number(layer));
    }

    fn number(&mut self, layer: usize) {
        for (place, item) in self.layers[layer].iter().enumerate() {
            self.place[*item] = place;
        }
    }

    /// Sorts each layer by the one before, downward and upward in turns, and returns the fewest crossings, and the order that has them.
    fn order(&mut self) -> (usize, Vec<Vec<usize>>) {
        let mut best = (self.crossings(), self.layers.clone());
        let mut last = 0;
        for round in 0.. {
            if best.0 == 0 || round - last > ROUNDS {
                break;
            }
            let count = self.layers.len();
            for layer in 0..count {
                let is_down = round % 2 == 0;
                let layer = if is_down { layer } else { count - 1 - layer };
                let near = if is_down { &self.above } else { &self.below };
                let place = &self.place;
                let mut keyed: Vec<(usize, usize)> = self.layers[layer]
                    .iter()
                    .map(|item| {
                        (
                            middle(near[*item].iter().map(|other| place[*other]))
                                .unwrap_or(2 * place[*item]),
                            *item,
                        )
                    })
                    .collect();
                if round % 4 >= 2 {
                    keyed.reverse();
                }
                keyed.sort_by_key(|(key, _)| *key);
                self.layers[layer] = keyed.into_iter().map(|(_, item)| item).collect();
                self.number(layer);
            }
            while self.exchange() {}
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
                last = round;
            }
        }
        best
    }

    /// Exchanges neighbors where fewer arrows cross then. Returns whether there were any.
    fn exchange(&mut self) -> bool {
        let mut is_better = false;
        for layer in 0..self.layers.len() {
            for place in 1..self.layers[layer].len() {
                let (left, right) = (self.layers[layer][place - 1], self.layers[layer][place]);
                let crossing = |one: usize, other: usize| -> usize {
                    let both = [&self.above, &self.below].into_iter();
                    both.map(|near| self.inversions(&near[one], &near[other]))
                        .sum()
                };
                if crossing(right, left) < crossing(left, right) {
                    self.layers[layer].swap(place - 1, place);
                    self.place.swap(left, right);
                    is_better = true;
                }
            }
        }
        is_better
    }

    /// How many of the first are to the right of how many of the second.
    fn inversions(&self, left: &[usize], right: &[usize]) -> usize {
        let of = |one: &usize| {
            right
                .iter()
                .filter(|other| self.place[**other] < self.place[*one])
                .count()
        };
        left.iter().map(of).sum()
    }

    fn crossings(&self) -> usize {
        let of = |layer: &Vec<usize>| -> usize {
            let ends = layer.iter().flat_map(|item| {
                let mut ends: Vec<usize> = self.below[*item]
                    .iter()
                    .map(|other| self.place[*other])
                    .collect();
                ends.sort_unstable();
                ends
            });
            let mut count = 0;
            let mut sorted: Vec<usize> = Vec::new();
            for end in ends {
                let at = sorted.partition_point(|other| *other <= end);
                count += sorted.len() - at;
                sorted.insert(at, end);
            }
            count
        };
        self.layers.iter().map(of).sum()
    }
}

/// Twice the median, or the sum of the two medians; `None` if there is nothing.
fn middle(places: impl Iterator<Item = usize>) -> Option<usize> {
    let mut sorted: Vec<usize> = places.collect();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[last / 2] + sorted[last.div_ceil(2)])
}
