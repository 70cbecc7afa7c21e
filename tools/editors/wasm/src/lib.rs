//! The compiler as a WebAssembly module that imports nothing: the host hands over texts and gets texts.
//!
//! A host calls [`duologue_alloc`], writes a request into the memory it gets, and calls [`duologue_run`]. The answer is in the memory of the
//! module: four bytes with its length, the least significant first, and then the JSON. The host reads it and passes it
//! with its whole length to [`duologue_free`]. README.md describes requests and answers.
//!
//! A panic ends the instance with a trap. [`duologue_failure`] then returns what it said; after that the host makes a new instance.

use duologue_site::play::answer;
use std::sync::Mutex;
use std::sync::PoisonError;

/// What the last panic said, as an answer is handed over.
static FAILURE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Memory for a request of this many bytes, which the next [`duologue_run`] takes. Null if there is not enough.
#[unsafe(no_mangle)]
pub extern "C" fn duologue_alloc(length: usize) -> *mut u8 {
    let mut bytes: Vec<u8> = Vec::new();
    if bytes.try_reserve_exact(length.max(1)).is_err() {
        return std::ptr::null_mut();
    }
    bytes.resize(length.max(1), 0);
    Box::into_raw(bytes.into_boxed_slice()).cast()
}

/// Releases memory of [`duologue_alloc`], or an answer of [`duologue_run`] with its whole length: that of the JSON and 4.
///
/// # Safety
/// The memory is of one of these functions, has this length, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duologue_free(memory: *mut u8, length: usize) {
    if !memory.is_null() {
        let slice = std::ptr::slice_from_raw_parts_mut(memory, length.max(1));
        // SAFETY: the caller promises that it is a boxed slice of this length, which both functions hand out.
        drop(unsafe { Box::from_raw(slice) });
    }
}

/// Answers a request, whose memory it releases. The answer begins with its length; [`duologue_free`] releases it.
///
/// # Safety
/// The memory is of [`duologue_alloc`], has this length, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duologue_run(request: *mut u8, length: usize) -> *mut u8 {
    std::panic::set_hook(Box::new(|panic| {
        *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = handed_over(&panic.to_string());
    }));
    let text = {
        // SAFETY: the caller promises that the memory has this length; it was initialized by `duologue_alloc`.
        let bytes = unsafe { std::slice::from_raw_parts(request, length) };
        answer(bytes)
    };
    // SAFETY: as this function's caller promises.
    unsafe { duologue_free(request, length) };
    Box::into_raw(handed_over(&text).into_boxed_slice()).cast()
}

/// What the panic said that ended this instance: a length and a text, like an answer. Null if there was none. Not to be released.
#[unsafe(no_mangle)]
pub extern "C" fn duologue_failure() -> *const u8 {
    let failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    match failure.is_empty() {
        true => std::ptr::null(),
        false => failure.as_ptr(),
    }
}

/// A text after its length. A host addresses at most 4 GiB, so a longer one cannot exist.
fn handed_over(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("the memory of a module has at most 4 GiB");
    let mut bytes = Vec::with_capacity(4 + text.len());
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}
