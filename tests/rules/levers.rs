//! Schedules and sharing where they decide: zones, dangers, refusals, and the
//! worked examples of `docs/levers/` on the demo estate.

use crate::rules::builder::{A10G_MIB, Machine, audited, estate, flat, g5, judge};
use crate::rules::fixtures::{decimal, dollars, only, root};
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::domain::{Confidence, Finding, Metric, Policy, Risk, Statistic};
use gpucost::savings::{NoSchedule, NoSharing, SharingMode, off_in_unused_hours, share};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use std::sync::LazyLock;

static DEMO: LazyLock<Estate> = LazyLock::new(|| {
    read_estate(&root().join("fixtures/demo/estate.json.gz"), Keep::Points).expect("the demo")
});

static DEMO_AUDIT: LazyLock<Audit> = LazyLock::new(|| audited(&DEMO));

fn workload<'a>(audit: &'a Audit, name: &str) -> &'a AuditedWorkload {
    let mut workloads = audit.workloads.iter();
    workloads.find(|row| row.workload.name == name).unwrap_or_else(|| panic!("no workload {name}"))
}

/// The finding of a rule about a workload of the demo.
fn in_demo(rule: &str, name: &str) -> &'static Finding {
    let id = workload(&DEMO_AUDIT, name).workload.id();
    let mut findings = DEMO_AUDIT.findings.iter();
    findings
        .find(|finding| finding.rule() == rule && finding.workload() == id)
        .unwrap_or_else(|| panic!("{rule} is silent about {name}"))
}

/// Busy in some hours of the day, UTC, at rest in the others.
fn by_hour(busy: impl Fn(u32) -> bool + Copy) -> Machine {
    let level = move |period: u32| Some(if busy(period / 12 % 24) { 70.0 } else { 0.0 });
    g5("i-1").gpu(0, level).vram(0, 9_000.0, A10G_MIB)
}

fn steps(machine: Machine) -> String {
    let judged = judge(machine);
    let finding = judged.finding("off-hours").expect("a schedule");
    finding.recommendation.steps.join("\n")
}

/// Hours of the week that may be off by the series of the instances alone: in both
/// weeks nine tenths of the points of all GPUs there and none of 1% or more, and so
/// beside it.
fn off_hours_of_the_series(prefix: &str) -> usize {
    let instances: Vec<_> = DEMO
        .instances
        .iter()
        .filter(|instance| instance.name().is_some_and(|name| name.starts_with(prefix)))
        .map(|instance| &instance.id)
        .collect();
    let mut rests = [0_usize; 336];
    let mut works = [false; 336];
    let mut series_count = 0;
    for series in DEMO.metrics.iter().filter(|series| {
        instances.contains(&&series.instance)
            && series.metric == Metric::GpuUtilization
            && series.statistic == Statistic::Maximum
    }) {
        series_count += 1;
        for (period, percent) in series.points.iter() {
            rests[period as usize / 12] += usize::from(percent < 1.0);
            works[period as usize / 12] |= percent >= 1.0;
        }
    }
    let is_known = |hour: usize| rests[hour] * 10 >= series_count * 12 * 9 && !works[hour];
    let is_off = |hour: usize| is_known(hour % 168) && is_known(hour % 168 + 168);
    (0..168).filter(|hour| is_off(*hour) && (is_off(hour + 1) || is_off(hour + 167))).count()
}

#[test]
fn the_worked_example_of_schedules_is_the_demo() {
    let finding = in_demo("off-hours", "nightly-eval");
    // 168 − 8 active.
    assert_eq!(finding.evidence()[0].observed, 160.0);
    assert_eq!(finding.recommendation.to, "off Tue 06:00–Fri 02:00, Fri 06:00–Tue 02:00");
    // 5 × 5.672 × 730 = 20 702.80; × 160 / 168 = 19 716.9523…
    assert_eq!(dollars(finding), Some(decimal("19716.95")));
    let evaluation = &workload(&DEMO_AUDIT, "nightly-eval");
    let proposal =
        off_in_unused_hours(&evaluation.workload, &evaluation.verdict, &Policy::default(), &[])
            .expect("a schedule");
    assert_eq!(proposal.schedule.unknown_hours_per_week, 0);
    assert_eq!(off_hours_of_the_series("nightly-eval"), 160);
    assert_eq!(proposal.schedule.active_hours_cut(), 0);
    assert_eq!(proposal.schedule.counter_evidence.len(), 2);
    let page = std::fs::read_to_string(root().join("docs/levers/schedule.md")).expect("a page");
    for figure in ["160", "in two windows", "$20,702.80", "$19,716.95", "$985.85"] {
        assert!(page.contains(figure), "{figure} is not in the page");
    }
}

#[test]
fn the_worked_example_of_sharing_is_the_demo() {
    let finding = in_demo("shareable-gpu", "chat-serving");
    assert_eq!(finding.evidence()[0].observed, 20.0);
    assert_eq!(finding.evidence()[0].threshold, 40.0);
    assert_eq!(finding.recommendation.to, "3 × p4d.24xlarge");
    // 16 029.07866 each: five are 80 145.39, three 48 087.24.
    assert_eq!(dollars(finding), Some(decimal("32058.16")));
    let serving = workload(&DEMO_AUDIT, "chat-serving");
    let sharing = share(&serving.workload, &serving.verdict, &Policy::default(), Risk::Medium)
        .expect("slices");
    assert_eq!(sharing.mode, SharingMode::Mig);
    assert_eq!(sharing.tenants.len(), 40);
    let slices: Vec<_> = sharing.slices_by_profile().into_iter().collect();
    assert_eq!(slices, [("3g.20gb", 40)]);
    assert!(sharing.cards.iter().all(|card| card.slices.len() == 2));
    // The least of them would not fit the next smaller slice, the largest fits.
    for tenant in &sharing.tenants {
        assert!((9_856.0..=19_968.0).contains(&tenant.vram_needed_mib));
        assert!(tenant.peak_percent * 7.0 / 3.0 <= 80.0);
    }
    // Production keeps its walls at every risk.
    let high = share(&serving.workload, &serving.verdict, &Policy::default(), Risk::High);
    assert_eq!(high.map(|answer| answer.mode), Ok(SharingMode::Mig));
    let page = std::fs::read_to_string(root().join("docs/levers/sharing.md")).expect("a page");
    for figure in ["3 × p4d.24xlarge", "$80,145.39", "$48,087.24", "$32,058.15"] {
        assert!(page.contains(figure), "{figure} is not in the page");
    }
}

#[test]
fn nothing_else_in_the_demo_is_scheduled_or_shared() {
    let of = |rule: &str| {
        let findings = DEMO_AUDIT.findings.iter();
        findings.filter(|finding| finding.rule() == rule).count()
    };
    assert_eq!((of("off-hours"), of("shareable-gpu")), (1, 1));
}

#[test]
fn the_zone_of_the_tag_outranks_that_of_the_policy() {
    let night = by_hour(|hour| (8..18).contains(&hour));
    assert!(steps(night.clone()).contains("time zone UTC, because neither"));
    // In summer, until 25 October, Berlin is two hours ahead; afterwards one.
    let tagged = judge(night.clone().tag("GPUCOST:TimeZone", "Asia/Tokyo"));
    let finding = tagged.finding("off-hours").expect("a schedule");
    // 08:00 to 18:00 UTC are 17:00 to 03:00 in Tokyo.
    let to = &finding.recommendation.to;
    assert!(to.contains("Tue 03:00–Tue 17:00"), "{to}");
    let policy = Policy { time_zone: Some("America/Phoenix".to_owned()), ..Policy::default() };
    let by_policy = audit(&estate(vec![night.clone()]), &policy, Risk::Medium);
    // And 01:00 to 11:00 in Phoenix.
    let to = &only(&by_policy, "off-hours").recommendation.to;
    assert!(to.contains("Mon 11:00–Tue 01:00"), "{to}");
    let unknown = steps(night.tag("gpucost:timezone", "Mars/Olympus"));
    assert!(unknown.contains("an unknown time zone: Mars/Olympus"), "{unknown}");
    assert!(unknown.contains("time zone UTC"), "{unknown}");
}

#[test]
fn scarce_capacity_instance_stores_and_uneven_weeks_are_warned_of() {
    let p4d = (0..8).fold(Machine::new("i-1", "p4d.24xlarge").cpu(flat(5.0)), |machine, index| {
        let day = |period: u32| Some(if period / 12 % 24 < 12 { 60.0 } else { 0.0 });
        machine.gpu(index, day).vram(index, 20_000.0, 40_960.0)
    });
    let reported = steps(p4d);
    assert!(reported.contains("P4 and P5 capacity may not be available again"), "{reported}");
    assert!(reported.contains("no data on the instance store"), "{reported}");
    // Works from 8 to 18, on the first Monday until 21.
    let uneven = |period: u32| {
        let late = period / 288 == 1 && (18..21).contains(&(period / 12 % 24));
        let busy = late || (8..18).contains(&(period / 12 % 24));
        Some(if busy { 70.0 } else { 0.0 })
    };
    let reported = steps(g5("i-1").gpu(0, uneven).vram(0, 9_000.0, A10G_MIB));
    assert!(reported.contains("would have cut 3 active hours"), "{reported}");
    assert!(!reported.contains("capacity"), "{reported}");
}

/// A serving Auto Scaling group on two of a type, each GPU at 20% with 4 GiB.
fn replicas(instance_type: &str, gpus: u16, kind: &str, environment: &str) -> Vec<Machine> {
    ["i-1", "i-2"]
        .into_iter()
        .map(|id| {
            let machine = Machine::new(id, instance_type)
                .tag("gpucost:workload", "models")
                .tag("gpucost:kind", kind)
                .tag("env", environment)
                .cpu(flat(10.0));
            (0..gpus).fold(machine, |machine, index| {
                machine.gpu(index, flat(20.0)).vram(index, 4_096.0, A10G_MIB)
            })
        })
        .collect()
}

fn shared(machines: Vec<Machine>, accepted: Risk) -> Result<(SharingMode, u32), String> {
    let audit = audited(&estate(machines));
    let row = &audit.workloads[0];
    share(&row.workload, &row.verdict, &Policy::default(), accepted)
        .map(|sharing| {
            let target = sharing.action.target().expect("fewer instances");
            (sharing.mode, target.count)
        })
        .map_err(|refused: NoSharing| refused.to_string())
}

#[test]
fn cards_without_mig_are_refused_by_name_and_shared_through_mps_at_high_risk() {
    for (instance_type, gpus, model) in [
        ("g4dn.12xlarge", 4, "T4"),
        ("g5.12xlarge", 4, "A10G"),
        ("g6.12xlarge", 4, "L4"),
        ("g6e.12xlarge", 4, "L40S"),
    ] {
        let reported = shared(replicas(instance_type, gpus, "serving", "dev"), Risk::Medium);
        let reported = reported.expect_err("no MIG");
        assert_eq!(reported, format!("{model} does not support MIG; MPS needs --risk high"));
    }
    let a10g = |environment| replicas("g5.12xlarge", 4, "serving", environment);
    // 8 × 20% on cards of 80%: two cards, one instance.
    assert_eq!(shared(a10g("dev"), Risk::High), Ok((SharingMode::Mps, 1)));
    let reported = shared(a10g("Production"), Risk::High).expect_err("production");
    assert_eq!(reported, "A10G does not support MIG; MPS is not suitable for production");
    let mut owned = a10g("dev");
    for (machine, team) in owned.iter_mut().zip(["search", "ads"]) {
        *machine = machine.clone().tag("team", team);
    }
    let reported = shared(owned, Risk::High).expect_err("two owners");
    assert_eq!(reported, "A10G does not support MIG; MPS is for tenants of one owner");
}

#[test]
fn gpus_that_work_together_are_not_shared() {
    let reported = shared(replicas("p4d.24xlarge", 8, "training", "dev"), Risk::High);
    assert!(reported.expect_err("training").starts_with("training may use several GPUs"));
}

#[test]
fn one_machine_is_left_at_high_risk_only() {
    // No driver reported a slice of an H200: 71 × 1 024 × 0.93 = 67 614 MiB hold 4 096 × 1.2,
    // and 20 × 7 / 3 = 46.7%. Two of them on a card: 16 tenants on 8 cards of one machine.
    let shared = |risk| shared(replicas("p5en.48xlarge", 8, "serving", "dev"), risk);
    assert_eq!(
        shared(Risk::Medium).expect_err("two replicas are left"),
        "16 tenants need 8 cards: no instance would be freed"
    );
    assert_eq!(shared(Risk::High), Ok((SharingMode::Mig, 1)));
}

/// Machines of one service whose GPUs each hold so much of so much memory.
fn holding(instance_type: &str, machines: usize, used_mib: f64, total_mib: f64) -> Vec<Machine> {
    let named = (0..machines).map(|number| Machine::new(&format!("i-{number}"), instance_type));
    let named = named.map(|machine| {
        let machine = machine
            .tag("gpucost:workload", "models")
            .tag("gpucost:kind", "serving")
            .tag("env", "production")
            .cpu(flat(10.0));
        (0..8).fold(machine, |machine, index| {
            machine.gpu(index, flat(20.0)).vram(index, used_mib, total_mib)
        })
    });
    named.collect()
}

#[test]
fn slices_that_no_driver_reported_have_their_nominal_memory_less_seven_percent() {
    for (instance_type, total_mib, fits, is_too_large, model) in [
        // A 3g.40gb has 40 × 1,024 × 0.93 = 38,092 MiB: 31,740 × 1.2 = 38,088 and
        // 31,750 × 1.2 = 38,100.
        ("p4de.24xlarge", 81_920.0, 31_740.0, 31_750.0, "A100"),
        // A 3g.90gb has 90 × 1,024 × 0.93 = 85,708 MiB: 71,420 × 1.2 = 85,704 and
        // 71,430 × 1.2 = 85,716.
        ("p6-b200.48xlarge", 183_359.0, 71_420.0, 71_430.0, "B200"),
    ] {
        let of = |used_mib| holding(instance_type, 2, used_mib, total_mib);
        // 20 × 7 / 3 = 46.7%, two on a card: 16 tenants on 8 cards of one machine.
        let sharing = shared(of(fits), Risk::High);
        assert_eq!(sharing, Ok((SharingMode::Mig, 1)), "{instance_type}");
        let whole = shared(of(is_too_large), Risk::High).expect_err("whole cards");
        assert!(whole.starts_with("16 tenants need 16 cards"), "{whole}");
        let report = audit(&estate(of(fits)), &Policy::default(), Risk::High);
        let finding = only(&report, "shareable-gpu");
        assert_eq!(finding.confidence, Confidence::Derived);
        let assumed = format!("0.93 × the nominal size is assumed of {model}");
        let steps = &finding.recommendation.steps;
        assert!(steps.iter().any(|step| step.contains(&assumed)), "{steps:?}");
    }
}

#[test]
fn as_many_cards_as_today_are_no_finding() {
    // 30,000 × 1.2 = 36,000 MiB take a whole A100. Five machines are 5 × 16,029.07866 =
    // 80,145.3933, a cent less than five times 16,029.08.
    let machines = holding("p4d.24xlarge", 5, 30_000.0, 40_960.0);
    let reported = shared(machines.clone(), Risk::Medium).expect_err("as many cards");
    assert_eq!(reported, "40 tenants need 40 cards: no instance would be freed");
    let report = audited(&estate(machines));
    let rules = report.findings.iter().map(|finding| finding.rule());
    assert_eq!(rules.filter(|rule| *rule == "shareable-gpu").count(), 0);
    let cost = report.totals.monthly_cost.expect("priced");
    assert_eq!(cost.amount(), decimal("80145.40"));
}

/// Two g5.12xlarge whose tenants hold so much in their half of the day, by turns.
fn by_turns(most_mib: f64) -> Vec<Machine> {
    let mut number = 0_u32;
    let mut machines = replicas("g5.12xlarge", 0, "serving", "dev");
    for machine in &mut machines {
        for gpu in 0..4 {
            let turn = number % 2;
            number += 1;
            let held = move |period: u32| {
                let is_mine = period / 144 % 2 == turn;
                Some(if is_mine { most_mib } else { 1_000.0 })
            };
            let mut next = machine.clone().gpu(gpu, flat(10.0));
            for statistic in [Statistic::Average, Statistic::Maximum] {
                next = next.series(Metric::GpuMemoryUsed, statistic, Some(gpu), held);
            }
            let total = Metric::GpuMemoryTotal;
            *machine = next.series(total, Statistic::Maximum, Some(gpu), flat(A10G_MIB));
        }
    }
    machines
}

#[test]
fn memory_of_tenants_is_the_sum_of_their_peaks_whenever_they_are() {
    // 2 × 9,500 × 1.2 = 22,800 of 23,028 MiB: two on a card, 8 tenants on 4 cards.
    assert_eq!(shared(by_turns(9_500.0), Risk::High), Ok((SharingMode::Mps, 1)));
    // 2 × 9,600 × 1.2 = 23,040. Hour by hour it would be (9,600 + 1,000) × 1.2 = 12,720, but
    // a process that is not ready for the peak of its neighbor ends with it.
    let refused = shared(by_turns(9_600.0), Risk::High).expect_err("a card each");
    assert!(refused.contains("A10G does not support MIG"), "{refused}");
}

#[test]
fn what_is_not_working_or_known_has_no_schedule() {
    let reason = |machine: Machine| {
        let judged = judge(machine);
        let row = judged.workload();
        off_in_unused_hours(&row.workload, &row.verdict, &Policy::default(), &[])
            .map(|proposal| proposal.schedule.off_hours_per_week)
    };
    let idle = g5("i-1").gpu(0, flat(0.0)).vram(0, 100.0, A10G_MIB);
    assert_eq!(reason(idle), Err(NoSchedule::NotWorking));
    assert_eq!(reason(by_hour(|_| true)), Err(NoSchedule::NeverOff), "around the clock");
    assert_eq!(reason(by_hour(|hour| hour < 12)), Ok(84));
    let young = by_hour(|hour| hour < 12).launched_hours_ago(200);
    assert_eq!(reason(young), Err(NoSchedule::TooFewWeeks { observed_hours: 200 }));
}
