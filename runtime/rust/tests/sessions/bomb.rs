//! Panics that go on.

/// What a panic is raised with: dropping it panics again, unless the thread panics.
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any(Bomb);
        }
    }
}

/// Panics with one.
pub fn explode() -> ! {
    std::panic::panic_any(Bomb)
}
