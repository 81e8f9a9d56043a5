//! Key figures in words, the same in every report.

use crate::domain::{Kpi, separated};

/// What people call a key figure.
pub fn title(kpi: Kpi) -> &'static str {
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

/// How many units a price is for, such as `1,000 inferences` or `1 epoch`.
pub fn per(number: u32, unit: &str) -> String {
    match number {
        1 => unit.to_owned(),
        number => format!("{} {unit}", separated(&number.to_string())),
    }
}
