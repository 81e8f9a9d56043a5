//! The clock of a run.

use super::event::Event;
use jiff::{SignedDuration, Timestamp};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A length of time as pure code counts it.
pub(super) fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

/// Time since the run began, and waiting for it to pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostClock {
    began: Instant,
}

impl HostClock {
    /// Time begins now.
    pub(super) fn start() -> Self {
        Self { began: Instant::now() }
    }

    /// Since the beginning, on a clock that cannot be set.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The wall clock.
    pub(super) fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    /// Waits until a moment; earlier when something happens.
    pub(super) fn wait_until(&self, moment: Duration, events: &Receiver<Event>) -> Option<Event> {
        match events.recv_timeout(moment.saturating_sub(self.elapsed())) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(moment.saturating_sub(self.elapsed()));
                None
            }
        }
    }
}
