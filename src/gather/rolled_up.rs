//! Roll-ups of an archive: how machines were used, as an engine added it up. They say what the
//! sources of an estate do not.

use super::days::{Stretch, stretches};
use super::measured::Grid;
use crate::domain::{Cause, CauseKind, DAY_SECONDS, Gap, GapSubject, Instance, ResourceId, Window};
use crate::sources::files::{History, HistoryError, ROLLUP_PERIOD_SECONDS, StoredMachine};
use crate::usage::{Estate, Usages};
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

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
        let (first, last) = (self.days.first_key_value()?, self.days.last_key_value()?);
        let [first, last] = [first.0, last.0].map(|day| midnight(*day));
        let end = last? + DAY_SECONDS;
        Some(Window {
            start: Timestamp::from_second(first?).ok()?,
            end: Timestamp::from_second(end).ok()?,
        })
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
            let first = first.and_then(|second| Timestamp::from_second(second).ok());
            let first = first.unwrap_or(window.start).to_string();
            let cause = Cause::of(CauseKind::RollupDaysMissing, [&days.len().to_string(), &first]);
            Gap::of(GapSubject::Metrics, region, cause)
        });
        gaps.collect()
    }
}

/// When a day begins, in seconds since the epoch.
fn midnight(day: Date) -> Option<i64> {
    Some(day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
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
