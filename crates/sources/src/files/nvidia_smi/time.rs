//! Times in logs, how far they are apart, and rows that come again: of a second host or run behind
//! the first in one log.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time as a log has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogTime {
    /// With the zone it is meant in.
    Zoned(Timestamp),
    /// As a clock on the wall shows it.
    Local(DateTime),
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl LogTime {
    /// `2026/01/03 15:36:53.507` with or without an offset, RFC 3339, seconds since
    /// 1970, or `Fri Aug  4 11:44:30 2023`, which may say that it is UTC.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.is_ascii() || text.len() > 64 {
            return None;
        }
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return named_day(text);
        }
        if let Some(since_1970) = seconds(text) {
            return Some(Self::Zoned(since_1970));
        }
        let dashed = text.replace('/', "-");
        if let Ok(zoned) = dashed.parse() {
            return Some(Self::Zoned(zoned));
        }
        if let Some((local, zone)) = dashed.rsplit_once(' ') {
            let offset = if is_utc(zone) { "Z" } else { zone };
            if let Ok(zoned) = format!("{local}{offset}").parse() {
                return Some(Self::Zoned(zoned));
            }
        }
        let (date, time) = dashed.split_once(['T', ' '])?;
        let date: Date = date.parse().ok()?;
        let time: Time = time.trim().parse().ok()?;
        Some(Self::Local(date.to_datetime(time)))
    }
}

/// Seconds since 1970, of this century or the end of the last.
fn seconds(text: &str) -> Option<Timestamp> {
    let whole = text.split('.').next().unwrap_or_default();
    if !(9..=10).contains(&whole.len()) || !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    // A float holds microseconds of such a time, and no more.
    let microseconds = (text.parse::<f64>().ok()? * 1e6).round();
    Timestamp::from_microsecond(microseconds as i64).ok()
}

/// Whether a word can only mean UTC.
fn is_utc(word: &str) -> bool {
    ["UTC", "GMT"].contains(&word)
}

/// What is wrong with a time that cannot be read.
pub(super) fn unread_time(text: &str) -> String {
    let is_zone = |word: &&str| {
        (2..=5).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_uppercase())
            && !is_utc(word)
            && !["AM", "PM"].contains(word)
    };
    let zone = text.split_ascii_whitespace().find(is_zone);
    match zone {
        Some(zone) => format!("the time `{text}` has the ambiguous zone abbreviation `{zone}`"),
        None => format!("the time `{text}` cannot be read"),
    }
}

fn named_day(text: &str) -> Option<LogTime> {
    let mut words = text.split_ascii_whitespace().skip(1);
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let day: i8 = words.next()?.parse().ok()?;
    let time: Time = words.next()?.parse().ok()?;
    // `date` puts the zone before the year.
    let word = words.next()?;
    let is_utc = is_utc(word);
    let year: i16 = if is_utc { words.next()? } else { word }.parse().ok()?;
    if words.next().is_some() {
        return None;
    }
    let local = Date::new(year, i8::try_from(month).ok()?, day).ok()?.to_datetime(time);
    Some(if is_utc {
        LogTime::Zoned(TimeZone::UTC.to_timestamp(local).ok()?)
    } else {
        LogTime::Local(local)
    })
}

/// From the times of a log to seconds since its start.
#[derive(Debug, Clone)]
pub(super) struct LogClock {
    /// That of times which name none; UTC unless it is given.
    zone: Option<TimeZone>,
    interval: Option<SignedDuration>,
    last: Option<Timestamp>,
    last_step: SignedDuration,
    elapsed: SignedDuration,
    is_started: bool,
    /// How often the clock went back.
    pub steps_back: u64,
    /// Whether a time was read of which nothing names the zone.
    pub lacks_zone: bool,
}

impl LogClock {
    /// A clock for times in a zone, or for samples that are so far apart.
    pub(super) fn new(zone: Option<&TimeZone>, interval: Option<SignedDuration>) -> Self {
        Self {
            zone: zone.cloned(),
            interval,
            last: None,
            last_step: interval.unwrap_or(SignedDuration::ZERO),
            elapsed: SignedDuration::ZERO,
            is_started: false,
            steps_back: 0,
            lacks_zone: false,
        }
    }

    /// The instant of a sample, and its seconds since the first. After a step back
    /// the clock goes on as it went before. A sample without time follows the one
    /// before it by the interval that was given, else by the last one seen.
    pub(super) fn at(&mut self, time: Option<LogTime>) -> (f64, Timestamp) {
        let now = time.and_then(|time| self.instant(time));
        let step = match (self.last, now) {
            (Some(last), Some(now)) if now >= last => {
                let step = now.duration_since(last);
                if step > SignedDuration::ZERO {
                    self.last_step = step;
                }
                step
            }
            (Some(_), Some(_)) => {
                self.steps_back += 1;
                self.last_step
            }
            (None, Some(_)) => SignedDuration::ZERO,
            (_, None) => self.interval.unwrap_or(self.last_step),
        };
        if self.is_started {
            self.elapsed = self.elapsed.saturating_add(step);
        }
        self.is_started = true;
        let start = self.last.unwrap_or(Timestamp::UNIX_EPOCH);
        let shown = now.unwrap_or_else(|| match self.last {
            Some(_) => start.checked_add(step).unwrap_or(start),
            None => start.checked_add(self.elapsed).unwrap_or(start),
        });
        if now.is_some() || self.last.is_some() {
            self.last = Some(shown);
        }
        (self.elapsed.as_secs_f64(), shown)
    }

    fn instant(&mut self, time: LogTime) -> Option<Timestamp> {
        let local = match time {
            LogTime::Zoned(instant) => return Some(instant),
            LogTime::Local(local) => local,
        };
        self.lacks_zone |= self.zone.is_none();
        let zone = self.zone.clone().unwrap_or(TimeZone::UTC);
        let readings = zone.to_ambiguous_timestamp(local);
        let first = readings.compatible().ok()?;
        // In autumn an hour is shown twice: what would be a step back is its
        // second time.
        match (self.last, readings.later()) {
            (Some(last), Ok(later)) if first < last && later >= last => Some(later),
            _ => Some(first),
        }
    }
}

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
