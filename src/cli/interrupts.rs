//! Ctrl-C and SIGTERM end every phase at once: while something is read, computed,
//! asked for, or written to somebody who does not read. `gpucost profile` alone
//! hears them itself, because they are how a run of it ends.

use super::ExitCode;
use super::terminal::give_back;
use crate::sources::files::remove_temporary_files;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit code of what was asked to end.
const TERMINATED: i32 = 128 + SIGTERM;

/// From now on the two signals end this process.
pub(super) fn end_at_once() {
    // A file that may not grow further is an error of writing, not the end.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    // Where no signal can be heard, each does what it does by default.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            remove_temporary_files();
            say();
            let code = match signal {
                SIGTERM => TERMINATED,
                _ => i32::from(ExitCode::Interrupted.number()),
            };
            // Nothing is flushed: whoever does not read would hold it up.
            signal_hook::low_level::exit(code);
        }
    });
}

/// Says so, unless stderr is not read.
fn say() {
    let stderr = std::io::stderr();
    let mut asked = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let is_read = poll(&mut asked, PollTimeout::ZERO).is_ok_and(|ready| ready > 0);
    // Not through the lock of stderr, which somebody who waits may hold.
    if is_read && let Ok(own) = stderr.as_fd().try_clone_to_owned() {
        let mut own = File::from(own);
        give_back(&mut own);
        let _ = own.write_all(b"error: interrupted\n");
    } else {
        give_back(&mut std::io::sink());
    }
}
