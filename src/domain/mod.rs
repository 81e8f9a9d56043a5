//! Pure types of the field: no I/O, no clock, no wire formats.

mod advice;
mod cause;
mod commitment;
mod committed;
mod directory;
mod estate;
mod finding;
mod gap;
mod gpu;
mod hours;
mod instance;
mod member;
mod money;
mod names;
mod policy;
mod price;
mod profiled;
mod prose;
mod samples;
mod series;
mod shape;
mod spot;
mod statistics;
mod terraform;
mod time;
mod timeline;
mod usage;
mod verdict;
mod week;
mod workload;

pub use advice::{Action, ActionKind, Risk, Target};
pub use cause::{ANSWER_FIELDS, Cause, CauseKind, Detail, FALLBACKS, FailureKind};
pub use commitment::{
    CapacityReservation, Commitments, OfferingClass, ReservedInstances, SavingsPlan,
    SavingsPlanKind,
};
pub use committed::{CommittedCost, CommittedHours, CommittedPart};
pub use directory::{Directory, HostMatch};
pub use estate::{ApiUsage, Estate, EstateSource, TagFilter};
pub use finding::{
    Comparator, Confidence, Evidence, Finding, FindingKind, Judgement, Observation, Recommendation,
    Severity,
};
pub use gap::{Gap, hides_instances};
pub use gpu::{GpuModel, GpuShare, MOST_GPUS};
pub use hours::{ActivityHour, HourlyActivity};
pub(crate) use instance::named_enum;
pub use instance::{
    Address, Instance, InstanceId, InstanceState, Lifecycle, OperatingSystem, PurchaseOption,
    Tenancy, Volume,
};
pub use member::{Measured, Member};
pub use money::{Currency, CurrencyMismatch, HourlyRate, MOST_PER_HOUR, Money};
pub use names::{is_unsafe, safe, shell_word, shown, spreadsheet_safe};
pub use policy::Policy;
pub use price::{
    CommitmentTerm, Instalments, InterruptionBand, NoPrice, PaymentOption, PriceBasis, PriceBook,
    PriceKey, PriceOption, PriceOrigin, PriceQuote, StorageQuote, StorageResource,
};
pub use profiled::{ProfileBasis, ProfiledRun, SampleCounts};
pub use prose::{after_number, decimals_apart, floored, separated};
pub use samples::Samples;
pub use series::{JoinedBy, Metric, Points, Rejected, Series, SeriesSource, Statistic};
pub use shape::{AcceleratorKind, Architecture, GpuOffer, InstanceShape};
pub use spot::SpotHistory;
pub use statistics::{Distribution, mean, quantile};
pub use terraform::{
    Missing, PlanAction, Planned, PlannedCount, PlannedInstances, PlannedResource, TerraformPlan,
};
pub use time::{RunningTime, Window, floor_to_period};
pub use timeline::{ACTIVE_PERCENT, Signal, Timeline, UtilizationSummary};
pub use usage::{GpuUsage, InstanceUsage, Maxima, NetworkUse, VramSummary};
pub use verdict::{Classification, UsageState, Verdict};
pub use week::{HOURS_OF_A_WEEK, WeekHour, WeekUsage};
pub use workload::{
    Group, IdleStorageCosts, InstanceCost, KindBasis, Unpriced, Workload, WorkloadCost,
    WorkloadKey, WorkloadKind, says_production,
};
