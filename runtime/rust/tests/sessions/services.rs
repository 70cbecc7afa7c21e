//! The server's side on a thread or task of its own.

use std::thread;

use duologue::{spawn_service, spawn_service_with, Closed};

use crate::futures::block_on;
use crate::golden::stream::{self, Stream};

fn sum(mut server: stream::server::Stream<u32>) -> Result<u32, Closed> {
    let mut sum = 0;
    while let Stream::Send(number, next) = server.recv()? {
        sum += number;
        server = next;
    }
    Ok(sum)
}

#[test]
fn a_service_on_a_thread() -> Result<(), Closed> {
    let (client, serving) = spawn_service(stream::init, sum);
    client.send(1)?.send(2)?.stop()?;
    assert_eq!(serving.join().expect("no panic")?, 3);
    Ok(())
}

#[test]
fn a_service_that_panics_closes_its_session() {
    let (client, serving) = spawn_service(stream::init::<u32>, |server| {
        let _server = server;
        std::panic::resume_unwind(Box::new("not today"));
    });
    assert!(serving.join().is_err());
    assert!(client.send(1).is_err());
}

#[test]
fn a_service_on_any_executor() -> Result<(), Closed> {
    async fn sum(mut server: stream::server::Stream<u32>) -> Result<u32, Closed> {
        let mut sum = 0;
        while let Stream::Send(number, next) = server.recv_async().await? {
            sum += number;
            server = next;
        }
        Ok(sum)
    }
    let spawn = |future| thread::spawn(move || block_on(future));
    let (client, serving) = spawn_service_with(spawn, stream::init, sum);
    client.send(1)?.send(2)?.stop()?;
    assert_eq!(serving.join().expect("no panic")?, 3);
    Ok(())
}
