//! Runs of a clock that was ahead when others were recorded. While their time has not come they
//! are known by it; afterwards by the others, which did not believe them.

use super::COST;
use crate::sources::files::history::RUN_TIME;
use crate::sources::files::history::layout::Named;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Runs that are this close may be recorded at once, and hold the same days.
const AT_ONCE: SignedDuration = SignedDuration::from_hours(24);

/// The ids of the runs, by the names of the files of all, that hold a day which a run of their
/// scope holds that is more than 24 hours older: a run records only days that it finds in no
/// other, so that one of the two was ahead of the other.
pub(super) fn ahead<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut days: BTreeMap<(Date, &str), Vec<(Timestamp, &str)>> = BTreeMap::new();
    let tables = names.filter_map(Named::of);
    for table in tables.filter(|named| named.table == COST.name) {
        if let Some((time, scope)) = table.id.split_once('-')
            && let Some(time) = time.strip_suffix('Z')
            && let Ok(time) = DateTime::strptime(RUN_TIME, time)
            && let Ok(time) = TimeZone::UTC.to_timestamp(time)
        {
            let holders = days.entry((table.day, scope)).or_default();
            holders.push((time, table.id));
        }
    }
    let mut ahead = BTreeSet::new();
    for holders in days.into_values() {
        let first = holders.iter().map(|(time, _)| *time).min();
        let later =
            holders.iter().filter(|(time, _)| first.is_some_and(|first| *time > first + AT_ONCE));
        ahead.extend(later.map(|(_, id)| (*id).to_owned()));
    }
    ahead
}
