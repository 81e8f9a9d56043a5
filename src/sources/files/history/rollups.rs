//! Runs that an engine made of raw points. Their tables are those of every run. An archive need
//! not say the account and the region of its instances: without them, they are empty.

use super::History;
use super::tables::StoredMachine;
use crate::domain::{Instance, ResourceId};
use jiff::civil::Date;
use std::collections::BTreeSet;

/// What such a run is said to have asked.
pub const ROLLED_UP: &str = "rollup";
/// The periods of its grid, in seconds.
pub const ROLLUP_PERIOD_SECONDS: u32 = 300;

impl History {
    /// Reads which of some machines have roll-ups of some days. What cannot be read counts as
    /// absent, and is a problem.
    pub async fn prepare_rollups(&self, days: &[Date], machines: &[Instance]) {
        let places: BTreeSet<String> =
            machines.iter().flat_map(|machine| keys_of(machine).map(|key| key.place())).collect();
        let wanted =
            days.iter().flat_map(|day| places.iter().map(move |place| (*day, place.clone())));
        self.load(wanted.collect()).await;
    }

    /// What the newest roll-up of a day that has a machine keeps it as, of those that were
    /// read.
    pub fn rollup_of(&self, day: Date, machine: &Instance) -> Option<StoredMachine> {
        let keys = keys_of(machine).into_iter();
        let runs = keys.filter_map(|key| Some((self.run_of(day, &key)?, key)));
        // The id of a run begins with its time.
        runs.max_by(|(left, _), (right, _)| left.cmp(right)).map(|(_, key)| key)
    }

    /// Every machine that has a roll-up of those that were read.
    pub fn rolled_up(&self) -> BTreeSet<ResourceId> {
        let runs = self.runs.borrow();
        let machines = runs.values().flatten().flat_map(|run| run.machines.values());
        let rolled = machines.filter(|machine| machine.asked == ROLLED_UP);
        rolled.map(|machine| machine.instance.clone()).collect()
    }

    /// How many runs of some days are of other accounts and regions than those that were read.
    pub fn unread_runs(&self, days: &[Date]) -> usize {
        let known = self.runs.borrow();
        let mut unread = 0;
        for day in days {
            let runs = self.days.get(day).into_iter().flatten();
            let others = runs.filter(|run| !known.contains_key(&(*day, run.place.clone())));
            unread += others.count();
        }
        unread
    }
}

/// What a roll-up can keep a machine as: the archive knows its account and region, or one of
/// both, or neither.
fn keys_of(machine: &Instance) -> [StoredMachine; 4] {
    let (account, region) = (machine.account.as_str(), machine.region.as_str());
    [(account, region), (account, ""), ("", region), ("", "")].map(|(account, region)| {
        StoredMachine {
            account: account.to_owned(),
            region: region.to_owned(),
            instance: machine.id.clone(),
            asked: ROLLED_UP.to_owned(),
            period_seconds: ROLLUP_PERIOD_SECONDS,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::files::history::lab::done;
    use crate::sources::store::{BucketAccess, Place};
    use crate::usage::StoredUsage;
    use jiff::Timestamp;
    use std::path::Path;

    const DAY: Date = Date::constant(2026, 11, 2);

    fn open(folder: &Path, now: &str) -> History {
        let place = Place::Folder(folder.to_owned());
        let (access, now) = (BucketAccess::default(), now.parse().expect("a time stamp"));
        done(History::open(&place, &access, (DAY, DAY), now)).expect("our own folder")
    }

    fn machine(instance: &str) -> Instance {
        Instance::sample(instance, "", Timestamp::UNIX_EPOCH)
    }

    /// What a roll-up keeps `i-1` as, under an account and region.
    fn key(account: &str, region: &str) -> StoredMachine {
        StoredMachine {
            account: account.to_owned(),
            region: region.to_owned(),
            ..keys_of(&machine("i-1"))[0].clone()
        }
    }

    fn keep(folder: &Path, now: &str, machine: &StoredMachine) {
        let history = open(folder, now);
        done(history.record(DAY, std::iter::once((machine, StoredUsage::default()))));
        assert!(history.problems().is_empty());
    }

    #[test]
    fn the_newest_roll_up_counts_whatever_it_knows_of_the_machine() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let own = machine("i-1");
        let (account, region) = (own.account.as_str(), own.region.as_str());
        let places = [
            (account, region),
            ("", ""),
            (account, ""),
            ("", region),
            // Of another machine of the same name.
            ("999988887777", region),
        ];
        for (hour, (account, region)) in places.iter().enumerate() {
            let now = format!("2026-11-06T{:02}:00:00Z", 10 + hour);
            keep(folder.path(), &now, &key(account, region));
            let history = open(folder.path(), "2026-11-07T00:00:00Z");
            done(history.prepare_rollups(&[DAY], std::slice::from_ref(&own)));
            let (account, region) = places[hour.min(3)];
            assert_eq!(history.rollup_of(DAY, &own), Some(key(account, region)));
            assert_eq!(history.unread_runs(&[DAY]), usize::from(hour == 4));
        }
    }

    #[test]
    fn what_is_kept_of_the_cloud_is_no_roll_up() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let own = machine("i-1");
        let asked = StoredMachine {
            asked: "0123456789abcdef".to_owned(),
            ..key(&own.account, &own.region)
        };
        keep(folder.path(), "2026-11-06T10:00:00Z", &asked);
        let hours = StoredMachine { period_seconds: 3_600, ..key(&own.account, &own.region) };
        keep(folder.path(), "2026-11-06T11:00:00Z", &hours);
        let history = open(folder.path(), "2026-11-07T00:00:00Z");
        done(history.prepare_rollups(&[DAY], std::slice::from_ref(&own)));
        assert_eq!(history.rollup_of(DAY, &own), None);
        let other = machine("i-2");
        assert_eq!(history.rollup_of(DAY, &other), None);
    }
}
