//! Days that a history knows: what need not be asked, and what is kept of what was asked.

use super::measured::{Grid, Missing};
use crate::domain::{
    Cause, CauseKind, DAY_SECONDS, Gap, GapSubject, Gathered, Instance, ResourceId, Window,
};
use crate::sources::Known;
use crate::sources::files::{History, StoredMachine};
use crate::usage::Usages;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A day is kept when it has been over for so long. A sample of more than three hours ago is
/// visible in CloudWatch up to two hours after it was published, so that everything that was
/// published within four hours is there. What comes later is missing in what is kept.
const CLOSES_AFTER: SignedDuration = SignedDuration::from_hours(6);

/// A part of the window.
#[derive(Debug, PartialEq)]
pub(super) struct Stretch {
    pub window: Window,
    /// The day that it is, if that is over.
    pub day: Option<Date>,
}

/// A machine, and the days that need not be asked of it.
#[derive(Debug)]
struct DayQuery {
    machine: StoredMachine,
    known: BTreeSet<Date>,
}

/// The days of a window, beside what a history knows of them.
#[derive(Debug)]
pub(super) struct Days<'a> {
    history: &'a History,
    grid: Grid,
    stretches: Vec<Stretch>,
    asked: RefCell<BTreeMap<ResourceId, DayQuery>>,
}

impl<'a> Days<'a> {
    pub fn new(history: &'a History, (window, period_seconds): Grid) -> Self {
        let closed = history.now().saturating_sub(CLOSES_AFTER);
        let until = closed.unwrap_or(Timestamp::MIN).min(window.end);
        Self {
            history,
            grid: (window, period_seconds),
            stretches: stretches((window, period_seconds), until),
            asked: RefCell::default(),
        }
    }

    /// Reads what the history knows of some machines.
    pub async fn prepare(&self, machines: &[Instance]) {
        let days: BTreeSet<Date> =
            self.stretches.iter().filter_map(|stretch| stretch.day).collect();
        self.history.prepare(&days, machines).await;
    }

    /// How the machines that were asked were used: what was missing, of which days that are
    /// over are kept, with what the history knows.
    pub async fn complete(self, missing: Missing) -> Gathered<Usages> {
        let asked = self.asked.into_inner();
        let mut gathered = Gathered::<Vec<(Window, Usages)>>::default();
        let stretches = missing.stretches.into_iter();
        let mut by_start: BTreeMap<Timestamp, Usages> =
            stretches.map(|(stretch, usages)| (stretch.start, usages)).collect();
        let (window, period_seconds) = self.grid;
        for Stretch { window: stretch, day } in self.stretches {
            let mut usages = by_start.remove(&stretch.start).unwrap_or_default();
            if let Some(day) = day {
                let new = asked.values().filter(|query| {
                    !missing.unread.contains(&query.machine.instance) && !query.known.contains(&day)
                });
                let kept = new.filter_map(|DayQuery { machine, .. }| {
                    Some((machine, usages.of(&machine.instance).kept()?))
                });
                self.history.record(day, kept).await;
                let known = asked.values().filter(|query| query.known.contains(&day));
                let known: Vec<StoredMachine> = known.map(|query| query.machine.clone()).collect();
                let stored = read(self.history, day, &known).await.leave_gaps(&mut gathered.gaps);
                usages.merge(stored, stretch, period_seconds);
            }
            gathered.value.push((stretch, usages));
        }
        Gathered {
            value: Usages::joined(gathered.value, window, period_seconds),
            gaps: gathered.gaps,
        }
    }
}

impl Known for Days<'_> {
    fn missing(&self, machine: &Instance, asked: &str) -> Vec<Window> {
        let key = StoredMachine {
            account: machine.account.clone(),
            region: machine.region.clone(),
            instance: machine.id.clone(),
            asked: asked.to_owned(),
            period_seconds: self.grid.1,
        };
        let days = self.stretches.iter().filter_map(|stretch| stretch.day);
        let known: BTreeSet<Date> = days.filter(|day| self.history.holds(*day, &key)).collect();
        let missing = self.stretches.iter();
        let missing = missing.filter(|stretch| stretch.day.is_none_or(|day| !known.contains(&day)));
        let missing = missing.map(|stretch| stretch.window).collect();
        self.asked.borrow_mut().insert(machine.id.clone(), DayQuery { machine: key, known });
        missing
    }
}

/// What a history knows of a day. Whose figures cannot be used was not asked any more, and is
/// a gap.
async fn read(history: &History, day: Date, known: &[StoredMachine]) -> Gathered<Usages> {
    if known.is_empty() {
        return Gathered::default();
    }
    match history.read(day, known).await {
        Ok(usages) => Gathered::whole(usages),
        Err(error) => {
            let regions: BTreeSet<&str> =
                known.iter().map(|machine| machine.region.as_str()).collect();
            let gaps = regions.into_iter().map(|region| {
                let cause = Cause::of(CauseKind::HistoryNotRead, [&error.to_string()]);
                Gap::of(GapSubject::Metrics, region, cause)
            });
            Gathered { value: Usages::default(), gaps: gaps.collect() }
        }
    }
}

/// The whole days of UTC in a window that end by a time, and what is before and after them.
pub(super) fn stretches((window, period_seconds): Grid, until: Timestamp) -> Vec<Stretch> {
    let start = window.start.as_second();
    let first = start + (-start).rem_euclid(DAY_SECONDS);
    let is_on_grid = DAY_SECONDS % i64::from(period_seconds.max(1)) == 0;
    let days = (until.as_second() - first).div_euclid(DAY_SECONDS);
    let last = first + DAY_SECONDS * if is_on_grid { days.max(0) } else { 0 };
    let mut stretches = Vec::new();
    let mut begin = window.start;
    let mut push = |end: i64, is_day: bool| {
        let end = Timestamp::from_second(end).unwrap_or(window.end).min(window.end);
        if begin < end {
            let day = is_day.then(|| begin.to_zoned(TimeZone::UTC).date());
            stretches.push(Stretch { window: Window { start: begin, end }, day });
            begin = end;
        }
    };
    if last > first {
        push(first, false);
    }
    let mut midnight = first;
    while midnight < last {
        midnight += DAY_SECONDS;
        push(midnight, true);
    }
    push(window.end.as_second(), false);
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time stamp")
    }

    /// Each stretch by its beginning, with whether it is a day that is over.
    fn parts(start: &str, end: &str, until: &str) -> Vec<(String, bool)> {
        let (start, end) = (at(start), at(end));
        let stretches = stretches((Window { start, end }, 300), at(until));
        assert_eq!(stretches.first().map(|stretch| stretch.window.start), Some(start));
        assert_eq!(stretches.last().map(|stretch| stretch.window.end), Some(end));
        for pair in stretches.windows(2) {
            assert_eq!(pair[0].window.end, pair[1].window.start);
        }
        for stretch in &stretches {
            let is_day = stretch.day.is_some();
            assert!(!is_day || stretch.window.seconds() == DAY_SECONDS);
        }
        stretches
            .iter()
            .map(|stretch| (stretch.window.start.to_string(), stretch.day.is_some()))
            .collect()
    }

    #[test]
    fn a_window_is_cut_at_midnights_of_days_that_are_over() {
        let owned = |parts: &[(&str, bool)]| -> Vec<(String, bool)> {
            parts.iter().map(|(at, is_day)| ((*at).to_owned(), *is_day)).collect()
        };
        let (start, end) = ("2026-11-20T10:20:00Z", "2026-11-23T10:20:00Z");
        assert_eq!(
            parts(start, end, "2026-11-23T04:20:00Z"),
            owned(&[
                ("2026-11-20T10:20:00Z", false),
                ("2026-11-21T00:00:00Z", true),
                ("2026-11-22T00:00:00Z", true),
                ("2026-11-23T00:00:00Z", false),
            ])
        );
        // The 22nd ended less than six hours ago: it is asked with what came after it.
        assert_eq!(
            parts(start, end, "2026-11-22T23:59:59Z"),
            owned(&[
                ("2026-11-20T10:20:00Z", false),
                ("2026-11-21T00:00:00Z", true),
                ("2026-11-22T00:00:00Z", false),
            ])
        );
        // No day is over: nothing is cut.
        for until in ["2026-11-21T23:00:00Z", "2026-11-20T00:00:00Z", "1970-01-01T00:00:00Z"] {
            assert_eq!(parts(start, end, until), owned(&[(start, false)]));
        }
        // Whole days alone.
        let (start, end) = ("2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z");
        assert_eq!(parts(start, end, end), owned(&[(start, true), ("2026-11-21T00:00:00Z", true)]));
    }
}
