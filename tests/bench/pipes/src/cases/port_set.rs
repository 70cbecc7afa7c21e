//! Many sessions and one receiver, through a port set.

use super::{LEFT, OURS, fan_in::jobs};
use crate::harness::{Case, Family, Job};
use crate::payload::triangle;
use crate::protocols::{ping_pong, stream};
use duologue::PortSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A message to one of ten sessions of a set and its answer, when the set has no other sessions, and when it has 100,000 silent
/// ones.
pub fn families() -> Vec<Family> {
    let family = Family::new("port set with silent sessions, u64", "round trip", triangle);
    vec![
        family
            .steady()
            .slices(50, 10)
            .case(registered(10))
            .case(registered(100_000)),
    ]
}

/// The case of a set with this many sessions.
fn registered(sessions: usize) -> Case {
    const SPEAKING: usize = 10;
    Case::new(format!("{sessions} sessions"), move |count| {
        vec![Job::timed(LEFT, move |clock| {
            let mut set = PortSet::new();
            let mut clients: Vec<_> = (0..sessions)
                .map(|number| {
                    let (server, client) = ping_pong::init::<u64>();
                    set.insert(server, number);
                    Some(client)
                })
                .collect();
            // The set registers its members when it first waits for them.
            let said = set.recv_timeout(Duration::from_millis(1));
            assert!(said.is_none(), "no message has been sent");
            // The active sessions are spread out, as they would be by chance.
            let far = sessions / SPEAKING;
            clock.start_at(Instant::now());
            let mut sum = 0_u64;
            for n in 0..count {
                let at = n as usize % SPEAKING * far;
                let client = clients[at].take().expect("it came back");
                let waiting = client.ping(n).expect("the set is there");
                let (number, message) = set.recv().expect("one has a message");
                let ping_pong::Ping::Ping(value, answer) = message.expect("all stay open");
                set.insert(answer.pong(value).expect("the client waits"), number);
                let ping_pong::Pong::Pong(value, client) =
                    waiting.recv().expect("the set is there");
                clients[number] = Some(client);
                sum = sum.wrapping_add(value);
            }
            clock.stop();
            drop(black_box(set));
            sum
        })]
    })
}

/// `senders` senders, each with a session; all server ends are in a set.
pub fn set(senders: u64) -> Case {
    Case::new(format!("{OURS} PortSet"), move |count| {
        let sessions = (0..senders).map(|_| stream::init::<u64>());
        let (servers, clients): (Vec<_>, Vec<_>) = sessions.unzip();
        let send = |client: &mut Option<stream::client::Stream<u64>>, n| {
            let sent = client.take().expect("it came back").send(n);
            *client = Some(sent.expect("the set is there"));
        };
        jobs(count, clients.into_iter().map(Some), send, move || {
            let mut set: PortSet<_> = servers.into_iter().map(|server| (server, ())).collect();
            let mut sum = 0_u64;
            while let Some(((), message)) = set.recv() {
                if let Ok(stream::Stream::Send(value, next)) = message {
                    sum = sum.wrapping_add(value);
                    set.insert(next, ());
                }
            }
            sum
        })
    })
}
