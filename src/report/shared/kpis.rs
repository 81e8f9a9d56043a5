//! Key figures in words and in JSON, the same in every report.

use super::text::{json_figure, json_rate};
use crate::domain::{Kpi, KpiValue, separated};

/// What people call a key figure.
pub(in crate::report) fn title(kpi: Kpi) -> &'static str {
    match kpi {
        Kpi::GpuHours => "GPU hours per month",
        Kpi::UsefulGpuHours => "useful GPU hours per month",
        Kpi::IdleGpuHours => "idle GPU hours per month",
        Kpi::UnmeasuredGpuHours => "unmeasured GPU hours per month",
        Kpi::Utilization => "utilization",
        Kpi::UtilizationByCost => "utilization weighted by cost",
        Kpi::CostPerUsefulGpuHour => "cost per useful GPU hour",
        Kpi::TrainingJobs => "training jobs",
        Kpi::CostPerTrainingJob => "cost per training job",
        Kpi::CostPerCompletedTrainingJob => "cost per completed training job",
        Kpi::TimeToFirstWork => "hours from launch to first GPU work",
    }
}

/// A value as a JSON number.
pub(in crate::report) fn json_value(value: KpiValue) -> Option<f64> {
    match value {
        KpiValue::Money(amount) => json_rate(amount.amount()),
        KpiValue::Measured(value) => Some(json_figure(value)),
    }
}

/// How many units a price is for, such as `1,000 inferences` or `1 epoch`.
pub(in crate::report) fn per(number: u32, unit: &str) -> String {
    match number {
        1 => unit.to_owned(),
        number => format!("{} {unit}", separated(&number.to_string())),
    }
}
