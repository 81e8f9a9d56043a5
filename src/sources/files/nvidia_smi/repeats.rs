//! Rows that come again: of a second host or run behind the first in one log.

use jiff::{SignedDuration, Timestamp};

/// Steps of the clock below this are its ordinary corrections.
const CORRECTION: SignedDuration = SignedDuration::from_secs(1);
/// A clock that goes back by no more than this was set back; by more than this,
/// to a time that was read already, it is the clock of a second host or run.
const SET_BACK: SignedDuration = SignedDuration::from_secs(5);
/// Stretches of a GPU that are remembered.
const MOST_STRETCHES: usize = 64;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
/// How close to the ends of an hour the rows are between which summer time ends,
/// in seconds.
const FOLD: i64 = 300;

/// Rows of one GPU between which the clock does not go back.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Its place among those of the log.
    number: usize,
    from: Timestamp,
    to: Timestamp,
}

/// The times that the rows of each GPU have covered so far.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    gpus: Vec<Vec<Stretch>>,
    number: usize,
    last: Option<Timestamp>,
    /// Whether the clock was set back before this stretch, and no more than that.
    is_set_back: bool,
    /// Whether this stretch is of a second host or run.
    is_second: bool,
}

impl Repeats {
    /// Whether a row is of a time that its GPU has rows of from before the clock
    /// went back, or follows such rows of a second host or run. `is_local` is
    /// whether nothing names the zone of its time.
    pub(super) fn is_again(&mut self, gpu: usize, at: Timestamp, is_local: bool) -> bool {
        if let Some(last) = self.last.replace(at) {
            self.step(last, at, is_local);
        }
        if self.gpus.len() <= gpu {
            self.gpus.resize(gpu + 1, Vec::new());
        }
        let number = self.number;
        let stretches = &mut self.gpus[gpu];
        let is_covered = stretches
            .iter()
            .any(|stretch| stretch.number < number && (stretch.from..=stretch.to).contains(&at));
        let current = stretches.last_mut().filter(|stretch| stretch.number == number);
        if let Some(one) = current {
            one.to = one.to.max(at);
        } else if stretches.len() < MOST_STRETCHES {
            stretches.push(Stretch { number, from: at, to: at });
        }
        self.is_second |= is_covered && !self.is_set_back;
        is_covered || self.is_second
    }

    fn step(&mut self, last: Timestamp, at: Timestamp, is_local: bool) {
        let back = last.duration_since(at);
        if back < CORRECTION {
            return;
        }
        self.number += 1;
        self.is_second = false;
        self.is_set_back = back <= SET_BACK;
        if is_local && is_fold(last, at) {
            self.gpus.clear();
        }
    }
}

/// Whether a clock on the wall begins to show an hour of the night for the second
/// time, as it does when summer time ends.
fn is_fold(last: Timestamp, at: Timestamp) -> bool {
    let (last, at) = (last.as_second(), at.as_second());
    let hour = at.rem_euclid(DAY) / HOUR;
    last.div_euclid(HOUR) == at.div_euclid(HOUR)
        && [23, 0, 1, 2].contains(&hour)
        && at.rem_euclid(HOUR) < FOLD
        && last.rem_euclid(HOUR) >= HOUR - FOLD
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of some day and so many seconds.
    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(20_000 * DAY + DAY / 2 + second).expect("a time")
    }

    fn again(rows: impl IntoIterator<Item = (usize, i64)>) -> Vec<bool> {
        let mut repeats = Repeats::default();
        rows.into_iter().map(|(gpu, second)| repeats.is_again(gpu, at(second), true)).collect()
    }

    #[test]
    fn a_second_log_comes_again_to_its_end() {
        // 0 s to 9 s, and then another host from 2 s to 29 s.
        let rows = (0..10).chain(2..30).map(|second| (0, second));
        let repeated = again(rows);
        assert!(!repeated[..10].contains(&true));
        assert!(!repeated[10..].contains(&false));
        // A third from before the first, up to where that begins.
        let repeated = again((0..10).chain(-4..2).map(|second| (0, second)));
        assert_eq!(repeated[10..], [false, false, false, false, true, true]);
        // Another GPU at the same times is none of them.
        let repeated = again((0..10).map(|second| (0, second)).chain([(1, 0), (1, 1)]));
        assert!(!repeated.contains(&true));
    }

    #[test]
    fn a_clock_that_is_set_back_repeats_what_it_shows_again_alone() {
        let repeated = again([0, 1, 2, 3, 2, 3, 4].map(|second| (0, second)));
        assert_eq!(repeated, [false, false, false, false, true, true, false]);
    }

    #[test]
    fn the_hour_of_the_night_that_comes_twice_is_no_second_log() {
        let night = |hour: i64, second: i64| (hour - 12) * HOUR + second;
        let rows = [night(2, HOUR - 2), night(2, HOUR - 1), night(2, 0)];
        let mut repeats = Repeats::default();
        let repeated = rows.map(|second| repeats.is_again(0, at(second), true));
        assert_eq!(repeated, [false; 3]);
        // Where the zone is named, no hour comes twice.
        let mut repeats = Repeats::default();
        let rows = [night(2, 0), night(2, HOUR - 1), night(2, 0)];
        let repeated = rows.map(|second| repeats.is_again(0, at(second), false));
        assert_eq!(repeated, [false, false, true]);
        // Nor at noon.
        let noon = (0..HOUR).chain([0, 1]).map(|second| (0, second));
        assert_eq!(again(noon).iter().filter(|again| **again).count(), 2);
    }
}
