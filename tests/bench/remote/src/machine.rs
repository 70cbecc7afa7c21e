//! Processors and clocks.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Lets this thread run only on the processor with this number, counted among those that it may use now.
pub fn pin(number: usize) {
    let usable = sched_getaffinity(None).expect("the system reports the processors");
    let mut processors = (0..CpuSet::MAX_CPU).filter(|one| usable.is_set(*one));
    // With one processor everything works, although what is measured says little.
    let Some(processor) = processors.nth(number) else {
        return;
    };
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).expect("the processor is one that may be used");
}

/// What an operation takes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Time.
    pub wall: f64,
    /// Time of processors, of all threads of the process.
    pub cpu: f64,
}

/// The beginning of a slice.
pub struct Start {
    wall: Instant,
    cpu: Duration,
}

impl Start {
    /// A slice that begins now.
    pub fn now() -> Start {
        Start {
            cpu: cpu(),
            wall: Instant::now(),
        }
    }

    /// What each of this many operations has taken until now.
    pub fn cost(&self, operations: u64) -> Cost {
        let wall = self.wall.elapsed();
        let cpu = cpu().saturating_sub(self.cpu);
        let each = |time: Duration| time.as_nanos() as f64 / operations as f64;
        Cost {
            wall: each(wall),
            cpu: each(cpu),
        }
    }
}

/// The time that all threads of this process have computed.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}
