//! A waker that does what a test has scripted when it is cloned, woken or dropped.

use crate::bomb::explode;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// What is done to a waker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Cloned,
    Woken,
    Dropped,
}

pub type Act = Box<dyn FnOnce()>;

/// What a waker does, and how often it was woken. Each of its wakers is a share.
#[derive(Default)]
pub struct Script {
    pub acts: RefCell<Vec<(When, Act)>>,
    pub woken: AtomicUsize,
}

impl Script {
    pub fn waker(self: &Rc<Script>) -> Waker {
        let data = Rc::into_raw(self.clone()).cast();
        // SAFETY: the functions of the table keep the shares as `RawWaker` requires. No waker leaves this thread.
        unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
    }

    /// Calls `act` once, the next time that `when` happens to one of its wakers.
    pub fn then(&self, when: When, act: impl FnOnce() + 'static) {
        let mut acts = self.acts.borrow_mut();
        acts.push((when, Box::new(act)));
    }

    pub fn panics(&self, when: When) {
        self.then(when, || explode());
    }

    fn act(&self, when: When) {
        let mut acts = self.acts.borrow_mut();
        let at = acts.iter().position(|(of, _)| *of == when);
        let act = at.map(|at| acts.remove(at).1);
        drop(acts);
        if let Some(act) = act {
            act();
        }
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: the data is that of a waker, which keeps its share.
        let script = ManuallyDrop::new(unsafe { Rc::from_raw(data.cast::<Script>()) });
        script.act(When::Cloned);
        let _ = ManuallyDrop::new(Rc::clone(&script));
        RawWaker::new(data, &TABLE)
    },
    |data| {
        // SAFETY: the data is that of a waker, which gives up its share.
        let script = unsafe { Rc::from_raw(data.cast::<Script>()) };
        script.woken.fetch_add(1, SeqCst);
        script.act(When::Woken);
    },
    |data| {
        // SAFETY: the data is that of a waker, which keeps its share.
        let script = ManuallyDrop::new(unsafe { Rc::from_raw(data.cast::<Script>()) });
        script.woken.fetch_add(1, SeqCst);
        script.act(When::Woken);
    },
    |data| {
        // SAFETY: the data is that of a waker, which gives up its share.
        let script = unsafe { Rc::from_raw(data.cast::<Script>()) };
        script.act(When::Dropped);
    },
);
