//! One lever at a time, for a fleet or for one type: other types here, and commitments and the
//! spot market.

mod pool_options;
mod reserved;
mod spot;

pub use self::pool_options::{FamilyPool, PoolOption, ReservedPool, is_planned};
pub use self::reserved::{
    CapacityUse, GrownPool, ReservedFleet, assess_commitments, grown_pools, planned_commitments,
};
pub use self::spot::{
    SpotAssessment, SpotJob, SpotReport, ZonePrice, assess_fleet, assess_type, planned_spot,
};

use crate::analysis::AuditedWorkload;
use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, Classification, Money, Policy, Risk, Target, UsageState, Workload,
    WorkloadKind,
};
use crate::savings::{Answer, Considered, Demand, Refusal, Today, candidates, caveats, steps};
use std::iter::once;
use std::sync::Arc;

/// One workload with every type that it could move to.
#[derive(Debug, Clone, PartialEq)]
pub struct Sizing {
    /// Its id; of a type without a workload, the type.
    pub id: String,
    /// Name for people.
    pub name: String,
    pub region: String,
    /// Today's type.
    pub instance_type: String,
    pub instances: u32,
    pub kind: WorkloadKind,
    /// What it costs per month; absent when it is unpriced or does not run.
    pub monthly: Option<Money>,
    /// What the plan does with it, in order; nothing with a type alone.
    pub plan: Vec<Action>,
    /// The types, or why none was evaluated.
    pub outcome: Result<Sized, String>,
}

/// What a workload uses, and every type that was evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Sized {
    pub demand: Demand,
    /// The one that the plan takes first, then the accepted ones, cheapest work first, then the
    /// rejected ones,
    /// nearest first.
    pub candidates: Vec<Candidate>,
}

/// A type that was evaluated, beside today's.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub considered: Arc<Considered>,
    /// Per month; negative for a more expensive one, absent for an unpriced one.
    pub monthly_savings: Option<Money>,
    /// What would stop an engineer, the gravest first; empty for a rejected one.
    pub caveats: Vec<String>,
    /// What to check before moving there; empty for a rejected one.
    pub steps: Vec<String>,
}

impl Candidate {
    /// Whether it is where an action leads.
    pub fn is_at(&self, target: &Target) -> bool {
        let considered = &self.considered;
        target.instance_type == considered.shape.instance_type && target.count == considered.count
    }
}

impl Sized {
    /// Evaluates every type for a demand that no workload of an audit has.
    pub fn of(
        today: &Today<'_>,
        demand: Demand,
        prices: &Prices<'_>,
        policy: &Policy,
        accepted: Risk,
    ) -> Self {
        let types = candidates(today, &demand, prices, policy, accepted);
        Self::beside(today, demand, types.into_iter().map(Arc::new))
    }

    fn beside(
        today: &Today<'_>,
        demand: Demand,
        types: impl Iterator<Item = Arc<Considered>>,
    ) -> Self {
        let candidates = types.map(|considered| {
            let is_accepted = considered.is_accepted();
            let words = |words: fn(&Today<'_>, &Demand, &Considered) -> Vec<String>| {
                if is_accepted { words(today, &demand, &considered) } else { Vec::new() }
            };
            Candidate {
                monthly_savings: considered.monthly.and_then(|monthly| {
                    today.cost.compute_monthly.checked_sub(monthly).ok().map(Money::rounded)
                }),
                caveats: words(caveats),
                steps: words(steps),
                considered,
            }
        });
        Self { candidates: candidates.collect(), demand }
    }

    fn place_of(&self, action: &Action) -> Option<usize> {
        let to = action.target()?;
        self.candidates.iter().position(|candidate| candidate.is_at(to))
    }

    /// Says of a move what the lever says, which knows the group of the workload too.
    fn caution(&mut self, action: &Action) {
        if let Some(place) = self.place_of(action) {
            self.candidates[place].caveats = action.caveats().to_vec();
        }
    }

    /// Puts the move that the plan takes first, with what the plan saves by it and says of it.
    fn lead_with(&mut self, action: &Action) {
        if let Some(place) = self.place_of(action) {
            self.candidates[..=place].rotate_right(1);
            self.candidates[0].monthly_savings = Some(action.monthly_savings());
            self.caution(action);
        }
    }

    /// The types that will do.
    pub fn accepted(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.considered.is_accepted())
    }

    /// The types that will not.
    pub fn rejected(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| !candidate.considered.is_accepted())
    }
}

impl Sizing {
    /// What the lever says about one workload of an audit that keeps every type.
    pub fn of(audited: &AuditedWorkload, policy: &Policy) -> Self {
        let whole = &audited.workload;
        // What is idle stops; the others are sized without it.
        let working = audited.working();
        let workload = working.map_or(whole, |part| &part.workload);
        Self {
            id: whole.id(),
            name: whole.name.clone(),
            region: whole.key.region.clone(),
            instance_type: whole.key.instance_type.clone(),
            instances: u32::try_from(workload.instances.len()).unwrap_or(u32::MAX),
            kind: whole.kind,
            monthly: workload.cost.as_ref().map(|cost| cost.compute_monthly),
            plan: audited.actions.clone(),
            outcome: outcome(audited, workload, policy),
        }
    }

    /// Where it would move: the first of the types that will do.
    pub fn best(&self) -> Option<&Candidate> {
        self.outcome.as_ref().ok()?.accepted().next()
    }
}

fn outcome(
    audited: &AuditedWorkload,
    workload: &Workload,
    policy: &Policy,
) -> Result<Sized, String> {
    let answer = audited.proposals.answer(ActionKind::Rightsize);
    let is_committed = |answer: &&Answer| {
        answer.refused.iter().any(|refusal| refusal.reason == Refusal::Committed)
    };
    let types = answer.filter(|answer| !is_committed(answer)).map(|answer| &answer.types);
    let Some(types) = types.filter(|types| !types.is_empty()) else {
        return Err(left_alone(audited, workload));
    };
    let today = Today::of(workload).map_err(|missing_data| missing_data.to_string())?;
    let demand = Demand::of(workload, policy).map_err(|missing_data| missing_data.to_string())?;
    let mut sized = Sized::beside(&today, demand, types.iter().cloned());
    let offered = audited.proposals.rightsize().into_iter();
    for rightsizing in
        offered.flat_map(|rightsizing| once(rightsizing).chain(&rightsizing.runner_ups))
    {
        sized.caution(&rightsizing.action);
    }
    let mut actions = audited.actions.iter();
    if let Some(action) = actions.find(|action| action.kind() == ActionKind::Rightsize) {
        sized.lead_with(action);
    }
    Ok(sized)
}

/// Why the lever evaluated no type.
fn left_alone(audited: &AuditedWorkload, workload: &Workload) -> String {
    let verdict = audited.working().map_or(&audited.verdict, |part| &part.verdict);
    if let Some(reason) = &workload.ignored {
        return format!("ignored: {reason}");
    }
    if verdict.is_shrinkable()
        && let Some(committed_cost) = workload.committed_cost()
    {
        let option = workload.key.purchase_option;
        return format!("billed as {option}: {}", committed_cost.in_words());
    }
    let answer = audited.proposals.answer(ActionKind::Rightsize);
    match answer.and_then(|answer| answer.refused.first()).map(|refusal| &refusal.reason) {
        Some(Refusal::Stopped) => "stopped".to_owned(),
        Some(Refusal::OwnHardware) => "own hardware".to_owned(),
        Some(Refusal::TypesNotCompared) if !verdict.is_idle() => {
            "other instance types of SageMaker are not compared".to_owned()
        }
        Some(Refusal::Missing(missing_data)) => missing_data.to_string(),
        Some(Refusal::Held) => {
            "runs in a capacity reservation that this account cannot lower".to_owned()
        }
        _ if verdict.rest().is_some_and(UsageState::is_idle) => "idle: stop it instead".to_owned(),
        _ if verdict.state == Some(UsageState::Stalled) => {
            "stalled: its utilization says nothing of its size".to_owned()
        }
        _ if verdict.state == Some(UsageState::IdleSoFar) => {
            "idle so far: no usage to size by".to_owned()
        }
        _ if verdict.classification == Classification::InsufficientData => {
            format!("{}: {}", verdict.classification, verdict.reason)
        }
        _ => verdict.classification.to_string(),
    }
}
