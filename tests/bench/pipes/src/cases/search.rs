//! The breadth-first search of Graph500: level by level, each level in pieces, with a future for each piece.

use super::{OURS, TWO_THREADS};
use crate::harness::{Case, Family, Job, Place};
use crate::protocols::future::{Waiting, init, server};
use crate::protocols::stream;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock};

/// The graph has 2 to the power of this many vertices, and this many edges for each.
const SCALE: u32 = 15;
const EDGES: usize = 16;

/// In how many pieces a level is searched at most, and how many vertices a piece has at least.
const PIECES: usize = 64;
const LEAST: usize = 16;

/// One operation is one search.
pub fn families() -> Vec<Family> {
    let sum = |count: u64| count.wrapping_mul(alone(1));
    let name = format!("breadth-first search, 2^{SCALE} vertices");
    vec![
        Family::new(name, "search", sum)
            .slices(40, 4)
            .case(Case::new("one thread", |count| {
                vec![Job::new(Place::Anywhere, move || alone(count))]
            }))
            .case(ours())
            .case(rayon()),
    ]
}

/// For each vertex its neighbors.
struct Graph {
    /// Where the neighbors of a vertex begin; the next one's begin where they end.
    starts: Vec<u32>,
    neighbors: Vec<u32>,
}

/// The graph of all cases, and the vertex with the most neighbors, where all searches begin.
static GRAPH: LazyLock<(Graph, u32)> = LazyLock::new(|| {
    let graph = Graph::random();
    let root = (0..graph.vertices() as u32).max_by_key(|vertex| graph.of(*vertex).len());
    (graph, root.expect("there are vertices"))
});

impl Graph {
    /// A Kronecker graph with the probabilities of Graph500. Each edge leads in both directions.
    fn random() -> Graph {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut percent = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) % 100
        };
        let vertices = 1_usize << SCALE;
        let mut edges = Vec::with_capacity(2 * vertices * EDGES);
        for _ in 0..vertices * EDGES {
            let (mut from, mut to) = (0, 0);
            for bit in 0..SCALE {
                let (down, right) = match percent() {
                    0..57 => (0, 0),
                    57..76 => (0, 1),
                    76..95 => (1, 0),
                    _ => (1, 1),
                };
                from |= down << bit;
                to |= right << bit;
            }
            edges.extend([(from, to), (to, from)]);
        }
        edges.sort_unstable();
        let mut starts = vec![0; vertices + 1];
        for (from, _) in &edges {
            starts[*from as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let neighbors = edges.into_iter().map(|(_, to)| to).collect();
        Graph { starts, neighbors }
    }

    fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    fn of(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.neighbors[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }
}

/// The predecessor of a vertex that no edge has reached.
const NONE: u32 = u32::MAX;

/// For each vertex, from which one it was reached first.
type Parents = Arc<Vec<AtomicU32>>;

/// The neighbors of these vertices that were not reached before.
fn expand(vertices: &[u32], parents: &[AtomicU32]) -> Vec<u32> {
    let mut found = Vec::new();
    for vertex in vertices {
        for neighbor in GRAPH.0.of(*vertex) {
            let parent = &parents[*neighbor as usize];
            let is_new = parent.load(Relaxed) == NONE
                && parent
                    .compare_exchange(NONE, *vertex, Relaxed, Relaxed)
                    .is_ok();
            if is_new {
                found.push(*neighbor);
            }
        }
    }
    found
}

/// Searches, and returns the sum of all distances, which is the same whatever the order is.
fn search(mut next: impl FnMut(&Arc<Vec<u32>>, &Parents) -> Vec<u32>) -> u64 {
    let root = GRAPH.1;
    let unreached = (0..GRAPH.0.vertices()).map(|_| AtomicU32::new(NONE));
    let parents: Parents = Arc::new(unreached.collect());
    parents[root as usize].store(root, Relaxed);
    let (mut level, mut distance, mut sum) = (Arc::new(vec![root]), 0, 0);
    while !level.is_empty() {
        sum += distance * level.len() as u64;
        distance += 1;
        level = Arc::new(next(&level, &parents));
    }
    sum
}

/// This many searches on one thread, which needs no read-modify-write operations.
fn alone(count: u64) -> u64 {
    let expand = |level: &Arc<Vec<u32>>, parents: &Parents| {
        let mut found = Vec::new();
        for vertex in level.iter() {
            for neighbor in GRAPH.0.of(*vertex) {
                let parent = &parents[*neighbor as usize];
                if parent.load(Relaxed) == NONE {
                    parent.store(*vertex, Relaxed);
                    found.push(*neighbor);
                }
            }
        }
        found
    };
    (0..count).fold(0, |sum, _| sum.wrapping_add(search(expand)))
}

/// How many vertices a piece of a level has.
fn length(level: &[u32]) -> usize {
    level.len().div_ceil(PIECES).max(LEAST)
}

/// A piece of a level for another thread, and where it puts what it found.
struct Piece {
    level: Arc<Vec<u32>>,
    range: Range<usize>,
    parents: Parents,
    promise: server::Waiting<Vec<u32>>,
}

/// The next level by two threads, which get the pieces of this one in turn through pipes, each with the end of a future that its thread
/// completes.
fn ours() -> Case {
    Case::new(OURS, |count| {
        let pipes = [(); 2].map(|()| stream::init::<Piece>());
        let [(first, to_first), (second, to_second)] = pipes;
        let worker = |mut server: stream::server::Stream<Piece>| {
            Job::new(Place::Anywhere, move || {
                while let Ok(stream::Stream::Send(piece, next)) = server.recv() {
                    let found = expand(&piece.level[piece.range], &piece.parents);
                    piece.promise.completed(found).expect("the caller waits");
                    server = next;
                }
                0
            })
        };
        let caller = Job::new(Place::Anywhere, move || {
            let mut pipes = [Some(to_first), Some(to_second)];
            let mut next_level = |level: &Arc<Vec<u32>>, parents: &Parents| {
                let length = length(level);
                let send = |(number, start): (usize, usize)| {
                    let (promise, future) = init();
                    let piece = Piece {
                        level: Arc::clone(level),
                        range: start..(start + length).min(level.len()),
                        parents: Arc::clone(parents),
                        promise,
                    };
                    let pipe = &mut pipes[number % 2];
                    let sent = pipe.take().expect("it came back").send(piece);
                    *pipe = Some(sent.expect("the workers stay"));
                    future
                };
                let starts = (0..level.len()).step_by(length);
                let futures: Vec<_> = starts.enumerate().map(send).collect();
                let found = futures.into_iter().flat_map(|future| {
                    let Waiting::Completed(found) = future.recv().expect("all are done");
                    found
                });
                found.collect()
            };
            (0..count).fold(0_u64, |sum, _| sum.wrapping_add(search(&mut next_level)))
        });
        vec![worker(first), worker(second), caller]
    })
}

/// rayon divides each level among its two threads.
fn rayon() -> Case {
    use rayon::prelude::*;
    Case::new("rayon", |count| {
        vec![Job::new(Place::Anywhere, move || {
            TWO_THREADS.install(|| {
                (0..count).fold(0_u64, |sum, _| {
                    sum.wrapping_add(search(|level, parents| {
                        let pieces = level.par_chunks(length(level));
                        pieces
                            .flat_map_iter(|piece| expand(piece, parents))
                            .collect()
                    }))
                })
            })
        })]
    })
}
