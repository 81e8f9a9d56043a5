//! When to look, and how well that was kept.

use super::signals::Event;
use crate::profiling::Pace;
use jiff::Timestamp;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A look is late from this share of the interval on.
const LATE_SHARE: u32 = 10;
/// Steps of the wall clock below this are its ordinary corrections.
const CLOCK_STEP_SECONDS: f64 = 1.0;

/// Time since the run began, and waiting for it to pass. A parameter, so that
/// a day can pass in a moment.
pub(in crate::cli) trait Clock {
    /// Since the beginning, on a clock that nobody can set.
    fn elapsed(&self) -> Duration;
    /// The wall clock.
    fn wall(&self) -> Timestamp;
    /// Waits until a moment; earlier when something happens.
    fn wait_until(&self, moment: Duration, events: &Receiver<Event>) -> Option<Event>;
}

/// The clock of the host.
#[derive(Debug)]
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

/// Looks at whole multiples of the interval: what delays one does not delay
/// those after it.
#[derive(Debug)]
pub(in crate::cli) struct Pacer {
    interval: Duration,
    /// Number of the next look.
    next: u64,
    pace: Pace,
    /// Wall clock less elapsed time, at the look before.
    offset_seconds: Option<f64>,
}

impl Pacer {
    /// The first look is due at once.
    pub(in crate::cli) fn new(interval: Duration) -> Self {
        Self {
            interval,
            next: 0,
            pace: Pace::default(),
            offset_seconds: None,
        }
    }

    /// When the next look is due.
    pub(in crate::cli) fn due(&self) -> Duration {
        self.interval
            .saturating_mul(u32::try_from(self.next).unwrap_or(u32::MAX))
    }

    /// A look was taken.
    pub(in crate::cli) fn looked(&mut self, at: Duration, wall: Timestamp) {
        let delay = at.saturating_sub(self.due());
        let passed = at.as_nanos() / self.interval.as_nanos().max(1);
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        self.pace.taken += 1;
        self.pace.missed += passed.saturating_sub(self.next);
        self.pace.late += u64::from(delay * LATE_SHARE > self.interval);
        self.pace.largest_delay_seconds = self.pace.largest_delay_seconds.max(delay.as_secs_f64());
        self.next = passed.max(self.next) + 1;
        let offset = wall.as_duration().as_secs_f64() - at.as_secs_f64();
        if let Some(before) = self.offset_seconds.replace(offset)
            && (offset - before).abs() >= CLOCK_STEP_SECONDS
        {
            self.pace.wall_clock_step_seconds += offset - before;
        }
    }

    /// How well it went.
    pub(in crate::cli) fn pace(&self) -> Pace {
        self.pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    #[test]
    fn late_looks_do_not_drift_and_missed_ones_are_counted() {
        let mut pacer = Pacer::new(Duration::from_millis(1_000));
        let looks = [0, 1_000, 2_150, 3_000, 6_400, 7_000];
        let mut due = Vec::new();
        for at in looks {
            due.push(pacer.due().as_millis());
            let at = Duration::from_millis(at);
            pacer.looked(
                at,
                wall(0) + jiff::SignedDuration::try_from(at).expect("short"),
            );
        }
        assert_eq!(due, [0, 1_000, 2_000, 3_000, 4_000, 7_000]);
        let pace = pacer.pace();
        // Those due at 5 s and 6 s were never taken; 2 150 and 6 400 were late.
        assert_eq!((pace.taken, pace.missed, pace.late), (6, 2, 2));
        assert!((pace.largest_delay_seconds - 2.4).abs() < 1e-9);
        assert_eq!(pace.wall_clock_step_seconds, 0.0);
    }

    #[test]
    fn a_step_of_the_wall_clock_is_seen_and_changes_nothing_else() {
        let mut pacer = Pacer::new(Duration::from_secs(1));
        for (at, time) in [(0, 0), (1, 1), (2, -3_598), (3, -3_597)] {
            pacer.looked(Duration::from_secs(at), wall(time));
        }
        let pace = pacer.pace();
        assert_eq!((pace.taken, pace.missed, pace.late), (4, 0, 0));
        assert!((pace.wall_clock_step_seconds + 3_600.0).abs() < 1e-6);
    }
}
