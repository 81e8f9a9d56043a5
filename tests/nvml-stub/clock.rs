//! A wall clock that somebody sets in mid-run: preloaded into a program, with
//! `GPUCOST_CLOCK_STEP` as `AFTER_SECONDS STEP_SECONDS`.

use nix::libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, SYS_clock_gettime, clockid_t, syscall, timespec};
use std::ffi::c_int;
use std::sync::OnceLock;

/// Seconds on the monotonic clock from which the wall clock is off, and by how many.
fn step() -> Option<(i64, i64)> {
    static STEP: OnceLock<Option<(i64, i64)>> = OnceLock::new();
    *STEP.get_or_init(|| {
        let text = std::env::var("GPUCOST_CLOCK_STEP").ok()?;
        let (after, step) = text.split_once(' ')?;
        let after: i64 = after.parse().ok()?;
        Some((seconds()? + after, step.parse().ok()?))
    })
}

fn seconds() -> Option<i64> {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    (tell(CLOCK_MONOTONIC, &mut now) == 0).then_some(now.tv_sec)
}

fn tell(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: the kernel checks the pointer.
    (unsafe { syscall(SYS_clock_gettime, clock, time) }) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let result = tell(clock, time);
    if result == 0
        && clock == CLOCK_REALTIME
        && let Some((from, step)) = step()
        && seconds().is_some_and(|now| now >= from)
    {
        // SAFETY: the kernel has just written it.
        unsafe { (*time).tv_sec += step };
    }
    result
}
