//! Times in logs, and how far they are apart.

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
    zone: TimeZone,
    interval: Option<SignedDuration>,
    last: Option<Timestamp>,
    last_step: SignedDuration,
    elapsed: SignedDuration,
    is_started: bool,
    /// How often the clock went back.
    pub steps_back: u64,
    /// Whether a time without zone was read.
    pub has_local: bool,
}

impl LogClock {
    /// A clock for times in a zone, or for samples that are so far apart.
    pub(super) fn new(zone: Option<&TimeZone>, interval: Option<SignedDuration>) -> Self {
        Self {
            zone: zone.cloned().unwrap_or(TimeZone::UTC),
            interval,
            last: None,
            last_step: interval.unwrap_or(SignedDuration::ZERO),
            elapsed: SignedDuration::ZERO,
            is_started: false,
            steps_back: 0,
            has_local: false,
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
        self.has_local = true;
        let readings = self.zone.to_ambiguous_timestamp(local);
        let first = readings.compatible().ok()?;
        // In autumn an hour is shown twice: what would be a step back is its
        // second time.
        match (self.last, readings.later()) {
            (Some(last), Ok(later)) if first < last && later >= last => Some(later),
            _ => Some(first),
        }
    }
}
