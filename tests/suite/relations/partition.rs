//! The partition of graphs, against its definition.

use crate::support::choices::Choices;
use duologue::relation::partition::{Edge, coarsest};

fn edge(from: u32, label: u32, to: u32) -> Edge {
    Edge { from, to, label }
}

/// The partition by its definition: refined until nothing changes.
fn slowly(colors: &[u32], edges: &[Edge]) -> Vec<usize> {
    let mut class: Vec<usize> = colors.iter().map(|color| *color as usize).collect();
    loop {
        let look = |node: usize| {
            let own = edges.iter().filter(|edge| edge.from as usize == node);
            let mut seen: Vec<_> = own
                .map(|edge| (edge.label, class[edge.to as usize]))
                .collect();
            seen.sort_unstable();
            (class[node], seen)
        };
        let looks: Vec<_> = (0..colors.len()).map(look).collect();
        let next: Vec<usize> = looks
            .iter()
            .map(|own| looks.iter().position(|other| other == own).expect("itself"))
            .collect();
        let count = |classes: &[usize]| {
            classes
                .iter()
                .collect::<std::collections::BTreeSet<_>>()
                .len()
        };
        if count(&next) == count(&class) {
            return next;
        }
        class = next;
    }
}

#[test]
fn a_loop_unrolled_is_one_class() {
    let edges = [edge(0, 0, 1), edge(1, 0, 2), edge(2, 0, 0)];
    let classes = coarsest(&[7, 7, 7], &edges);
    assert!(classes.iter().all(|class| *class == classes[0]));
}

#[test]
fn random_graphs_fall_apart_as_the_definition_says() {
    let mut dice = Choices::new(1);
    let mut any = |below: usize| u32::try_from(dice.below(below)).expect("a small number");
    for _ in 0..2_000 {
        let nodes = 1 + any(9);
        let colors: Vec<u32> = (0..nodes).map(|_| any(2)).collect();
        let mut edges = Vec::new();
        for from in 0..nodes {
            for label in 0..2 {
                if any(3) > 0 {
                    edges.push(edge(from, label, any(nodes as usize)));
                }
            }
        }
        let quick = coarsest(&colors, &edges);
        let slow = slowly(&colors, &edges);
        for one in 0..quick.len() {
            for other in 0..quick.len() {
                assert_eq!(
                    quick[one] == quick[other],
                    slow[one] == slow[other],
                    "{colors:?} {edges:?}"
                );
            }
        }
    }
}
