//! What happens while a run waits for its next sample.

use crate::sources::aws::SpotState;
use jiff::Timestamp;
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

/// Something that the guard of a command reacts to.
#[derive(Debug)]
pub(in crate::cli) enum News {
    /// The metadata service was asked for spot notices; why it did not answer.
    Spot(Result<SpotState, String>),
    /// The command finished a checkpoint.
    Marked(MarksSeen),
    /// The command could not be warned, and why.
    NotWarned(SpotNoticeKind, String),
}

/// Which notice of EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum SpotNoticeKind {
    Rebalance,
    Interruption,
}

/// Checkpoints so far, as their marks show them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::cli) struct MarksSeen {
    /// Checkpoints that ended.
    pub done: u64,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    /// Those whose beginning was seen as well.
    pub timed: u64,
    /// Seconds that these took together.
    pub timed_seconds: f64,
}
