//! What can be seen in a picture, whichever program has drawn it.

use crate::support::program::run;
use duologue_site::picture::{Area, Layout, Picture};
use std::fmt::Write as _;
use std::process::Command;

type Point = (f64, f64);

/// The steps in which a curve is followed.
const STEPS: u32 = 12;

/// A picture: boxes, and arrows with labels.
pub struct Drawn {
    width: f64,
    height: f64,
    boxes: Vec<Area>,
    /// For each arrow its label.
    labels: Vec<Option<Area>>,
    /// For each arrow the points on it.
    arrows: Vec<Vec<Point>>,
    /// The boxes between which each arrow leads.
    ends: Vec<(usize, usize)>,
}

impl Drawn {
    pub fn by_duologue(picture: &Picture, layout: &Layout) -> Drawn {
        Drawn {
            width: layout.width,
            height: layout.height,
            boxes: layout.nodes.clone(),
            labels: layout.labels.clone(),
            arrows: layout.curves.iter().map(|curve| points(curve)).collect(),
            ends: picture
                .arrows
                .iter()
                .map(|arrow| (arrow.from, arrow.to))
                .collect(),
        }
    }

    /// The same boxes and labels, placed by Graphviz.
    pub fn by_dot(picture: &Picture, layout: &Layout) -> Drawn {
        let mut text = String::from("digraph {\nnode [shape=box fixedsize=true label=\"\"]\n");
        for (index, area) in layout.nodes.iter().enumerate() {
            let (width, height) = (area.width / 72.0, area.height / 72.0);
            let _ = writeln!(text, "{index} [width={width} height={height}]");
        }
        for (arrow, label) in picture.arrows.iter().zip(&layout.labels) {
            let _ = write!(text, "{} -> {}", arrow.from, arrow.to);
            if let Some(Area { width, height, .. }) = label {
                let _ = write!(
                    text,
                    " [label=<<table border=\"0\" cellpadding=\"0\" cellspacing=\"0\" cellborder=\"0\" fixedsize=\"true\" width=\"{width}\" height=\"{height}\"><tr><td></td></tr></table>>]"
                );
            }
            text += "\n";
        }
        let mut dot = Command::new("dot");
        dot.arg("-Tplain");
        let output = run(dot, (text + "}\n").as_bytes());
        assert!(
            output.status.success(),
            "{output:?}\napt-get install -y graphviz"
        );
        let output = String::from_utf8(output.stdout).expect("UTF-8");
        let mut drawn = Drawn {
            width: 0.0,
            height: 0.0,
            boxes: layout.nodes.clone(),
            labels: Vec::new(),
            arrows: Vec::new(),
            ends: Vec::new(),
        };
        for line in output.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words[at].parse::<f64>().expect("a number") * 72.0;
            let index = |at: usize| words[at].parse::<usize>().expect("a number");
            match words[0] {
                // The margin is that of other pictures.
                "graph" => (drawn.width, drawn.height) = (number(2) + 24.0, number(3) + 24.0),
                "node" => {
                    (drawn.boxes[index(1)].x, drawn.boxes[index(1)].y) = (number(2), number(3))
                }
                "edge" => {
                    let many = index(3);
                    let curve: Vec<Point> = (0..many)
                        .map(|point| (number(4 + 2 * point), number(5 + 2 * point)))
                        .collect();
                    let ends = (index(1), index(2));
                    drawn.arrows.push(points(&curve));
                    drawn.ends.push(ends);
                    let arrow = picture
                        .arrows
                        .iter()
                        .position(|arrow| (arrow.from, arrow.to) == ends);
                    let label = layout.labels[arrow.expect("it was asked for")];
                    let last = words.len();
                    let label = label.map(|area| Area {
                        x: number(last - 4),
                        y: number(last - 3),
                        ..area
                    });
                    drawn.labels.push(label);
                }
                _ => {}
            }
        }
        drawn
    }

    pub fn area(&self) -> f64 {
        self.width * self.height
    }

    /// How often arrows cross.
    pub fn crossings(&self) -> usize {
        let mut count = 0;
        for (index, one) in self.arrows.iter().enumerate() {
            for other in &self.arrows[index + 1..] {
                let pairs = one
                    .windows(2)
                    .flat_map(|one| other.windows(2).map(move |other| (one, other)));
                count += pairs.filter(|(one, other)| cross(one, other)).count();
            }
        }
        count
    }

    /// How many labels an arrow touches.
    pub fn covered(&self) -> usize {
        let is_touched = |label: &&Area| {
            let inner = inner(label);
            let mut arrows = self.arrows.iter();
            arrows.any(|arrow| nearest(arrow, &inner) == 0.0)
        };
        self.labels.iter().flatten().filter(is_touched).count()
    }

    /// What makes it difficult to read.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let covered = self.covered();
        if covered > 0 {
            faults.push(format!("{covered} labels are on arrows"));
        }
        for (index, arrow) in self.arrows.iter().enumerate() {
            let (from, to) = self.ends[index];
            if arrow.len() < 2 {
                faults.push(format!("arrow {index} is not drawn"));
                continue;
            }
            let own = self.labels[index].map(|label| nearest(arrow, &label));
            if own.is_some_and(|own| own > 8.0) {
                faults.push(format!("the label of arrow {index} is {own:?} away"));
            }
            for (place, area) in self.boxes.iter().enumerate() {
                let inner = inner(area);
                if nearest(arrow, &inner) == 0.0 {
                    faults.push(format!(
                        "arrow {index} from {from} to {to} is on box {place}"
                    ));
                }
            }
            let tip = arrow[arrow.len() - 1];
            for (other, (_, end)) in self.arrows.iter().zip(&self.ends).take(index) {
                let beside = other[other.len() - 1];
                let is_near = (tip.0 - beside.0).abs() < 10.0 && (tip.1 - beside.1).abs() < 10.0;
                if *end == to && is_near {
                    faults.push(format!("two arrowheads of box {to} are on each other"));
                }
            }
        }
        faults
    }
}

/// The points on curves, of which each begins where the one before ends.
fn points(curve: &[Point]) -> Vec<Point> {
    let mut points: Vec<Point> = curve.first().copied().into_iter().collect();
    for end in (3..curve.len()).step_by(3) {
        let [a, b, c, d] = [curve[end - 3], curve[end - 2], curve[end - 1], curve[end]];
        for step in 1..=STEPS {
            let t = f64::from(step) / f64::from(STEPS);
            let u = 1.0 - t;
            let at = |a: f64, b: f64, c: f64, d: f64| {
                u * u * u * a + 3.0 * u * u * t * b + 3.0 * u * t * t * c + t * t * t * d
            };
            points.push((at(a.0, b.0, c.0, d.0), at(a.1, b.1, c.1, d.1)));
        }
    }
    points
}

/// An area without its border, which an arrow may touch.
fn inner(area: &Area) -> Area {
    Area {
        width: area.width - 2.0,
        height: area.height - 2.0,
        ..*area
    }
}

/// How far an arrow is from a rectangle, where it is nearest.
fn nearest(arrow: &[Point], area: &Area) -> f64 {
    let mut least = f64::MAX;
    for pair in arrow.windows(2) {
        let (x, y) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let mut part = 0.0;
        while part <= 1.0 {
            least = least.min(distance((pair[0].0 + x * part, pair[0].1 + y * part), area));
            part += 2.0 / x.hypot(y).max(1.0);
        }
    }
    least
}

/// How far a point is from a rectangle.
fn distance(point: Point, area: &Area) -> f64 {
    let x = ((point.0 - area.x).abs() - area.width / 2.0).max(0.0);
    let y = ((point.1 - area.y).abs() - area.height / 2.0).max(0.0);
    x.hypot(y)
}

/// Whether two pieces of arrows have a point in common.
fn cross(one: &[Point], other: &[Point]) -> bool {
    let turn = |a: Point, b: Point, c: Point| (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
    let is_between = |a: Point, b: Point, c: Point, d: Point| turn(a, b, c) * turn(a, b, d) < 0.0;
    is_between(one[0], one[1], other[0], other[1]) && is_between(other[0], other[1], one[0], one[1])
}
