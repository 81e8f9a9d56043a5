//! What a day does not tell: jobs whose place was not read on it. They did not end, and they
//! did not cost nothing.

use super::dates::days_from;
use crate::domain::{GapSubject, PastGap, RecordedRun, WorkloadDay, hides_instances, region_of};
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

/// Days at the end of a history for which an account or a region may be in no scope before it
/// counts as left: until then its recorder may have failed, or be late.
const LEFT_AFTER_DAYS: i64 = 7;

/// What was read of one day, by all runs that count for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DayRead {
    accounts: BTreeSet<String>,
    regions: BTreeSet<String>,
    /// Whether a run named no accounts, as estates of files do, or no regions.
    has_all_accounts: bool,
    has_all_regions: bool,
    unread: Vec<PastGap>,
    /// The last known rows of jobs that ran before it or after it, and whose place was not
    /// read on it.
    pub missing: Vec<WorkloadDay>,
}

impl DayRead {
    pub(super) fn add(&mut self, run: &RecordedRun) {
        self.has_all_accounts |= run.accounts.is_empty();
        self.has_all_regions |= run.regions.is_empty();
        self.accounts.extend(run.accounts.iter().cloned());
        self.regions.extend(run.regions.iter().cloned());
        self.unread.extend(run.unread.iter().cloned());
    }

    /// Whether an account was in scope; what has none is in every scope.
    pub fn reads_account(&self, account: &str) -> bool {
        self.has_all_accounts || account.is_empty() || self.accounts.contains(account)
    }

    /// The same of a region.
    pub fn reads_region(&self, region: &str) -> bool {
        self.has_all_regions || region.is_empty() || self.regions.contains(region)
    }

    /// What its runs could not read and that may hide instances, whether any were known there
    /// or not.
    pub fn unread(&self) -> &[PastGap] {
        &self.unread
    }
}

/// Whether a gap may hide a job.
fn hides(gap: &PastGap, row: &WorkloadDay) -> bool {
    if !hides_instances(&gap.what, gap.cause) {
        return false;
    }
    let place = gap.place.as_str();
    match gap.what {
        GapSubject::Regions => true,
        GapSubject::Account => place == row.account || place.is_empty(),
        GapSubject::Region => {
            let account = place.strip_suffix(region_of(place));
            let account = account.and_then(|before| before.strip_suffix('/'));
            region_of(place) == row.region && account.is_none_or(|own| own == row.account)
        }
        GapSubject::Instance => place == row.job || place == row.workload,
        GapSubject::Nodes => place == row.region || place == row.account,
        _ => false,
    }
}

type JobKey<'a> = [&'a str; 3];

fn key(row: &WorkloadDay) -> JobKey<'_> {
    [&row.account, &row.region, &row.job]
}

/// Notes on each day the jobs that were there before and after it and that it cannot tell
/// of. A job in an account or a region that was in no scope for [`LEFT_AFTER_DAYS`] has left the
/// history; one behind a gap has not.
pub(super) fn mark(days: &mut BTreeMap<Date, DayRead>, rows: &[WorkloadDay]) {
    let mut by_day: BTreeMap<Date, Vec<&WorkloadDay>> = BTreeMap::new();
    for row in rows {
        by_day.entry(row.day).or_default().push(row);
    }
    let forth: Vec<Date> = days.keys().copied().collect();
    let back: Vec<Date> = forth.iter().rev().copied().collect();
    let mut missing: BTreeMap<Date, BTreeMap<JobKey<'_>, &WorkloadDay>> = BTreeMap::new();
    // What was not read before it joined the history is not missing.
    for (order, grace_days) in [(forth, LEFT_AFTER_DAYS), (back, 0)] {
        for (day, row) in sweep(&order, grace_days, days, &by_day) {
            missing.entry(day).or_default().insert(key(row), row);
        }
    }
    for (day, jobs) in missing {
        if let Some(read) = days.get_mut(&day) {
            read.missing = jobs.into_values().cloned().collect();
        }
    }
}

/// The jobs of earlier days, in an order of days, that a day cannot tell of. A place that was
/// last read within some days of the end of the order has not left.
fn sweep<'a>(
    order: &[Date],
    grace_days: i64,
    days: &BTreeMap<Date, DayRead>,
    by_day: &BTreeMap<Date, Vec<&'a WorkloadDay>>,
) -> Vec<(Date, &'a WorkloadDay)> {
    let last_place = |is_read: &dyn Fn(&DayRead) -> bool| {
        let reads = |day: &Date| days.get(day).is_some_and(is_read);
        order.iter().rposition(reads)
    };
    let is_recent = |place: usize| {
        let ends = order.get(place).zip(order.last());
        ends.is_some_and(|(last, end)| (0..=grace_days).contains(&days_from(*last, *end)))
    };
    let mut last_account: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    let mut last_region: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    let mut known: BTreeMap<JobKey<'a>, &'a WorkloadDay> = BTreeMap::new();
    let mut missing = Vec::new();
    for (place, day) in order.iter().enumerate() {
        let (Some(read), here) = (days.get(day), by_day.get(day)) else {
            continue;
        };
        let here: BTreeMap<JobKey<'a>, &'a WorkloadDay> = here
            .into_iter()
            .flatten()
            .copied()
            .map(|row| (key(row), row))
            .collect();
        known.retain(|job, &mut row| {
            if here.contains_key(job) {
                return false;
            }
            let is_gap = read.unread.iter().any(|gap| hides(gap, row));
            let in_scope_later =
                |last: Option<usize>| last.is_some_and(|last| last > place || is_recent(last));
            let of_account = last_account
                .entry(row.account.as_str())
                .or_insert_with(|| last_place(&|read: &DayRead| read.reads_account(&row.account)));
            let left_account = !read.reads_account(&row.account) && in_scope_later(*of_account);
            let of_region = last_region
                .entry(row.region.as_str())
                .or_insert_with(|| last_place(&|read: &DayRead| read.reads_region(&row.region)));
            let left_region = !read.reads_region(&row.region) && in_scope_later(*of_region);
            let is_missing = is_gap || left_account || left_region;
            if is_missing {
                missing.push((*day, row));
            }
            is_missing
        });
        known.extend(here);
    }
    missing
}
