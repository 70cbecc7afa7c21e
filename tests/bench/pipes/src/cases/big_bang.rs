//! Big bang: each of many actors sends a message to all others, and each message is answered.

use super::OURS;
use super::ring_tasks::{Task, as_tasks as case};
use crate::harness::{Case, Family};
use crate::payload::triangle;
use crate::peers::tasks::*;
use crate::protocols::ping_pong::{Ping, Pong, client, init, server};
use crate::protocols::stream::{self, Stream};
use duologue::{TryRecvError, TrySendError};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many actors there are in the families, in which sessions are compared too.
const ACTORS: u64 = 100;

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
        .case(shared(workers, ACTORS))
        .case(mailboxes::<Tokio>(workers, ACTORS))
        .case(mailboxes::<Kanal>(workers, ACTORS))
        .case(mailboxes::<Flume>(workers, ACTORS));
    #[cfg(feature = "peers")]
    let family = family.case(crate::peers::actors::big_bang(workers, ACTORS));
    family
}

/// With two workers and this many actors, each of which has a mailbox. An operation is a round.
pub fn of_mailboxes(actors: u64) -> Vec<Case> {
    vec![
        shared(2, actors),
        mailboxes::<Tokio>(2, actors),
        mailboxes::<Kanal>(2, actors),
        #[cfg(feature = "peers")]
        crate::peers::actors::big_bang(2, actors),
    ]
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
type Mail = (u32, bool);

/// The next actors after this one, so that no actor is the first of all.
fn others(number: u64, actors: u64) -> impl Iterator<Item = usize> {
    (1..actors).map(move |distance| ((number + distance) % actors) as usize)
}

/// A session for each actor, whose sending end all others share.
fn shared(workers: usize, actors: u64) -> Case {
    case(workers, "duologue, shared senders", move |rounds| {
        let sessions = (0..actors).map(|_| {
            let (server, client) = stream::init::<Mail>();
            (server, stream::client::SharedStream::from(client))
        });
        let (servers, senders): (Vec<_>, Vec<_>) = sessions.unzip();
        let senders = Arc::new(senders);
        let numbered = (0..).zip(servers);
        let tasks = numbered.map(|(number, server)| -> Task {
            let actor = Shared {
                number,
                senders: Arc::clone(&senders),
                to_come: 0,
                to_answer: (actors - 1) * rounds,
                answers: VecDeque::new(),
                sum: 0,
            };
            Box::pin(actor.play(server, rounds))
        });
        tasks.collect()
    })
}

/// An actor of `shared`.
struct Shared {
    number: u64,
    senders: Arc<Vec<stream::client::SharedStream<Mail>>>,
    to_come: u64,
    to_answer: u64,
    /// The actors that it has to answer.
    answers: VecDeque<usize>,
    sum: u64,
}

impl Shared {
    async fn play(mut self, mut server: stream::server::Stream<Mail>, rounds: u64) -> u64 {
        let actors = self.senders.len() as u64;
        for round in 1..=rounds {
            self.to_come = actors - 1;
            for other in others(self.number, actors) {
                server = self.send(server, other, true).await;
            }
            loop {
                while let Some(other) = self.answers.pop_front() {
                    server = self.send(server, other, false).await;
                }
                if self.to_come == 0 && (round < rounds || self.to_answer == 0) {
                    break;
                }
                let Stream::Send(mail, next) = server.recv_async().await.expect(OPEN);
                self.read(mail);
                server = next;
            }
        }
        self.sum
    }

    fn read(&mut self, (from, asks): Mail) {
        if asks {
            self.to_answer -= 1;
            self.answers.push_back(from as usize);
        } else {
            self.to_come -= 1;
            self.sum = self.sum.wrapping_add(self.number);
        }
    }

    /// Reads its own mail while the other mailbox is full, because that actor may wait for space in this one.
    async fn send(
        &mut self,
        mut server: stream::server::Stream<Mail>,
        other: usize,
        asks: bool,
    ) -> stream::server::Stream<Mail> {
        let mail = (self.number as u32, asks);
        while let Err(error) = self.senders[other].try_send(mail) {
            assert!(matches!(error, TrySendError::Full(_)), "{OPEN}");
            match server.try_recv() {
                Ok(Stream::Send(mail, next)) => {
                    self.read(mail);
                    server = next;
                }
                Err(TryRecvError::Empty(same)) => {
                    server = same;
                    tokio::task::yield_now().await;
                }
                Err(TryRecvError::Closed(_)) => panic!("{OPEN}"),
            }
        }
        server
    }
}

/// A channel for each actor, whose sender all others have. It has space for everything that can be in flight, because an actor that waits
/// for space reads nothing.
fn mailboxes<C: Channel<Mail, Rx: Sync>>(workers: usize, actors: u64) -> Case {
    case(workers, C::NAME, move |rounds| {
        let channels = (0..actors).map(|_| C::channel(3 * actors as usize));
        let (txs, rxs): (Vec<_>, Vec<_>) = channels.unzip();
        let txs = Arc::new(txs);
        let numbered = (0..).zip(rxs);
        let tasks = numbered.map(|(number, rx)| -> Task {
            Box::pin(mailbox::<C>(number, rx, Arc::clone(&txs), rounds))
        });
        tasks.collect()
    })
}

async fn mailbox<C: Channel<Mail>>(
    number: u64,
    mut rx: C::Rx,
    txs: Arc<Vec<C::Tx>>,
    rounds: u64,
) -> u64 {
    let actors = txs.len() as u64;
    let (mut sum, mut to_answer) = (0_u64, (actors - 1) * rounds);
    for round in 0..rounds {
        for other in others(number, actors) {
            C::send(&txs[other], (number as u32, true)).await;
        }
        let mut to_come = actors - 1;
        while to_come > 0 || (round + 1 == rounds && to_answer > 0) {
            let (other, asks) = C::recv(&mut rx).await;
            if asks {
                to_answer -= 1;
                C::send(&txs[other as usize], (number as u32, false)).await;
            } else {
                to_come -= 1;
                sum = sum.wrapping_add(number);
            }
        }
    }
    sum
}
