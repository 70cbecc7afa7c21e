//! Actors of ractor, which are tasks of tokio, each with a mailbox without a bound.

use crate::cases::{LEFT, ring_tasks::runtime};
use crate::harness::{Case, Clock, Job, Place};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const OPEN: &str = "no actor ends before the others";

/// Where an actor reports that it knows the others, by a 0, and later what its numbers add up to.
type Done = UnboundedSender<u64>;

/// A case in which `start` sends the first messages to all actors. Each was made and knows the others before the time begins, as the
/// tasks of the other cases do.
fn case<A: Actor<Msg: Clone>>(
    workers: usize,
    actors: u64,
    make: impl Fn(u64, u64, Done) -> A::Arguments + Clone + Send + 'static,
    actor: fn() -> A,
    connect: fn(&[ActorRef<A::Msg>]),
    start: impl Fn(&[ActorRef<A::Msg>]) + Clone + Send + 'static,
) -> Case {
    Case::new("ractor", move |operations| {
        let (make, start) = (make.clone(), start.clone());
        let place = match workers {
            1 => LEFT,
            _ => Place::Anywhere,
        };
        let work = move |clock: &mut Clock| {
            runtime(workers).block_on(async {
                let (done, mut all_done) = unbounded_channel();
                let (mut all, mut ends) = (Vec::new(), Vec::new());
                for number in 0..actors {
                    let arguments = make(number, operations, done.clone());
                    let spawned = Actor::spawn(None, actor(), arguments).await;
                    let (one, end) = spawned.expect("actors can be started");
                    all.push(one);
                    ends.push(end);
                }
                connect(&all);
                for _ in 0..actors {
                    all_done.recv().await.expect(OPEN);
                }
                clock.start_at(Instant::now());
                start(&all);
                let mut sum = 0_u64;
                for _ in 0..actors {
                    sum = sum.wrapping_add(all_done.recv().await.expect(OPEN));
                }
                clock.stop();
                for (one, end) in all.iter().zip(ends) {
                    one.stop(None);
                    end.await.expect("no actor panics");
                }
                sum
            })
        };
        vec![Job::timed(place, work)]
    })
}

struct Passing;

#[derive(Clone)]
enum Pass {
    Next(ActorRef<Pass>),
    Start,
    Token(u64),
}

struct Passed {
    next: Option<ActorRef<Pass>>,
    /// The token that it begins with, until it has sent it.
    own: Option<u64>,
    /// Whether it began with a token, and therefore keeps its last one.
    keeps: bool,
    left: u64,
    sum: u64,
    done: Done,
}

impl Passed {
    fn pass(&self, token: u64) -> Result<(), ActorProcessingErr> {
        let next = self.next.as_ref().expect("it is known before");
        Ok(next.send_message(Pass::Token(token))?)
    }
}

impl Actor for Passing {
    type Msg = Pass;
    type State = Passed;
    type Arguments = Passed;

    async fn pre_start(
        &self,
        _: ActorRef<Pass>,
        state: Passed,
    ) -> Result<Passed, ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<Pass>,
        message: Pass,
        state: &mut Passed,
    ) -> Result<(), ActorProcessingErr> {
        if let Pass::Next(next) = message {
            state.next = Some(next);
            state.done.send(0)?;
            return Ok(());
        }
        // A token of the actor before can arrive before the start. It must not overtake the own one: each actor keeps its last
        // token, so in another order some actors would get other tokens.
        if let Some(own) = state.own.take() {
            state.pass(own)?;
        }
        if let Pass::Token(token) = message {
            state.left -= 1;
            state.sum = state.sum.wrapping_add(token);
            if state.left > 0 || !state.keeps {
                state.pass(token)?;
            }
            if state.left == 0 {
                state.done.send(state.sum)?;
            }
        }
        Ok(())
    }
}

/// The thread-ring of this many actors, of which the first have a token each.
pub fn ring(workers: usize, actors: u64, tokens: u64) -> Case {
    let make = move |number, laps, done| Passed {
        next: None,
        own: (number < tokens).then_some(number + 1),
        keeps: number < tokens,
        left: laps,
        sum: 0,
        done,
    };
    let connect = |all: &[ActorRef<Pass>]| {
        for (one, next) in all.iter().zip(all.iter().cycle().skip(1)) {
            one.send_message(Pass::Next(next.clone())).expect(OPEN);
        }
    };
    let start = move |all: &[ActorRef<Pass>]| {
        for one in &all[..tokens as usize] {
            one.send_message(Pass::Start).expect(OPEN);
        }
    };
    case(workers, actors, make, || Passing, connect, start)
}

struct Banging;

#[derive(Clone)]
enum Bang {
    Others(Arc<Vec<ActorRef<Bang>>>),
    Start,
    Ping(u64),
    Pong,
}

struct Banged {
    number: u64,
    others: Arc<Vec<ActorRef<Bang>>>,
    rounds: u64,
    to_come: u64,
    to_answer: u64,
    sum: u64,
    done: Done,
}

impl Banged {
    fn ask(&mut self) -> Result<(), ActorProcessingErr> {
        let actors = self.others.len() as u64;
        self.to_come = actors - 1;
        for distance in 1..actors {
            let other = ((self.number + distance) % actors) as usize;
            self.others[other].send_message(Bang::Ping(self.number))?;
        }
        Ok(())
    }
}

impl Actor for Banging {
    type Msg = Bang;
    type State = Banged;
    type Arguments = Banged;

    async fn pre_start(
        &self,
        _: ActorRef<Bang>,
        state: Banged,
    ) -> Result<Banged, ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<Bang>,
        message: Bang,
        state: &mut Banged,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Bang::Others(others) => {
                state.others = others;
                state.done.send(0)?;
                return Ok(());
            }
            Bang::Start => return state.ask(),
            Bang::Ping(from) => {
                state.to_answer -= 1;
                state.others[from as usize].send_message(Bang::Pong)?;
            }
            Bang::Pong => {
                state.to_come -= 1;
                state.sum = state.sum.wrapping_add(state.number);
                if state.to_come == 0 {
                    state.rounds -= 1;
                    if state.rounds > 0 {
                        state.ask()?;
                    }
                }
            }
        }
        if state.rounds == 0 && state.to_answer == 0 {
            state.done.send(state.sum)?;
        }
        Ok(())
    }
}

/// Big bang.
pub fn big_bang(workers: usize, actors: u64) -> Case {
    let make = move |number, rounds, done| Banged {
        number,
        others: Arc::default(),
        rounds,
        to_come: 0,
        to_answer: (actors - 1) * rounds,
        sum: 0,
        done,
    };
    let connect = |all: &[ActorRef<Bang>]| {
        let others = Arc::new(all.to_vec());
        for one in all {
            one.send_message(Bang::Others(Arc::clone(&others)))
                .expect(OPEN);
        }
    };
    let start = |all: &[ActorRef<Bang>]| {
        for one in all {
            one.send_message(Bang::Start).expect(OPEN);
        }
    };
    case(workers, actors, make, || Banging, connect, start)
}
