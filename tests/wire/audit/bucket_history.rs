//! `--history` in a bucket: what it is in a directory, and what only a network and other people
//! bring about.

use super::command::Run;
use super::history::{Fleet, assert_same, judged};
use crate::wire::bucket::Bucket;
use crate::wire::loopback::{Fault, Target, Times};

/// Days of the window that are over and whole.
const DAYS: usize = 13;
/// Tables of a day, and their list.
const FILES: usize = 5;

/// How often the last run listed, read and created objects, and asked whether they are there.
fn calls(fleet: &Fleet) -> [usize; 4] {
    ["ListObjectsV2", "GetObject", "PutObject", "HeadObject"]
        .map(|operation| fleet.account.loopback.calls("s3", operation))
}

/// The lists of runs, which say what counts.
fn lists(bucket: &Bucket<'_>) -> Vec<String> {
    bucket.keys("nights/v1/usage_run/")
}

#[test]
fn a_second_audit_reads_the_bucket_and_says_the_same() {
    let Some(fleet) = Fleet::open(4) else { return };
    let bucket = Bucket::of(&fleet.account);
    let (today, url) = (fleet.days.as_of(), bucket.url("nights"));
    let plain = fleet.audit(&today, None);
    assert_eq!((plain.lists, plain.reads), (3, 6));

    let first = fleet.audit(&today, Some(&url));
    assert_same(&first, &plain);
    assert_eq!((first.lists, first.reads), (3, 6));
    assert_eq!(calls(&fleet), [1, 0, DAYS * FILES, 0]);
    assert_eq!(bucket.keys("").len(), DAYS * FILES);
    assert_eq!(lists(&bucket).len(), DAYS);

    let second = fleet.audit(&today, Some(&url));
    assert_eq!(second.report, first.report);
    // As from a directory: the parts of days at both ends.
    assert_eq!((second.lists, second.reads), (3, 2));
    // Each object is read once.
    assert_eq!(calls(&fleet), [1, DAYS * FILES, 0, 0]);
    assert!(!second.stderr.contains("warning: the history"));

    let folder = fleet.audit(&today, Some("folder"));
    assert_eq!(judged(&folder), judged(&second));
}

#[test]
fn two_audits_at_once_keep_what_one_keeps() {
    let Some(fleet) = Fleet::open(1) else { return };
    let bucket = Bucket::of(&fleet.account);
    let (today, url) = (fleet.days.as_of(), bucket.url("nights"));
    let plain = fleet.audit(&today, None);
    let mut commands = [0, 1].map(|_| fleet.command(&today, Some(&url)));
    let started = commands.each_mut().map(|command| command.start());
    for child in started {
        let run = Run::of(child);
        assert_eq!(run.json(0)["workloads"], plain.report["workloads"]);
        assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    }
    let third = fleet.audit(&today, Some(&url));
    assert_same(&third, &plain);
    assert_eq!(third.reads, 2);
}

#[test]
fn a_run_without_its_list_does_not_count() {
    let Some(fleet) = Fleet::open(1) else { return };
    let bucket = Bucket::of(&fleet.account);
    let (today, url) = (fleet.days.as_of(), bucket.url("nights"));
    let first = fleet.audit(&today, Some(&url));
    // As if the writer of two days had ended before it was done.
    for list in &lists(&bucket)[3..5] {
        bucket.delete(list);
    }
    let second = fleet.audit(&today, Some(&url));
    assert_same(&second, &first);
    // Both ends, and two days that follow each other.
    assert!((3..=4).contains(&second.reads), "{}", second.reads);
    assert!(!second.stderr.contains("warning"), "{}", second.stderr);
    let third = fleet.audit(&today, Some(&url));
    assert_eq!((&third.report, third.reads), (&first.report, 2));
}

#[test]
fn a_damaged_object_is_named_and_its_day_asked_again() {
    let Some(fleet) = Fleet::open(1) else { return };
    let bucket = Bucket::of(&fleet.account);
    let (today, url) = (fleet.days.as_of(), bucket.url("nights"));
    let first = fleet.audit(&today, Some(&url));
    let grids = bucket.keys("nights/v1/usage_grid/");
    let (damaged, replaced, long) = (&grids[2], &grids[4], &lists(&bucket)[6]);
    let mut bytes = bucket.get(damaged);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bucket.put(damaged, &bytes);
    // One that is whole, of another day.
    bucket.put(replaced, &bucket.get(&grids[5]));
    bucket.put(long, &vec![b' '; 70_000]);

    let second = fleet.audit(&today, Some(&url));
    assert_same(&second, &first);
    // Both ends, and three days.
    assert_eq!(second.reads, 5);
    for (key, why) in [
        (damaged, "its checksum is not the one that was written"),
        (long, "it is larger than what was written"),
    ] {
        let place = format!("s3://{}/{key}", bucket.name);
        let warning = format!("warning: the history cannot use {place}: {why}\n");
        assert!(second.stderr.contains(&warning), "{}", second.stderr);
    }
    let place = format!("s3://{}/{replaced}: it", bucket.name);
    assert!(second.stderr.contains(&place), "{}", second.stderr);
}

#[test]
fn objects_of_other_people_change_nothing_and_stay() {
    let Some(fleet) = Fleet::open(1) else { return };
    let bucket = Bucket::of(&fleet.account);
    let (today, url) = (fleet.days.as_of(), bucket.url("nights"));
    let first = fleet.audit(&today, Some(&url));
    let day = lists(&bucket)[5].rsplit_once('/').map(|(day, _)| day.to_owned());
    let day = day.expect("keys have parts");
    let strange = [
        format!("{day}/"),
        format!("{day}/../../secret.json"),
        format!("{day}//empty.json"),
        format!("{day}/2026\u{1b}[2J-a-b.json"),
        format!("{day}/20261123T000000000Z-a-b.json"),
        format!("{day}/<Key>.json"),
        "nights/v1/usage_run/dt=2026-02-31/a.json".to_owned(),
        "nights/v1/usage_run/notes.txt".to_owned(),
        "nights/other".to_owned(),
        "nights-of-others/v1/usage_run/a.json".to_owned(),
    ];
    for key in &strange {
        bucket.put(key, b"theirs");
    }
    let second = fleet.audit(&today, Some(&url));
    assert_same(&second, &first);
    assert_eq!(second.reads, 2);
    assert!(!second.stderr.contains("warning"), "{}", second.stderr);
    for key in &strange {
        assert_eq!(bucket.get(key), b"theirs", "{key}");
    }
}

#[test]
fn a_bucket_that_cannot_be_listed_ends_an_audit_before_it_costs() {
    let Some(fleet) = Fleet::open(1) else { return };
    let bucket = Bucket::of(&fleet.account);
    let today = fleet.days.as_of();
    let gone = fleet.run(&today, Some("s3://gpucost-is-not-there/nights"));
    let said = gone.error(1);
    let expected = "error: s3://gpucost-is-not-there/nights/v1/usage_run: 404 Not Found: \
                    NoSuchBucket: The specified bucket does not exist\n\
                    hint: check the name of the bucket; `gpucost setup iam --history \
                    s3://gpucost-is-not-there/nights` prints the permissions that it takes\n";
    assert_eq!(said, expected);

    let target = Target::operation("s3", "ListObjectsV2");
    let loopback = &fleet.account.loopback;
    let saying = Fault::AccessDeniedSaying("no, X-Amz-Security-Token: abc");
    loopback.inject(target.clone(), saying, Times::Always);
    let denied = fleet.run(&today, Some(&bucket.url("nights")));
    let said = denied.error(1);
    assert!(said.contains(": 403 Forbidden: AccessDenied: no, (not shown)\n"), "{said}");
    assert_eq!(loopback.calls("cloudwatch", "GetMetricData"), 0);

    // What passes is waited for.
    loopback.clear_faults();
    for fault in [Fault::Throttle, Fault::ServerError, Fault::DropConnection] {
        loopback.inject(target.clone(), fault, Times::Count(1));
    }
    let passing = fleet.audit(&today, Some(&bucket.url("nights")));
    assert!(!passing.stderr.contains("warning"), "{}", passing.stderr);
    assert_eq!(calls(&fleet)[0], 4);
    assert_eq!(lists(&bucket).len(), DAYS);
}

#[test]
fn what_cannot_be_written_or_read_is_a_warning() {
    let Some(fleet) = Fleet::open(1) else { return };
    let bucket = Bucket::of(&fleet.account);
    let (today, url) = (fleet.days.as_of(), bucket.url("nights"));
    let plain = fleet.audit(&today, None);
    let loopback = &fleet.account.loopback;
    let put = Target::operation("s3", "PutObject");
    loopback.inject(put, Fault::AccessDenied, Times::Always);
    let denied = fleet.audit(&today, Some(&url));
    assert_same(&denied, &plain);
    assert!(denied.stderr.contains(": 403 Forbidden: AccessDenied: "));
    assert!(bucket.keys("").is_empty());
    loopback.clear_faults();

    fleet.audit(&today, Some(&url));
    let get = Target::operation("s3", "GetObject");
    // An answer that would go on for ever says no length.
    loopback.inject(get, Fault::Endless, Times::Count(1));
    let endless = fleet.audit(&today, Some(&url));
    assert_same(&endless, &plain);
    // Both ends, and the day, which is asked beside an end if it is next to it.
    assert!((2..=3).contains(&endless.reads), "{}", endless.stderr);
    assert!(endless.stderr.contains("warning: the history cannot use s3://"));
}
