//! Key figures of a fleet: what its GPU hours are good for and cost, what training jobs
//! cost, how soon instances work, and what units of work cost. `docs/kpis.md` defines each.

mod costs;
mod hours;

pub use costs::{CountedRun, JobCost, RunKpis, UnitError, unit_costs};
pub(super) use hours::planned_utilization_percent;
pub use hours::{GpuHours, GpuUse, waits_for_work};

use crate::analysis::AuditedWorkload;
use crate::catalog::Prices;
use crate::domain::{Currency, Kpi, KpiValue, Policy, TrainingJob, UnitCost};
use crate::usage::quantile;
use std::collections::BTreeMap;

/// The key figures of an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Kpis {
    /// Those that are known.
    pub values: BTreeMap<Kpi, KpiValue>,
    /// The training jobs that ended, the most expensive first.
    pub jobs: Vec<JobCost>,
    /// What units of work cost, in the order in which they were given; empty unless they
    /// were counted.
    pub unit_costs: Vec<UnitCost>,
}

impl Kpis {
    pub(super) fn of(
        audited: &[AuditedWorkload],
        jobs: &[TrainingJob],
        prices: &Prices<'_>,
        policy: &Policy,
        currency: Currency,
    ) -> Self {
        let jobs = costs::ended(jobs, prices);
        let mut fleet = GpuUse::new(currency);
        let mut waits = Vec::new();
        for workload in audited {
            fleet.add(&workload.workload, policy);
            let hours = waits_for_work(&workload.workload).map(|wait| wait.as_secs_f64() / 3_600.0);
            waits.extend(hours);
        }
        waits.sort_by(f64::total_cmp);
        let wait = quantile(&waits, 0.5).and_then(KpiValue::measured);
        let values = fleet.values().into_iter();
        let values = values.chain(costs::values(&jobs, currency));
        let values = values.chain([(Kpi::TimeToFirstWork, wait)]);
        Self {
            values: values.filter_map(|(kpi, value)| Some((kpi, value?))).collect(),
            jobs,
            unit_costs: Vec::new(),
        }
    }

    pub fn get(&self, kpi: Kpi) -> Option<KpiValue> {
        self.values.get(&kpi).copied()
    }
}
