//! What a run reacts to: signals, which go on to the command that runs under it, and its end.

#[cfg(not(unix))]
mod absent;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(in crate::cli) use absent::{exit_code, forward, interrupt_all, listen, send};
#[cfg(unix)]
pub(in crate::cli) use unix::{exit_code, forward, interrupt_all, listen, send};

use std::io;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Waits until a moment of a run that began at another; shorter when something happens.
pub(super) fn wait_until(
    began: Instant,
    moment: Duration,
    events: &Receiver<Event>,
) -> Option<Event> {
    match events.recv_timeout(moment.saturating_sub(began.elapsed())) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => {
            std::thread::sleep(moment.saturating_sub(began.elapsed()));
            None
        }
    }
}

/// Something that a run reacts to.
#[derive(Debug)]
pub(in crate::cli) enum Event {
    /// A signal came; whether from the keyboard, in which case the command, in
    /// the same group of processes, has had it too.
    #[cfg_attr(not(unix), expect(dead_code, reason = "none is reported there"))]
    Signal {
        /// Its number.
        number: i32,
        /// Whether a process sent it to this one alone.
        to_us_alone: bool,
    },
    /// The command ended.
    Ended(io::Result<ExitStatus>),
    /// The guard of the command has something to say.
    Noted,
}
