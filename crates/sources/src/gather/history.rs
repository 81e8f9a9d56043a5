//! What a history knows: of its days, what need not be asked, and what is kept of what was asked;
//! and roll-ups of an archive, which say how machines were used, as an engine added it up, where
//! the sources of an estate do not.

use super::measured::{Grid, Missing};
use crate::Known;
use crate::domain::{
    Cause, CauseKind, DAY_SECONDS, Gap, GapSubject, Gathered, Instance, ResourceId, Window,
};
use crate::files::{History, HistoryError, ROLLUP_PERIOD_SECONDS, StoredMachine};
use crate::usage::{Estate, Usages};
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
struct Stretch {
    window: Window,
    /// The day that it is, if that is over.
    day: Option<Date>,
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
    pub fn new(history: &'a History, grid: Grid) -> Self {
        let closed = history.now().saturating_sub(CLOSES_AFTER);
        let until = closed.unwrap_or(Timestamp::MIN).min(grid.0.end);
        Self { history, grid, stretches: stretches(grid, until), asked: RefCell::default() }
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
fn stretches((window, period_seconds): Grid, until: Timestamp) -> Vec<Stretch> {
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

/// Where gaps of an archive are.
const PLACE: &str = "roll-ups";

/// A window whose periods are not those of roll-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "roll-ups have periods of {ROLLUP_PERIOD_SECONDS} s from midnight of UTC, and the estate has \
     others ({period_seconds} s from {start} on)"
)]
pub struct OtherPeriods {
    pub period_seconds: u32,
    pub start: Timestamp,
}

/// What roll-ups have of some machines.
pub(super) struct RolledUp<'a> {
    history: &'a History,
    /// The machines of each day that lies in the window as a whole; none of a day that has no
    /// roll-up.
    days: BTreeMap<Date, Vec<StoredMachine>>,
    gaps: Vec<Gap>,
}

/// Adds to an estate what roll-ups say of its machines. Where nothing else was measured, its
/// window becomes that of the roll-ups.
///
/// # Errors
/// When something else was measured in other periods.
pub async fn add_rollups(estate: &mut Estate, history: &History) -> Result<(), OtherPeriods> {
    let is_alone = estate.usage.is_empty()
        && estate.metrics.is_empty()
        && estate.profiles.is_empty()
        && estate.clusters.uses.is_empty();
    let listed = [estate.instances.as_slice(), estate.out_of_scope.as_slice()].concat();
    let rolled = RolledUp::find(history, &listed, estate.window).await;
    if let Some(window) = rolled.window() {
        if is_alone {
            (estate.window, estate.period_seconds) = (window, ROLLUP_PERIOD_SECONDS);
        }
        check((estate.window, estate.period_seconds))?;
    }
    rolled.add_to(estate).await;
    Ok(())
}

/// Whether days of roll-ups are on a grid.
///
/// # Errors
/// When they are not.
pub(super) fn check((window, period_seconds): Grid) -> Result<(), OtherPeriods> {
    let is_same = period_seconds == ROLLUP_PERIOD_SECONDS
        && window.start.as_second().rem_euclid(i64::from(ROLLUP_PERIOD_SECONDS)) == 0;
    is_same.then_some(()).ok_or(OtherPeriods { period_seconds, start: window.start })
}

/// The parts of a window that roll-ups can cover.
fn whole_days(window: Window) -> Vec<(Date, Window)> {
    let parts = stretches((window, ROLLUP_PERIOD_SECONDS), window.end).into_iter();
    parts.filter_map(|Stretch { window, day }| Some((day?, window))).collect()
}

impl<'a> RolledUp<'a> {
    /// What a history has of some machines, on the days of a window.
    pub async fn find(history: &'a History, machines: &[Instance], window: Window) -> Self {
        let wanted: Vec<Date> = whole_days(window).into_iter().map(|(day, _)| day).collect();
        history.prepare_rollups(&wanted, machines).await;
        let of_day = |day: Date| -> Vec<StoredMachine> {
            machines.iter().filter_map(|machine| history.rollup_of(day, machine)).collect()
        };
        let days = wanted.iter().map(|day| (*day, of_day(*day)));
        let days: BTreeMap<Date, Vec<StoredMachine>> =
            days.filter(|(_, found)| !found.is_empty()).collect();
        let mut gaps: Vec<Gap> = history.problems().iter().map(not_read).collect();
        gaps.extend(strangers(history, machines));
        if days.is_empty() {
            let elsewhere = history.unread_runs(&wanted).to_string();
            let cause = Cause::of(CauseKind::NoRollups, [&elsewhere]);
            gaps.push(Gap::of(GapSubject::Metrics, PLACE, cause));
        }
        Self { history, days, gaps }
    }

    /// From the first to the last day that has a roll-up.
    pub fn window(&self) -> Option<Window> {
        let (first, last) = (self.days.first_key_value()?.0, self.days.last_key_value()?.0);
        Some(Window { start: midnight(*first)?, end: midnight(last.tomorrow().ok()?)? })
    }

    /// Adds what they say of metrics that nothing else measured.
    pub async fn add_to(mut self, estate: &mut Estate) {
        let window = estate.window;
        let mut parts: Vec<(Window, Usages)> = Vec::new();
        for (day, stretch) in whole_days(window) {
            let machines = self.days.get(&day).into_iter().flatten();
            // A file that cannot be used is missing in its own region alone.
            let mut regions: BTreeMap<(&str, &str), Vec<StoredMachine>> = BTreeMap::new();
            for machine in machines {
                let region = regions.entry((machine.account.as_str(), machine.region.as_str()));
                region.or_default().push(machine.clone());
            }
            for known in regions.values() {
                match self.history.read(day, known).await {
                    Ok(usages) => parts.push((stretch, usages)),
                    Err(error) => self.gaps.push(not_read(&error)),
                }
            }
        }
        self.gaps.extend(self.missing_days(&estate.instances, window));
        if !self.days.is_empty() {
            let was_not_asked = |gap: &Gap| {
                gap.cause.as_ref().map(|cause| cause.kind()) == Some(CauseKind::MetricsNotAsked)
            };
            estate.gaps.retain(|gap| !was_not_asked(gap));
        }
        let usages = Usages::joined(parts, window, ROLLUP_PERIOD_SECONDS);
        estate.usage.fill(usages, window, ROLLUP_PERIOD_SECONDS);
        estate.gaps.append(&mut self.gaps);
        estate.gaps.sort();
        estate.gaps.dedup();
    }

    /// Days without a roll-up of any machine of a region, of machines that existed then and
    /// have one of another day.
    fn missing_days(&self, machines: &[Instance], window: Window) -> Vec<Gap> {
        let covered = |day: &Date| self.days.get(day).into_iter().flatten();
        let known: BTreeSet<&ResourceId> =
            self.days.keys().flat_map(covered).map(|machine| &machine.instance).collect();
        let mut missing: BTreeMap<&str, Vec<Date>> = BTreeMap::new();
        for (day, stretch) in whole_days(window) {
            let there: BTreeSet<&ResourceId> =
                covered(&day).map(|machine| &machine.instance).collect();
            let is_of = |instance: &&Instance| there.contains(&instance.id);
            let with: BTreeSet<&str> =
                machines.iter().filter(is_of).map(|instance| instance.region.as_str()).collect();
            let without = machines.iter().filter(|instance| {
                known.contains(&instance.id)
                    && !with.contains(instance.region.as_str())
                    && instance.first_seen() < stretch.end
                    && instance.may_have_run_after(stretch.start)
            });
            let without: BTreeSet<&str> =
                without.map(|instance| instance.region.as_str()).collect();
            for region in without {
                missing.entry(region).or_default().push(day);
            }
        }
        let gaps = missing.into_iter().map(|(region, days)| {
            let first = days.first().and_then(|day| midnight(*day));
            let first = first.unwrap_or(window.start).to_string();
            let cause = Cause::of(CauseKind::RollupDaysMissing, [&days.len().to_string(), &first]);
            Gap::of(GapSubject::Metrics, region, cause)
        });
        gaps.collect()
    }
}

/// When a day begins.
fn midnight(day: Date) -> Option<Timestamp> {
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

fn not_read(error: &HistoryError) -> Gap {
    Gap::of(GapSubject::Metrics, PLACE, Cause::of(CauseKind::RollupNotRead, [&error.to_string()]))
}

/// Machines of the roll-ups that the inventory does not have.
fn strangers(history: &History, machines: &[Instance]) -> Option<Gap> {
    let known: BTreeSet<&ResourceId> = machines.iter().map(|instance| &instance.id).collect();
    let rolled_up = history.rolled_up();
    let mut strangers = rolled_up.iter().filter(|id| !known.contains(id));
    let first = strangers.next()?;
    let count = 1 + strangers.count();
    let cause = Cause::of(CauseKind::RollupInstancesUnknown, [&count.to_string(), first.as_str()]);
    Some(Gap::of(GapSubject::Metrics, PLACE, cause))
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
