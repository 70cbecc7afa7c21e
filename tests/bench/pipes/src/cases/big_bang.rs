//! Big bang: each of many actors sends a message to all others, and each message is answered.

use super::ring_tasks::{Task, run};
use super::{LEFT, OURS};
use crate::harness::{Case, Family, Job, Place};
use crate::payload::triangle;
use crate::peers::tasks::*;
use crate::protocols::ping_pong::{Ping, Pong, client, init, server};

/// How many actors there are.
pub const ACTORS: u64 = 100;

/// With one worker and with two.
pub fn families() -> Vec<Family> {
    [1, 2].map(of).into()
}

fn of(workers: usize) -> Family {
    let plural = if workers == 1 { "" } else { "s" };
    let name = format!("big bang of {ACTORS} actors, {workers} worker{plural}");
    // Each answer has the number of the actor that asked.
    let sum = |rounds: u64| {
        triangle(ACTORS)
            .wrapping_mul(ACTORS - 1)
            .wrapping_mul(rounds)
    };
    let family = Family::new(name, "message", sum);
    let family = family.units(2 * ACTORS * (ACTORS - 1)).slices(20, 4);
    let family = match workers {
        1 => family.steady(),
        _ => family,
    };
    let family = family
        .case(case(workers, "yield_now", |rounds| {
            let yields = |number| -> Task {
                Box::pin(async move {
                    let messages = 2 * (ACTORS - 1) * rounds;
                    for _ in 0..messages {
                        tokio::task::yield_now().await;
                    }
                    (ACTORS - 1) * rounds * number
                })
            };
            (0..ACTORS).map(yields).collect()
        }))
        .case(case(workers, OURS, |rounds| {
            let actors = (0..).zip(sessions());
            let tasks = actors.map(|(number, (clients, servers))| -> Task {
                Box::pin(in_order(number, clients, servers, rounds))
            });
            tasks.collect()
        }))
        .case(mailboxes::<Tokio>(workers))
        .case(mailboxes::<Kanal>(workers))
        .case(mailboxes::<Flume>(workers))
        .case(mailboxes::<AsyncChannel>(workers));
    #[cfg(feature = "peers")]
    let family = family.case(crate::peers::actors::big_bang(workers));
    family
}

fn case(workers: usize, name: &str, tasks: impl Fn(u64) -> Vec<Task> + 'static) -> Case {
    Case::new(name, move |rounds| {
        let tasks = tasks(rounds);
        let place = match workers {
            1 => LEFT,
            _ => Place::Anywhere,
        };
        vec![Job::timed(place, move |clock| run(workers, tasks, clock))]
    })
}

const OPEN: &str = "no actor ends before the others";

/// What an actor has: a session with each other actor in which it asks, and one in which it answers.
type Ends = (Vec<client::Ping<u64>>, Vec<server::Ping<u64>>);

/// A session for each pair of actors, in each direction.
fn sessions() -> Vec<Ends> {
    let mut all: Vec<Ends> = (0..ACTORS).map(|_| Ends::default()).collect();
    for asking in 0..ACTORS as usize {
        // Each begins with its neighbor, so that no actor is the first of all.
        for distance in 1..ACTORS as usize {
            let (server, client) = init();
            all[asking].0.push(client);
            all[(asking + distance) % ACTORS as usize].1.push(server);
        }
    }
    all
}

/// Waits for one session after the other. That is enough, because all others send before they wait, and no session is ever full.
async fn in_order(
    number: u64,
    mut clients: Vec<client::Ping<u64>>,
    mut servers: Vec<server::Ping<u64>>,
    rounds: u64,
) -> u64 {
    let (mut sum, mut waiting) = (0_u64, Vec::with_capacity(clients.len()));
    let mut answered = Vec::with_capacity(servers.len());
    for _ in 0..rounds {
        for client in clients.drain(..) {
            waiting.push(client.ping(number).expect(OPEN));
        }
        for server in servers.drain(..) {
            let Ping::Ping(value, answer) = server.recv_async().await.expect(OPEN);
            answered.push(answer.pong(value).expect(OPEN));
        }
        std::mem::swap(&mut servers, &mut answered);
        for waiting in waiting.drain(..) {
            let Pong::Pong(value, client) = waiting.recv_async().await.expect(OPEN);
            sum = sum.wrapping_add(value);
            clients.push(client);
        }
    }
    sum
}

/// A message to a mailbox: which actor sent it, and whether it wants an answer.
type Mail = (u64, bool);

/// A channel for each actor, whose sender all others have. It has space for everything that can be in flight, because an actor that waits
/// for space reads nothing.
fn mailboxes<C: Channel<Mail, Tx: Clone + Sync, Rx: Sync>>(workers: usize) -> Case {
    case(workers, C::NAME, |rounds| {
        let channels = (0..ACTORS).map(|_| C::channel(3 * ACTORS as usize));
        let (txs, rxs): (Vec<_>, Vec<_>) = channels.unzip();
        let actors = (0..).zip(rxs);
        let tasks = actors.map(|(number, rx)| -> Task {
            Box::pin(mailbox::<C>(number, rx, txs.clone(), rounds))
        });
        tasks.collect()
    })
}

async fn mailbox<C: Channel<Mail>>(
    number: u64,
    mut rx: C::Rx,
    mut txs: Vec<C::Tx>,
    rounds: u64,
) -> u64 {
    let (mut sum, mut to_answer) = (0_u64, (ACTORS - 1) * rounds);
    for round in 0..rounds {
        for distance in 1..ACTORS {
            let other = ((number + distance) % ACTORS) as usize;
            C::send(&mut txs[other], (number, true)).await;
        }
        let mut to_come = ACTORS - 1;
        while to_come > 0 || (round + 1 == rounds && to_answer > 0) {
            let (other, asks) = C::recv(&mut rx).await;
            if asks {
                to_answer -= 1;
                C::send(&mut txs[other as usize], (number, false)).await;
            } else {
                to_come -= 1;
                sum = sum.wrapping_add(number);
            }
        }
    }
    sum
}
