//! Runs of `gpucost profile` joined into an audit: what they may say, and where
//! they must stay silent.

use crate::rules::builder::{Machine, as_of, audited, estate, first, flat};
use crate::rules::runs::{Run, joined};
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::domain::{
    ActionKind, Classification, Confidence, Finding, Metric, Policy, Risk, RunEnd, SeriesSource,
    UsageState,
};
use gpucost::profiling::join_profiles;
use jiff::SignedDuration;
use proptest::prelude::*;
use rust_decimal::Decimal;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

fn workload<'a>(audit: &'a Audit, id: &str) -> &'a AuditedWorkload {
    let row = audit.workloads.iter().find(|row| row.workload.id() == id);
    row.expect("the workload")
}

fn only(audit: &Audit) -> &AuditedWorkload {
    assert_eq!(audit.workloads.len(), 1);
    &audit.workloads[0]
}

fn finding<'a>(audit: &'a Audit, rule: &str) -> &'a Finding {
    let reported = audit.findings.iter().find(|reported| reported.rule() == rule);
    reported.unwrap_or_else(|| panic!("{rule} fires"))
}

fn kinds(audited: &AuditedWorkload) -> Vec<ActionKind> {
    audited.actions.iter().map(|action| action.kind()).collect()
}

/// A machine with four A10G that reports its CPU and nothing of its GPUs.
fn silent(id: &str) -> Machine {
    Machine::new(id, "g5.12xlarge").cpu(flat(5.0))
}

/// One GPU of four at work, for 2.4 hours.
const ONE_OF_FOUR: [(f64, f64); 4] = [(70.0, 13_500.0), (0.0, 3.0), (0.0, 3.0), (0.0, 3.0)];

fn complete() -> Run {
    Run::of("i-1", 144, 100, &ONE_OF_FOUR).host(96.0, 40_000.0)
}

#[test]
fn a_complete_run_brings_a_verdict_and_its_dollars() {
    let before = audited(&estate(vec![silent("i-1")]));
    let verdict = &only(&before).verdict;
    assert_eq!(verdict.classification, Classification::InsufficientData);
    assert_eq!(verdict.reason, "no GPU metric was reported");

    let audit = audited(&joined(vec![silent("i-1")], vec![complete()]));
    let row = only(&audit);
    assert_eq!(row.verdict.classification, Classification::Overprovisioned);
    assert_eq!(row.verdict.state, None);
    assert_eq!(row.verdict.confidence, Some(Confidence::Derived));
    // 70% of one of four GPUs.
    assert_eq!(row.verdict.reason, "mean GPU utilization 17.5% (< 25%) over one run of 2.4 h");
    let summary = row.workload.utilization.as_ref().expect("figures");
    assert_eq!(summary.source, SeriesSource::Profile);
    // The 144 minutes from 17:36 to 20:00 touch 29 periods of five minutes.
    assert_eq!((summary.n_samples, summary.expected_samples), (29, 29));
    assert_eq!(summary.window.end, as_of() - SignedDuration::from_hours(100));
    // The peak of 13 500 MiB × 1.2 fits an A10G and an L4, whose half bandwidth
    // would make 140% of 70%: 1.4 times as long. vCPU: what CloudWatch saw counts,
    // 5% of 48 × 1.2 = 2.88. Host memory of the run: 40 000 × 1.2 = 48 000 MiB,
    // which takes the 64 GiB of a g5.4xlarge. (5.672 − 1.624) × 730 = 2 955.04.
    let reported = finding(&audit, "overprovisioned-gpu");
    assert_eq!(reported.recommendation.to, "1 × g5.4xlarge");
    assert_eq!(reported.monthly_savings.map(|money| money.amount()), Some(decimal("2955.04")));
    assert_eq!(reported.title, "g5.12xlarge in one run of 2.4 h has 17.5% average utilization");
    assert_eq!(reported.confidence, Confidence::Derived);
    let steps = reported.recommendation.steps.join("\n");
    assert!(
        steps.contains("profile another typical run first: this is based on one run of 2.4 h"),
        "{steps}"
    );
    assert_eq!(
        finding(&audit, "unused-gpus").title,
        "3 of 4 GPUs of g5.12xlarge in one run of 2.4 h are never used"
    );
    assert_eq!(kinds(row), [ActionKind::Rightsize]);
    assert_eq!(audit.totals.monthly_cost, before.totals.monthly_cost);
    // A low risk does not rest on one run.
    let low = gpucost::analysis::audit(
        &joined(vec![silent("i-1")], vec![complete()]),
        &Policy::default(),
        Risk::Low,
    );
    assert!(only(&low).actions.is_empty());
}

#[test]
fn what_is_no_complete_run_in_the_window_changes_nothing() {
    let mut interrupted = complete();
    interrupted.end = None;
    let mut failed = complete();
    failed.end = failed.end.map(|end| RunEnd { exit_code: Some(1), ..end });
    let mut stopped = complete();
    stopped.end = stopped.end.map(|end| RunEnd { exit_code: None, ..end });
    let mut without_command = complete();
    without_command.facts.is_command = false;
    let covers_none = "does not cover a command from start to successful exit";
    let outside = "is outside the window";
    let before = Run::of("i-1", 144, 20 * 24, &ONE_OF_FOUR);
    // Ends an hour after the window begins, and began before it.
    let across = Run::of("i-1", 144, 14 * 24 - 1, &ONE_OF_FOUR);
    let after = Run::of("i-1", 144, -1, &ONE_OF_FOUR);
    for (name, run, why) in [
        ("interrupted", interrupted, covers_none),
        ("failed", failed, covers_none),
        ("killed", stopped, covers_none),
        ("no command", without_command, covers_none),
        ("before", before, outside),
        ("across", across, outside),
        ("after", after, outside),
    ] {
        let audit = audited(&joined(vec![silent("i-1")], vec![run]));
        let row = only(&audit);
        assert_eq!(row.verdict.classification, Classification::InsufficientData, "{name}");
        assert_eq!(
            row.verdict.reason,
            format!("no GPU metric was reported; the profile of i-1 {why}"),
            "{name}"
        );
        assert!(row.actions.is_empty(), "{name}");
        let cost = audited(&estate(vec![silent("i-1")])).totals.monthly_cost;
        assert_eq!(audit.totals.monthly_cost, cost, "{name}");
    }
}

#[test]
fn a_run_needs_as_many_samples_as_profile_itself() {
    let reason = |run: Run| {
        let audit = audited(&joined(vec![silent("i-1")], vec![run]));
        let row = only(&audit);
        assert_eq!(row.verdict.classification, Classification::InsufficientData);
        let rules: Vec<&str> = audit.findings.iter().map(Finding::rule).collect();
        assert!(row.actions.is_empty() && !rules.contains(&"overprovisioned-gpu"));
        row.verdict.reason.clone()
    };
    // A sample a minute: one in one minute, four in four, five in five.
    let minutes = |minutes| Run::of("i-1", minutes, 100, &ONE_OF_FOUR);
    assert_eq!(
        reason(minutes(1)),
        "no GPU metric was reported; the profile of i-1: 1 sample of the GPUs, 5 needed"
    );
    assert_eq!(
        reason(minutes(4)),
        "no GPU metric was reported; the profile of i-1: 4 samples of the GPUs, 5 needed"
    );
    let audit = audited(&joined(vec![silent("i-1")], vec![minutes(5)]));
    assert_eq!(only(&audit).verdict.classification, Classification::Overprovisioned);
    // Every period has a sample, and of six that were due one was taken.
    let mut sparse = complete();
    sparse.facts.interval_seconds = Some(10.0);
    assert_eq!(
        reason(sparse),
        "no GPU metric was reported; the profile of i-1: 144 of 864 expected samples \
         were taken (16.6%), 50% needed"
    );
    // A long run counts where a short one does not.
    let long = Run::of("i-1", 144, 50, &ONE_OF_FOUR);
    let audit = audited(&joined(vec![silent("i-1")], vec![minutes(1), long]));
    assert_eq!(
        only(&audit).verdict.reason,
        "mean GPU utilization 17.5% (< 25%) over one run of 2.4 h"
    );
    // A recording that does not tell its samples proves none.
    let mut silent_on_samples = joined(vec![silent("i-1")], vec![complete()]);
    silent_on_samples.profiles[0].samples = None;
    assert_eq!(
        only(&audited(&silent_on_samples)).verdict.reason,
        "no GPU metric was reported; the profile of i-1: the recording does not report its \
         number of samples"
    );
}

#[test]
fn samples_outside_the_window_are_counted() {
    // Of 144 samples a minute apart 60 are in the window's first hour.
    let made = joined(vec![silent("i-1")], vec![Run::of("i-1", 144, 14 * 24 - 1, &ONE_OF_FOUR)]);
    let [gap] = made.gaps.as_slice() else {
        panic!("one gap: {:?}", made.gaps);
    };
    assert_eq!(gap.place, "run-0.jsonl");
    assert_eq!(gap.reason, "84 of 144 samples outside the window: 84 before it, 0 after it");
}

#[test]
fn a_run_that_sees_some_of_the_gpus_is_not_enough() {
    let audit =
        audited(&joined(vec![silent("i-1")], vec![Run::of("i-1", 144, 100, &ONE_OF_FOUR[..1])]));
    assert_eq!(
        only(&audit).verdict.reason,
        "no GPU metric was reported; the profile of i-1 does not contain utilization for all \
         4 GPUs"
    );
}

#[test]
fn an_idle_run_is_never_stopped_nor_scheduled() {
    let audit = audited(&joined(
        vec![Machine::new("i-1", "g5.4xlarge").cpu(flat(1.0))],
        vec![Run::of("i-1", 20 * 60, 100, &[(0.0, 3.0)])],
    ));
    let row = only(&audit);
    assert_eq!(row.verdict.classification, Classification::Overprovisioned);
    assert_eq!(row.verdict.state, None);
    assert!(row.proposals.stop().is_none() && row.proposals.schedule().is_none());
    let stopping = [ActionKind::Stop, ActionKind::Schedule, ActionKind::Commit];
    assert!(!kinds(row).iter().any(|kind| stopping.contains(kind)));
    let rules: Vec<&str> = audit.findings.iter().map(Finding::rule).collect();
    assert!(!rules.contains(&"idle-gpu") && !rules.contains(&"off-hours"));
    // Nor does it move to a type without a GPU.
    let target = row.actions.first().and_then(|action| action.target());
    assert!(target.is_none_or(|target| target.instance_type.starts_with('g')));
}

#[test]
fn sparse_cloudwatch_gives_way_and_its_peaks_stay() {
    let sparse = |hours: u32| {
        let periods = hours * 12;
        let readings = [(Metric::GpuUtilization, 50.0), (Metric::GpuMemoryUsed, 20_000.0)];
        let machine = Machine::new("i-1", "g5.2xlarge").cpu(flat(5.0));
        readings.into_iter().fold(machine, |machine, (metric, level)| {
            let average = gpucost::domain::Statistic::Average;
            machine.series(metric, average, Some(0), first(periods, level))
        })
    };
    let run = || vec![Run::of("i-1", 144, 100, &[(12.0, 5_000.0)])];
    let alone = audited(&estate(vec![sparse(10)]));
    assert_eq!(only(&alone).verdict.reason, "10.0 h of samples, 30 h needed");
    let audit = audited(&joined(vec![sparse(10)], run()));
    let row = only(&audit);
    assert_eq!(row.verdict.reason, "mean GPU utilization 12.0% (< 25%) over one run of 2.4 h");
    let vram = row.workload.vram().expect("memory");
    assert_eq!(vram.peak_mib, 20_000.0);
    assert_eq!(audit.totals.monthly_cost, alone.totals.monthly_cost);

    // Enough of it, and the run changes nothing.
    let enough = sparse(14 * 24);
    let alone = audited(&estate(vec![enough.clone()]));
    let audit = audited(&joined(vec![enough], run()));
    assert_eq!(only(&audit).verdict, only(&alone).verdict);
    assert_eq!(only(&audit).workload.utilization, only(&alone).workload.utilization);
    assert_eq!(only(&audit).workload.profile, None);
    assert_eq!(audit.totals, alone.totals);
}

#[test]
fn an_empty_series_of_the_cloud_does_not_hide_a_run() {
    let machine = Machine::new("i-1", "g5.2xlarge").cpu(flat(5.0)).gpu(0, |_| None);
    let audit = audited(&joined(vec![machine], vec![Run::of("i-1", 144, 100, &[(70.0, 5_000.0)])]));
    assert_eq!(only(&audit).verdict.classification, Classification::WellUtilized);
}

#[test]
fn a_profile_of_most_of_a_short_life_is_judged_as_any_series() {
    let machine = Machine::new("i-1", "g5.2xlarge")
        .launched_hours_ago(40)
        .cpu(crate::rules::builder::last(40 * 12, 5.0));
    let mut run = Run::of("i-1", 38 * 60, 1, &[(90.0, 5_000.0)]);
    // Nobody waited for an end.
    run.end = None;
    let audit = audited(&joined(vec![machine], vec![run]));
    let row = only(&audit);
    assert_eq!(row.verdict.classification, Classification::WellUtilized);
    assert_eq!(row.verdict.state, Some(UsageState::Saturated));
    // 38 of 40 hours.
    assert_eq!(row.verdict.confidence, Some(Confidence::Measured));
    assert_eq!(row.verdict.reason, "mean GPU utilization 90.0% (≥ 60%)");
    assert_eq!(row.workload.rests_on_runs(), None);
}

#[test]
fn a_short_run_keeps_the_mean_of_its_samples() {
    // From a minute before a period to its end: one sample of 0%, five at 90%. The
    // periods alone would say 45%.
    let mut run = Run::of("i-1", 6, 0, &[(0.0, 5_000.0)]);
    run.facts.started = as_of() - SignedDuration::from_mins(66);
    let named = run.sampled("a", |second, _| if second < 60 { 0.0 } else { 90.0 });
    let mut made = estate(vec![Machine::new("i-1", "g5.2xlarge").cpu(flat(5.0))]);
    join_profiles(&mut made, vec![named]);
    assert_eq!(
        only(&audited(&made)).verdict.reason,
        "mean GPU utilization 75.0% (≥ 60%) over one run of 6 min"
    );
}

#[test]
fn every_instance_needs_a_run() {
    let pair = || {
        let member =
            |id| Machine::new(id, "g5.2xlarge").cpu(flat(5.0)).tag("gpucost:workload", "pair");
        vec![member("i-1"), member("i-2")]
    };
    let run = |id| Run::of(id, 60, 100, &[(30.0, 5_000.0)]);
    let audit = audited(&joined(pair(), vec![run("i-1")]));
    assert_eq!(
        only(&audit).verdict.reason,
        "no GPU metric was reported; 1 of 2 instances without a profile of a complete command"
    );
    let audit = audited(&joined(pair(), vec![run("i-1"), run("i-2")]));
    assert_eq!(
        only(&audit).verdict.reason,
        "mean GPU utilization 30.0% (< 60%) over 2 runs, 2.0 h in total"
    );
}

#[test]
fn hosts_are_known_by_their_names() {
    let named = |id: &str, host: &str| {
        let mut machine = Machine::new(id, "g5.2xlarge").cpu(flat(5.0));
        machine.instance.private_dns_name = Some(host.to_owned());
        machine
    };
    let run = |host: &str| Run::of("", 60, 100, &[(70.0, 5_000.0)]).on_host(host);
    let machines = || {
        vec![
            named("i-0abc", "ip-10-0-0-7.ec2.internal"),
            named("i-2", "ip-10-0-0-8.ec2.internal"),
            named("i-3", "ip-10-0-0-8.ec2.internal"),
        ]
    };
    for host in ["ip-10-0-0-7.ec2.internal", "ip-10-0-0-7", "IP-10-0-0-7", "i-0abc.ec2.internal"] {
        let made = joined(machines(), vec![run(host)]);
        assert!(made.gaps.is_empty(), "{host}: {:?}", made.gaps);
        let audit = audited(&made);
        let row = workload(&audit, "i-0abc");
        assert_eq!(row.verdict.classification, Classification::WellUtilized, "{host}");
        assert!(row.workload.usage[0].joined_by_hostname);
    }
    let reason = |run: Run| {
        let made = joined(machines(), vec![run]);
        assert!(made.profiles.is_empty() && made.metrics.iter().all(|series| series.gpu.is_none()));
        let [gap] = made.gaps.as_slice() else {
            panic!("one gap");
        };
        assert_eq!(gap.place, "run-0.jsonl");
        gap.reason.clone()
    };
    assert!(reason(run("ip-10-0-0-8")).starts_with("the host name ip-10-0-0-8 matches several"));
    assert!(
        reason(run("trainer")).starts_with("the host name trainer matches no audited instance")
    );
    assert!(reason(run("")).starts_with("it has no instance ID or host name"));
    // Its id is certain: a host of the same name is another one.
    let mut elsewhere = run("ip-10-0-0-7");
    elsewhere.facts.instance_id = Some("i-gone".to_owned());
    assert!(reason(elsewhere).starts_with("instance i-gone is not in the audit"));
    let mut other_type = run("ip-10-0-0-7");
    other_type.facts.instance_type = Some("g5.12xlarge".to_owned());
    assert_eq!(reason(other_type), "it was recorded on g5.12xlarge, but i-0abc is now g5.2xlarge");
    // Of two that share a name, one is in the region of the run.
    let mut machines_apart = machines();
    machines_apart[2].instance.region = "eu-west-1".to_owned();
    let mut there = run("ip-10-0-0-8");
    there.facts.region = Some("eu-west-1".to_owned());
    let made = joined(machines_apart, vec![there]);
    assert_eq!(made.profiles[0].instance.as_str(), "i-3");
    let mut other_region = run("ip-10-0-0-7");
    other_region.facts.region = Some("eu-west-1".to_owned());
    assert_eq!(reason(other_region), "it was recorded in eu-west-1, but i-0abc is in us-east-1");
}

/// In a container no instance answers, the host's name is its own, and GPUs count
/// from 0.
#[test]
fn a_run_in_a_container_is_known_by_the_gpus_of_one_on_the_host() {
    let machines = || ["i-1", "i-2"].map(|id| Machine::new(id, "g4dn.12xlarge").cpu(flat(5.0)));
    let with_gpus = |mut run: Run, ids: &[&str]| {
        for (gpu, id) in run.facts.gpus.iter_mut().zip(ids) {
            gpu.uuid = (!id.is_empty()).then(|| (*id).to_owned());
        }
        run
    };
    let on_host =
        |id: &str, gpus: [&str; 4]| with_gpus(Run::of(id, 60, 200, &[(10.0, 1_000.0); 4]), &gpus);
    let inside = |gpus: &[&str]| {
        let run = Run::of("", 60, 100, &[(70.0, 9_000.0), (30.0, 5_000.0)]).on_host("7f3c01d2");
        with_gpus(run, gpus)
    };
    let hosts = || vec![on_host("i-1", ["a", "b", "c", "d"]), on_host("i-2", ["e", "f", "g", "d"])];
    let with = |run: Run| joined(machines().into(), [vec![run], hosts()].concat());

    let made = with(inside(&["d", "b"]));
    assert_eq!(made.gaps, []);
    let instances: Vec<&str> = made.profiles.iter().map(|run| run.instance.as_str()).collect();
    assert_eq!(instances, ["i-1", "i-1", "i-2"]);
    let peak = |instance: &str, gpu: u16| {
        let series = made.metrics.iter().find(|candidate| {
            candidate.instance.as_str() == instance
                && candidate.gpu == Some(gpu)
                && candidate.metric == Metric::GpuMemoryUsed
                && candidate.statistic == gpucost::domain::Statistic::Maximum
        });
        series.expect("a series").points.values().fold(0.0, f64::max)
    };
    // Its first GPU is the fourth of the host, its second the second.
    let peaks = [0, 1, 2, 3].map(|gpu| peak("i-1", gpu));
    assert_eq!(peaks, [1_000.0, 5_000.0, 1_000.0, 9_000.0]);
    assert_eq!(peak("i-2", 3), 1_000.0);

    // Of two hosts, of one in part, of none, without an id; and one that names an
    // instance is taken at its word.
    let mut elsewhere = inside(&["a", "b"]);
    elsewhere.facts.instance_id = Some("i-gone".to_owned());
    let mut other_type = inside(&["a", "b"]);
    other_type.facts.instance_type = Some("p3.8xlarge".to_owned());
    for (run, reason) in [
        (inside(&["a", "e"]), "no file that has one covers all of its GPUs"),
        (inside(&["a", "z"]), "no file that has one covers all of its GPUs"),
        (inside(&["a", ""]), "no file that has one covers all of its GPUs"),
        (elsewhere, "instance i-gone is not in the audit"),
        (other_type, "it was recorded on p3.8xlarge, but i-1 is now g4dn.12xlarge"),
    ] {
        let made = with(run);
        let [gap] = made.gaps.as_slice() else {
            panic!("one gap: {:?}", made.gaps);
        };
        assert!(gap.reason.ends_with(reason), "{}", gap.reason);
        assert_eq!(made.profiles.len(), 2);
    }
    // The GPU that moved from one host to the other tells nothing by itself.
    let mut alone = inside(&["d"]);
    alone.facts.gpus.truncate(1);
    assert_eq!(with(alone).gaps.len(), 1);
}

#[test]
fn two_files_of_an_instance_both_count_in_any_order() {
    let early = || Run::of("i-1", 60, 200, &[(20.0, 9_000.0)]);
    let late = || Run::of("i-1", 180, 100, &[(60.0, 5_000.0)]);
    let machine = || vec![Machine::new("i-1", "g5.2xlarge").cpu(flat(5.0))];
    let made = joined(machine(), vec![early(), late()]);
    let audit = audited(&made);
    // (1 h × 20% + 3 h × 60%) / 4 h.
    assert_eq!(
        only(&audit).verdict.reason,
        "mean GPU utilization 50.0% (< 60%) over 2 runs, 4.0 h in total"
    );
    assert_eq!(only(&audit).workload.vram().map(|vram| vram.peak_mib), Some(9_000.0));
    let other_way = joined(machine(), vec![late(), early()]);
    assert_eq!(made.metrics, other_way.metrics);
    assert_eq!(made.profiles, other_way.profiles);
    // Joined again, nothing counts twice.
    let mut again = made.clone();
    join_profiles(&mut again, vec![late().named("again")]);
    assert_eq!(again.metrics, made.metrics);
    assert_eq!(again.profiles, made.profiles);
    // In the same periods the run that began later counts.
    let over = |percent| Run::of("i-1", 60, 100, &[(percent, 5_000.0)]);
    let mut later = over(80.0);
    later.facts.started += SignedDuration::from_secs(1);
    let made = joined(machine(), vec![later, over(10.0)]);
    let average = made.metrics.iter().find(|series| {
        series.metric == Metric::GpuUtilization
            && series.statistic == gpucost::domain::Statistic::Average
    });
    let values: Vec<f64> = average.expect("a series").points.values().collect();
    assert_eq!(values, [80.0; 12]);
}

#[test]
fn cpu_of_a_run_fills_in_and_proves_no_running_time() {
    // No CPU from the cloud: assumed to run since its launch.
    let machine = || vec![Machine::new("i-1", "g5.12xlarge")];
    let before = audited(&estate(machine()));
    let audit = audited(&joined(machine(), vec![complete()]));
    assert_eq!(audit.totals.monthly_cost, before.totals.monthly_cost);
    let usage = &only(&audit).workload.usage[0];
    assert!(usage.cpu_is_of_runs && !usage.running.proved);
    let cpu = usage.cpu_p95.expect("CPU");
    assert!((cpu - 96.0).abs() < 0.1, "{cpu}");
    let memory = usage.memory_p95_mib.expect("memory");
    assert!((memory - 40_000.0).abs() < 40.0, "{memory}");
    // 96% of 48 × 1.2 = 55.3 vCPUs: of the types with one A10G only the one with
    // 64 has as many, at (5.672 - 4.096) × 730 less.
    let actions = &only(&audit).actions;
    let [action] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    let target = action.target().expect("a type");
    assert_eq!(target.instance_type, "g5.16xlarge");
    assert_eq!(action.monthly_savings().amount(), decimal("1150.48"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is profiled, every other workload and every cost stay as they are,
    /// and nothing is stopped that was not.
    #[test]
    fn a_profile_touches_its_own_workload_and_no_cost(
        minutes in 1_u32..3_000,
        ended_hours_ago in -30_i64..400,
        levels in prop::collection::vec((0.0_f64..=100.0, 0.0_f64..23_000.0), 1..5),
        exit_code in prop::option::of(0..2),
        periods in 0_u32..4_032,
        level in 0.0_f64..=100.0,
    ) {
        let machines = || vec![
            silent("i-1").gpu(0, first(periods, level)),
            Machine::new("i-2", "g5.2xlarge").cpu(flat(5.0)),
            Machine::new("i-3", "g5.2xlarge").cpu(flat(5.0)).gpu(0, flat(level)),
        ];
        let mut run = Run::of("i-1", minutes, ended_hours_ago, &levels);
        run.end = run.end.map(|end| RunEnd { exit_code, ..end });
        let policy = Policy::default();
        let before = audit(&estate(machines()), &policy, Risk::High);
        let after = audit(&joined(machines(), vec![run]), &policy, Risk::High);
        prop_assert_eq!(after.totals.monthly_cost, before.totals.monthly_cost);
        for id in ["i-2", "i-3"] {
            prop_assert_eq!(&workload(&after, id).workload, &workload(&before, id).workload);
            prop_assert_eq!(&workload(&after, id).verdict, &workload(&before, id).verdict);
            prop_assert_eq!(&workload(&after, id).proposals, &workload(&before, id).proposals);
        }
        let (old, new) = (workload(&before, "i-1"), workload(&after, "i-1"));
        prop_assert_eq!(&new.workload.cost, &old.workload.cost);
        if old.verdict.classification != Classification::InsufficientData {
            prop_assert_eq!(&new.verdict, &old.verdict);
        } else if new.workload.rests_on_runs().is_some() {
            prop_assert_eq!(new.verdict.state, None);
            prop_assert_eq!(new.verdict.confidence, Some(Confidence::Derived));
            prop_assert!(new.proposals.stop().is_none() && new.proposals.schedule().is_none());
            prop_assert_eq!(exit_code, Some(0));
        }
    }
}
