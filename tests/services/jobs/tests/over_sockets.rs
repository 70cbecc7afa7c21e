//! What only the service with sockets has: how it shuts down, and how many sessions it admits.

use crate::talk::{collect, done, submit};
use duologue::{Closed, Why};
use duologue_net::{Error, Verdict};
use jobs::client;
use jobs::limits::Limits;
use jobs::protocols::jobs::Result as Collected;
use jobs::protocols::jobs::client::Idle;
use jobs::protocols::work::{self, Assignment};
use jobs::server::Server;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const EVERY: Duration = Duration::from_secs(5);

/// A service on a Unix socket and a TCP port.
struct Service {
    addresses: Vec<String>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), Error>>,
}

impl Service {
    fn start(name: &str, limits: Limits) -> Service {
        let file = format!("duologue-{}-jobs-{name}.sock", std::process::id());
        let unix = format!("unix:{}", std::env::temp_dir().join(file).display());
        let addresses = [unix, "tcp://127.0.0.1:0".to_owned()];
        let server = Server::bind(&addresses, limits).expect("the addresses are free");
        let addresses = server.addresses();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async { drop(stopped.await) }));
        Service {
            addresses,
            stop,
            running,
        }
    }

    /// A worker that does jobs of this kind until the service closes.
    async fn echo(&self, kind: &str) -> JoinHandle<Result<(), Closed>> {
        let idle = client::connect(self.addresses[1].clone()).await;
        let (idle, kinds) = (idle.expect("the service is there"), [kind.to_owned()]);
        tokio::spawn(async move { client::work(idle, &kinds, EVERY, client::echo).await })
    }

    async fn submitter(&self) -> Idle {
        let idle = client::connect(self.addresses[0].clone()).await;
        idle.expect("the service is there")
    }

    async fn end(self) {
        self.stop.send(()).expect("it runs");
        let ended = self.running.await.expect("no panic");
        ended.expect("it could accept connections");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_does_what_was_accepted_and_tells_every_peer() -> Result<(), Closed> {
    let service = Service::start("shutdown", Limits::default());
    let (_, idle) = submit(service.submitter().await, "add").await?;
    let (_, idle) = submit(idle, "add").await?;
    let bystander = service.submitter().await;
    // For its client, a session begins before the service has a task for it. This answer shows that the task exists.
    let Collected::Nothing(mut bystander) = bystander.collect()?.recv_async().await? else {
        panic!("it has submitted nothing")
    };
    let (worker, address) = (service.echo("add").await, service.addresses[0].clone());
    let ending = tokio::spawn(service.end());
    let closed = loop {
        // Until the shutdown begins, the answer is that there is no job to collect.
        match bystander.collect() {
            Ok(answer) => match answer.recv_async().await {
                Ok(Collected::Nothing(next)) => bystander = next,
                Ok(other) => panic!("{other:?}"),
                Err(closed) => break closed,
            },
            Err(error) => break error.closed(),
        }
    };
    assert_eq!(closed.why(), Why::Left);
    assert!(client::connect::<Idle>(address).await.is_err());
    let (_, how, idle) = collect(idle).await?;
    assert_eq!(how, done("add: x"));
    let (_, how, idle) = collect(idle).await?;
    assert_eq!(how, done("add: x"));
    drop(idle);
    worker.await.expect("no panic")?;
    ending.await.expect("no panic");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_does_not_wait_for_peers_that_do_nothing() -> Result<(), Closed> {
    let service = Service::start(
        "grace",
        Limits {
            grace: Duration::from_millis(50),
            ..Limits::default()
        },
    );
    let (_, idle) = submit(service.submitter().await, "unheard of").await?;
    let (_, idle) = submit(idle, "add").await?;
    let worker = client::connect::<work::client::Idle>(service.addresses[0].clone()).await;
    let worker = worker.expect("the service is there");
    let Assignment::Job { next: busy, .. } = worker.ask(vec!["add".into()])?.recv_async().await?
    else {
        panic!("a job waits")
    };
    service.end().await;
    // A message that was sent may not have arrived: only the next receive shows it.
    let collecting = async { idle.collect()?.recv_async().await };
    let asking = async {
        busy.finish(done("too late"))?
            .ask(vec![])?
            .recv_async()
            .await
    };
    let closed = [collecting.await.map(drop), asking.await.map(drop)]
        .map(|end| end.map_err(|closed| closed.why()));
    assert_eq!(closed, [Err(Why::Left), Err(Why::Left)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_more_sessions_than_the_limit_allows() -> Result<(), Closed> {
    let service = Service::start(
        "many",
        Limits {
            sessions: 1,
            ..Limits::default()
        },
    );
    let idle = service.submitter().await;
    let Collected::Nothing(idle) = idle.collect()?.recv_async().await? else {
        panic!("it has submitted nothing")
    };
    for address in &service.addresses {
        let refused = client::connect::<Idle>(address.clone()).await;
        let refused = refused.expect_err("there is one session");
        let refused = refused.downcast::<Error>().expect("it is the reason");
        let verdict = Verdict::NotAdmitted;
        assert!(matches!(refused, Error::Refused { verdict: is, .. } if is == verdict));
    }
    idle.leave()?;
    service.end().await;
    Ok(())
}
