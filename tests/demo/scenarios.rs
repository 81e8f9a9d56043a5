//! The estates that have a name: what they promise, worked out from the series
//! alone, and what they cost today and after the plan, against sums done by hand.

use super::DEMO;
use super::generate_demo::scenarios::{SCENARIOS, mixed_fleet, quarter_used};
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::catalog::shape;
use gpucost::domain::{
    Action, ActionKind, Metric, Money, OperatingSystem, Policy, Risk, Statistic,
};
use gpucost::sources::files::Demo;
use gpucost::usage::{Estate, Series};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const PERIODS: usize = 4032;
const HOURS: usize = 336;

static QUARTER_USED: LazyLock<Estate> = LazyLock::new(quarter_used::estate);
static MIXED_FLEET: LazyLock<Estate> = LazyLock::new(mixed_fleet::estate);

/// The series of a metric of the instances whose name begins with a word.
fn series<'a>(
    estate: &'a Estate,
    prefix: &str,
    metric: Metric,
    statistic: Statistic,
) -> Vec<&'a Series> {
    let ids: BTreeSet<&str> = estate
        .instances
        .iter()
        .filter(|instance| instance.name().is_some_and(|name| name.starts_with(prefix)))
        .map(|instance| instance.id.as_str())
        .collect();
    let matching: Vec<&Series> = estate
        .metrics
        .iter()
        .filter(|series| (series.metric, series.statistic) == (metric, statistic))
        .filter(|row| ids.contains(row.instance.as_str()))
        .collect();
    assert!(!matching.is_empty(), "{prefix} has no {metric}");
    matching
}

fn averages<'a>(estate: &'a Estate, prefix: &str) -> Vec<&'a Series> {
    series(estate, prefix, Metric::GpuUtilization, Statistic::Average)
}

/// Bytes by hour; of one direction.
fn traffic<'a>(estate: &'a Estate, prefix: &str, metric: Metric) -> Vec<&'a Series> {
    series(estate, prefix, metric, Statistic::Sum)
}

fn mean(series: &Series) -> f64 {
    series.points.values().sum::<f64>() / series.points.len() as f64
}

fn largest(series: &Series) -> f64 {
    series.points.values().fold(f64::NEG_INFINITY, f64::max)
}

/// What the workloads of each name cost a month together.
fn costs(estate: &Estate) -> BTreeMap<String, Decimal> {
    let mut sums = BTreeMap::new();
    for row in audit(estate, &Policy::default(), Risk::Medium).workloads {
        let cost = row.workload.monthly_cost().expect("priced").amount();
        *sums.entry(row.workload.name.clone()).or_insert(Decimal::ZERO) += cost;
    }
    sums
}

/// Checks costs in cents; one more or less an instance is for rounding.
fn assert_costs(estate: &Estate, expected: &[(&str, i64)]) {
    let costs = costs(estate);
    for (name, cents) in expected {
        let apart = (costs[*name] - Decimal::new(*cents, 2)).abs();
        assert!(apart < Decimal::new(9, 2), "{name}: {}", costs[*name]);
    }
}

#[test]
fn every_demo_is_generated() {
    let made: Vec<Demo> = SCENARIOS.iter().map(|scenario| scenario.demo).collect();
    assert_eq!(made, Demo::ALL);
}

#[test]
fn every_running_instance_tells_of_its_cpu_and_its_network() {
    for (estate, instances, accounts) in
        [(&DEMO, 23, 1), (&QUARTER_USED, 31, 1), (&MIXED_FLEET, 33, 2)]
    {
        assert_eq!(estate.instances.len(), instances);
        assert_eq!(estate.accounts.len(), accounts);
        let ids: BTreeSet<&str> = estate.instances.iter().map(|i| i.id.as_str()).collect();
        assert_eq!(ids.len(), instances, "each with an id of its own");
        for instance in &estate.instances {
            for key in ["Name", "team", "owner", "env"] {
                assert!(instance.tags.contains_key(key), "{} {key}", instance.id);
            }
            assert!(instance.first_seen() < estate.window.start);
            let own = |metric: Metric| {
                let mut own = estate.metrics.iter();
                own.find(|candidate| {
                    candidate.instance == instance.id && candidate.metric == metric
                })
                .map_or(0, |record| record.points.len())
            };
            let expected =
                if instance.state.is_running() { [PERIODS, HOURS, HOURS] } else { [0, 0, 0] };
            let counts = [Metric::CpuUtilization, Metric::NetworkIn, Metric::NetworkOut].map(own);
            assert_eq!(counts, expected, "{}", instance.id);
        }
    }
}

#[test]
fn quarter_used_uses_a_quarter_of_its_gpus() {
    let levels = averages(&QUARTER_USED, "");
    assert_eq!(levels.len(), 108);
    let effective_gpus: f64 = levels.iter().map(|gpu| mean(gpu) / 100.0).sum();
    let percent = effective_gpus / 108.0 * 100.0;
    assert!((24.5..=25.5).contains(&percent), "{percent}");
    // 3 replicas, 2 × 4 embedding, 4 × 2 sweeping, 4 at night, 8 and 4 training.
    assert!(effective_gpus / 35.0 >= 0.75, "{effective_gpus}");
    // Those at night are paid for 35 of the 168 hours every week.
    let paid_gpus = 31.0 + 4.0 * 35.0 / 168.0;
    assert!(effective_gpus / paid_gpus >= 0.84, "{effective_gpus}");
}

#[test]
fn three_replicas_can_do_the_work_of_twelve() {
    let replicas = averages(&QUARTER_USED, "chat-replica");
    assert_eq!(replicas.len(), 12);
    let mut together = vec![0.0; PERIODS];
    for replica in &replicas {
        assert!((15.0..=20.0).contains(&mean(replica)), "{}", mean(replica));
        for (period, percent) in replica.points.iter() {
            together[period as usize] += percent;
        }
    }
    let busiest = together.iter().copied().fold(0.0, f64::max);
    assert!(busiest <= 3.0 * 80.0, "{busiest}");
    assert!(together.iter().sum::<f64>() / PERIODS as f64 >= 3.0 * 75.0);
    let memory = Metric::GpuMemoryUsed;
    for held in series(&QUARTER_USED, "chat-replica", memory, Statistic::Maximum) {
        assert_eq!(largest(held), 9216.0);
    }
}

#[test]
fn idle_members_stand_beside_busy_ones() {
    for (estate, prefix, gpus, idle_gpus) in [
        (&QUARTER_USED, "embedding", 28, 20),
        (&QUARTER_USED, "finetune", 24, 20),
        (&MIXED_FLEET, "captioning", 16, 4),
    ] {
        let means: Vec<f64> = averages(estate, prefix).into_iter().map(mean).collect();
        assert_eq!(means.len(), gpus, "{prefix}");
        let idle = means.iter().filter(|mean| **mean == 0.0).count();
        assert_eq!(idle, idle_gpus, "{prefix}");
        let busy = means.iter().filter(|mean| **mean > 65.0).count();
        assert_eq!(busy + idle, gpus, "{prefix}");
    }
}

#[test]
fn what_is_idle_hears_less_than_5_mb_a_day() {
    for (estate, name) in
        [(&MIXED_FLEET, "captioning-4"), (&DEMO, "notebook-pavel"), (&DEMO, "llm-poc-old")]
    {
        let received = traffic(estate, name, Metric::NetworkIn);
        let sent = traffic(estate, name, Metric::NetworkOut);
        // At most 2 × 56 KiB an hour: 2.75 MB.
        let bytes_per_day = (mean(received[0]) + mean(sent[0])) * 24.0;
        assert!(bytes_per_day < 2.76e6, "{name}: {bytes_per_day}");
    }
}

#[test]
fn two_of_eight_gpus_sweep_and_six_never_work() {
    let maximum = Statistic::Maximum;
    let sweeps = series(&QUARTER_USED, "sweep", Metric::GpuUtilization, maximum);
    assert_eq!(sweeps.len(), 32);
    for of_gpu in sweeps {
        let works = of_gpu.gpu.is_some_and(|gpu| gpu < 2);
        assert_eq!(largest(of_gpu) > 0.0, works, "{:?}", of_gpu.gpu);
    }
    for gpu in averages(&QUARTER_USED, "sweep") {
        assert!(mean(gpu) == 0.0 || (83.0..=90.0).contains(&mean(gpu)));
    }
}

#[test]
fn services_are_at_their_limit_at_noon_every_day() {
    for prefix in ["search-ranking", "speech-online", "fraud-scoring"] {
        for gpu in averages(&MIXED_FLEET, prefix) {
            let mean = mean(gpu);
            assert!((40.0..=60.0).contains(&mean), "{prefix} {mean}");
            let mut highest = [0.0_f64; 14];
            for (period, percent) in gpu.points.iter() {
                let (day, hour) = (period / 288, period % 288 / 12);
                if (11..14).contains(&hour) {
                    highest[day as usize] = highest[day as usize].max(percent);
                } else {
                    assert!(percent <= 87.0, "{prefix} {percent}");
                }
            }
            assert!(highest.iter().all(|percent| *percent >= 89.0), "{prefix}");
        }
    }
}

#[test]
fn eight_nodes_train_in_step_over_the_network() {
    let levels = averages(&MIXED_FLEET, "language-pretraining");
    assert_eq!(levels.len(), 64);
    assert!(levels.iter().all(|gpu| (88.0..=92.0).contains(&mean(gpu))));
    for metric in [Metric::NetworkIn, Metric::NetworkOut] {
        for sent in traffic(&MIXED_FLEET, "language-pretraining", metric) {
            let gbit_per_second = mean(sent) * 8.0 / 3600.0 / 1e9;
            assert!((14.5..=15.5).contains(&gbit_per_second), "{metric}");
        }
    }
}

#[test]
fn mixed_fleet_is_mixed() {
    let windows = MIXED_FLEET
        .instances
        .iter()
        .filter(|instance| instance.operating_system == OperatingSystem::Windows);
    assert_eq!(windows.count(), 2);
    let elsewhere =
        MIXED_FLEET.instances.iter().filter(|instance| instance.account == MIXED_FLEET.accounts[1]);
    assert_eq!(elsewhere.count(), 2);
    let bought = &MIXED_FLEET.commitments;
    assert_eq!(bought.reserved_instances[0].count, 8);
    assert_eq!(bought.savings_plans.len(), 1);
    let [room] = &bought.capacity_reservations[..] else {
        panic!("one capacity reservation");
    };
    let inside = MIXED_FLEET
        .instances
        .iter()
        .filter(|instance| instance.capacity_reservation_id.as_ref() == Some(&room.id));
    assert_eq!(inside.count() as u32, room.total - room.available);
    assert_eq!(MIXED_FLEET.prices.iter().count(), 1, "the plan's rate");
}

#[test]
fn quarter_used_costs_what_its_table_says() {
    assert_costs(
        &QUARTER_USED,
        &[
            ("sweeps", 9_678_141),                 // 4 × 33.14432
            ("embedding", 5_361_739),              // 7 × 10.49264
            ("finetune", 2_484_336),               // 6 × 5.672
            ("chat-replicas", 1_630_236),          // 12 × 1.861
            ("foundation-pretraining", 1_602_908), // 21.957642
            ("nightly-transcription", 414_056),    // 5.672
        ],
    );
}

#[test]
fn mixed_fleet_costs_what_its_table_says() {
    // The room that document-model leaves free is distinguished elsewhere.
    assert_costs(
        &MIXED_FLEET,
        &[
            ("language-pretraining", 8_129_919), // 8 × 13.921094, reserved
            ("captioning", 1_343_667),           // 4 × 4.6016
            ("search-ranking", 277_596),         // 6 × 0.63378, the plan's
            ("fraud-scoring", 438_619),          // 2 × 3.00424
            ("speech-online", 352_502),          // 6 × 0.8048
            ("viewers", 339_187),                // 2 × 0.9776 + 2 × 1.3456
            ("ocr-prototype", 16_800),           // 2 100 GiB × 0.08
        ],
    );
}

static QUARTER_USED_AUDIT: LazyLock<Audit> =
    LazyLock::new(|| audit(&QUARTER_USED, &Policy::default(), Risk::Medium));
static MIXED_FLEET_AUDIT: LazyLock<Audit> =
    LazyLock::new(|| audit(&MIXED_FLEET, &Policy::default(), Risk::Medium));

fn workload<'a>(audit: &'a Audit, name: &str) -> &'a AuditedWorkload {
    let mut workloads = audit.workloads.iter();
    workloads.find(|row| row.workload.name == name).expect("a workload of this name")
}

fn cents(money: Money) -> String {
    format!("{:.2}", money.amount())
}

/// Checks what every workload costs to the cent; nothing else may be there.
fn assert_exact_costs(audit: &Audit, expected: &[(&str, &str)]) {
    assert_eq!(audit.workloads.len(), expected.len());
    for (name, monthly) in expected {
        let cost = workload(audit, name).workload.monthly_cost();
        assert_eq!(cost.map(cents).as_deref(), Some(*monthly), "{name}");
    }
    assert_eq!(audit.totals.unpriced_instances, 0);
}

/// A plan in words: `stop 38298.15 low`, with its target behind.
fn plan(actions: &[Action]) -> Vec<String> {
    let in_words = |action: &Action| {
        let saving = cents(action.monthly_savings());
        let to = action.target();
        let to = to.map(|to| format!(" to {} × {}", to.count, to.instance_type));
        let to = to.unwrap_or_default();
        format!("{} {saving} {}{to}", action.kind(), action.risk())
    };
    actions.iter().map(in_words).collect()
}

/// Checks the whole plan of every workload.
fn assert_plans(audit: &Audit, expected: &[(&str, &[&str])]) {
    assert_eq!(audit.workloads.len(), expected.len());
    for (name, steps) in expected {
        assert_eq!(plan(&workload(audit, name).actions), *steps, "{name}");
    }
}

/// How many of each type are bought; what they save is in the plans.
fn purchases(audit: &Audit) -> Vec<(&str, u32)> {
    let bought = audit.purchases.iter();
    bought.map(|purchase| (purchase.key.instance_type.as_str(), purchase.count)).collect()
}

/// The steps from today's cost to the planned one.
fn waterfall(audit: &Audit) -> Vec<String> {
    let steps = audit.totals.by_action.iter();
    steps.map(|(kind, saved)| format!("{kind} {}", cents(*saved))).collect()
}

/// The GPUs that the plan of a workload leaves: those that stand, and the same by the
/// share of the hours that they are paid for. All members of a workload cost the same,
/// so that a stop takes the same share of the GPUs as of the cost.
fn kept_gpus(row: &AuditedWorkload) -> (f64, f64) {
    let mut cost = row.workload.monthly_cost().expect("priced").amount();
    let mut idle_storage = Decimal::from(row.workload.visible_gpus().expect("a known type"));
    let mut on_share = Decimal::ONE;
    for action in &row.actions {
        let left = cost - action.monthly_savings().amount();
        match action.kind() {
            ActionKind::Stop => idle_storage *= left / cost,
            ActionKind::Schedule => on_share *= left / cost,
            ActionKind::Rightsize => idle_storage = target_gpus(row, action),
            ActionKind::Commit => {}
            other => panic!("no plan here has the action {other}"),
        }
        cost = left;
    }
    let number = |gpus: Decimal| gpus.to_f64().expect("a number");
    (number(idle_storage), number(idle_storage * on_share))
}

/// The GPUs of an action's target, of the model of today: each does as much work.
fn target_gpus(row: &AuditedWorkload, action: &Action) -> Decimal {
    let target = action.target().expect("it leads to a type");
    let known = shape(&target.instance_type).expect("in the price catalog");
    let offer = known.gpu.as_ref().expect("a type with GPUs");
    let today = row.workload.shape.as_ref().and_then(|s| s.gpu.as_ref());
    assert_eq!(today.map(|today| &today.model), Some(&offer.model));
    Decimal::from(offer.share.visible_devices()) * Decimal::from(target.count)
}

#[test]
fn quarter_used_costs_each_workload_to_the_cent() {
    // Hourly price × 730, rounded to cents, × instances.
    assert_exact_costs(
        &QUARTER_USED_AUDIT,
        &[
            ("sweeps", "96781.40"),                 // 4 × 24 195.35
            ("embedding", "53617.41"),              // 7 × 7 659.63
            ("finetune", "24843.36"),               // 6 × 4 140.56
            ("chat-replicas", "16302.36"),          // 12 × 1 358.53
            ("foundation-pretraining", "16029.08"), // 21.957642 × 730
            ("nightly-transcription", "4140.56"),   // 5.672 × 730
        ],
    );
    let total = QUARTER_USED_AUDIT.totals.monthly_cost.map(cents);
    assert_eq!(total.as_deref(), Some("211714.17"));
}

#[test]
fn quarter_used_has_its_plan_line_by_line() {
    let expected: [(&str, &[&str]); 6] = [
        // Two of eight GPUs work: 4 × (33.14432 − 8.28608) × 730 = 72 586.0608. Host
        // memory was not measured and falls from 2 048 to 512 GiB: medium. A g7e has
        // no reservation, and no interruption band, which spot needs below high risk.
        ("sweeps", &["rightsize 72586.06 medium to 4 × g7e.12xlarge"]),
        // Five idle members: 5 × 7 659.63. Two stay, at 85% and more:
        // 2 × (10.49264 − 6.61036) × 730 = 5 668.1288. Not restartable: no spot.
        ("embedding", &["stop 38298.15 low", "commit 5668.13 medium"]),
        // Five idle members: 5 × 4 140.56. One g5.12xlarge is reserved, which saves
        // (5.672 − 3.57336) × 730 = 1 532.0072, by what is left here and at night,
        // 4 140.56 and 862.616667: 1 532.01 × 4 140.56/5 003.176667 = 1 267.8703.
        ("finetune", &["stop 20702.80 low", "commit 1267.87 medium"]),
        // Twelve replicas peak at less than 3 × 80% together and stand in two zones:
        // 9 × 1.861 × 730 = 12 226.77. Then 3 × (1.861 − 1.17243) × 730 = 1 507.9683.
        (
            "chat-replicas",
            &["rightsize 12226.77 medium to 3 × g6e.xlarge", "commit 1507.97 medium"],
        ),
        // (21.957642 − 13.921094) × 730 = 5 866.68004. Its eight GPUs work at 87%
        // and may not be interrupted: the price is all that can change.
        ("foundation-pretraining", &["commit 5866.68 medium"]),
        // 133 of 168 hours off: 4 140.56 × 133/168 = 3 277.9433. The rest of the
        // g5.12xlarge pool: 1 532.01 − 1 267.87.
        ("nightly-transcription", &["schedule 3277.94 low", "commit 264.14 medium"]),
    ];
    assert_plans(&QUARTER_USED_AUDIT, &expected);
    // A second g5.12xlarge would be used in 35 of 168 hours, 21%; it pays above
    // 3.57336/5.672 = 63%.
    assert_eq!(
        purchases(&QUARTER_USED_AUDIT),
        [("g5.12xlarge", 1), ("g6e.12xlarge", 2), ("g6e.xlarge", 3), ("p4d.24xlarge", 1),]
    );
}

#[test]
fn quarter_used_is_planned_at_less_than_two_fifths_of_its_cost() {
    assert_eq!(
        waterfall(&QUARTER_USED_AUDIT),
        [
            "stop 59000.95",      // 38 298.15 + 20 702.80
            "schedule 3277.94",   // 3 277.94
            "rightsize 84812.83", // 72 586.06 + 12 226.77
            "commit 14574.79",    // 5 668.13 + 1 532.01 + 1 507.97 + 5 866.68
        ]
    );
    let totals = &QUARTER_USED_AUDIT.totals;
    // Only the stops are certain.
    assert_eq!(totals.monthly_waste.map(cents).as_deref(), Some("59000.95"));
    // 211 714.17 − 161 666.51, which is 76.4% less.
    let planned = totals.planned_monthly_cost.map(cents);
    assert_eq!(planned.as_deref(), Some("50047.66"));
    let percent = totals.savings_percent().expect("priced");
    assert!(percent >= Decimal::from(60), "{percent}");
}

#[test]
fn three_quarters_of_the_gpus_that_quarter_used_keeps_are_effective() {
    let funnel = QUARTER_USED_AUDIT.funnel;
    // 4 × 8 + 7 × 4 + 6 × 4 + 12 + 8 + 4, of which 8 + 8 + 4 + 12 + 8 + 4 work.
    assert_eq!((funnel.total_gpus, funnel.active_gpus), (108, 44));
    // 27.194 of 108 are effective: 25.2%.
    let effective_gpus = funnel.effective_gpus;
    let means = averages(&QUARTER_USED, "").into_iter().map(mean);
    let of_series = means.sum::<f64>() / 100.0;
    assert!((effective_gpus - of_series).abs() < 1e-6, "{of_series}");
    let percent = effective_gpus / 108.0 * 100.0;
    assert!((24.5..=25.5).contains(&percent), "{percent}");

    let expected = [
        ("sweeps", 8.0, 8.0),                               // 4 × 2
        ("embedding", 8.0, 8.0),                            // 2 × 4
        ("finetune", 4.0, 4.0),                             // 1 × 4
        ("chat-replicas", 3.0, 3.0),                        // 3 × 1
        ("foundation-pretraining", 8.0, 8.0),               // 1 × 8
        ("nightly-transcription", 4.0, 4.0 * 35.0 / 168.0), // 35 of 168 hours
    ];
    let (mut standing_gpus, mut paid_gpus) = (0.0, 0.0);
    for (name, idle_storage, paid) in expected {
        let (kept_standing, kept_paid) = kept_gpus(workload(&QUARTER_USED_AUDIT, name));
        let apart = (kept_standing - idle_storage).abs() + (kept_paid - paid).abs();
        assert!(apart < 1e-3, "{name}: {kept_standing} {kept_paid}");
        standing_gpus += kept_standing;
        paid_gpus += kept_paid;
    }
    // What stops did nothing, and every target has the GPU model of today: the same
    // 27.194 GPUs' worth is done on 35 GPUs, 77.7%, or, as the hours are paid, on
    // 31.833, 85.4%.
    assert!(effective_gpus / standing_gpus >= 0.75, "{standing_gpus}");
    assert!(effective_gpus / paid_gpus >= 0.84, "{paid_gpus}");
}

#[test]
fn mixed_fleet_costs_each_workload_to_the_cent() {
    // Hourly price × 730, rounded to cents, × instances.
    assert_exact_costs(
        &MIXED_FLEET_AUDIT,
        &[
            ("language-pretraining", "81299.20"), // 8 × 10 162.40
            ("document-model", "80358.40"),       // 2 × 40 179.20
            ("captioning", "13436.68"),           // 4 × 3 359.17
            ("fraud-scoring", "4386.20"),         // 2 × 2 193.10
            ("speech-online", "3525.00"),         // 6 × 587.50
            ("viewers", "3391.88"),               // 2 × 713.65 + 2 × 982.29
            ("search-ranking", "2775.96"),        // 6 × 462.66
            ("ocr-prototype", "168.00"),          // 2 100 GiB × 0.08
        ],
    );
    // 189 341.32 of workloads and 40 179.20 of room that nothing runs in.
    let totals = &MIXED_FLEET_AUDIT.totals;
    assert_eq!(totals.monthly_cost.map(cents).as_deref(), Some("229520.52"));
    // 64 + 16 + 16 + 2 + 6 + 4 + 6; all but the four of the idle member work.
    let funnel = MIXED_FLEET_AUDIT.funnel;
    assert_eq!((funnel.total_gpus, funnel.active_gpus), (114, 110));
}

#[test]
fn mixed_fleet_has_its_plan_line_by_line() {
    let expected: [(&str, &[&str]); 8] = [
        // Paid until 2027-03-15, and busy at 89% in step over EFA: nothing.
        ("language-pretraining", &[]),
        // Well used at 66%, in its capacity reservation. A p5 has no reserved price for
        // one year. On the cheaper card that holds 71 GiB × 1.2, with 1 597 of 3 350 GB/s,
        // a peak of 76% would be 159%: nothing.
        ("document-model", &[]),
        // One idle member: 4.6016 × 730. The others work at 70% and more:
        // 3 × (4.6016 − 2.99564) × 730 = 3 517.0524.
        ("captioning", &["stop 3359.17 low", "commit 3517.05 medium"]),
        // A peak of 90% leaves nothing to take away: 2 × 90/80 needs three. A
        // g6e.2xlarge has 8 vCPU for some 10.5. Only the price changes:
        // 2 × (3.00424 − 1.89267) × 730 = 1 622.8922.
        ("fraud-scoring", &["commit 1622.89 medium"]),
        // The same at noon: 6 × 90/80 needs seven. Half an L4 holds less than
        // 13 GiB × 1.2. 6 × (0.8048 − 0.52392) × 730 = 1 230.2544.
        ("speech-online", &["commit 1230.25 medium"]),
        // 48.5% of 8 vCPU × 1.2 = 4.7, and a g6.xlarge has 4. Two are Linux:
        // 2 × (0.9776 − 0.63642) × 730 = 498.1228. For Windows the price catalog has
        // no reservation without upfront.
        ("viewers", &["commit 498.12 medium"]),
        // At its limit at noon like the others, and paid by the savings plan until
        // 2027-05-01: nothing.
        ("search-ranking", &[]),
        // Stopped, but its volumes are paid: 2 100 GiB × 0.08, of which snapshots may cost
        // 2 100 × 0.05 = 105.00.
        ("ocr-prototype", &["release 63.00 low"]),
    ];
    assert_plans(&MIXED_FLEET_AUDIT, &expected);
    assert_eq!(
        purchases(&MIXED_FLEET_AUDIT),
        [("g6.12xlarge", 3), ("g6.2xlarge", 2), ("g6.xlarge", 6), ("g6e.4xlarge", 2),]
    );
}

#[test]
fn mixed_fleet_is_planned_mostly_as_it_is() {
    assert_eq!(
        waterfall(&MIXED_FLEET_AUDIT),
        [
            "stop 3359.17",     // captioning
            "release 40242.20", // 63.00 + 40 179.20
            "commit 6868.31",   // 3 517.05 + 1 622.89 + 1 230.25 + 498.12
        ]
    );
    let totals = &MIXED_FLEET_AUDIT.totals;
    // 3 359.17 + 40 242.20; invalid commitments file are optimization.
    assert_eq!(totals.monthly_waste.map(cents).as_deref(), Some("43601.37"));
    // 229 520.52 − 50 469.68.
    let planned = totals.planned_monthly_cost.map(cents);
    assert_eq!(planned.as_deref(), Some("179050.84"));
}

#[test]
fn of_what_mixed_fleet_bought_ahead_only_room_is_unused() {
    let totals = &MIXED_FLEET_AUDIT.totals;
    // 81 299.20 reserved and 2 775.96 of the savings plan, all of it used.
    let committed_cost = totals.committed_monthly_cost.map(cents);
    assert_eq!(committed_cost.as_deref(), Some("84075.16"));
    let [room] = &MIXED_FLEET_AUDIT.unused[..] else {
        panic!("one row: {:?}", MIXED_FLEET_AUDIT.unused);
    };
    assert_eq!(room.kind, "capacity-reservation");
    assert_eq!(room.name, "1 of 3 × p5.48xlarge in us-east-1d");
    assert_eq!(room.mean_room, Some(Decimal::ONE));
    assert_eq!(room.committed_until, None);
    // 1 × 55.04 × 730, and the reservation can be lowered.
    assert_eq!(room.monthly_cost.map(cents).as_deref(), Some("40179.20"));
    assert_eq!(totals.unused_monthly_cost, room.monthly_cost);
    assert_eq!(plan(&room.actions), ["release 40179.20 low"]);
    assert_eq!(cents(room.actions[0].certain()), "40179.20");
}
