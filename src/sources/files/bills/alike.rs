//! Files with the same lines: a bill under two names, packed in another way, in an export
//! of another version, or in two readings of which the later one has more.

use super::error::BillError;
use crate::domain::{BillForm, BillLine, LineKind};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Fewer lines may be the same by chance.
const LEAST_LINES: u64 = 10;
/// Hours of instances of a file that are kept to be found in others: those with the smallest
/// numbers, so that two files keep the same ones.
const MOST_HOURS: usize = 512;
/// As many of them in two files are a bill that counts twice.
const LEAST_HOURS: usize = 10;

/// The lines of a file, in order, as one number, and its hours of instances.
#[derive(Debug, Default)]
pub(super) struct Lines {
    hasher: DefaultHasher,
    count: u64,
    hours: BTreeSet<u64>,
}

impl Lines {
    pub(super) fn add(&mut self, line: &BillLine) {
        self.count += 1;
        let times = line.period.map(|period| (period.start, period.end));
        let costs = &line.costs;
        let what = (&line.account, &line.resource, &line.instance_type, line.kind);
        let parts = (what, times, (line.hours, costs.list, costs.effective, costs.billed));
        parts.hash(&mut self.hasher);
        let is_hour = line.kind == LineKind::Instance && line.resource.is_some();
        if is_hour && times.is_some() && line.hours.is_some() {
            let mut hour = DefaultHasher::new();
            parts.hash(&mut hour);
            self.hours.insert(hour.finish());
            if self.hours.len() > MOST_HOURS {
                self.hours.pop_last();
            }
        }
    }
}

/// Files that were read, by their lines.
#[derive(Debug, Default)]
pub(super) struct Seen {
    whole: BTreeMap<(u64, u64), PathBuf>,
    files: Vec<(PathBuf, BTreeSet<u64>)>,
    /// The first file of each hour, by its place.
    hours: BTreeMap<(BillForm, u64), usize>,
}

impl Seen {
    /// # Errors
    /// When an earlier file has the same lines, or one of the same format the same hours of
    /// instances at the same costs.
    pub(super) fn add(
        &mut self,
        path: &Path,
        form: BillForm,
        lines: Lines,
    ) -> Result<(), BillError> {
        let key = (lines.count, lines.hasher.finish());
        if lines.count >= LEAST_LINES
            && let Some(earlier) = self.whole.insert(key, path.to_owned())
        {
            return Err(BillError::Alike { path: path.to_owned(), earlier });
        }
        let of_others = lines.hours.iter();
        let others: BTreeSet<usize> =
            of_others.filter_map(|hour| self.hours.get(&(form, *hour)).copied()).collect();
        for (earlier, hours) in others.iter().filter_map(|place| self.files.get(*place)) {
            if is_twice(hours, &lines.hours) {
                return Err(BillError::Overlap { path: path.to_owned(), earlier: earlier.clone() });
            }
        }
        let place = self.files.len();
        for hour in &lines.hours {
            self.hours.entry((form, *hour)).or_insert(place);
        }
        self.files.push((path.to_owned(), lines.hours));
        Ok(())
    }
}

/// Whether two files have many of the same hours, or one has all of the other: of those that
/// both would have kept.
fn is_twice(left: &BTreeSet<u64>, right: &BTreeSet<u64>) -> bool {
    let reach = |hours: &BTreeSet<u64>| {
        hours.last().copied().filter(|_| hours.len() >= MOST_HOURS).unwrap_or(u64::MAX)
    };
    let reach = reach(left).min(reach(right));
    let kept = |hours: &BTreeSet<u64>| hours.range(..=reach).count();
    let both = left.range(..=reach).filter(|hour| right.contains(hour)).count();
    both >= LEAST_HOURS || (both > 0 && both == kept(left).min(kept(right)))
}
