//! Hostile wakers: when they are cloned, woken or dropped, they panic, or use and drop what the runtime is working on.
//! Each kind is tried wherever a waker is stored.

mod script;
mod waiting;

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::golden::stream::{self, state};
use duologue::generated::{session, Slot};
use duologue::{Capacity, Endpoint, PortSet, SharedSender};
use script::{Script, When};
use waiting::{full, select, send_to, Counted, Peer, Task, Waiting, PLACES};

/// Whether this panics.
fn panics(act: impl FnOnce()) -> bool {
    let panic = catch_unwind(AssertUnwindSafe(act)).err();
    panic.map(std::mem::forget).is_some()
}

/// Polls until the waker stays registered: a task may first yield.
fn arm(task: &mut Task, waker: &Waker) {
    for _ in 0..3 {
        assert!(task.poll(waker).is_pending());
    }
}

/// Nothing is left: no payload, and no share of a waker except the test's own.
fn all_is_gone(place: &str, living: &AtomicUsize, scripts: &[&Rc<Script>]) {
    assert_eq!(living.load(SeqCst), 0, "{place}: payloads are left");
    for script in scripts {
        assert_eq!(Rc::strong_count(script), 1, "{place}: a waker is left");
    }
}

/// Calls this for each place where a task waits, with a waker that does what its script says, and one that does not. Nothing is left
/// afterwards.
fn in_each_place(test: impl Fn(&str, Task, Box<dyn Peer>, &Rc<Script>, &Rc<Script>)) {
    for (place, begin) in PLACES {
        let Waiting { task, peer, living } = begin();
        let (script, calm) = (Rc::new(Script::default()), Rc::new(Script::default()));
        test(place, task, peer, &script, &calm);
        all_is_gone(place, &living, &[&script, &calm]);
    }
}

/// The task is woken by its peer, and is ready.
fn completes(place: &str, mut task: Task, peer: Box<dyn Peer>, calm: &Rc<Script>) {
    arm(&mut task, &calm.waker());
    let before = calm.woken.load(SeqCst);
    peer.go_on();
    assert!(calm.woken.load(SeqCst) > before, "{place}: it is woken");
    assert!(task.poll(&calm.waker()).is_ready(), "{place}");
}

/// The two ways in which a peer ends a wait.
const WAYS: [fn(Box<dyn Peer>); 2] = [|peer| peer.go_on(), |peer| peer.leave()];

#[test]
fn a_panic_when_woken_loses_nothing() {
    for end in WAYS {
        in_each_place(|place, mut task, peer, script, calm| {
            arm(&mut task, &script.waker());
            script.panics(When::Woken);
            assert!(panics(|| end(peer)), "{place}: a waker was woken");
            assert!(task.poll(&calm.waker()).is_ready(), "{place}");
        });
    }
}

#[test]
fn a_panic_when_replaced_loses_nothing() {
    in_each_place(|place, mut task, peer, script, calm| {
        arm(&mut task, &script.waker());
        script.panics(When::Dropped);
        let _ = panics(|| assert!(task.poll(&calm.waker()).is_pending()));
        assert!(
            script.acts.borrow_mut().is_empty(),
            "{place}: it was dropped"
        );
        completes(place, task, peer, calm);
    });
}

#[test]
fn a_panic_when_given_up_loses_nothing() {
    for end in WAYS {
        in_each_place(|place, mut task, peer, script, _| {
            arm(&mut task, &script.waker());
            script.panics(When::Dropped);
            // The peer notices, or ends the session that is left to it.
            assert!(panics(|| drop(task)), "{place}: the waker was dropped");
            end(peer);
        });
    }
}

#[test]
fn a_panic_when_cloned_loses_nothing() {
    in_each_place(|place, mut task, peer, script, calm| {
        script.panics(When::Cloned);
        let waker = script.waker();
        let panicked = panics(|| assert!(task.poll(&waker).is_pending()));
        assert!(panicked, "{place}: it is cloned");
        drop(waker);
        completes(place, task, peer, calm);
    });
}

#[test]
fn a_waker_may_drop_what_it_wakes() {
    for end in WAYS {
        in_each_place(|place, mut task, peer, script, _| {
            arm(&mut task, &script.waker());
            script.then(When::Woken, || drop(task));
            end(peer);
            assert!(script.acts.borrow_mut().is_empty(), "{place}: it was woken");
        });
    }
}

#[test]
fn a_waker_that_is_dropped_may_end_the_session_on_the_other_side() {
    in_each_place(|place, mut task, peer, script, calm| {
        arm(&mut task, &script.waker());
        script.then(When::Dropped, || peer.leave());
        // The task finds at once that it is ready, or it is woken.
        let polled = task.poll(&calm.waker());
        assert!(
            script.acts.borrow_mut().is_empty(),
            "{place}: it was dropped"
        );
        if polled.is_pending() {
            assert!(calm.woken.load(SeqCst) > 0, "{place}: it is woken");
            assert!(task.poll(&calm.waker()).is_ready(), "{place}");
        }
    });
}

#[test]
fn a_waker_may_own_another_task_of_the_same_queue() {
    for when in [When::Dropped, When::Cloned, When::Woken] {
        let living = Arc::default();
        let (server, shared) = full(&living);
        let mut task = send_to(&shared, &living);
        let mut other = send_to(&shared, &living);
        let (script, calm) = (Rc::new(Script::default()), Rc::new(Script::default()));
        arm(&mut other, &calm.waker());
        if when != When::Cloned {
            arm(&mut task, &script.waker());
        }
        let again = shared.clone();
        let payload = Counted::new(&living);
        script.then(when, move || {
            drop(other);
            let _ = again.try_send::<0>(payload);
        });
        match when {
            When::Cloned => assert!(task.poll(&script.waker()).is_pending()),
            When::Dropped => assert!(task.poll(&calm.waker()).is_pending()),
            When::Woken => assert!(server.is_ready()),
        }
        drop(server.recv());
        assert!(script.acts.borrow_mut().is_empty(), "it was {when:?}");
        drop((task, shared));
        all_is_gone("the queue", &living, &[&script, &calm]);
    }
}

#[test]
fn a_panic_does_not_keep_others_from_being_woken() {
    for leaves in [false, true] {
        let living = Arc::default();
        let (server, shared) = full(&living);
        let scripts = [(); 5].map(|()| Rc::new(Script::default()));
        let mut tasks = Vec::new();
        for (number, script) in scripts.iter().enumerate() {
            let mut task = send_to(&shared, &living);
            arm(&mut task, &script.waker());
            if number % 2 == 0 {
                script.panics(When::Woken);
            }
            tasks.push(task);
        }
        let woke = panics(|| {
            if leaves {
                drop(server)
            } else {
                drop(server.recv())
            }
        });
        assert!(woke, "the panic reaches the receiver");
        for script in &scripts {
            assert_eq!(script.woken.load(SeqCst), 1);
        }
        drop((tasks, shared));
        all_is_gone("the queue", &living, &scripts.each_ref());
    }
}

#[test]
fn a_panic_does_not_leave_the_waker_at_other_endpoints() {
    let Waiting {
        mut task,
        peer,
        living,
    } = select();
    let script = Rc::new(Script::default());
    arm(&mut task, &script.waker());
    for _ in 0..3 {
        script.panics(When::Dropped);
    }
    // The endpoints stay alive, so that dropping them does not take the waker away.
    let owned = std::mem::take(&mut task.owned);
    assert!(panics(|| drop(task)));
    assert_eq!(Rc::strong_count(&script), 1);
    owned.into_iter().for_each(|free| free());
    peer.leave();
    all_is_gone("select", &living, &[&script]);
}

#[test]
fn a_receiver_destroys_what_it_has_not_read_if_the_waker_of_its_sender_panics() {
    for capacity in [
        Capacity::Bounded(1),
        Capacity::Bounded(3),
        Capacity::Unbounded,
    ] {
        let living = Arc::default();
        let (server, mut client) = stream::init_with(capacity);
        while client.is_ready() {
            client = client.send(Counted::new(&living)).expect("it is there");
        }
        let mut task = Task::of(client, |client| client.ready());
        let script = Rc::new(Script::default());
        arm(&mut task, &script.waker());
        script.panics(When::Woken);
        assert!(panics(|| drop(server)));
        assert_eq!(living.load(SeqCst), 0);
        assert!(task.poll(&script.waker()).is_ready());
        drop(task);
        all_is_gone("a full ring", &living, &[&script]);
    }
}

#[test]
fn a_waker_of_a_forgotten_future_may_panic_in_any_later_use() {
    // A future that is forgotten leaves its waker with an endpoint that continues to be used.
    for uses in 0..3 {
        let living = Arc::default();
        let (mut server, client) = stream::init_with(Capacity::Bounded(3));
        let script = Rc::new(Script::default());
        let mut future = ManuallyDrop::new(server.ready());
        for _ in 0..3 {
            let waker = script.waker();
            let polled = Pin::new(&mut *future).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        script.panics(When::Dropped);
        let _ = match uses {
            0 => panics(|| drop(server)),
            1 => panics(|| drop(server.recv_timeout(std::time::Duration::ZERO))),
            _ => panics(|| {
                drop(PortSet::from_iter([(server, ())]).recv_timeout(std::time::Duration::ZERO))
            }),
        };
        let sent = client.send(Counted::new(&living));
        assert!(sent.is_err(), "the server is gone");
        drop(sent);
        all_is_gone("forgotten", &living, &[&script]);
    }
    // Also with a sender that is dropped, is shared, or waits for space.
    for uses in 0..3 {
        let living = Arc::default();
        let slot = Slot::new().messages(3).fit::<Counted>();
        let (mut client, server) = session::<state::Stream<Counted>>(slot, Capacity::Bounded(1));
        while client.is_ready() {
            client = client
                .send::<0>(Counted::new(&living))
                .expect("it is there");
        }
        let script = Rc::new(Script::default());
        let mut future = ManuallyDrop::new(client.ready());
        let waker = script.waker();
        let polled = Pin::new(&mut *future).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        drop(waker);
        script.panics(When::Dropped);
        let payload = Counted::new(&living);
        let panicked = match uses {
            0 => panics(|| drop((client, payload))),
            // At once, and not later under the lock.
            1 => panics(|| std::mem::forget((SharedSender::new(client), payload))),
            _ => panics(|| drop(client.send::<0>(payload))),
        };
        assert!(panicked);
        let (_, server) = server.recv().expect("the first message").sent();
        assert!(server.recv().is_err(), "the sender is gone");
        all_is_gone("forgotten", &living, &[&script]);
    }
}
