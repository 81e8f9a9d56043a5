//! How busy the GPUs of a fleet are today and after its plan, worked out by hand.

use crate::rules::builder::{A10G_MIB, Machine, estate, flat, g5};
use gpucost::analysis::audit;
use gpucost::domain::{ActionKind, Kpi, KpiValue, Metric, Policy, Risk, Statistic};
use gpucost::usage::Estate;

/// An idle machine; one of four GPUs, of which one works at 40%; and one for development that
/// works at 60% from 8 to 16 o'clock.
pub fn fleet() -> Estate {
    let hours = |period: u32| Some(if (96..192).contains(&(period % 288)) { 60.0 } else { 0.0 });
    let large = Machine::new("i-large", "g5.12xlarge").cpu(flat(4.0));
    // Without traffic, a move to a slower link carries more risk.
    let traffic = [Metric::NetworkIn, Metric::NetworkOut];
    let large = traffic
        .into_iter()
        .fold(large, |machine, metric| machine.series(metric, Statistic::Sum, None, flat(1_000.0)));
    let large = (0..4).fold(large, |machine, gpu| {
        let level = if gpu == 0 { 40.0 } else { 0.0 };
        machine.gpu(gpu, flat(level)).vram(gpu, 200.0, A10G_MIB)
    });
    let develops = g5("i-notebook").tag("gpucost:kind", "development");
    estate(vec![
        g5("i-idle").gpu(0, flat(0.0)).vram(0, 200.0, A10G_MIB),
        large,
        develops.gpu(0, hours).vram(0, 2_000.0, A10G_MIB),
    ])
}

#[test]
fn busy_gpu_hours_stay_and_the_plan_takes_the_others_away() {
    let report = audit(&fleet(), &Policy::default(), Risk::Low);
    let workloads = report.workloads.iter();
    let mut actions: Vec<(ActionKind, Option<u32>)> = workloads
        .flat_map(|workload| &workload.actions)
        .map(|action| (action.kind(), action.target().map(|to| to.count)))
        .collect();
    actions.sort();
    let expected =
        [(ActionKind::Stop, None), (ActionKind::Schedule, None), (ActionKind::Rightsize, Some(1))];
    assert_eq!(actions, expected);
    let Some(KpiValue::Measured(today)) = report.kpis.get(Kpi::Utilization) else {
        panic!("nothing was measured");
    };
    // 730 h × (0 + 0.4 + 0.6 × 8/24) busy = 438 h, of 730 h × (1 + 4 + 1).
    assert!((today - 10.0).abs() < 1e-9, "{today}");
    // None of the first, one GPU of the second, and 8 of 24 hours of the third: 730 h × 4/3.
    let planned = report.planned_utilization_percent.expect("measured");
    assert!((planned - 45.0).abs() < 1e-9, "{planned}");
}

#[test]
fn without_a_measured_gpu_nothing_is_said_of_use() {
    let report = audit(&estate(vec![g5("i-1")]), &Policy::default(), Risk::Low);
    assert_eq!(report.planned_utilization_percent, None);
    // What is stopped leaves no hour that could be used.
    let idle = g5("i-1").gpu(0, flat(0.0)).vram(0, 200.0, A10G_MIB);
    let report = audit(&estate(vec![idle]), &Policy::default(), Risk::Low);
    assert_eq!(report.planned_utilization_percent, None);
}

/// A V100 does 125 × 10^12 FP16 operations a second and an A10G 70: an hour of the one is what the
/// projection says of the other.
#[test]
fn hours_of_another_card_are_those_of_the_projection() {
    let machine = Machine::new("i-1", "p3.2xlarge")
        .cpu(flat(4.0))
        .gpu(0, flat(20.0))
        .vram(0, 2_000.0, 16_160.0);
    let report = audit(&estate(vec![machine]), &Policy::default(), Risk::Medium);
    let [workload] = report.workloads.as_slice() else {
        panic!("one workload");
    };
    let rightsizing = workload.proposals.rightsize().expect("another card");
    let there = rightsizing.projection.expect("it has a GPU");
    assert_eq!(workload.actions[0].target().map(|to| to.count), Some(1));
    let planned = report.planned_utilization_percent.expect("measured");
    let hours = f64::from(20_u8) * there.ratio.value;
    assert!(there.ratio.value > 1.0, "{:?}", there.ratio);
    assert!((planned - hours).abs() < 1e-9, "{planned} is not {hours}");
}
