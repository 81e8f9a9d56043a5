//! `gpucost history` in a bucket: what it is in a directory, and what only a network, other
//! writers and other people bring about.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::audit::account::Account;
use super::audit::command::{Gpucost, Run};
use super::bucket::Bucket;
use super::loopback::{Fault, Target, Times};

/// Tables of the demo: of thirteen days that were over, of the actions of its plan, and of the
/// hours of its instances.
const TABLES: usize = 15;
/// With the file of the run.
const FILES: usize = TABLES + 1;
/// How long a writer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// `gpucost history ACTION URL …`.
fn command(account: &Account, action: &str, url: &str, more: &[&str]) -> Gpucost {
    Gpucost::new(&[&["history", action, url][..], more].concat()).of(account)
}

fn run(account: &Account, action: &str, url: &str, more: &[&str]) -> Run {
    account.loopback.reset_calls();
    command(account, action, url, more).run()
}

/// Runs an action that succeeds, and gives what it says.
#[track_caller]
fn done(account: &Account, action: &str, url: &str, more: &[&str]) -> String {
    let run = run(account, action, url, more);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    run.stdout
}

/// Records the demo.
#[track_caller]
fn record(account: &Account, url: &str) -> String {
    done(account, "record", url, &["--demo"])
}

/// Checks that every object is as it was written, and that no other is there.
#[track_caller]
fn assert_whole(account: &Account, url: &str) {
    let said = done(account, "verify", url, &["--strict"]);
    let end = format!(" in {url}\nevery file is as it was written\n");
    assert!(said.ends_with(&end), "{said}");
}

/// How often the last run listed, read and created objects, and asked whether they are there.
fn calls(account: &Account) -> [usize; 4] {
    ["ListObjectsV2", "GetObject", "PutObject", "HeadObject"]
        .map(|operation| account.loopback.calls("s3", operation))
}

/// The one object of a table that has one.
fn only(bucket: &Bucket<'_>, prefix: &str) -> String {
    let keys = bucket.keys(prefix);
    assert_eq!(keys.len(), 1, "{keys:?}");
    keys.into_iter().next().expect("there is one")
}

/// Files in a folder and below, by their names from its root on.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let parts = path.strip_prefix(root).expect("it is below").iter();
            let parts: Vec<&str> = parts.map(|part| part.to_str().expect("UTF-8")).collect();
            contents.insert(parts.join("/"), std::fs::read(&path).expect("readable"));
        }
    }
    contents
}

#[test]
fn an_audit_is_kept_once_and_as_in_a_directory() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    let url = bucket.url("gpu/nights");
    let said = record(&account, &url);
    let days = "recorded 13 days (2026-10-18 to 2026-10-30) and ";
    assert!(said.starts_with(days), "{said}");
    assert!(said.ends_with(&format!(" in {url}\n")), "{said}");
    // Of runs and of days it is listed what there is.
    assert_eq!(calls(&account), [2, 0, FILES, 0]);
    let said = record(&account, &url);
    let end = format!(" was recorded in {url} before; nothing was changed\n");
    assert!(said.ends_with(&end), "{said}");
    assert_eq!(calls(&account), [2, 0, 0, 0]);
    assert_whole(&account, &url);
    // A list of everything and two of bills, and every object once.
    assert_eq!(calls(&account), [3, FILES, 0, 0]);

    let folder = tempfile::tempdir().expect("a scratch folder");
    let place = folder.path().to_str().expect("plain names");
    record(&account, place);
    assert_eq!(calls(&account), [0; 4]);
    let files = files(folder.path());
    assert_eq!(files.len(), FILES);
    let keys = bucket.keys("");
    let own = files.keys().map(|name| format!("gpu/nights/{name}"));
    assert_eq!(keys, own.collect::<Vec<_>>());
    for (name, bytes) in &files {
        assert_eq!(&bucket.get(&format!("gpu/nights/{name}")), bytes, "{name}");
    }
}

#[test]
fn writers_at_once_keep_what_one_keeps() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    let url = bucket.url("nights");
    let mut commands = [0; 3].map(|_| command(&account, "record", &url, &["--demo"]));
    let started = commands.each_mut().map(|command| command.start());
    let mut recorded = false;
    for child in started {
        let run = Run::of(child);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let is_new = run.stdout.starts_with("recorded 13 days ");
        let was_there = run.stdout.contains("before; nothing was changed");
        assert!(is_new || was_there, "{}", run.stdout);
        recorded |= is_new;
    }
    assert!(recorded, "one of them created the file of the run");
    assert_eq!(bucket.keys("").len(), FILES);
    assert_whole(&account, &url);
}

#[test]
fn tables_that_are_there_are_the_run_s_own_or_an_error() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    let url = bucket.url("nights");
    record(&account, &url);
    let run_file = only(&bucket, "nights/v1/run/");
    let keys = bucket.keys("");
    // S3 refuses each table, which is asked for and compared.
    bucket.delete(&run_file);
    let said = record(&account, &url);
    assert!(said.starts_with("recorded 13 days "), "{said}");
    assert_eq!(calls(&account), [2, TABLES, FILES, TABLES]);
    assert_eq!(bucket.keys(""), keys);

    bucket.delete(&run_file);
    let costs = bucket.keys("nights/v1/cost/");
    bucket.put(&costs[3], b"theirs");
    let refused = run(&account, "record", &url, &["--demo"]);
    let said = refused.error(1);
    let place = format!(
        "error: s3://{}/{}: it is there, and holds something else\n",
        bucket.name, costs[3]
    );
    assert!(said.starts_with(&place), "{said}");
    assert!(said.contains(&format!("gpucost history verify {url}")), "{said}");
    assert_eq!(bucket.get(&costs[3]), b"theirs");
    assert!(!bucket.keys("").contains(&run_file));
}

#[test]
fn a_writer_that_is_killed_leaves_nothing_that_counts() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    let url = bucket.url("nights");
    let put = Target::operation("s3", "PutObject");
    account.loopback.inject(put, Fault::Hang, Times::Count(1));
    let mut child = command(&account, "record", &url, &["--demo"]).start();
    let begin = Instant::now();
    while bucket.keys("").len() < TABLES - 1 {
        assert!(begin.elapsed() < PATIENCE, "{:?}", bucket.keys(""));
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("our own child can be killed");
    child.wait().expect("our own child can be asked");
    account.loopback.clear_faults();
    let left = bucket.keys("");
    assert_eq!(left.len(), TABLES - 1, "{left:?}");

    // They are harmless, and named.
    let said = done(&account, "verify", &url, &[]);
    assert!(said.contains("\n14 files half-written: "), "{said}");
    assert_eq!(run(&account, "verify", &url, &["--strict"]).code, 3);
    let said = record(&account, &url);
    assert!(said.starts_with("recorded 13 days "), "{said}");
    assert_eq!(bucket.keys("").len(), FILES);
    assert_whole(&account, &url);
}

#[test]
fn a_thousand_nights_are_listed_to_the_end() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    let url = bucket.url("nights");
    record(&account, &url);
    // They come before it, and fill a page.
    for night in 0..1_000 {
        let id = format!("20200101T000000Z-{night:016x}");
        bucket.put(&format!("nights/v1/run/dt=2020-01-01/{id}.json"), b"{}");
    }
    let said = record(&account, &url);
    assert!(said.ends_with("before; nothing was changed\n"), "{said}");
    assert_eq!(calls(&account), [3, 0, 0, 0]);
}

#[test]
fn what_is_wrong_with_an_object_is_named() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    let url = bucket.url("nights");
    record(&account, &url);
    let costs = bucket.keys("nights/v1/cost/");
    let mut flipped = bucket.get(&costs[1]);
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    bucket.put(&costs[1], &flipped);
    let short = bucket.get(&costs[3]);
    bucket.put(&costs[3], &short[..short.len() - 1]);
    bucket.put(&costs[5], &bucket.get(&costs[6]));
    let mut long = bucket.get(&costs[8]);
    long.resize(4 << 20, 0);
    bucket.put(&costs[8], &long);
    bucket.delete(&costs[10]);
    let unknown = "nights/v1/run/dt=2026-11-01/20261101T000000Z-0000000000000000.json";
    bucket.put(unknown, &vec![b' '; 2 << 20]);

    let damaged = run(&account, "verify", &url, &[]);
    assert_eq!(damaged.code, 3, "{}", damaged.stderr);
    let (_, rest) = damaged.stdout.split_once("\n\n").expect("a list");
    let (lost, missing) = rest.split_once("\n\n").expect("two lists");
    let places = |text: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix("  s3://"));
        let places = lines.map(|line| {
            let (place, _) = line.split_once(": ").expect("a reason");
            let (_, key) = place.split_once('/').expect("a key");
            key.to_owned()
        });
        places.collect::<Vec<_>>()
    };
    assert!(lost.starts_with("5 files damaged: "), "{lost}");
    let [one, three, five, eight] = [1, 3, 5, 8].map(|at: usize| costs[at].clone());
    assert_eq!(places(lost), [one, three, five, eight, unknown.to_owned()]);
    assert!(missing.starts_with("1 file missing: "), "{missing}");
    assert_eq!(places(missing), [costs[10].clone()]);

    // What cannot be reached is not called damaged.
    let get = Target::operation("s3", "GetObject");
    let loopback = &account.loopback;
    loopback.inject(get, Fault::AccessDenied, Times::Always);
    let denied = run(&account, "verify", &url, &[]);
    let said = denied.error(1);
    assert!(said.contains(": 403 Forbidden: AccessDenied: "), "{said}");
    assert!(said.contains(&format!("`gpucost setup iam --history {url}`")));
}

#[test]
fn a_bucket_that_takes_nothing_keeps_nothing() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    let url = bucket.url("nights");
    let loopback = &account.loopback;
    let put = Target::operation("s3", "PutObject");
    loopback.inject(put.clone(), Fault::AccessDenied, Times::Always);
    let denied = run(&account, "record", &url, &["--demo"]);
    let said = denied.error(1);
    assert!(said.contains(": 403 Forbidden: AccessDenied: "), "{said}");
    assert!(said.contains(&format!("`gpucost setup iam --history {url}`")));
    assert!(bucket.keys("").is_empty());
    // What passes is waited for.
    loopback.clear_faults();
    for fault in [Fault::Throttle, Fault::ServerError, Fault::DropConnection] {
        loopback.inject(put.clone(), fault, Times::Count(1));
    }
    let said = record(&account, &url);
    assert!(said.starts_with("recorded 13 days "), "{said}");
    assert_eq!(calls(&account)[2], FILES + 3);
    assert_whole(&account, &url);
}
