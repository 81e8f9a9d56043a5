//! Roll-ups beside what is asked live.

use super::{REGION, accounts, id_of, level, now, options, wait};
use gpucost::analysis::audit;
use gpucost::domain::{Policy, Risk, Window};
use gpucost::gather::{GatherError, GatherOptions, gather};
use gpucost::sources::files::{History, ROLLED_UP, StoredMachine};
use gpucost::sources::store::{BucketAccess, Place};
use gpucost::usage::UsageBuilder;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::path::Path;
use std::rc::Rc;

/// Midnight, so many days before now.
fn before(days: i64) -> Timestamp {
    now() - SignedDuration::from_hours(days * 24)
}

/// The place in a folder, for the window.
fn opened(folder: &Path) -> History {
    let date = |at: Timestamp| at.to_zoned(TimeZone::UTC).date();
    let (place, access) = (Place::Folder(folder.to_owned()), BucketAccess::default());
    let days = (date(before(14)), date(now()));
    wait(History::open(&place, &access, days, now())).expect("a folder")
}

/// Keeps roll-ups of both machines, from the 12th day before now to the second.
fn keep(folder: &Path) {
    let history = opened(folder);
    for day in 2..=12 {
        let window = Window { start: before(day), end: before(day - 1) };
        let mut usage = UsageBuilder::new(window, 300);
        for (id, percent) in [("box-a", 99.0), ("box-b", 50.0)] {
            let series = level(&id_of(id), percent, window, 300);
            series.iter().for_each(|one| usage.add(one));
        }
        let usages = usage.finish();
        let machines = ["box-a", "box-b"].map(|id| StoredMachine {
            account: "lab".to_owned(),
            region: REGION.to_owned(),
            instance: id_of(id),
            asked: ROLLED_UP.to_owned(),
            period_seconds: 300,
        });
        let kept = machines.iter().map(|machine| {
            let kept = usages.of(&machine.instance).kept();
            (machine, kept.expect("one source measured it"))
        });
        let date = window.start.to_zoned(TimeZone::UTC).date();
        wait(history.record(date, kept));
    }
    assert!(history.problems().is_empty());
}

#[test]
fn roll_ups_say_what_nothing_else_does_in_the_window_of_their_days() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    keep(folder.path());
    let options = GatherOptions { rollups: Some(Rc::new(opened(folder.path()))), ..options() };
    let calls = Rc::default();
    let estate = wait(gather(&accounts(&calls), &[], &options, None, None, &|_| {}));
    let estate = estate.expect("one region was read");
    assert_eq!(calls.get(), 1, "the source is still asked");
    let window = Window { start: before(12), end: before(1) };
    assert_eq!(estate.window, window);
    let audit = audit(&estate, &Policy::default(), Risk::Low);
    let measured = audit.workloads.iter().map(|one| {
        let used = one.workload.utilization.as_ref().expect("it was measured");
        (one.workload.id(), used.distribution.mean, used.n_samples)
    });
    // 11 days of 288 periods. The first machine was measured live, which comes first.
    let expected = [
        ("on-premises/lab/hall-2/box-a".to_owned(), 0.0, 3_168),
        ("on-premises/lab/hall-2/box-b".to_owned(), 50.0, 3_168),
    ];
    assert_eq!(measured.collect::<Vec<_>>(), expected);
}

#[test]
fn sources_of_other_periods_are_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    keep(folder.path());
    let options = GatherOptions { rollups: Some(Rc::new(opened(folder.path()))), ..options() };
    let calls = Rc::default();
    // This server adds up by the hour.
    let servers = [super::server(&calls)];
    let gathered = wait(gather(&accounts(&calls), &servers, &options, None, None, &|_| {}));
    assert!(matches!(gathered, Err(GatherError::OtherPeriods(_))));
    assert_eq!(calls.get(), 0);
}
