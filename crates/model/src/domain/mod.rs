//! Pure types of the field: no I/O and no clock. Documents hold them as they are.

mod advice;
mod bill;
mod cause;
mod claim;
mod commitment;
mod directory;
mod finding;
mod gathering;
mod gpu;
mod hours;
mod instance;
mod job;
mod kpi;
mod ledger;
mod managed;
mod member;
mod metric;
mod money;
mod named;
mod names;
mod node;
mod opinion;
mod past;
mod policy;
mod price;
mod profiled;
mod prose;
mod reading;
mod resource;
mod run;
mod samples;
mod scaling;
mod spot;
mod subject;
mod tags;
mod terraform;
mod time;
mod usage;
mod use_signs;
mod verdict;
mod wire;
mod words;
mod work;
mod workload;
mod workload_cost;
mod workload_key;

pub use advice::{Action, ActionKind, Risk, Target};
pub use bill::{
    BillCosts, BillFile, BillFiles, BillForm, BillKept, BillLine, HourSums, LineKind, MonthlyBill,
    PodShare, ResourceHour, SharedPart, StatedSum, bare_id,
};
pub use cause::{
    ANSWER_FIELDS, Cause, CauseKind, Detail, FALLBACKS, FIGURES, FailureKind, POINT_REJECTIONS,
};
pub use claim::{
    Claim, ClaimState, DeviceUnit, DeviceUse, Devices, ECS_FAMILY, ECS_SERVICE, Holder,
    InitRequest, Owner, Placement, effective_request,
};
pub use commitment::MOST_COMMITTED;
pub use commitment::{
    CapacityReservation, CommitmentPool, Commitments, OfferingClass, Ownership, ReservedInstances,
    SavingsPlan, SavingsPlanKind,
};
pub use directory::{Directory, HostMatch};
pub use finding::{
    Comparator, Confidence, Evidence, Finding, FindingKind, Observation, Recommendation, Severity,
};
pub use gathering::{ApiUsage, EstateSource, Gap, Gathered, TagFilter, hidden, region_of};
pub use gpu::family_of;
pub use gpu::{
    AcceleratorKind, Architecture, GpuModel, GpuOffer, GpuShare, InstanceShape, MOST_GPUS,
};
pub use hours::{ActivityHour, HourCell, HourlyActivity};
pub use instance::{
    Address, Instance, InstanceState, Lifecycle, OperatingSystem, PurchaseOption, Tenancy, Volume,
};
pub use instance::{MOST_VOLUME_GIB, NAME_TAG};
pub use job::{
    CountedRequests, JobRequest, JobStatus, MOST_JOBS, Moment, RecordedRequest, RecordedWork,
    TrainingJob,
};
pub use kpi::{DatedUnits, Kpi, KpiValue, UnitCost, WorkUnits, units_of_price};
pub use ledger::{
    ActionBaseline, CostKind, CostSource, DatedPrice, FileTrouble, FoundFile, InstanceHour,
    InstanceRate, RecordedAction, RecordedRun, VerifiedHistory, WorkloadDay, action_id,
};
pub use managed::{
    Component, ComponentHost, Copies, InferenceComponent, Managed, PlanStatus, TrainingPlan,
};
pub use member::{Measured, Member, Until};
pub use metric::{JoinedBy, Metric, Rejected, SeriesSource, Statistic};
pub use money::{Currency, CurrencyMismatch, HourlyRate, MOST_PER_HOUR, Money, per_hour};
pub use named::{named_enum, named_key, nearest_names, sums};
pub use names::{
    Fnv, is_unsafe, matches_pattern, plain_name, safe, shell_word, shown, spreadsheet_safe,
};
pub use node::{
    Clusters, DEVICE_DECIMALS, DeviceFunnel, Node, NodeAmount, NodeDevices, PoolMaker, Scheduler,
};
pub use opinion::{AdvisedResource, AwsAdvice, AwsOpinion};
pub use past::{
    PastAudit, PastFinding, PastGap, PastMember, PastTotals, PastUnitCost, PastUnused,
    PastWorkload, Unread,
};
pub use policy::{Policy, RejectedAction};
pub use price::{
    CommitmentTerm, Instalments, InterruptionBand, NoPrice, PaymentOption, PriceBasis, PriceBook,
    PriceKey, PriceOption, PriceOrigin, PriceQuote, StorageQuote, StorageResource,
};
pub use profiled::{ProfileBasis, ProfiledRun, SampleCounts};
pub use prose::{
    after_number, counted, decimals_apart, first_names, floored, separated, with_article,
};
pub use reading::{
    Activity, FineSample, GpuProcess, GpuReading, GpuSample, HostReading, Loss, MIB, Sample,
    ThrottleReasons,
};
pub use resource::{Provider, ResourceId, partition};
pub use run::{
    GpuIdentity, MigSlot, PastRun, RunEnd, RunFacts, SpotAction, SpotInterruption, SpotNotice,
    SpotRun, UnitsDone, pcie_bytes_per_second,
};
pub use samples::{Outage, Samples};
pub use scaling::{BatchEnvironment, ScalingGroup, WarmPool};
pub use spot::{SpotHistory, spot_history, time_weighted_mean};
pub use subject::{DriverMetric, GapSubject, GpuLabel, Hidden, LogColumn};
pub use tags::{OWNER_TAGS, RESTARTABLE_TAG, is_restartable, size_mib};
pub use tags::{says_restartable, tag_value};
pub use terraform::{
    Missing, PlanAction, Planned, PlannedCount, PlannedInstances, PlannedResource, RUNS_NOTHING,
    TerraformPlan,
};
pub use time::{
    DAY_SECONDS, HOUR_SECONDS, RunningTime, Window, floor_to_period, latest_believed,
    parse_duration,
};
pub use usage::{
    ACTIVE_PERCENT, Distribution, GpuDay, GpuUsage, InstanceUsage, Maxima,
    NEARLY_FULL_VRAM_PERCENT, NetworkUse, PowerSummary, RESTING_SM_PERCENT, SATURATED_HOUR_PERCENT,
    Signal, SmSummary, UtilizationSummary, VramSummary,
};
pub use use_signs::{IDLE_CPU_PERCENT, IDLE_NETWORK_MB_PER_DAY, Unmeasured, UseSign};
pub use verdict::{Classification, UsageState, Verdict};
pub use wire::{Amount, AtMost, Change, Day, Form, Maybe, Parts, Price, Time};
pub use work::{BegunWork, WORK, Work, WorkPiece, WorkUnit};
pub use workload::{
    GPUS_TAG, INDEPENDENT, KindBasis, LINKED, Part, VRAM_TAG, Workload, WorkloadKind,
    says_production,
};
pub use workload_cost::{
    CommittedCost, CommittedHours, CommittedPart, IdleStorageCosts, InstanceCost, Unpriced,
    WorkloadCost,
};
pub use workload_key::{Group, MemberSet, WorkloadKey};
