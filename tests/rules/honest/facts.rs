//! A fact that was not seen adds no dollar to a lever that rests on it.

use super::config;
use super::draft::{ExistingCommitments, estate_of, fleet};
use crate::rules::builder::{A10G_MIB, Machine, audited, estate, flat, g5};
use gpucost::analysis::{Audit, AuditedWorkload};
use gpucost::domain::{Action, ActionKind, Metric, ResourceId, Risk, Statistic, Window};
use gpucost::usage::{Estate, Points, Series};
use proptest::prelude::*;
use rust_decimal::Decimal;

/// Facts with the levers that rest on them.
const FACTS: [(Metric, &[ActionKind]); 3] = [
    (
        Metric::GpuUtilization,
        &[ActionKind::Stop, ActionKind::Schedule, ActionKind::Rightsize, ActionKind::Share],
    ),
    (Metric::GpuMemoryUsed, &[ActionKind::Stop, ActionKind::Rightsize, ActionKind::Share]),
    (Metric::CpuUtilization, &[ActionKind::Rightsize, ActionKind::Share]),
];

/// Signs that forbid a stop or weaken it, and how the caveat begins where one is missing.
const SIGNS: [(Metric, &str); 3] = [
    (Metric::CpuUtilization, "CPU was "),
    (Metric::NetworkIn, "network traffic was "),
    (Metric::NetworkOut, "network traffic was "),
];

/// Power is none of these. Most fleets have none, and where the counters stand still it can only
/// contradict them: then nothing is known of the GPU. A machine whose contradiction nobody
/// measures is judged by its counters, as those without power are; this is the one case in which
/// a signal that is taken away adds waste.
#[test]
fn power_that_is_not_measured_changes_no_stop_but_one_that_it_contradicts() {
    let drawing = |watts: Option<f64>| {
        let machine = g5("i-1").gpu(0, flat(0.0)).vram(0, 200.0, A10G_MIB);
        let series = |machine: Machine, watts: f64| {
            let metric = Metric::GpuPowerDraw;
            machine.series(metric, Statistic::Average, Some(0), flat(watts))
        };
        let audit = audited(&estate(vec![match watts {
            Some(watts) => series(machine, watts),
            None => machine,
        }]));
        let stop = stop_of(&audit, &ResourceId::named("i-1"));
        let waste = audit.totals.monthly_waste.expect("priced").amount();
        (stop.map(|stop| (stop.monthly_savings().amount(), stop.risk())), waste)
    };
    // 1.006 × 730, and an A10G rests up to 57 + 15% × (300 − 57) = 93.45 W.
    let saved = Decimal::new(73_438, 2);
    let stopped = (Some((saved, Risk::Low)), saved);
    assert_eq!(drawing(Some(93.0)), stopped);
    assert_eq!(drawing(None), stopped);
    assert_eq!(drawing(Some(94.0)), (None, Decimal::ZERO));
}

/// The estate without most points of a metric of one instance: none, or twelve.
fn without(estate: &Estate, id: &ResourceId, metric: Metric, keeps: usize) -> Estate {
    let mut less = estate.clone();
    for series in &mut less.metrics {
        if series.instance == *id && series.metric == metric {
            *series = first(series, keeps, estate.window);
        }
    }
    less
}

fn first(series: &Series, keeps: usize, window: Window) -> Series {
    let period = i64::from(series.points.period_seconds());
    let raw = series.points.iter().take(keeps).map(|(index, value)| {
        let offset = jiff::SignedDuration::from_secs(i64::from(index) * period);
        (window.start + offset, value)
    });
    let key = (series.metric, series.statistic);
    let (points, rejected) = Points::clean(raw, key, window, series.points.period_seconds());
    Series { points, rejected, ..series.clone() }
}

/// The stop in the workload of an instance.
fn stop_of<'a>(audit: &'a Audit, id: &ResourceId) -> Option<&'a Action> {
    let mut own = audit.workloads.iter();
    let own = own.find(|workload| workload.workload.instances.contains(id))?;
    let mut actions = own.actions.iter();
    actions.find(|action| action.kind() == ActionKind::Stop)
}

fn saved(workload: &AuditedWorkload, kind: ActionKind) -> Decimal {
    let actions = workload.actions.iter().filter(|action| action.kind() == kind);
    actions.map(|action| action.monthly_savings().amount()).sum()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_fact_that_is_missing_adds_no_dollar(
        (boxes, bought) in fleet(),
        place in any::<prop::sample::Index>(),
        fact in 0..FACTS.len(),
        keeps in prop_oneof![Just(0_usize), Just(12_usize)],
    ) {
        let estate = estate_of(&boxes, &bought);
        let id = &estate.instances[place.index(estate.instances.len())].id;
        let (metric, levers) = FACTS[fact];
        let before = audited(&estate);
        let after = audited(&without(&estate, id, metric, keeps));
        let of = |audit: &Audit, kind: ActionKind| -> Decimal {
            let workloads = audit.workloads.iter();
            workloads.filter(|workload| workload.workload.instances.contains(id))
                .map(|workload| saved(workload, kind))
                .sum()
        };
        for kind in levers {
            let (was, is) = (of(&before, *kind), of(&after, *kind));
            prop_assert!(is <= was, "{metric} of {id} kept {keeps}: {kind} {was} -> {is}");
        }
        // And no commitment rests on that member.
        for purchase in &after.purchases {
            for share in &purchase.shares {
                let workload = after.workloads.iter().find(|workload| workload.workload.id() == share.id);
                let workload = workload.expect("a workload of the plan");
                let rests = workload.alternatives.billed.iter().any(|member| member.is_sized && member.id == *id);
                prop_assert!(!rests, "{metric} of {id}");
            }
        }
    }

    #[test]
    fn a_sign_that_is_missing_adds_no_waste(
        (boxes, _) in fleet(),
        place in any::<prop::sample::Index>(),
        sign in 0..SIGNS.len(),
        keeps in prop_oneof![Just(0_usize), Just(12_usize)],
    ) {
        let nothing = ExistingCommitments { reserved: None, capacity: None, plan: None };
        let estate = estate_of(&boxes, &nothing);
        let id = &estate.instances[place.index(estate.instances.len())].id;
        let (metric, words) = SIGNS[sign];
        let before = audited(&estate);
        let after = audited(&without(&estate, id, metric, keeps));
        let (was, is) = (stop_of(&before, id), stop_of(&after, id));
        let amounts = |stop: Option<&Action>| {
            stop.map_or((Decimal::ZERO, Decimal::ZERO), |stop| {
                (stop.certain().amount(), stop.monthly_savings().amount())
            })
        };
        let ((certain, saved), (certain_after, saved_after)) = (amounts(was), amounts(is));
        prop_assert!(certain_after <= certain, "{metric} of {id}: {certain} -> {certain_after}");
        if let Some(stop) = is.filter(|_| saved_after > saved) {
            let name = id.to_string();
            let first = stop.caveats().first();
            let is_said = first.is_some_and(|caveat| caveat.starts_with(words) && caveat.contains(&name));
            prop_assert!(is_said, "{metric} of {id}: {:?}", stop.caveats());
        }
    }
}
