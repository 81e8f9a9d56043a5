//! `explain` after an audit of a live account: from what the audit left in the
//! cache, without asking anybody.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::account::Account;
use super::command::{Gpucost, Run};
use super::days::Days;
use super::signals::{self, Dimensions, Signal, Subject};
use crate::wire::fleet::{Launch, launch};
use crate::wire::loopback::{Fault, Price, Target, Times};

/// An account with one instance that works in office hours, and a cache.
struct Audited {
    account: Account,
    days: Days,
    cache: TempDir,
}

impl Audited {
    fn open() -> Option<Self> {
        let account = Account::open()?;
        let days = Days::ahead();
        let plan = [Launch::on_demand("us-east-1a", "g5.xlarge")];
        for launched in launch(&account.loopback, &plan) {
            let subject = Subject {
                region: "us-east-1",
                instance_type: "g5.xlarge",
                gpus: 1,
                launched: &launched,
            };
            let load = Signal::Agent(Dimensions::InstanceId, signals::OFFICE_HOURS);
            subject.measure(&account.loopback, days, signals::cpu_office_hours, load);
        }
        let price = Price::linux("g5.xlarge", "us-east-1", "1.10");
        account.loopback.put_price(price);
        Some(Self {
            account,
            days,
            cache: tempfile::tempdir().expect("a scratch folder can be made"),
        })
    }

    fn audit(&self) -> Gpucost {
        Gpucost::audit(self.days)
            .of(&self.account)
            .cache_in(self.cache.path())
            .args(&["--region", "us-east-1"])
    }

    fn kept(&self) -> PathBuf {
        self.cache.path().join("last-estate.json.gz")
    }
}

/// Explains without an endpoint and without credentials.
fn explain(cache: &Path, arguments: &[&str]) -> Run {
    Gpucost::new(&[&["explain"], arguments].concat()).cache_in(cache).run()
}

#[test]
fn the_kept_estate_gives_the_figures_of_the_audit() {
    let Some(audited) = Audited::open() else { return };
    let mut audit = audited.audit().args(&["--save", "est.json"]);
    let report = audit.run().json(0);
    let saved = audit.folder().join("est.json");
    let saved = saved.to_str().expect("UTF-8");
    audited.account.loopback.reset_calls();
    let entries = |list: &str| report[list].as_array().expect("a list").clone();
    let reported = [entries("workloads"), entries("findings")].concat();
    assert!(!reported.is_empty(), "{report}");
    for finding in reported {
        let id = finding["id"].as_str().expect("an id");
        let from_cache = explain(audited.cache.path(), &[id]);
        assert_eq!(from_cache.code, 0, "{}", from_cache.stderr);
        let nowhere = tempfile::tempdir().expect("a scratch folder can be made");
        let from_file = explain(nowhere.path(), &[id, "--from", saved]);
        assert_eq!(from_cache.stdout, from_file.stdout);
        if let Some(saving) = finding["monthly_savings"].as_f64() {
            let reported = format!("${saving:.2} per month if applied alone");
            assert!(from_cache.stdout.contains(&reported), "{}", from_cache.stdout);
        }
        // Up eight of 24 hours at the price that was put there.
        let cost = "1 × 1.1/h × 243.3333333333 h = 267.666667 per month";
        assert!(from_cache.stdout.contains(cost), "{}", from_cache.stdout);
    }
    let calls: usize = audited.account.loopback.call_counts().values().sum();
    assert_eq!(calls, 0);
}

#[test]
fn only_the_user_may_read_it() {
    let Some(audited) = Audited::open() else { return };
    audited.audit().run().json(0);
    let metadata = fs::metadata(audited.kept()).expect("it was kept");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    // An older one that others may read is replaced by one that they may not.
    fs::set_permissions(audited.kept(), fs::Permissions::from_mode(0o644)).expect("our own file");
    audited.audit().run().json(0);
    let metadata = fs::metadata(audited.kept()).expect("it was kept");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[test]
fn none_is_kept_where_it_is_unwanted() {
    let Some(audited) = Audited::open() else { return };
    audited.audit().args(&["--no-cache"]).run().json(0);
    assert!(!audited.kept().exists());
    let said = explain(audited.cache.path(), &["g5"]);
    let said = said.error(2);
    assert!(
        said.starts_with("error: no saved estate from a previous audit\nhint: run `gpucost audit`"),
        "{said}"
    );
}

#[test]
fn a_failed_audit_leaves_the_one_before() {
    let Some(audited) = Audited::open() else { return };
    let loopback = &audited.account.loopback;
    loopback.inject(Target::service("sts"), Fault::AuthFailure, Times::Count(1));
    audited.audit().run().error(1);
    assert!(!audited.kept().exists());
    audited.audit().run().json(0);
    let before = fs::read(audited.kept()).expect("it was kept");
    loopback.inject(Target::service("sts"), Fault::AuthFailure, Times::Count(1));
    audited.audit().run().error(1);
    assert_eq!(fs::read(audited.kept()).expect("it is there"), before);
}

#[test]
fn that_it_could_not_be_kept_is_a_warning() {
    let Some(audited) = Audited::open() else { return };
    let folder = audited.kept();
    fs::create_dir_all(folder.join("mine")).expect("our own folder");
    let run = audited.audit().run();
    let report = run.json(0);
    assert_eq!(report["workloads"].as_array().map(Vec::len), Some(1));
    let said =
        format!("warning: the estate was not saved for `gpucost explain`: {}: ", folder.display());
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    assert!(run.stderr.contains("\nhint: pass `--no-cache` to skip saving"), "{}", run.stderr);
}

#[test]
fn a_temporary_folder_that_takes_no_metrics_is_named() {
    let Some(audited) = Audited::open() else { return };
    let folder = audited.cache.path().join("missing");
    let run = audited.audit().temporary_files_in(&folder).run();
    run.json(0);
    let cannot = format!("cannot write metrics to a temporary file in {}", folder.display());
    let said = format!("warning: the estate was not saved for `gpucost explain`: {cannot}: ");
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    assert!(
        run.stderr.contains(
            "\nhint: pass `--no-cache` to skip saving, or set TMPDIR to a directory with enough \
             space, such as `TMPDIR=/var/tmp gpucost audit`\n"
        ),
        "{}",
        run.stderr
    );
    assert!(!audited.kept().exists());
    let run = audited
        .audit()
        .temporary_files_in(&folder)
        .args(&["--save", "est.json", "--no-cache"])
        .run();
    let said = run.error(1);
    assert!(said.contains(&format!("error: {cannot}\n  caused by: ")), "{said}");
    assert!(said.contains("\nhint: set TMPDIR to a directory with enough space"), "{said}");
}
