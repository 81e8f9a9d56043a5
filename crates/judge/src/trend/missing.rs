//! What a day does not tell: jobs whose place was not read on it. They did not end, and they
//! did not cost nothing.

use super::dates::days_from;
use crate::domain::{
    GapSubject, Hidden, PastGap, RecordedRun, TagFilter, WorkloadDay, hidden, region_of,
};
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

/// Days at the end of a history for which an account, a region or instances with a tag may be in
/// no scope before they count as left: until then its recorder may have failed, or be late.
const LEFT_AFTER_DAYS: i64 = 7;

/// What one run was asked to read.
#[derive(Debug, Clone, PartialEq)]
struct Reader {
    run_id: String,
    /// All where it names none, as estates of files do.
    accounts: BTreeSet<String>,
    regions: BTreeSet<String>,
    /// Tags that limit it to some instances; none where all count.
    tag_filters: Vec<TagFilter>,
}

impl Reader {
    fn of(run: &RecordedRun) -> Self {
        Self {
            run_id: run.run_id.clone(),
            accounts: run.accounts.iter().cloned().collect(),
            regions: run.regions.iter().cloned().collect(),
            tag_filters: run.tag_filters.clone(),
        }
    }

    /// What has no account is in every scope.
    fn reads_account(&self, account: &str) -> bool {
        self.accounts.is_empty() || account.is_empty() || self.accounts.contains(account)
    }

    fn reads_region(&self, region: &str) -> bool {
        self.regions.is_empty() || region.is_empty() || self.regions.contains(region)
    }

    /// Whether it would have a job that was read with some filters. Tags of a row are those that
    /// all of its instances share: the same filters find it whatever they are.
    fn selects(&self, row: &WorkloadDay, filters: &[TagFilter]) -> bool {
        let mut own = self.tag_filters.iter();
        self.tag_filters == filters || own.all(|filter| filter.keeps(&row.tags))
    }
}

/// What was read of one day, by all runs that count for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DayRead {
    readers: Vec<Reader>,
    /// What its runs could not read, whether anything was known there or not.
    pub unread: Vec<PastGap>,
    /// The last known rows of jobs that ran before it or after it, and that no run of it would
    /// have found.
    pub missing: Vec<WorkloadDay>,
}

impl DayRead {
    pub(super) fn add(&mut self, run: &RecordedRun) {
        self.readers.push(Reader::of(run));
        self.unread.extend(run.unread.iter().cloned());
    }

    /// Whether an account was in scope.
    pub fn reads_account(&self, account: &str) -> bool {
        self.readers.iter().any(|reader| reader.reads_account(account))
    }

    /// The same of a region.
    pub fn reads_region(&self, region: &str) -> bool {
        self.readers.iter().any(|reader| reader.reads_region(region))
    }

    /// The first tag that limited a run, where an audit is limited by some: what lacks it was not
    /// read.
    pub fn limit(&self, own: &[TagFilter]) -> Option<&TagFilter> {
        let mut limits = self.readers.iter().flat_map(|reader| &reader.tag_filters);
        limits.find(|limit| !own.contains(limit))
    }

    /// Whether a run read a region of an account, all of it or some tags of it.
    pub(super) fn reads_place(&self, account: &str, region: &str) -> bool {
        let mut readers = self.readers.iter();
        readers.any(|reader| reader.reads_account(account) && reader.reads_region(region))
    }

    /// Whether a run would have found a job as a row has it that was read with some filters.
    pub(super) fn reads(&self, row: &WorkloadDay, filters: &[TagFilter]) -> bool {
        self.readers.iter().any(|reader| {
            reader.reads_account(&row.account)
                && reader.reads_region(&row.region)
                && reader.selects(row, filters)
        })
    }

    /// The filters of the run that a row of this day is from.
    pub(super) fn filters_of(&self, row: &WorkloadDay) -> &[TagFilter] {
        let own = self.readers.iter().find(|reader| reader.run_id == row.run_id);
        own.map_or(&[], |reader| reader.tag_filters.as_slice())
    }
}

/// Whether a gap may hide a job.
fn hides(gap: &PastGap, row: &WorkloadDay) -> bool {
    if hidden(&gap.what, gap.cause) != Hidden::Instances {
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

/// What decides whether a run would find a job.
type ScopeKey<'a> = (&'a str, &'a str, &'a [TagFilter], &'a BTreeMap<String, String>);

/// Notes on each day the jobs that were there before and after it and that it cannot tell
/// of. A job that was in no scope for [`LEFT_AFTER_DAYS`], by its account, region or tags, has
/// left the history; one behind a gap has not.
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
    let last_place = |row: &WorkloadDay, filters: &[TagFilter]| {
        let reads = |day: &Date| days.get(day).is_some_and(|read| read.reads(row, filters));
        order.iter().rposition(reads)
    };
    let is_recent = |place: usize| {
        let ends = order.get(place).zip(order.last());
        ends.is_some_and(|(last, end)| (0..=grace_days).contains(&days_from(*last, *end)))
    };
    let mut last_places: BTreeMap<ScopeKey<'_>, Option<usize>> = BTreeMap::new();
    let mut known: BTreeMap<JobKey<'a>, &'a WorkloadDay> = BTreeMap::new();
    let mut missing = Vec::new();
    for (place, day) in order.iter().enumerate() {
        let (Some(read), here) = (days.get(day), by_day.get(day)) else { continue };
        let here: BTreeMap<JobKey<'a>, &'a WorkloadDay> =
            here.into_iter().flatten().copied().map(|row| (key(row), row)).collect();
        known.retain(|job, &mut row| {
            if here.contains_key(job) {
                return false;
            }
            let is_gap = read.unread.iter().any(|gap| hides(gap, row));
            let filters = days.get(&row.day).map_or(&[] as &[TagFilter], |own| own.filters_of(row));
            let is_missing = is_gap
                || !read.reads(row, filters) && {
                    let scope = (row.account.as_str(), row.region.as_str(), filters, &row.tags);
                    let last = last_places.entry(scope);
                    let last = *last.or_insert_with(|| last_place(row, filters));
                    last.is_some_and(|last| last > place || is_recent(last))
                };
            if is_missing {
                missing.push((*day, row));
            }
            is_missing
        });
        known.extend(here);
    }
    missing
}
