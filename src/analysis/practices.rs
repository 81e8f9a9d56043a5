//! The practices that teams are taught for GPU cost, and which of them a fleet follows, by
//! what its audit knows. `docs/practices.md` explains each.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    ActionKind, Classification, Group, Money, Provider, PurchaseOption, WorkloadKind, named_enum,
    says_restartable, tag_value,
};
use crate::savings::Refusal;
use rust_decimal::Decimal;

named_enum! {
    Practice {
        RightSizing = "right-sizing",
        /// Several tenants on a GPU.
        Sharing = "sharing",
        Spot = "spot",
        Schedules = "schedules",
        Commitments = "commitments",
        Batching = "batching",
        Quantization = "quantization",
        Autoscaling = "autoscaling",
        /// Verdicts from signals of the GPU.
        Monitoring = "monitoring",
        /// Costs have owners.
        Chargeback = "chargeback",
        /// Jobs wait for GPUs, and GPUs not for jobs.
        Queueing = "queueing",
        /// Rent or buy, and where.
        RentOrBuy = "rent-or-buy",
    }
}

named_enum! {
    /// Whether a fleet follows a practice.
    Standing {
        Followed = "followed",
        NotFollowed = "not-followed",
        /// Nothing in the fleet is about it.
        NotApplicable = "not-applicable",
        /// An audit cannot judge it, or not for most of what it is about.
        Unknown = "unknown",
    }
}

/// Share of what a practice is about that must follow it, 0–1.
pub const FOLLOWED_SHARE: Decimal = Decimal::from_parts(8, 0, 0, false, 1);

/// Tags that name who pays, compared without regard to case.
const OWNER_TAGS: [&str; 8] = [
    "owner",
    "team",
    "project",
    "cost-center",
    "cost_center",
    "costcenter",
    "department",
    "business-unit",
];

/// What a practice is about, and how much of that follows it: cost per month, or GPUs for
/// monitoring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PracticeShare {
    pub following: Decimal,
    /// Together with what does not follow.
    pub known: Decimal,
    /// What it is about and cannot be judged.
    pub unknown: Decimal,
}

impl PracticeShare {
    fn add(&mut self, applies: Applies, weight: Decimal) {
        match applies {
            Applies::No => {}
            Applies::Unknown => self.unknown += weight,
            Applies::Yes(follows) => {
                self.known += weight;
                self.following += if follows { weight } else { Decimal::ZERO };
            }
        }
    }

    /// Of what is known, 0–1; absent where that is nothing.
    pub fn share(&self) -> Option<Decimal> {
        self.following.checked_div(self.known)
    }

    fn standing(&self) -> Standing {
        match self.share() {
            _ if self.unknown > self.known => Standing::Unknown,
            None => Standing::NotApplicable,
            Some(share) if share >= FOLLOWED_SHARE => Standing::Followed,
            Some(_) => Standing::NotFollowed,
        }
    }
}

/// A practice with whether a fleet follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PracticeStanding {
    pub practice: Practice,
    pub standing: Standing,
    /// The evidence; absent where no audit can judge it.
    pub share: Option<PracticeShare>,
}

/// What a workload says of a practice.
enum Applies {
    No,
    Yes(bool),
    Unknown,
}

impl Applies {
    /// Of a lever: followed where it has nothing to offer.
    fn unless(is_offered: bool) -> Self {
        Self::Yes(!is_offered)
    }
}

/// Every practice, in order. Workloads count by what they cost per month: those that run, in
/// the currency of the sums, and that no tag takes out of advice.
pub fn practice_standings(audit: &Audit) -> Vec<PracticeStanding> {
    let of_one = |practice: &Practice| {
        let share = share(*practice, audit);
        PracticeStanding {
            practice: *practice,
            standing: share.map_or(Standing::Unknown, |share| share.standing()),
            share,
        }
    };
    Practice::ALL.iter().map(of_one).collect()
}

fn share(practice: Practice, audit: &Audit) -> Option<PracticeShare> {
    let judge: fn(&AuditedWorkload) -> Applies = match practice {
        Practice::RightSizing => right_sizing,
        Practice::Sharing => sharing,
        Practice::Spot => spot,
        Practice::Schedules => schedules,
        Practice::Commitments => commitments,
        Practice::Autoscaling => autoscaling,
        Practice::Chargeback => chargeback,
        Practice::Monitoring => return Some(monitoring(audit)),
        // Neither requests nor queues nor what was compared is part of an audit.
        Practice::Batching | Practice::Quantization | Practice::Queueing | Practice::RentOrBuy => {
            return None;
        }
    };
    let mut sum = PracticeShare::default();
    for one in &audit.workloads {
        let workload = &one.workload;
        let in_currency = |cost: &Money| cost.currency() == audit.totals.currency;
        let cost = workload.monthly_cost().filter(in_currency);
        let counts = workload.key.running && workload.ignored.is_none();
        if let Some(cost) = cost.filter(|_| counts) {
            sum.add(judge(one), cost.amount());
        }
    }
    Some(sum)
}

fn has_no_verdict(one: &AuditedWorkload) -> bool {
    one.verdict.classification == Classification::InsufficientData
}

fn is_offered(one: &AuditedWorkload, kind: ActionKind) -> bool {
    one.proposals.offered(kind).is_some()
}

/// Of what works: nothing smaller would do.
fn right_sizing(one: &AuditedWorkload) -> Applies {
    if one.working().is_none() {
        return Applies::No;
    }
    if has_no_verdict(one) {
        return Applies::Unknown;
    }
    if is_offered(one, ActionKind::Rightsize) || !one.verdict.is_shrinkable() {
        return Applies::unless(is_offered(one, ActionKind::Rightsize));
    }
    let answer = one.proposals.answer(ActionKind::Rightsize);
    let is_weighed = |reason: &Refusal| {
        matches!(
            reason,
            Refusal::Type(_) | Refusal::SavesNothing | Refusal::StaysOversized
        )
    };
    match answer {
        Some(answer) if answer.refused.iter().all(|one| is_weighed(&one.reason)) => {
            Applies::Yes(true)
        }
        _ => Applies::Unknown,
    }
}

/// Of what shares GPUs, and of what could.
fn sharing(one: &AuditedWorkload) -> Applies {
    let workload = &one.workload;
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let is_part = offer.is_some_and(|offer| offer.share.count() < Decimal::ONE);
    if is_part || workload.component_host.is_some() {
        Applies::Yes(true)
    } else if is_offered(one, ActionKind::Share) {
        Applies::Yes(false)
    } else if one.working().is_some() && has_no_verdict(one) {
        Applies::Unknown
    } else {
        Applies::No
    }
}

/// Of what may be interrupted, as its tags say.
fn spot(one: &AuditedWorkload) -> Applies {
    let workload = &one.workload;
    let is_spot = workload.key.purchase_option == PurchaseOption::Spot;
    let may_wait = !matches!(workload.kind, WorkloadKind::Serving | WorkloadKind::Unknown);
    let mut tags = workload.tags.iter();
    let is_declared = tags.any(|(key, value)| says_restartable(key, value));
    if is_spot || workload.restartable {
        Applies::Yes(is_spot)
    } else if may_wait && !is_declared {
        Applies::Unknown
    } else {
        Applies::No
    }
}

/// Of what is neither production nor a service and has hours without work.
fn schedules(one: &AuditedWorkload) -> Applies {
    let workload = &one.workload;
    if workload.is_production() || workload.kind == WorkloadKind::Serving {
        return Applies::No;
    }
    if is_offered(one, ActionKind::Schedule) {
        return Applies::Yes(false);
    }
    if workload.activity.hours().any(|hour| hour.is_stopped()) {
        return Applies::Yes(true);
    }
    if has_no_verdict(one) {
        Applies::Unknown
    } else {
        Applies::No
    }
}

/// Of what runs so steadily that a commitment pays, and of what has one.
fn commitments(one: &AuditedWorkload) -> Applies {
    let is_planned = one
        .actions
        .iter()
        .any(|action| action.kind() == ActionKind::Commit);
    match one.workload.key.purchase_option {
        PurchaseOption::Reserved
        | PurchaseOption::SavingsPlan
        | PurchaseOption::CapacityBlock
        | PurchaseOption::Mixed => Applies::Yes(true),
        PurchaseOption::OnDemand | PurchaseOption::Spot => {
            if is_planned || one.proposals.commit().is_some() {
                Applies::Yes(false)
            } else {
                Applies::No
            }
        }
    }
}

/// Of services on EC2: an Auto Scaling group that may grow and shrink.
fn autoscaling(one: &AuditedWorkload) -> Applies {
    let workload = &one.workload;
    if workload.kind != WorkloadKind::Serving {
        return Applies::No;
    }
    match (&workload.scaling_group, &workload.key.group) {
        (Some(group), _) => Applies::Yes(group.min < group.max),
        (None, Group::Tag(_) | Group::Alone(_)) if workload.key.provider == Provider::Aws => {
            Applies::Yes(false)
        }
        (None, _) => Applies::Unknown,
    }
}

/// Of all: a tag says who pays.
fn chargeback(one: &AuditedWorkload) -> Applies {
    let owner = tag_value(&one.workload.tags, &OWNER_TAGS);
    Applies::Yes(owner.is_some_and(|owner| !owner.is_empty()))
}

/// GPUs that are measured, of those of instances that run.
fn monitoring(audit: &Audit) -> PracticeShare {
    let funnel = &audit.funnel;
    let measured = funnel.total_gpus.saturating_sub(funnel.unmeasured_gpus);
    PracticeShare {
        following: Decimal::from(measured),
        known: Decimal::from(funnel.total_gpus),
        unknown: Decimal::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(following: i64, known: i64, unknown: i64) -> Standing {
        let share = PracticeShare {
            following: Decimal::from(following),
            known: Decimal::from(known),
            unknown: Decimal::from(unknown),
        };
        share.standing()
    }

    #[test]
    fn four_fifths_follow_and_half_must_be_known() {
        assert_eq!(of(80, 100, 0), Standing::Followed);
        assert_eq!(of(79, 100, 100), Standing::NotFollowed);
        assert_eq!(of(100, 100, 101), Standing::Unknown);
        assert_eq!(of(0, 0, 0), Standing::NotApplicable);
        assert_eq!(of(0, 0, 1), Standing::Unknown);
    }
}
