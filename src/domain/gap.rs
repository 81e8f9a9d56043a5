//! What could not be seen. A gap is a value that travels with the result, not
//! an error.

use super::{Cause, CauseKind, GapSubject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that could not be read, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a gap with `what`, `where`, `reason` and `hint`")]
pub struct Gap {
    pub what: GapSubject,
    /// Where: a region, an instance, a workload.
    #[serde(rename = "where")]
    pub place: String,
    /// Used as it is without a cause.
    pub reason: String,
    /// Used as it is without a cause.
    pub hint: String,
    /// What the reason and the hint are derived from; absent only where a file has text of
    /// its own instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Cause>>,
}

impl Gap {
    /// A gap with a cause.
    pub fn of(what: impl Into<GapSubject>, place: impl Into<String>, cause: Cause) -> Self {
        Self {
            what: what.into(),
            place: place.into(),
            reason: cause.to_string(),
            hint: cause.hint(),
            cause: Some(Box::new(cause)),
        }
    }

    /// A gap of a file that has words instead of a cause, as earlier recordings do.
    pub fn in_words(
        what: GapSubject,
        place: impl Into<String>,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { what, place: place.into(), reason: reason.into(), hint: hint.into(), cause: None }
    }

    /// What it keeps from view.
    pub fn hides(&self) -> Hidden {
        hidden(&self.what, self.cause.as_ref().map(|cause| cause.kind()))
    }
}

/// What a gap keeps from view: a rule of a gate names what it rests on, and is incomplete by
/// every gap about that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hidden {
    /// Machines that may be there and cost.
    Instances,
    /// Tags of what is known.
    Tags,
    /// Volumes and addresses of what is stopped.
    Storage,
    /// Reservations and savings plans.
    Commitments,
    /// Pods, tasks and devices of clusters.
    Claims,
    /// A cost that is in no sum.
    Sums,
    /// A figure of something that is known, for which rules ask one by one.
    Figures,
    /// Any of these: this program does not know what it is about.
    Anything,
}

/// What a gap of a subject keeps from view. Without a cause, which earlier recordings do not
/// state, an instance counts as not read; one on its way out, or read twice, is known.
pub fn hidden(what: &GapSubject, cause: Option<CauseKind>) -> Hidden {
    use GapSubject as Of;
    let is_known = matches!(cause, Some(CauseKind::InstanceEnding | CauseKind::NodeRepeated));
    match what {
        Of::Instance if is_known => Hidden::Figures,
        Of::Account
        | Of::Instance
        | Of::Nodes
        | Of::Plan
        | Of::Region
        | Of::Regions
        | Of::TrainingJobs => Hidden::Instances,
        Of::Tags => Hidden::Tags,
        Of::Addresses | Of::Volumes => Hidden::Storage,
        Of::CapacityReservations
        | Of::Commitment
        | Of::ReservedInstances
        | Of::SavingsPlans
        | Of::TrainingPlans => Hidden::Commitments,
        Of::Devices | Of::Pods | Of::Tasks => Hidden::Claims,
        Of::Sum => Hidden::Sums,
        Of::Other(_) => Hidden::Anything,
        Of::AutoScalingGroups
        | Of::AwsOpinion
        | Of::BatchEnvironments
        | Of::Budget
        | Of::ColumnNames
        | Of::Columns
        | Of::Commitments
        | Of::CpuUtilization
        | Of::Driver(_)
        | Of::Figures
        | Of::GpuUtilization
        | Of::GpuUtilizationMaxima
        | Of::Gpus(_)
        | Of::HostGpus
        | Of::HourlyGpuUtilizationMaxima
        | Of::Index
        | Of::InferenceComponents
        | Of::InstanceCount
        | Of::InstanceType
        | Of::InstanceTypes
        | Of::LastSample
        | Of::LaunchTemplate
        | Of::Lines
        | Of::LivePrice
        | Of::LivePrices
        | Of::Market
        | Of::MarketSystemAndTenancy
        | Of::Metric(_)
        | Of::MetricPoints
        | Of::Metrics
        | Of::MissingColumns(_)
        | Of::OperatingSystem
        | Of::Owners
        | Of::PodUse
        | Of::Price
        | Of::PriceCache
        | Of::ProfileData
        | Of::Rows
        | Of::RunningTime
        | Of::Samples
        | Of::SavingsPlanRate
        | Of::SavingsPlanRates
        | Of::Scope
        | Of::SpotNotices
        | Of::SpotPrices
        | Of::StoragePrice
        | Of::StoragePrices
        | Of::TagValue
        | Of::Tenancy
        | Of::TimeZone
        | Of::Times
        | Of::Timestamp
        | Of::Usage
        | Of::UtilizationPerGpu
        | Of::VramUse
        | Of::Waste => Hidden::Figures,
    }
}

/// The region of a gap's place, which has its account before it where there are several;
/// any other place as it is.
pub fn region_of(place: &str) -> &str {
    match place.split_once('/') {
        Some((account, region))
            if !account.is_empty()
                && account.bytes().all(|byte| byte.is_ascii_digit())
                && !region.contains('/') =>
        {
            region
        }
        _ => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_found_behind_its_account() {
        assert_eq!(region_of("111122223333/us-east-1"), "us-east-1");
        for place in ["us-east-1", "account", "gcp/project/us-central1/vm", "a/b"] {
            assert_eq!(region_of(place), place);
        }
    }
}
