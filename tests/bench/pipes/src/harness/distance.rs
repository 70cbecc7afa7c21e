//! How far apart the two CPUs are: a virtual machine may run them on one core for a while, and measurements made then do not apply
//! to two cores.

use super::crew::{Crew, Job, Place};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Below this time for a round trip, in nanoseconds, the two CPUs are threads of one core.
pub const SHARED: f64 = 40.0;

const ROUND_TRIPS: u64 = 1_000;

/// Nanoseconds that a cache line takes to the other core and back.
pub fn distance(crew: &mut Crew) -> f64 {
    #[repr(align(128))]
    struct Line(AtomicU64);
    let line = Arc::new(Line(AtomicU64::new(0)));
    let side = |core: u64| {
        let line = line.clone();
        Job::new(Place::Core(core as usize), move || {
            for turn in 0..ROUND_TRIPS {
                while line.0.load(Ordering::Acquire) != 2 * turn + core {
                    spin_loop();
                }
                line.0.store(2 * turn + core + 1, Ordering::Release);
            }
            0
        })
    };
    let slice = crew.run(vec![side(0), side(1)]);
    slice.time.as_nanos() as f64 / ROUND_TRIPS as f64
}
