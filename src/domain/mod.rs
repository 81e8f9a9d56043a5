//! Pure types of the field: no I/O and no clock. Documents hold them as they are.

mod advice;
mod aws_partition;
mod bill;
mod bill_files;
mod cause;
mod claim;
mod commitment;
mod committed;
mod defaults;
mod device_use;
mod directory;
mod finding;
mod fnv;
mod gap;
mod gathered;
mod gathering;
mod gpu;
mod hours;
mod inference;
mod instance;
mod job;
mod job_request;
mod kept_bill;
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
mod part;
mod past;
mod past_run;
mod policy;
mod price;
mod profiled;
mod prose;
mod reading;
mod rejected_action;
mod request;
mod resource;
mod run;
mod samples;
mod scaling;
mod shape;
mod spelling;
mod spot;
mod spot_run;
mod subject;
mod sums;
mod tags;
mod terraform;
mod time;
mod training_plan;
mod upkeep;
mod usage;
mod use_signs;
mod utilization;
mod verdict;
mod wire;
mod words;
mod work;
mod workload;
mod workload_cost;
mod workload_key;

pub use advice::{Action, ActionKind, Risk, Target};
pub use aws_partition::partition;
pub use bill::{BillCosts, BillLine, LineKind, PodShare, SharedPart, bare_id};
pub use bill_files::{BillFile, BillFiles, BillForm};
pub use cause::{
    ANSWER_FIELDS, Cause, CauseKind, Detail, FALLBACKS, FIGURES, FailureKind, POINT_REJECTIONS,
};
pub use claim::{
    Claim, ClaimState, DeviceUnit, Devices, ECS_FAMILY, ECS_SERVICE, Holder, InitRequest, Owner,
    Placement, effective_request,
};
pub(crate) use commitment::MOST_COMMITTED;
pub use commitment::{
    CapacityReservation, CommitmentPool, Commitments, OfferingClass, Ownership, ReservedInstances,
    SavingsPlan, SavingsPlanKind,
};
pub use committed::{CommittedCost, CommittedHours, CommittedPart};
pub use device_use::DeviceUse;
pub use directory::{Directory, HostMatch};
pub use finding::{
    Assessment, Comparator, Confidence, Evidence, Finding, FindingKind, Observation,
    Recommendation, Severity,
};
pub(crate) use fnv::Fnv;
pub use gap::{Gap, hidden, region_of};
pub use gathered::Gathered;
pub use gathering::{ApiUsage, EstateSource, TagFilter};
pub use gpu::{GpuModel, GpuShare, MOST_GPUS};
pub use hours::{ActivityHour, HourCell, HourlyActivity};
pub use inference::{ComponentHost, Copies, InferenceComponent};
pub use instance::{
    Address, Instance, InstanceState, Lifecycle, OperatingSystem, PurchaseOption, Tenancy, Volume,
};
pub(crate) use instance::{MOST_VOLUME_GIB, NAME_TAG};
pub use job::{JobStatus, TrainingJob};
pub use job_request::{JobRequest, MOST_JOBS, Moment};
pub use kept_bill::{BillKept, HourSums, MonthlyBill, ResourceHour, StatedSum};
pub use kpi::{DatedUnits, Kpi, KpiValue, UnitCost, WorkUnits, units_of_price};
pub use ledger::{
    ActionBaseline, CostKind, CostSource, DatedPrice, InstanceHour, InstanceRate, RecordedAction,
    RecordedRun, WorkloadDay, action_id,
};
pub use managed::{Component, Managed};
pub use member::{Measured, Member, Until};
pub use metric::{JoinedBy, Metric, Rejected, SeriesSource, Statistic};
pub use money::{Currency, CurrencyMismatch, HourlyRate, MOST_PER_HOUR, Money, per_hour};
pub(crate) use named::{named_enum, named_key};
pub use names::{is_unsafe, safe, shell_word, shown, spreadsheet_safe};
pub use node::{
    Clusters, DEVICE_DECIMALS, DeviceFunnel, Node, NodeAmount, NodeDevices, PoolMaker, Scheduler,
};
pub use opinion::{AdvisedResource, AwsAdvice, AwsOpinion};
pub use part::Part;
pub use past::{
    PastAudit, PastFinding, PastGap, PastMember, PastTotals, PastUnitCost, PastUnused,
    PastWorkload, Unread,
};
pub use past_run::PastRun;
pub use policy::Policy;
pub use price::{
    CommitmentTerm, Instalments, InterruptionBand, NoPrice, PaymentOption, PriceBasis, PriceBook,
    PriceKey, PriceOption, PriceOrigin, PriceQuote, StorageQuote, StorageResource,
};
pub use profiled::{ProfileBasis, ProfiledRun, SampleCounts};
pub use prose::{after_number, counted, decimals_apart, floored, separated, with_article};
pub use reading::{
    Activity, FineSample, GpuProcess, GpuReading, GpuSample, HostReading, Loss, MIB, Sample,
    ThrottleReasons,
};
pub use rejected_action::RejectedAction;
pub use request::{CountedRequests, RecordedRequest, RecordedWork};
pub use resource::{Provider, ResourceId};
pub use run::{GpuIdentity, MigSlot, RunEnd, RunFacts, UnitsDone, pcie_bytes_per_second};
pub use samples::{Outage, Samples};
pub use scaling::{BatchEnvironment, ScalingGroup, WarmPool};
pub(crate) use shape::family_of;
pub use shape::{AcceleratorKind, Architecture, GpuOffer, InstanceShape};
pub use spelling::nearest_names;
pub(crate) use spelling::{matches_pattern, plain_name};
pub use spot::{SpotHistory, spot_history, time_weighted_mean};
pub use spot_run::{SpotAction, SpotInterruption, SpotNotice, SpotRun};
pub use subject::{DriverMetric, GapSubject, GpuLabel, Hidden, LogColumn};
pub(crate) use sums::sums;
pub use tags::{OWNER_TAGS, RESTARTABLE_TAG, is_restartable, size_mib};
pub(crate) use tags::{says_restartable, tag_value};
pub use terraform::{
    Missing, PlanAction, Planned, PlannedCount, PlannedInstances, PlannedResource, RUNS_NOTHING,
    TerraformPlan,
};
pub use time::{
    DAY_SECONDS, HOUR_SECONDS, RunningTime, Window, floor_to_period, latest_believed,
    parse_duration,
};
pub use training_plan::{PlanStatus, TrainingPlan};
pub use upkeep::{FileTrouble, FoundFile, VerifiedHistory};
pub use usage::{
    GpuDay, GpuUsage, InstanceUsage, Maxima, NEARLY_FULL_VRAM_PERCENT, NetworkUse, PowerSummary,
    RESTING_SM_PERCENT, SmSummary, VramSummary,
};
pub use use_signs::{IDLE_CPU_PERCENT, IDLE_NETWORK_MB_PER_DAY, Unmeasured, UseSign};
pub use utilization::{
    ACTIVE_PERCENT, Distribution, SATURATED_HOUR_PERCENT, Signal, UtilizationSummary,
};
pub use verdict::{Classification, UsageState, Verdict};
pub(crate) use wire::{Amount, AtMost, Change, Day, Form, Maybe, Parts, Price, Time};
pub use work::{BegunWork, WORK, Work, WorkPiece, WorkUnit};
pub use workload::{
    GPUS_TAG, INDEPENDENT, KindBasis, LINKED, VRAM_TAG, Workload, WorkloadKind, says_production,
};
pub use workload_cost::{IdleStorageCosts, InstanceCost, Unpriced, WorkloadCost};
pub use workload_key::{Group, MemberSet, WorkloadKey};
