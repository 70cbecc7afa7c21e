//! Where the boxes and arrows of a picture are; the only module that uses dagre.

use super::{Arrow, Node, Picture};
use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::{EdgeLabel, LabelPos, LayoutOptions, NodeLabel};

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
    /// The points of each arrow.
    pub points: Vec<Vec<(f64, f64)>>,
}

impl Layout {
    /// Lays out a picture. The same picture always gets the same layout.
    #[must_use]
    pub fn of(picture: &Picture) -> Layout {
        let mut graph: Graph<NodeLabel, EdgeLabel> = Graph::with_options(GraphOptions {
            directed: true,
            multigraph: true,
            compound: false,
        });
        for (index, node) in picture.nodes.iter().enumerate() {
            let (width, height) = size(node);
            let label = NodeLabel {
                width,
                height,
                ..NodeLabel::default()
            };
            graph.set_node(index.to_string(), Some(label));
        }
        for (index, arrow) in picture.arrows.iter().enumerate() {
            let (width, height) = label_size(arrow);
            let label = EdgeLabel {
                width,
                height,
                labelpos: LabelPos::Center,
                ..EdgeLabel::default()
            };
            let (from, to) = (arrow.from.to_string(), arrow.to.to_string());
            graph.set_edge(
                from.as_str(),
                to.as_str(),
                Some(label),
                Some(&index.to_string()),
            );
        }
        let options = LayoutOptions {
            nodesep: 36.0,
            edgesep: 24.0,
            ranksep: 40.0,
            ..LayoutOptions::default()
        };
        dagre::layout(&mut graph, Some(options));
        let nodes = picture.nodes.iter().enumerate().map(|(index, node)| {
            let (width, height) = size(node);
            let placed = graph.node(&index.to_string());
            Area {
                x: placed.and_then(|node| node.x).unwrap_or_default(),
                y: placed.and_then(|node| node.y).unwrap_or_default(),
                width,
                height,
            }
        });
        let nodes: Vec<Area> = nodes.collect();
        let mut labels = Vec::new();
        let mut points = Vec::new();
        for (index, arrow) in picture.arrows.iter().enumerate() {
            let (from, to) = (arrow.from.to_string(), arrow.to.to_string());
            let placed = graph.edge(&from, &to, Some(&index.to_string()));
            let (width, height) = label_size(arrow);
            let label = placed.and_then(|edge| {
                let (x, y) = (edge.x?, edge.y?);
                Some(Area {
                    x,
                    y,
                    width,
                    height,
                })
            });
            labels.push(label.filter(|_| !arrow.lines.is_empty()));
            let line =
                placed.map(|edge| edge.points.iter().map(|point| (point.x, point.y)).collect());
            points.push(line.unwrap_or_default());
        }
        let mut layout = Layout {
            width: 0.0,
            height: 0.0,
            nodes,
            labels,
            points,
        };
        layout.fit();
        layout
    }

    /// Moves everything so that it begins at the margin, and computes the size.
    fn fit(&mut self) {
        let areas = self.nodes.iter().chain(self.labels.iter().flatten());
        let corners = areas.flat_map(|area| {
            let (x, y) = (area.width / 2.0, area.height / 2.0);
            [(area.x - x, area.y - y), (area.x + x, area.y + y)]
        });
        let points = self.points.iter().flatten().copied();
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
        for point in self.points.iter_mut().flatten() {
            *point = (point.0 - left, point.1 - up);
        }
    }
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
            (text + 2.0 * PADDING, 2.0 * LINE + 2.0 * PADDING)
        }
    }
}

fn label_size(arrow: &Arrow) -> (f64, f64) {
    let widths = arrow.lines.iter().map(|line| width(line));
    let height: f64 = arrow.lines.iter().map(|_| LINE).sum();
    match arrow.lines.is_empty() {
        true => (0.0, 0.0),
        false => (widths.fold(0.0, f64::max) + 8.0, height + 4.0),
    }
}
