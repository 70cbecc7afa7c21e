//! A search that never ends, and that its client stops.

use crate::protocols::{lookup, stop};
use duologue::{Closed, TryRecvError};

fn find(
    mut stop: stop::server::Armed,
    mut out: lookup::server::Found,
) -> Result<lookup::server::Idle, Closed> {
    for item in 0.. {
        stop = match stop.try_recv() {
            Err(TryRecvError::Empty(same)) => same,
            Ok(_) | Err(TryRecvError::Closed(_)) => break,
        };
        out = out.item(item)?;
    }
    Ok(out.done()?)
}

fn serve(mut server: lookup::server::Idle) -> Result<(), Closed> {
    loop {
        let lookup::Idle::Find { stop, next, .. } = server.recv()?;
        server = find(stop, next)?;
    }
}

/// The first items, and the endpoint for the next search. What was sent meanwhile is received and dropped.
fn first(
    client: lookup::client::Idle,
    count: usize,
) -> Result<(Vec<u64>, lookup::client::Idle), Closed> {
    let (stopped, stop) = stop::init();
    let mut stop = Some(stop);
    let mut found = client.find("numbers".into(), stopped)?;
    let mut items = Vec::new();
    loop {
        match found.recv()? {
            lookup::Found::Item(item, next) => {
                if items.len() < count {
                    items.push(item);
                } else if let Some(stop) = stop.take() {
                    stop.now()?;
                }
                found = next;
            }
            lookup::Found::Done(next) => return Ok((items, next)),
        }
    }
}

pub fn main() -> Result<(), Closed> {
    let (client, thread) = duologue::spawn_service(lookup::init, serve);
    let (items, client) = first(client, 3)?;
    assert_eq!(items, [0, 1, 2]);
    let (items, client) = first(client, 1)?;
    assert_eq!(items, [0]);
    drop(client);
    assert!(thread.join().expect("no panic").is_err());
    Ok(())
}
