//! The key figures of the demo by brute force: from the points of its series, one instance at a
//! time, beside what the audit says.

use super::DEMO;
use gpucost::analysis::{Audit, audit};
use gpucost::catalog::shape;
use gpucost::domain::{Instance, Kpi, KpiValue, Metric, Policy, Risk, Statistic};
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

const PERIODS: usize = 4032;
const MONTH: f64 = 730.0;

/// Values by GPU and period.
fn of_gpus(instance: &Instance, statistic: Statistic) -> BTreeMap<u16, BTreeMap<u32, f64>> {
    let own = DEMO.metrics.iter().filter(|series| {
        series.instance == instance.id
            && series.metric == Metric::GpuUtilization
            && series.statistic == statistic
    });
    own.filter_map(|series| Some((series.gpu?, series.points.iter().collect()))).collect()
}

/// One instance: GPU hours, and where it was measured its mean in percent and the share of the
/// time in which a GPU rested.
struct Machine {
    gpu_hours: f64,
    monthly: f64,
    used: Option<(f64, f64)>,
}

fn machine(instance: &Instance, rate: f64) -> Machine {
    let gpus = shape(&instance.instance_type)
        .and_then(|shape| shape.gpu.as_ref())
        .and_then(|offer| offer.share.count().to_f64())
        .expect("GPUs");
    let averages = of_gpus(instance, Statistic::Average);
    let maxima = of_gpus(instance, Statistic::Maximum);
    // Every instance of the demo that runs now ran all the time.
    let mut periods: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (period, value) in averages.values().flatten() {
        periods.entry(*period).or_default().push(*value);
    }
    let means = periods
        .values()
        .filter(|values| values.len() as f64 * 2.0 >= gpus)
        .map(|values| values.iter().sum::<f64>() / values.len() as f64);
    let means: Vec<f64> = means.collect();
    let rests = |values: &BTreeMap<u32, f64>| {
        let idle = values.values().filter(|value| **value < 1.0).count();
        idle as f64 / values.len() as f64
    };
    let idle: f64 = maxima.values().map(rests).sum::<f64>() / gpus;
    let is_measured = means.len() * 2 > PERIODS && maxima.len() as f64 == gpus;
    Machine {
        gpu_hours: gpus * MONTH,
        monthly: (rate * MONTH * 100.0).round() / 100.0,
        used: is_measured.then(|| (means.iter().sum::<f64>() / means.len() as f64, idle)),
    }
}

fn machines(report: &Audit) -> Vec<Machine> {
    let running = report.workloads.iter().filter(|workload| workload.workload.key.running);
    let mut list = Vec::new();
    for workload in running {
        let cost = workload.workload.cost.as_ref().expect("priced");
        for (id, cost) in workload.workload.instances.iter().zip(&cost.instances) {
            let instance = DEMO.instances.iter().find(|instance| instance.id == *id);
            let rate = cost.hourly.amount().to_f64().expect("a rate");
            list.push(machine(instance.expect("it is there"), rate));
        }
    }
    list
}

#[test]
fn the_key_figures_are_those_of_every_instance_by_itself() {
    let report = audit(&DEMO, &Policy::default(), Risk::Low);
    let fleet = machines(&report);
    let sum = |of: &dyn Fn(&Machine) -> f64| fleet.iter().map(of).sum::<f64>();
    let used = |of: fn(&Machine, f64, f64) -> f64| {
        sum(&|instance| instance.used.map_or(0.0, |(mean, idle)| of(instance, mean, idle)))
    };
    let hours = sum(&|instance| instance.gpu_hours);
    let useful = used(|instance, mean, _| instance.gpu_hours * mean / 100.0);
    let measured = used(|instance, _, _| instance.gpu_hours);
    let cost = used(|instance, _, _| instance.monthly);
    let expected = [
        (Kpi::GpuHours, hours),
        (Kpi::UsefulGpuHours, useful),
        (Kpi::IdleGpuHours, used(|instance, _, idle| instance.gpu_hours * idle)),
        (Kpi::UnmeasuredGpuHours, hours - measured),
        (Kpi::Utilization, 100.0 * useful / measured),
        (Kpi::UtilizationByCost, used(|instance, mean, _| instance.monthly * mean) / cost),
        (Kpi::CostPerUsefulGpuHour, cost / useful),
    ];
    for (kpi, expected) in expected {
        let value = match report.kpis.get(kpi) {
            Some(KpiValue::Money(amount)) => amount.amount().to_f64().expect("a number"),
            Some(KpiValue::Measured(value)) => value,
            None => panic!("{kpi} is absent"),
        };
        // Percentages are kept in hundredths of a point.
        let tolerance = (expected.abs() * 2e-3).max(1e-3);
        assert!((value - expected).abs() <= tolerance, "{kpi}: {value}, {expected}");
    }
    // 109 GPUs for 730 hours, four of which nothing measures.
    assert_eq!(report.kpis.get(Kpi::GpuHours), Some(KpiValue::Measured(79_570.0)));
    let unmeasured = report.kpis.get(Kpi::UnmeasuredGpuHours);
    assert_eq!(unmeasured, Some(KpiValue::Measured(2_920.0)));
    assert_eq!(report.kpis.get(Kpi::CostPerTrainingJob), None);
}
