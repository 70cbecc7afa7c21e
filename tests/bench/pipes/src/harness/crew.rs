//! Threads that are started in advance, so that no slice includes the start of a thread.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Where a thread may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the core with this number, counted among those that this process may use.
    Core(usize),
    /// Wherever the scheduler puts it.
    Anywhere,
}

/// The work of one thread in a slice. The number that it returns shows that the work was done.
pub struct Job {
    place: Place,
    work: Work,
}

type Work = Box<dyn FnOnce(&mut Clock) -> u64 + Send>;

impl Job {
    /// Work whose whole time counts.
    pub fn new(place: Place, work: impl FnOnce() -> u64 + Send + 'static) -> Job {
        Job::timed(place, |_| work())
    }

    /// Work that sets which part of its time counts.
    pub fn timed(place: Place, work: impl FnOnce(&mut Clock) -> u64 + Send + 'static) -> Job {
        let work = Box::new(work);
        Job { place, work }
    }
}

/// The time of one thread in one slice: from when all were ready to when its work was done.
pub struct Clock {
    started: Instant,
    stopped: Option<Instant>,
}

impl Clock {
    /// Counts the time from `started`: what was done before was preparation.
    pub fn start_at(&mut self, started: Instant) {
        self.started = started;
    }

    /// Counts the time until now: what follows is cleanup.
    pub fn stop(&mut self) {
        self.stopped = Some(Instant::now());
    }
}

/// The result of one slice.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// From the first start to the last end.
    pub time: Duration,
    /// The wrapping sum of the numbers that the threads returned.
    pub sum: u64,
}

struct Task {
    work: Work,
    start: Arc<Start>,
    done: mpsc::Sender<Done>,
}

struct Done {
    started: Instant,
    stopped: Instant,
    sum: u64,
}

/// Lets all threads of a slice begin together.
struct Start {
    expected: usize,
    here: AtomicUsize,
}

impl Start {
    fn wait(&self) {
        self.here.fetch_add(1, Ordering::AcqRel);
        let mut looks = 0_u32;
        while self.here.load(Ordering::Acquire) < self.expected {
            looks += 1;
            if looks.is_multiple_of(64) {
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// The threads, started when they are first needed. Between slices they sleep.
#[derive(Default)]
pub struct Crew {
    threads: BTreeMap<Place, Vec<mpsc::Sender<Task>>>,
}

impl Crew {
    /// Does all jobs at once and waits for them.
    pub fn run(&mut self, jobs: Vec<Job>) -> Slice {
        let start = Arc::new(Start {
            expected: jobs.len(),
            here: AtomicUsize::new(0),
        });
        let (done, all_done) = mpsc::channel();
        let mut used = BTreeMap::<Place, usize>::new();
        let expected = jobs.len();
        for job in jobs {
            let (start, done) = (start.clone(), done.clone());
            let work = job.work;
            let index = used.entry(job.place).or_default();
            let thread = self.thread(job.place, *index);
            *index += 1;
            let sent = thread.send(Task { work, start, done });
            sent.expect("a thread that panics ends the benchmark");
        }
        drop(done);
        let done: Vec<Done> = all_done.iter().collect();
        assert_eq!(done.len(), expected, "a thread of the slice panicked");
        let started = done.iter().map(|done| done.started).min();
        let stopped = done.iter().map(|done| done.stopped).max();
        let (started, stopped) = started.zip(stopped).expect("a slice has jobs");
        Slice {
            time: stopped.saturating_duration_since(started),
            sum: done.iter().fold(0, |sum, done| done.sum.wrapping_add(sum)),
        }
    }

    fn thread(&mut self, place: Place, index: usize) -> &mpsc::Sender<Task> {
        let threads = self.threads.entry(place).or_default();
        while threads.len() <= index {
            threads.push(stand_ready(place));
        }
        &threads[index]
    }
}

fn stand_ready(place: Place) -> mpsc::Sender<Task> {
    let (tasks, to_do) = mpsc::channel::<Task>();
    thread::spawn(move || {
        if let Place::Core(number) = place {
            let cores = core_affinity::get_core_ids().unwrap_or_default();
            // On a machine with one core nothing is judged, but the cases can run.
            let core = cores.get(number).or(cores.first());
            core.copied().map(core_affinity::set_for_current);
        }
        for Task { work, start, done } in to_do {
            start.wait();
            let mut clock = Clock {
                started: Instant::now(),
                stopped: None,
            };
            let sum = work(&mut clock);
            let stopped = clock.stopped.unwrap_or_else(Instant::now);
            let started = clock.started;
            let done = done.send(Done {
                started,
                stopped,
                sum,
            });
            done.expect("the crew waits for all its tasks");
        }
    });
    tasks
}
