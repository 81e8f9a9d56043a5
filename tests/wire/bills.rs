//! `gpucost bill` of a bucket: what it is of a directory, and what only a network and other people
//! bring about.

use std::path::Path;

use serde_json::Value;

use super::audit::account::Account;
use super::audit::command::{Gpucost, Run};
use super::bucket::Bucket;
use super::loopback::{Fault, Target, Times};

/// By hand in `tests/cli/bills.rs`: what 29 lines cost, and four instances of them.
const HEADLINE: &str = "4 GPU instances cost $71.45 with commitments spread, $79.63 as billed, of \
                        $203.89 in all";
const MANIFEST: &str = r#"{"dataFiles": ["s3://b/e/data/BILLING_PERIOD=2026-10/a2/e-1.csv"]}"#;

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("fixtures/bills").join(name);
    std::fs::read_to_string(path).expect("a fixture")
}

/// Objects of an export below `e/`: two readings of a month, of which the manifest names the
/// second, and what lies beside them.
fn export() -> Vec<(&'static str, String)> {
    let bill = fixture("cur2.csv");
    let mut lines = bill.lines();
    let header = lines.next().expect("a header");
    let half = [header, lines.next().expect("a line")].join("\n");
    vec![
        ("e/data/BILLING_PERIOD=2026-10/a1/e-1.csv", half),
        ("e/data/BILLING_PERIOD=2026-10/a2/e-1.csv", bill),
        ("e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json", MANIFEST.to_owned()),
        ("e/data/_spark/e-9.csv", "theirs".to_owned()),
        ("e/notes.txt", "theirs".to_owned()),
    ]
}

fn run(account: &Account, url: &str, more: &[&str]) -> Run {
    account.loopback.reset_calls();
    Gpucost::new(&[&["bill", url][..], more].concat()).of(account).run()
}

fn document(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// How often the last run listed, read and created objects, and asked whether they are there.
fn calls(account: &Account) -> [usize; 4] {
    ["ListObjectsV2", "GetObject", "PutObject", "HeadObject"]
        .map(|operation| account.loopback.calls("s3", operation))
}

#[test]
fn an_export_is_read_below_a_prefix_as_in_a_directory() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    for (key, text) in export() {
        bucket.put(key, text.as_bytes());
    }
    let json = ["--group-by", "tag:team", "--format", "json"];
    let remote = document(&run(&account, &bucket.url("e"), &json));
    assert_eq!(remote["headline"], HEADLINE);
    // The manifest and the file of the latest reading; nothing is written.
    assert_eq!(calls(&account), [1, 2, 0, 0]);

    let mut local = Gpucost::new(&[&["bill", "e"][..], &json].concat());
    for (key, text) in export() {
        let path = local.folder().join(key);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        std::fs::write(path, text).expect("writable");
    }
    let local = document(&local.run());
    for key in ["steps", "instances", "types", "kinds", "groups", "commitments", "caveats"] {
        assert_eq!(remote[key], local[key], "{key}");
    }
    let name = "data/BILLING_PERIOD=2026-10/a2/e-1.csv";
    assert_eq!(remote["sources"][0]["file"], bucket.url(&format!("e/{name}")));
    assert_eq!(local["sources"][0]["file"], format!("e/{name}"));

    // The same by the bucket, by the period, and by the object, beside a file of this host.
    let bucket_bill = document(&run(&account, &bucket.url(""), &json));
    assert_eq!(bucket_bill["kinds"], remote["kinds"]);
    let period = bucket.url("e/data/BILLING_PERIOD=2026-10/a2");
    let period = document(&run(&account, &period, &json));
    assert_eq!(period["kinds"], remote["kinds"]);
    let object = bucket.url(&format!("e/{name}"));
    let object_bill = document(&run(&account, &object, &json));
    assert_eq!(object_bill["kinds"], remote["kinds"]);
    // It is not listed.
    assert_eq!(calls(&account), [0, 1, 0, 0]);
    let twice = run(&account, &object, &[&object]);
    assert!(twice.error(2).contains("has the same lines as"));
}

#[test]
fn what_was_fetched_goes() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    bucket.put("e/a.csv", fixture("legacy.csv").as_bytes());
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let run = Gpucost::new(&["bill", &bucket.url("e")])
        .of(&account)
        .temporary_files_in(scratch.path())
        .run();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with(HEADLINE), "{}", run.stdout);
    let left = std::fs::read_dir(scratch.path()).expect("readable").count();
    assert_eq!(left, 0);
}

#[test]
fn a_bucket_that_cannot_be_read_is_named_with_what_it_takes() {
    let Some(account) = Account::open() else { return };
    let bucket = Bucket::of(&account);
    bucket.put("e/a.csv", fixture("cur2.csv").as_bytes());
    let gone = run(&account, "s3://gpucost-is-not-there/e", &[]);
    let expected = "error: cannot read the bill s3://gpucost-is-not-there/e\n\
                    \x20 caused by: 404 Not Found: NoSuchBucket: The specified bucket does not exist\n\
                    hint: check the names of the bucket and the key; `gpucost setup iam --bill \
                    s3://gpucost-is-not-there/e` prints the permissions that it takes\n";
    assert_eq!(gone.error(1), expected);

    let url = bucket.url("e/b.csv");
    let missing = run(&account, &url, &[]);
    let said = missing.error(1);
    assert!(said.contains(&url) && said.contains("NoSuchKey"), "{said}");
    // Nothing below it is a bill.
    let empty = run(&account, &bucket.url("elsewhere"), &[]);
    assert!(empty.error(2).contains("contains no files of a bill"));

    let loopback = &account.loopback;
    for operation in ["ListObjectsV2", "GetObject"] {
        let target = Target::operation("s3", operation);
        loopback.inject(target, Fault::AccessDenied, Times::Always);
        let denied = run(&account, &bucket.url("e"), &[]);
        let said = denied.error(1);
        assert!(said.contains("403 Forbidden: AccessDenied: "), "{said}");
        assert!(said.contains("`gpucost setup iam --bill s3://"), "{said}");
        loopback.clear_faults();
    }
    // What passes is waited for.
    for fault in [Fault::Throttle, Fault::ServerError, Fault::DropConnection] {
        let target = Target::operation("s3", "GetObject");
        loopback.inject(target, fault, Times::Count(1));
    }
    let passing = run(&account, &bucket.url("e"), &[]);
    assert!(passing.stdout.starts_with(HEADLINE), "{}", passing.stderr);
}
