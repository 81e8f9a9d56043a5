//! Reading back the hours of instances.

use super::Records;
use super::read::of_table;
use super::rows::{HOUR, hour_of};
use crate::domain::{InstanceHour, RecordedRun};
use crate::sources::files::history::columns::TableError;
use crate::sources::files::history::layout::HistoryError;
use crate::sources::files::history::seal::Seal;
use crate::sources::files::history::table::{Row, read_sealed};
use jiff::civil::Date;

/// A run, and where the hours of its days are.
#[derive(Debug, Clone)]
pub struct HourRun {
    pub run: RecordedRun,
    table: Option<(String, Seal)>,
}

impl HourRun {
    /// Whether it is known in which hours instances ran. Versions before kept only days.
    pub fn has_hours(&self) -> bool {
        self.table.is_some() || self.run.totals.instances == 0
    }
}

impl Records {
    /// The runs that describe a day or later, or all of them, by the time that they describe,
    /// with the files that cannot be used.
    ///
    /// # Errors
    /// When the place cannot be listed.
    pub async fn hour_runs(
        &self,
        since: Option<Date>,
    ) -> Result<(Vec<HourRun>, Vec<HistoryError>), HistoryError> {
        let mut problems = Vec::new();
        let files = self.runs(since, &mut problems).await?;
        let runs = files.into_iter().map(|file| {
            let table = of_table(&file, HOUR.name).next();
            HourRun { run: file.run, table }
        });
        let mut runs: Vec<HourRun> = runs.collect();
        runs.sort_by(|left, right| {
            let (left, right) = (&left.run, &right.run);
            (left.as_of, &left.run_id).cmp(&(right.as_of, &right.run_id))
        });
        Ok((runs, problems))
    }

    /// Reads the hours of a run.
    ///
    /// # Errors
    /// When its table cannot be read, or is not as it was written.
    pub async fn read_hours(
        &self,
        run: &HourRun,
        each: &mut dyn FnMut(InstanceHour),
    ) -> Result<(), HistoryError> {
        let Some((name, seal)) = &run.table else { return Ok(()) };
        let mut take = |row: &Row<'_>| -> Result<(), TableError> {
            each(hour_of(row)?);
            Ok(())
        };
        let read = read_sealed(self.store(), (name, *seal), &HOUR, &mut take).await;
        self.store().forget(name);
        read.map_err(|why| self.failed(name, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, InstanceRate};
    use crate::sources::files::history::lab::{at, done, run};
    use crate::sources::store::Folder;
    use rust_decimal::Decimal;
    use std::rc::Rc;

    fn hour(begin: &str, ran_seconds: u16, rate: Option<InstanceRate>) -> InstanceHour {
        InstanceHour {
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            instance: "i-0a".to_owned(),
            instance_type: "p4d.24xlarge".to_owned(),
            hour: at(begin),
            ran_seconds,
            measured_seconds: ran_seconds / 2,
            idle_seconds: ran_seconds / 4,
            useful_seconds: Decimal::new(1_234_567, 4),
            rate,
        }
    }

    #[test]
    fn hours_are_read_back_as_they_were() {
        let place = tempfile::tempdir().expect("a folder");
        let records = Records::of(Rc::new(Folder::new(place.path().to_owned())));
        let rate = Some(InstanceRate {
            currency: Currency::Usd,
            price: Decimal::new(21_957_642, 6),
            effective: Decimal::new(145, 1),
        });
        let hours =
            [hour("2026-11-21T00:00:00Z", 3_600, rate), hour("2026-11-21T01:00:00Z", 300, None)];
        let first = run("2026-11-22T03:00:00Z", "00000000000000aa", &[21]);
        let second = run("2026-11-23T03:00:00Z", "00000000000000aa", &[22]);
        assert!(done(records.record(&first, &[], &[], &hours)).expect("writable"));
        assert!(done(records.record(&second, &[], &[], &[])).expect("writable"));
        let (runs, problems) = done(records.hour_runs(None)).expect("readable");
        assert!(problems.is_empty());
        let ids: Vec<&str> = runs.iter().map(|hour_run| hour_run.run.run_id.as_str()).collect();
        assert_eq!(ids, [&first.run_id, &second.run_id]);
        // The second one has instances and no hours, as those of versions before.
        let has: Vec<bool> = runs.iter().map(HourRun::has_hours).collect();
        assert_eq!(has, [true, false]);
        let mut read_back = Vec::new();
        for run in &runs {
            done(records.read_hours(run, &mut |hour| read_back.push(hour))).expect("readable");
        }
        assert_eq!(read_back, hours);
        let verified = done(records.verify()).expect("readable");
        assert!(verified.found.is_empty(), "{:?}", verified.found);
    }

    #[test]
    fn an_hour_that_cannot_be_is_damage() {
        let place = tempfile::tempdir().expect("a folder");
        let records = Records::of(Rc::new(Folder::new(place.path().to_owned())));
        let mut long = hour("2026-11-21T00:00:00Z", 3_600, None);
        long.ran_seconds = 3_601;
        let run = run("2026-11-22T03:00:00Z", "00000000000000aa", &[21]);
        assert!(done(records.record(&run, &[], &[], &[long])).expect("writable"));
        let (runs, _) = done(records.hour_runs(None)).expect("readable");
        let read = done(records.read_hours(&runs[0], &mut |_| {}));
        assert!(read.is_err());
        assert!(done(records.verify()).expect("readable").has_lost());
    }
}
