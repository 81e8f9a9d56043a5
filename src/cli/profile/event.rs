//! What happens while a run waits for its next sample.

use std::io;
use std::process::ExitStatus;

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
