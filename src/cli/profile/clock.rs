//! The clock of a run.

use super::event::Event;
use jiff::{SignedDuration, Timestamp};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time since the run began, and waiting for it to pass. A parameter, so that
/// a day can pass in a moment.
pub(in crate::cli) trait Clock {
    /// Since the beginning, on a clock that cannot be set.
    fn elapsed(&self) -> Duration;
    /// The wall clock.
    fn wall(&self) -> Timestamp;
    /// Waits until a moment; earlier when something happens.
    fn wait_until(&self, moment: Duration, events: &Receiver<Event>) -> Option<Event>;
}

/// A length of time as pure code counts it.
pub(super) fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct HostClock {
    began: Instant,
}

impl HostClock {
    /// Time begins now.
    pub(in crate::cli) fn start() -> Self {
        Self {
            began: Instant::now(),
        }
    }
}

impl Clock for HostClock {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    fn wait_until(&self, moment: Duration, events: &Receiver<Event>) -> Option<Event> {
        let left = moment.saturating_sub(self.elapsed());
        match events.recv_timeout(left) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(moment.saturating_sub(self.elapsed()));
                None
            }
        }
    }
}
