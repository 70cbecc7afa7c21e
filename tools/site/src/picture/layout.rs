//! Where the boxes, arrows and labels of a picture are.
//!
//! Boxes and labels are in layers. An arrow passes through a layer as a vertical line with its own place, beside which its label is, and
//! bends only between layers, where nothing else is. So no arrow touches a box or a label.

use super::layers::Layers;
use super::simplex::{Edge, solve};
use super::{Arrow, Node, Picture};

/// The width of a character, whatever it is: texts are fitted to their width.
pub const CHARACTER: f64 = 7.5;
/// The height of a line.
pub const LINE: f64 = 16.0;
/// What is free around the text of a box.
const PADDING: f64 = 10.0;
/// The width and height of a start or an end.
const DOT: f64 = 18.0;
/// What is free around a picture.
const MARGIN: f64 = 12.0;
/// Between an arrow and its label.
const BESIDE: f64 = 6.0;
/// Between boxes, labels or arrows that are side by side.
const APART: f64 = 14.0;
/// How far apart arrows touch a box, at least and at most.
const PORTS: (f64, f64) = (12.0, 28.0);
/// How far an arrow from a box to itself goes out.
const LOOP: f64 = 26.0;
/// The least and the most height between layers. The more the arrows between two layers go to the side, the more there is.
const BETWEEN: (f64, f64) = (16.0, 34.0);
/// How many items a picture has at most in which labels are moved: each place that is tried takes a layout.
const SMALL: usize = 40;
/// How far an arrow is straight where it touches a box.
const STRAIGHT: f64 = 6.0;

/// A rectangle, from its center.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The center.
    pub x: f64,
    /// The center.
    pub y: f64,
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl Area {
    /// Whether two rectangles have a point inside both.
    #[must_use]
    pub fn overlaps(&self, other: &Area) -> bool {
        let is_apart =
            |distance: f64, one: f64, other: f64| distance.abs() * 2.0 >= one + other - 0.01;
        !is_apart(self.x - other.x, self.width, other.width)
            && !is_apart(self.y - other.y, self.height, other.height)
    }
}

/// Where everything is.
#[derive(Debug)]
pub struct Layout {
    /// The whole picture: its left upper corner is the origin.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
    /// Each box.
    pub nodes: Vec<Area>,
    /// The label of each arrow; `None` if it has none.
    pub labels: Vec<Option<Area>>,
    /// Each arrow as Bézier curves: where it begins, and for each curve two points that pull it, and its end.
    pub curves: Vec<Vec<(f64, f64)>>,
}

/// What is in a layer: it extends from a center, or from the line of an arrow, to both sides.
#[derive(Clone, Copy, Default)]
struct Item {
    left: f64,
    right: f64,
    height: f64,
}

/// The plan of a picture. The first items are its boxes.
struct Plan {
    items: Vec<Item>,
    layers: Layers,
    /// The arrow of each chain, and whether the arrow leads upward.
    arrows: Vec<(usize, bool)>,
    /// Where each chain leaves its first box and reaches its last one, from the centers.
    ports: Vec<(f64, f64)>,
}

impl Layout {
    /// Lays out a picture. The same picture always gets the same layout.
    #[must_use]
    pub fn of(picture: &Picture) -> Layout {
        let plan = Plan::of(picture);
        let x = plan.columns();
        let rows = plan.rows(&x);
        let nodes = picture.nodes.iter().enumerate().map(|(index, node)| Area {
            x: x[index],
            y: rows[plan.layers.layer[index]].0,
            width: plan.width(index, node),
            height: size(node).1,
        });
        let mut layout = Layout {
            width: 0.0,
            height: 0.0,
            nodes: nodes.collect(),
            labels: vec![None; picture.arrows.len()],
            curves: vec![Vec::new(); picture.arrows.len()],
        };
        for (index, arrow) in picture.arrows.iter().enumerate() {
            if arrow.from == arrow.to {
                layout.turn_back(index, arrow);
            }
        }
        for (chain, items) in plan.layers.chains.iter().enumerate() {
            let (arrow, is_upward) = plan.arrows[chain];
            let mut curve = Vec::new();
            for (step, item) in items.iter().enumerate() {
                let (center, height) = rows[plan.layers.layer[*item]];
                let port = match step {
                    0 => plan.ports[chain].0,
                    step if step + 1 == items.len() => plan.ports[chain].1,
                    _ => 0.0,
                };
                let at = x[*item] + port;
                let own = layout.nodes.get(*item).map(|area| area.height / 2.0);
                let own = own.unwrap_or_default();
                // What touches a box begins or ends a little outside the layer.
                let outside = height / 2.0 + if own > 0.0 { STRAIGHT } else { 0.0 };
                if step > 0 {
                    bend(&mut curve, (at, center - outside));
                    straight(&mut curve, (at, center - own));
                }
                if step + 1 < items.len() {
                    straight(&mut curve, (at, center + own));
                    straight(&mut curve, (at, center + outside));
                }
                let found = &plan.items[*item];
                if *item >= picture.nodes.len() && found.height > 0.0 {
                    let (width, height) = label_size(&picture.arrows[arrow]);
                    layout.labels[arrow] = Some(Area {
                        x: at + BESIDE + width / 2.0,
                        y: center,
                        width,
                        height,
                    });
                }
            }
            if is_upward {
                curve.reverse();
            }
            layout.curves[arrow] = curve;
        }
        layout.fit();
        layout
    }

    /// An arrow from a box to itself, at its right side, and beside it the label.
    fn turn_back(&mut self, index: usize, arrow: &Arrow) {
        let area = self.nodes[arrow.from];
        let (right, far) = (
            area.x + area.width / 2.0,
            area.x + area.width / 2.0 + LOOP * 4.0 / 3.0,
        );
        let (up, down) = (area.y - area.height / 4.0, area.y + area.height / 4.0);
        self.curves[index] = vec![
            (right, up),
            (far, up - 6.0),
            (far, down + 6.0),
            (right, down),
        ];
        let (width, height) = label_size(arrow);
        let x = right + LOOP + BESIDE + width / 2.0;
        self.labels[index] = Some(Area {
            x,
            y: area.y,
            width,
            height,
        });
    }

    /// Moves everything so that it begins at the margin, and computes the size.
    fn fit(&mut self) {
        let areas = self.nodes.iter().chain(self.labels.iter().flatten());
        let corners = areas.flat_map(|area| {
            let (x, y) = (area.width / 2.0, area.height / 2.0);
            [(area.x - x, area.y - y), (area.x + x, area.y + y)]
        });
        let points = self.curves.iter().flatten().copied();
        let all: Vec<(f64, f64)> = corners.chain(points).collect();
        let least = all.iter().fold((f64::MAX, f64::MAX), |(x, y), at| {
            (x.min(at.0), y.min(at.1))
        });
        let most = all.iter().fold((f64::MIN, f64::MIN), |(x, y), at| {
            (x.max(at.0), y.max(at.1))
        });
        let (left, up) = (least.0 - MARGIN, least.1 - MARGIN);
        self.width = most.0 - left + MARGIN;
        self.height = most.1 - up + MARGIN;
        for area in self
            .nodes
            .iter_mut()
            .chain(self.labels.iter_mut().flatten())
        {
            area.x -= left;
            area.y -= up;
        }
        for point in self.curves.iter_mut().flatten() {
            *point = (point.0 - left, point.1 - up);
        }
    }
}

impl Plan {
    fn of(picture: &Picture) -> Plan {
        let is_upward = upward(picture);
        let mut items = vec![Item::default(); picture.nodes.len()];
        let mut chains = Vec::new();
        let mut arrows = Vec::new();
        for (index, arrow) in picture.arrows.iter().enumerate() {
            if arrow.from == arrow.to {
                continue;
            }
            let mut chain = vec![arrow.from];
            if !arrow.lines.is_empty() {
                let (width, height) = label_size(arrow);
                chain.push(items.len());
                items.push(Item {
                    left: 0.0,
                    right: BESIDE + width,
                    height,
                });
            }
            chain.push(arrow.to);
            if is_upward[index] {
                chain.reverse();
            }
            chains.push(chain);
            arrows.push((index, is_upward[index]));
        }
        let layers = Layers::of(items.len(), chains, &arrows);
        items.resize(layers.layer.len(), Item::default());
        let mut plan = Plan {
            ports: vec![(0.0, 0.0); layers.chains.len()],
            items,
            layers,
            arrows,
        };
        for (index, node) in picture.nodes.iter().enumerate() {
            let half = plan.width(index, node) / 2.0;
            let mut item = Item {
                left: half,
                right: half,
                height: size(node).1,
            };
            for arrow in &picture.arrows {
                if arrow.from == index && arrow.to == index {
                    let (width, height) = label_size(arrow);
                    item.right += LOOP + BESIDE + width;
                    item.height = item.height.max(height);
                }
            }
            plan.items[index] = item;
            for is_below in [true, false] {
                plan.spread(index, half * 2.0, is_below);
            }
        }
        plan.move_labels();
        plan
    }

    /// Where an arrow is long, its label can be beside any part of it. It is near the box that sends, unless a small picture becomes clearly
    /// smaller by another place.
    fn move_labels(&mut self) {
        if self.items.len() > SMALL {
            return;
        }
        let middles = self.layers.chains.iter();
        let middles: Vec<Vec<usize>> = middles
            .map(|chain| chain[1..chain.len() - 1].to_vec())
            .collect();
        let mut least = self.area();
        loop {
            let mut best = None;
            for middle in &middles {
                let label = middle.iter().find(|item| self.items[**item].height > 0.0);
                let Some(label) = label.copied() else {
                    continue;
                };
                for other in middle.iter().filter(|other| **other != label) {
                    self.items.swap(label, *other);
                    let area = self.area();
                    self.items.swap(label, *other);
                    if area < least * 0.95 {
                        (least, best) = (area, Some((label, *other)));
                    }
                }
            }
            let Some((label, other)) = best else {
                return;
            };
            self.items.swap(label, other);
        }
    }

    fn area(&self) -> f64 {
        let columns = self.columns();
        let sides = columns.iter().zip(&self.items);
        let (left, right) = sides.fold((f64::MAX, f64::MIN), |(left, right), (x, item)| {
            (left.min(x - item.left), right.max(x + item.right))
        });
        let rows = self.rows(&columns);
        let height = rows
            .last()
            .map_or(0.0, |(center, height)| center + height / 2.0);
        (right - left) * height
    }

    /// The chains that begin or end at a box, from left to right.
    fn at(&self, node: usize, is_below: bool) -> Vec<usize> {
        let end = |chain: &[usize]| match is_below {
            true => (chain[0], chain[1]),
            false => (chain[chain.len() - 1], chain[chain.len() - 2]),
        };
        let chains = self.layers.chains.iter().enumerate();
        let chains = chains.filter(|(_, chain)| end(chain).0 == node);
        let mut found: Vec<(usize, usize)> = chains
            .map(|(index, chain)| (self.layers.place[end(chain).1], index))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, chain)| chain).collect()
    }

    /// A box is wide enough for its text and its arrows.
    fn width(&self, index: usize, node: &Node) -> f64 {
        let most = self.at(index, true).len().max(self.at(index, false).len());
        size(node).0.max(PORTS.0 * count(most) + PADDING)
    }

    fn spread(&mut self, node: usize, width: f64, is_below: bool) {
        let chains = self.at(node, is_below);
        let gaps = count(chains.len().saturating_sub(1));
        let apart = ((width - 2.0 * PADDING) / gaps.max(1.0)).clamp(PORTS.0, PORTS.1);
        for (index, chain) in chains.into_iter().enumerate() {
            let port = apart * (count(index) - gaps / 2.0);
            match is_below {
                true => self.ports[chain].0 = port,
                false => self.ports[chain].1 = port,
            }
        }
    }

    /// The center or the line of each item, so that arrows are as straight as possible, above all those that are long.
    fn columns(&self) -> Vec<f64> {
        let mut edges = Vec::new();
        for pair in self.layers.layers.iter().flat_map(|layer| layer.windows(2)) {
            let least = self.items[pair[0]].right + APART + self.items[pair[1]].left;
            edges.push(Edge {
                from: pair[0],
                to: pair[1],
                least: whole(least),
                weight: 0,
            });
        }
        let mut vertices = self.items.len();
        for (chain, items) in self.layers.chains.iter().enumerate() {
            for (step, pair) in items.windows(2).enumerate() {
                let (is_first, is_last) = (step == 0, step + 2 == items.len());
                let weight = match (is_first, is_last) {
                    (true, true) => 1,
                    (false, false) => 8,
                    _ => 2,
                };
                let from = if is_first { self.ports[chain].0 } else { 0.0 };
                let to = if is_last { self.ports[chain].1 } else { 0.0 };
                // A vertex that is before both ends: the sum of its edges is least where the ends are one below the other.
                for (end, port) in [(pair[0], from), (pair[1], to)] {
                    edges.push(Edge {
                        from: vertices,
                        to: end,
                        least: -whole(port),
                        weight,
                    });
                }
                vertices += 1;
            }
        }
        let mut columns = solve(vertices, &edges);
        columns.truncate(self.items.len());
        columns.into_iter().map(f64::from).collect()
    }

    /// The middle and the height of each layer.
    fn rows(&self, x: &[f64]) -> Vec<(f64, f64)> {
        let mut widest = vec![0.0_f64; self.layers.layers.len()];
        for (chain, items) in self.layers.chains.iter().enumerate() {
            for (step, pair) in items.windows(2).enumerate() {
                let from = if step == 0 { self.ports[chain].0 } else { 0.0 };
                let to = if step + 2 == items.len() {
                    self.ports[chain].1
                } else {
                    0.0
                };
                let aside = (x[pair[0]] + from - x[pair[1]] - to).abs();
                let widest = &mut widest[self.layers.layer[pair[0]]];
                *widest = widest.max(aside);
            }
        }
        let mut y = 0.0;
        let rows = self
            .layers
            .layers
            .iter()
            .zip(widest)
            .map(|(layer, widest)| {
                let heights = layer.iter().map(|item| self.items[*item].height);
                let height = heights.fold(0.0, f64::max);
                let center = y + height / 2.0;
                y += height + (BETWEEN.0 + (widest / 20.0).round()).min(BETWEEN.1);
                (center, height)
            });
        rows.collect()
    }
}

/// For each arrow whether it leads back to a box from which its own box was reached.
fn upward(picture: &Picture) -> Vec<bool> {
    let mut is_upward = vec![false; picture.arrows.len()];
    let mut leaving = vec![Vec::new(); picture.nodes.len()];
    for (index, arrow) in picture.arrows.iter().enumerate() {
        leaving[arrow.from].push(index);
    }
    // The boxes of the path to the current one are open.
    let mut is_found = vec![false; picture.nodes.len()];
    let mut is_open = vec![false; picture.nodes.len()];
    for start in 0..picture.nodes.len() {
        if std::mem::replace(&mut is_found[start], true) {
            continue;
        }
        is_open[start] = true;
        let mut way = vec![(start, 0)];
        while let Some((node, next)) = way.last_mut() {
            let Some(index) = leaving[*node].get(*next).copied() else {
                is_open[*node] = false;
                way.pop();
                continue;
            };
            *next += 1;
            let to = picture.arrows[index].to;
            is_upward[index] = is_open[to];
            if !std::mem::replace(&mut is_found[to], true) {
                is_open[to] = true;
                way.push((to, 0));
            }
        }
    }
    is_upward
}

/// Continues a curve straight down, as one piece with what is already straight before.
fn straight(curve: &mut Vec<(f64, f64)>, to: (f64, f64)) {
    let Some(last) = curve.last().copied() else {
        return curve.push(to);
    };
    if curve.len() > 3
        && curve[curve.len() - 4..]
            .iter()
            .all(|point| point.0 == last.0)
    {
        curve.truncate(curve.len() - 3);
    }
    let last = curve[curve.len() - 1];
    curve.extend([last, to, to]);
}

/// Continues a curve to the next layer, so that it leaves and arrives straight down.
fn bend(curve: &mut Vec<(f64, f64)>, to: (f64, f64)) {
    if let Some(last) = curve.last().copied() {
        if last.0 == to.0 {
            return straight(curve, to);
        }
        let middle = (last.1 + to.1) / 2.0;
        curve.extend([(last.0, middle), (to.0, middle), to]);
    }
}

fn count(many: usize) -> f64 {
    f64::from(u32::try_from(many).unwrap_or(u32::MAX))
}

#[expect(clippy::cast_possible_truncation, reason = "sizes are small")]
fn whole(size: f64) -> i32 {
    size.ceil() as i32
}

/// The width of a text.
pub fn width(text: &str) -> f64 {
    text.chars().map(|_| CHARACTER).sum()
}

fn size(node: &Node) -> (f64, f64) {
    match node {
        Node::Start | Node::End => (DOT, DOT),
        Node::State { name, turn, .. } => {
            let text = width(name).max(width(turn));
            (text + 2.0 * PADDING, 2.0 * LINE + PADDING)
        }
    }
}

fn label_size(arrow: &Arrow) -> (f64, f64) {
    let widths = arrow.lines.iter().map(|line| width(line));
    let height: f64 = arrow.lines.iter().map(|_| LINE).sum();
    (widths.fold(0.0, f64::max), height)
}
