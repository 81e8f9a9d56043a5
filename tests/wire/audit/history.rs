//! `--history`: days that are over are asked once. A later audit asks for what is new, and
//! says the same as a fresh one.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::account::Account;
use super::command::{Gpucost, Run};
use super::days::Days;
use super::signals::{Dimensions, Load, Signal, Subject, cpu_always};
use crate::wire::fleet::{Launch, launch};
use crate::wire::loopback::{Fault, Price, Target, Times};

const REGION: &str = "us-east-1";
const TYPE: &str = "p4d.24xlarge";

/// No two hours alike, with a hole every ten hours.
const UNEVEN: Load = Load {
    percent: |gpu, period| {
        let level = (period * 7 + i64::from(gpu) * 13) % 101;
        (period % 120 > 0).then_some(level as f64)
    },
    memory_mib: |gpu, period| (period % 997) as f64 * 31.0 + f64::from(gpu),
};

/// Machines with eight GPUs, launched before the window.
pub(super) struct Fleet {
    pub(super) account: Account,
    pub(super) days: Days,
    home: TempDir,
}

/// What an audit said, without what the run itself cost, and its calls.
pub(super) struct Audited {
    pub(super) report: Value,
    pub(super) stderr: String,
    pub(super) lists: usize,
    pub(super) reads: usize,
}

impl Fleet {
    pub(super) fn open(machines: usize) -> Option<Self> {
        let account = Account::open()?;
        let fleet = Self {
            account,
            days: Days::past(),
            home: tempfile::tempdir().expect("a scratch folder"),
        };
        let loopback = &fleet.account.loopback;
        loopback.backdate_launches(fleet.days.long_before());
        loopback.put_price(Price::linux(TYPE, REGION, "32.77"));
        fleet.add(machines);
        Some(fleet)
    }

    /// Launches machines that were measured over all of the window.
    fn add(&self, machines: usize) {
        let loopback = &self.account.loopback;
        let plan = vec![Launch::on_demand("us-east-1a", TYPE); machines];
        for launched in launch(loopback, &plan) {
            let subject =
                Subject { region: REGION, instance_type: TYPE, gpus: 8, launched: &launched };
            let load = Signal::Agent(Dimensions::InstanceId, UNEVEN);
            subject.measure(loopback, self.days, cpu_always, load);
            let own = [("InstanceId", launched.instance_id.as_str())];
            for (name, factor) in [("NetworkIn", 1e9), ("NetworkOut", 7e8)] {
                let bytes = |period: i64| Some((period % 53) as f64 * factor);
                let datums = self.days.datums(bytes);
                loopback.put_metric(REGION, "AWS/EC2", name, &own, datums);
            }
        }
    }

    fn folder(&self, history: &str) -> PathBuf {
        self.home.path().join(history)
    }

    /// An audit with a history in a folder of that name, or in a bucket.
    pub(super) fn command(&self, as_of: &str, history: Option<&str>) -> Gpucost {
        let mut command = Gpucost::new(&["audit", "--format", "json", "--lookback", "14d"])
            .args(&["--as-of", as_of, "--region", REGION]);
        if let Some(history) = history {
            let folder = self.folder(history);
            let folder = folder.to_str().expect("scratch folders have plain names");
            let is_bucket = history.starts_with("s3://");
            command = command.args(&["--history", if is_bucket { history } else { folder }]);
        }
        command.of(&self.account)
    }

    pub(super) fn run(&self, as_of: &str, history: Option<&str>) -> Run {
        self.account.loopback.reset_calls();
        self.command(as_of, history).run()
    }

    pub(super) fn audit(&self, as_of: &str, history: Option<&str>) -> Audited {
        let run = self.run(as_of, history);
        let mut report = run.json(0);
        let api = report.as_object_mut().and_then(|fields| fields.remove("api"));
        assert!(api.is_some(), "it says what it cost");
        let calls = |operation| self.account.loopback.calls("cloudwatch", operation);
        Audited {
            report,
            stderr: run.stderr,
            lists: calls("ListMetrics"),
            reads: calls("GetMetricData"),
        }
    }
}

/// Figures and verdicts, which are those of any command line.
pub(super) fn judged(audited: &Audited) -> [&Value; 3] {
    ["summary", "workloads", "gaps"].map(|key| &audited.report[key])
}

#[track_caller]
pub(super) fn assert_same(left: &Audited, right: &Audited) {
    assert_eq!(judged(left), judged(right));
    assert_ne!(left.report["workloads"], Value::Array(Vec::new()));
}

/// Every file in a folder and below.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

/// Four machines have 4 × (33 × 4,032 and what is read by the hour) points in 14 days, which
/// are six pages of 100,800 points. A day and a half of them is less than one.
#[test]
fn a_second_audit_asks_for_what_is_new_and_says_the_same() {
    let Some(fleet) = Fleet::open(4) else { return };
    let (today, yesterday) = (fleet.days.as_of(), fleet.days.the_day_before());
    let plain = fleet.audit(&today, None);
    assert_eq!((plain.lists, plain.reads), (3, 6));

    let first = fleet.audit(&today, Some("same-day"));
    assert_same(&first, &plain);
    assert_eq!((first.lists, first.reads), (3, 6));
    let second = fleet.audit(&today, Some("same-day"));
    assert_eq!(second.report, first.report);
    assert!(!second.stderr.contains("warning: the history"));
    // The part of the first day before midnight, and that of the last day after it.
    assert_eq!((second.lists, second.reads), (3, 2));

    fleet.audit(&yesterday, Some("next-day"));
    for _ in 0..2 {
        // Yesterday is over now, and is asked together with what came after it.
        let next = fleet.audit(&today, Some("next-day"));
        assert_same(&next, &plain);
        assert_eq!((next.lists, next.reads), (3, 2));
    }

    // Thirteen whole days, of four tables and their list each.
    assert_eq!(files(&fleet.folder("same-day")).len(), 13 * 5);
    assert_eq!(files(&fleet.folder("next-day")).len(), 14 * 5);
}

#[test]
fn a_machine_that_is_new_to_the_history_is_asked_for_all_days() {
    let Some(fleet) = Fleet::open(1) else { return };
    let as_of = fleet.days.as_of();
    fleet.audit(&as_of, Some("history"));
    fleet.add(1);
    let plain = fleet.audit(&as_of, None);
    let second = fleet.audit(&as_of, Some("history"));
    assert_same(&second, &plain);
    // Both ends of the known one, and two pages of the new one.
    assert_eq!(second.reads, 4);
    let third = fleet.audit(&as_of, Some("history"));
    assert_same(&third, &plain);
    assert_eq!(third.reads, 2);
}

#[test]
fn a_day_that_could_not_be_read_is_not_kept() {
    let Some(fleet) = Fleet::open(1) else { return };
    let as_of = fleet.days.as_of();
    let plain = fleet.audit(&as_of, None);
    let target = Target::operation("cloudwatch", "GetMetricData");
    let loopback = &fleet.account.loopback;
    loopback.inject(target, Fault::AccessDenied, Times::Always);
    let denied = fleet.audit(&as_of, Some("history"));
    assert_ne!(judged(&denied), judged(&plain));
    assert!(files(&fleet.folder("history")).is_empty());
    loopback.clear_faults();
    let second = fleet.audit(&as_of, Some("history"));
    assert_same(&second, &plain);
    assert_eq!(second.reads, plain.reads);
}

#[test]
fn a_day_that_was_answered_in_part_is_not_kept() {
    // A last page that promises another, and one that failed: neither has the values.
    for status in ["PartialData", "InternalError"] {
        let Some(fleet) = Fleet::open(1) else { return };
        let as_of = fleet.days.as_of();
        let plain = fleet.audit(&as_of, None);
        let loopback = &fleet.account.loopback;
        loopback.refuse_metric("nvidia_smi_utilization_gpu", status);
        let part = fleet.audit(&as_of, Some("history"));
        let gaps = part.report["gaps"].as_array().expect("a list");
        let reason = format!("cloudwatch:GetMetricData: {status}; ");
        let mut reasons = gaps.iter().filter_map(|gap| gap["reason"].as_str());
        assert!(reasons.any(|text| text.starts_with(&reason)), "{gaps:?}");
        assert!(files(&fleet.folder("history")).is_empty(), "{status}");
        loopback.read_metrics();
        let second = fleet.audit(&as_of, Some("history"));
        assert_same(&second, &plain);
        assert_eq!(second.reads, plain.reads);
    }
}

#[test]
fn a_damaged_day_is_asked_again_with_a_warning() {
    let Some(fleet) = Fleet::open(1) else { return };
    let as_of = fleet.days.as_of();
    let first = fleet.audit(&as_of, Some("history"));
    let tables = files(&fleet.folder("history").join("v1/usage_grid"));
    let damaged = &tables[5];
    let mut bytes = std::fs::read(damaged).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(damaged, bytes).expect("our own folder");

    let second = fleet.audit(&as_of, Some("history"));
    assert_eq!(second.report, first.report);
    // Both ends, and the day.
    assert_eq!(second.reads, 3);
    let warning = format!(
        "warning: the history cannot use {}: its checksum is not the one that was written\n\
         hint: the metrics were read from CloudWatch; ",
        damaged.display()
    );
    assert!(second.stderr.contains(&warning), "{}", second.stderr);

    // What was read instead is kept. The warning ends when its hint is followed.
    let third = fleet.audit(&as_of, Some("history"));
    assert_eq!((&third.report, third.reads), (&first.report, 2));
    assert!(third.stderr.contains(&warning), "{}", third.stderr);
    let list = damaged.to_str().expect("scratch folders have plain names");
    let list = list.replace("usage_grid", "usage_run");
    std::fs::remove_file(list.replace(".parquet", ".json")).expect("our own folder");
    let fourth = fleet.audit(&as_of, Some("history"));
    assert_eq!((&fourth.report, fourth.reads), (&first.report, 2));
    assert!(!fourth.stderr.contains("warning: the history"));
}

#[test]
fn what_a_history_cannot_keep_is_refused() {
    let refused = |further: &[&str]| {
        let run = Gpucost::new(&["audit", "--history", "history"]).args(further).run();
        run.error(2).to_owned()
    };
    assert_eq!(
        refused(&["--resolution", "auto"]),
        "error: `--history` keeps every period, which `--resolution auto` does not read\n\
         hint: use `--resolution full`, which reads each day once\n"
    );
    let said = refused(&["--prometheus-url", "http://127.0.0.1:9"]);
    let expected = "error: `--history` keeps metrics of CloudWatch alone\n";
    assert!(said.starts_with(expected), "{said}");
    for flags in [["--save", "est.json"], ["--from", "est.json"]] {
        let said = refused(&flags);
        assert!(said.contains("cannot be used with"), "{said}");
    }
}
