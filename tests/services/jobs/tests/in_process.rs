//! Sessions within the process. The clock advances only while every task waits for it, so no test depends on how fast the machine is.
#![forbid(unsafe_code)]

use duologue::{Closed, spawn_service_with};
use jobs::client;
use jobs::limits::Limits;
use jobs::protocols::jobs::{self as of_jobs, Idle, Result as Collected, Ticket};
use jobs::protocols::work::{self as of_work, Assignment};
use jobs::protocols::{Outcome, jobs as jobs_protocol, work as work_protocol};
use jobs::queue::Queue;
use jobs::{submitters, workers};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use workers::Gone;

const EVERY: Duration = Duration::from_secs(5);

fn submitter(queue: &Arc<Queue>) -> (of_jobs::client::Idle, JoinHandle<Result<(), Closed>>) {
    let queue = Arc::clone(queue);
    spawn_service_with(tokio::spawn, jobs_protocol::init, |idle| {
        submitters::serve(idle, queue)
    })
}

fn worker(queue: &Arc<Queue>) -> (of_work::client::Idle, JoinHandle<Result<(), Gone>>) {
    let queue = Arc::clone(queue);
    spawn_service_with(tokio::spawn, work_protocol::init, |idle| {
        workers::serve(idle, queue)
    })
}

fn kinds(kinds: &[&str]) -> Vec<String> {
    kinds.iter().map(|kind| (*kind).to_owned()).collect()
}

/// Submits a job that the queue has space for, and returns its number.
async fn submit(
    idle: of_jobs::client::Idle,
    kind: &str,
) -> Result<(u64, of_jobs::client::Idle), Closed> {
    let ticket = idle.submit(kind.to_owned(), b"x".to_vec())?;
    match ticket.recv_async().await? {
        Ticket::Accepted { number, next } => Ok((number, next)),
        Ticket::Full { .. } => panic!("the queue has room"),
    }
}

/// Collects a job that was submitted.
async fn collect(
    idle: of_jobs::client::Idle,
) -> Result<(u64, Outcome, of_jobs::client::Idle), Closed> {
    match idle.collect()?.recv_async().await? {
        Collected::Ended { number, how, next } => Ok((number, how, next)),
        Collected::Nothing(_) => panic!("a job was submitted"),
    }
}

/// A result.
fn done(text: &str) -> Outcome {
    Outcome::Done(text.as_bytes().to_vec())
}

/// A worker that does jobs until the queue closes.
fn echo(queue: &Arc<Queue>, of: &[&str]) -> JoinHandle<Result<(), Closed>> {
    let (idle, _) = worker(queue);
    let of = kinds(of);
    tokio::spawn(async move { client::work(idle, &of, EVERY, client::echo).await })
}

/// The job that a worker gets.
async fn assigned(
    idle: of_work::client::Idle,
    kind: &str,
) -> Result<(u64, of_work::client::Busy), Closed> {
    match idle.ask(kinds(&[kind]))?.recv_async().await? {
        Assignment::Job { number, next, .. } => Ok((number, next)),
        other @ (Assignment::Nothing(_) | Assignment::Closing) => panic!("a job waits: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn results_go_to_the_session_that_submitted_the_job() -> Result<(), Closed> {
    let queue = Queue::new(Limits::default());
    let working = [echo(&queue, &["add"]), echo(&queue, &["add", "mail"])];
    let jobs = |session: u32| {
        let kind = |number| if number % 2 == 0 { "add" } else { "mail" };
        let input = move |number| format!("{session}/{number}").into_bytes();
        (0..40).map(move |number| (kind(number).to_owned(), input(number)))
    };
    let mut sessions = Vec::new();
    for session in 0..3 {
        let (idle, _) = submitter(&queue);
        sessions.push(tokio::spawn(client::run(idle, jobs(session))));
    }
    for (session, ended) in (0..).zip(sessions) {
        let expected = jobs(session).map(|(kind, input)| {
            let input = String::from_utf8(input).expect("it is text");
            done(&format!("{kind}: {input}"))
        });
        let ended = ended.await.expect("no panic")?;
        assert_eq!(ended, expected.collect::<Vec<_>>());
    }
    queue.drain();
    for worker in working {
        worker.await.expect("no panic")?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_leaves_gives_its_job_back() -> Result<(), Closed> {
    let queue = Queue::new(Limits::default());
    let (idle, _) = submitter(&queue);
    let (number, idle) = submit(idle, "add").await?;
    let (_, idle) = submit(idle, "add").await?;

    let (worker, served) = worker(&queue);
    let (first, busy) = assigned(worker, "add").await?;
    assert_eq!(first, number);
    let busy = busy.progress(50)?;
    drop(busy);
    let gone = served.await.expect("no panic").expect_err("it has left");
    assert!(matches!(gone, Gone::Left(_)), "{gone}");

    // It comes before the job that was submitted later.
    let _working = echo(&queue, &["add"]);
    let (first, how, idle) = collect(idle).await?;
    assert_eq!((first, how), (number, done("add: x")));
    let (_, _, idle) = collect(idle).await?;
    Ok(idle.leave()?)
}

#[tokio::test(start_paused = true)]
async fn a_job_with_which_every_worker_leaves_has_failed() -> Result<(), Closed> {
    let attempts = 2;
    let queue = Queue::new(Limits {
        attempts,
        ..Limits::default()
    });
    let (idle, _) = submitter(&queue);
    let (number, idle) = submit(idle, "add").await?;
    for _ in 0..attempts {
        drop(assigned(worker(&queue).0, "add").await?);
    }
    let (ended, how, _idle) = collect(idle).await?;
    let why = "2 workers have left with this job".to_owned();
    assert_eq!((ended, how), (number, Outcome::Failed(why)));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_silent_loses_its_job_and_one_that_reports_does_not() -> Result<(), Closed>
{
    let queue = Queue::new(Limits::default());
    let silence = queue.limits().silence;
    let (idle, _) = submitter(&queue);
    let (number, idle) = submit(idle, "add").await?;

    let (silent, served) = worker(&queue);
    let (_, busy) = assigned(silent, "add").await?;
    let gone = served.await.expect("no panic").expect_err("it is silent");
    assert!(matches!(gone, Gone::Silent { number: job, .. } if job == number));
    assert!(busy.finish(done("too late")).is_err());

    let (slow, _) = worker(&queue);
    let of = kinds(&["add"]);
    tokio::spawn(async move {
        let perform = |job| async move {
            sleep(4 * silence).await;
            client::echo(job).await
        };
        client::work(slow, &of, EVERY, perform).await
    });
    let (ended, how, _idle) = collect(idle).await?;
    assert_eq!((ended, how), (number, done("add: x")));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_job_has_to_ask_again() -> Result<(), Closed> {
    let queue = Queue::new(Limits::default());
    let (idle, served) = worker(&queue);
    let before = Instant::now();
    let answer = idle.ask(kinds(&["add"]))?.recv_async().await?;
    let Assignment::Nothing(idle) = answer else {
        panic!("there is no job: {answer:?}")
    };
    // The test's clock, which does not advance while a task runs.
    assert_eq!(before.elapsed().as_secs(), queue.limits().wait.as_secs());
    drop(idle);
    assert!(served.await.expect("no panic").is_err());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_says_when_to_try_again() -> Result<(), Closed> {
    let queue = Queue::new(Limits {
        jobs: 3,
        jobs_of_session: 2,
        ..Limits::default()
    });
    let expected = u32::try_from(queue.limits().retry_after.as_millis()).expect("it is short");
    let refused = async |idle: of_jobs::client::Idle| match idle
        .submit("add".to_owned(), Vec::new())?
        .recv_async()
        .await?
    {
        Ticket::Full {
            retry_after_ms,
            next,
        } => {
            assert_eq!(retry_after_ms, expected);
            Ok::<_, Closed>(next)
        }
        Ticket::Accepted { number, .. } => panic!("{number} is one too many"),
    };
    // A session has two jobs at most.
    let (_, idle) = submit(submitter(&queue).0, "add").await?;
    let (_, idle) = submit(idle, "add").await?;
    let mut idle = refused(idle).await?;
    // All sessions together have three.
    let (_, other) = submit(submitter(&queue).0, "add").await?;
    let other = refused(other).await?;

    // A job that is done keeps its place until it is collected.
    let _working = echo(&queue, &["add"]);
    queue.done().await;
    let other = refused(other).await?;
    (_, _, idle) = collect(idle).await?;
    let (_, other) = submit(other, "add").await?;
    let other = refused(other).await?;

    // A session that leaves frees all its places, including those of results that it did not collect.
    idle.leave()?;
    queue.done().await;
    drop(other);
    let (idle, _) = submitter(&queue);
    let all = (0..20).map(|number: u32| ("add".to_owned(), number.to_string().into_bytes()));
    let ended = client::run(idle, all).await?;
    assert_eq!(ended.len(), 20);
    assert_eq!(ended.last(), Some(&done("add: 19")));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_drains_does_its_jobs_and_ends_its_sessions() -> Result<(), Closed> {
    let queue = Queue::new(Limits::default());
    let (idle, served) = submitter(&queue);
    let (number, idle) = submit(idle, "add").await?;
    let (bystander, dismissed) = submitter(&queue);
    let (_, busy) = assigned(worker(&queue).0, "add").await?;
    let other = worker(&queue).0.ask(kinds(&["add"]))?;

    queue.drain();
    // A session that has nothing to collect is closed.
    dismissed.await.expect("no panic")?;
    assert!(bystander.collect().is_err());
    // The queue takes no further job, and the other worker waits: it may have to do the job that is not finished.
    let Ticket::Full { next: idle, .. } = idle.submit("add".into(), vec![])?.recv_async().await?
    else {
        panic!("the queue drains")
    };
    drop(busy);
    let Assignment::Job { next: busy, .. } = other.recv_async().await? else {
        panic!("the job was given back")
    };
    let after = busy.finish(done("at last"))?;
    let answer = after.ask(kinds(&["add"]))?.recv_async().await?;
    assert!(matches!(answer, Assignment::Closing), "{answer:?}");
    let (ended, how, _idle) = collect(idle).await?;
    assert_eq!((ended, how), (number, done("at last")));
    served.await.expect("no panic")
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_closes_fails_what_waits() -> Result<(), Closed> {
    let queue = Queue::new(Limits::default());
    let (idle, _) = submitter(&queue);
    let (given, idle) = submit(idle, "add").await?;
    let (waits, idle) = submit(idle, "unheard of").await?;
    let (_, busy) = assigned(worker(&queue).0, "add").await?;
    queue.close();
    let failed = Outcome::Failed("the queue has closed".to_owned());
    let (ended, how, idle) = collect(idle).await?;
    assert_eq!((ended, &how), (waits, &failed));
    drop(busy);
    let (ended, how, _idle) = collect(idle).await?;
    assert_eq!((ended, how), (given, failed));
    Ok(())
}

/// The server's side of a session is a value like any other: here a test plays the queue.
#[tokio::test(start_paused = true)]
async fn a_client_collects_before_it_tries_again() -> Result<(), Closed> {
    let (server, idle) = jobs_protocol::init();
    let all = ["a", "b"].map(|input| ("add".to_owned(), input.as_bytes().to_vec()));
    let running = tokio::spawn(client::run(idle, all));
    let Idle::Submit { next: ticket, .. } = server.recv_async().await? else {
        panic!("the first job")
    };
    let Idle::Submit {
        input,
        next: ticket,
        ..
    } = ticket.accepted(7)?.recv_async().await?
    else {
        panic!("the second job")
    };
    assert_eq!(input, b"b");
    let Idle::Collect(result) = ticket.full(1)?.recv_async().await? else {
        panic!("it makes room")
    };
    let again = result.ended(7, done("a"))?.recv_async().await?;
    let Idle::Submit {
        input,
        next: ticket,
        ..
    } = again
    else {
        panic!("the second job again")
    };
    assert_eq!(input, b"b");
    let Idle::Collect(result) = ticket.accepted(8)?.recv_async().await? else {
        panic!("all were submitted")
    };
    let Idle::Collect(result) = result.ended(8, done("b"))?.recv_async().await? else {
        panic!("there may be more")
    };
    let Idle::Leave = result.nothing()?.recv_async().await? else {
        panic!("all were collected")
    };
    assert_eq!(running.await.expect("no panic")?, [done("a"), done("b")]);
    Ok(())
}
