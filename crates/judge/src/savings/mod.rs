//! Pure arithmetic of savings, one lever a file, and the choice among them.

mod alternatives;
mod batch;
mod bought;
mod calculator;
mod coverage;
mod drops;
mod group_share;
mod growth;
mod held_machines;
mod keeper;
mod levers;
mod off_hours;
mod offers;
mod packing;
mod path;
mod plan;
mod plan_pool;
mod pool;
mod pool_members;
mod purchase;
mod rescope;
mod rightsize;
mod scaling;
mod schedule;
mod sharing;
mod snapshots;
mod spot;
mod spot_offer;
mod unused;

pub use bought::{Commitment, ExistingCommitments, one_year_no_upfront};
pub use calculator::{
    BILLED_HOURS_PER_MONTH, CommitmentFigures, PricedCommitment, ReservedReport, SteadyUse,
    break_even_month, instalments, months,
};
pub use coverage::{
    Class, CommitmentKind, CommitmentUse, Coverage, CoveredPart, Existing, Figures,
    InstanceCoverage, OtherHours, Room, Slot, Standing, UsedInstance, commitment_rates, coverage,
    covers_other_sizes, existing_coverage, normalization_factor,
};
pub use group_share::whole_sizes;
pub use growth::{GrownPurchase, MOST_GROWTH, grown_purchase};
pub use held_machines::HeldMachines;
pub use keeper::REBALANCING;
pub use levers::{
    Answer, Committing, Ending, Facts, LEVERS, Lever, Members, NOTHING_SMALLER, Proposal,
    Proposals, Refusal, Refused, Stop, is_launchable, named_members, propose,
};
pub use off_hours::{Scheduling, TIME_ZONE_TAG, off_in_unused_hours};
pub use offers::{
    Alternatives, BilledMember, CommitAfter, RejectedKinds, ResizeOffer, SavingsTarget,
    ScheduleOffer, ScheduledHours, SkipReason, SpotMarket, Stage, StageMember, Step, TermOffer,
    Terms, commitment_pools,
};
pub use packing::{
    MPS_CLIENTS, SHARED_TARGET_PERCENT, SharedCard, Slice, Tenant, allowed_slices, free_starts,
    most_without_room, pack_mig, pack_mig_where, pack_mps, pack_processes_where, place_together,
    total_slices,
};
pub use plan::{Plan, PoolHours, ScopeChange, plan};
pub use plan_pool::{PlanPool, TypeUsage};
pub use pool::{ConcurrentUsage, INSTANCE, PoolRates, allocate, instances};
use pool_members::whole_hours;
pub use pool_members::{Fewer, MemberHours, pooled_hours};
pub use purchase::{Promise, Purchase, PurchaseShare, term_totals};
pub(in crate::savings) use rightsize::NEAREST;
pub use rightsize::{
    Bound, Considered, DOUBLE_PRECISION, Demand, INTERCHANGEABLE, MissingData, MovedInstance,
    PRECISION_TAG, Projection, REPLICAS_TAG, Ratio, RatioBasis, Rejection, Rightsizing, Spread,
    Today, averaged, averaged_peaks, best, candidates, caveats, gpu_ratio, performance,
    reported_vram_mib, reserved_vram, steps, usable_vram_mib,
};
pub use scaling::{GroupEnd, GroupSizes, end_steps, group_end, warm_pool_step};
pub use schedule::{
    NoSchedule, OffWindow, Schedule, SlowerSchedule, WEEK_HOURS, WeekCounterEvidence, schedule,
};
pub use sharing::{NoSharing, Sharing, SharingMode, holds_tenants, share, slices_of, tenant_of};
pub use snapshots::{Released, released};
pub use spot::{Checkpointing, Interruptions, SpotBasis, SpotPrice, spot_price};
pub use spot_offer::{
    Ineligible, SpotCase, SpotFigures, SpotOffer, nodes_of_job, spot_figures, spot_offer,
};
pub use unused::{CAPACITY_RESERVATION, Unused, UnusedCommitment};
