//! What levers are asked about, and what they answer, for whoever chooses among it or explains it.

use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, Money, Part, Policy, PurchaseOption, ResourceId, Risk, Target, UsageState,
    Workload,
};
use crate::savings::{
    CommitAfter, Commitment, Considered, ExistingCommitments, HeldMachines, Ineligible,
    MissingData, NoSchedule, NoSharing, Rejection, Rightsizing, Scheduling, Sharing, SpotOffer,
};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::mem::discriminant;
use std::sync::Arc;

/// Members of a workload that behave alike, with what they are a part of.
#[derive(Debug, Clone, Copy)]
pub struct Members<'a> {
    /// The members, and what they are judged to be.
    pub part: &'a Part,
    /// All of the workload.
    pub group: &'a Workload,
    /// Every part of it, this one included.
    pub parts: &'a [Part],
    /// Whether any member of the same Auto Scaling group or tag works, here or in a
    /// workload of another type or purchase option.
    pub has_working_peers: bool,
    /// Who holds their devices.
    pub held: &'a HeldMachines<'a>,
}

impl<'a> Members<'a> {
    /// The members, if they work: what every lever but stop and release is about.
    pub(super) fn working(&self) -> Result<&'a Part, Refusal> {
        let part = self.part;
        if !part.workload.key.running {
            return Err(Refusal::Stopped);
        }
        if let Some(state) = part.idle {
            return Err(Refusal::Resting(state));
        }
        if part.workload.committed_cost().is_some() {
            return Err(Refusal::Committed);
        }
        Ok(part)
    }
}

/// What levers go by beside the members.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    pub prices: &'a Prices<'a>,
    pub policy: &'a Policy,
    pub bought: ExistingCommitments<'a>,
    pub accepted: Risk,
    /// Whether right-sizing keeps every type that it evaluated, and not the nearest alone.
    pub keeps_types: bool,
}

/// What a lever offers, taken alone, with the inputs of its arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal {
    /// End the members that compute nothing.
    Stop(Stop),
    /// Release what stands while they are stopped.
    Release(Action),
    /// Switch them off in the hours that they do not use.
    Schedule(Scheduling),
    /// Move to another type or number.
    Rightsize(Rightsizing),
    /// Put the tenants together on fewer cards.
    Share(Sharing),
    /// Buy on the spot market, by instance type: today's, and those of the moves before.
    Spot(BTreeMap<String, SpotOffer>),
    Commit(Committing),
}

impl Proposal {
    /// Target, saving, risk and caveats of the lever alone. Absent where no saving may be
    /// counted, and where it depends on what the levers before it leave.
    pub fn action(&self) -> Option<&Action> {
        match self {
            Self::Stop(stop) => stop.action.as_ref(),
            Self::Release(action) => Some(action),
            Self::Schedule(scheduling) => Some(&scheduling.action),
            Self::Rightsize(rightsizing) => Some(&rightsizing.action),
            Self::Share(sharing) => Some(&sharing.action),
            Self::Spot(_) => None,
            Self::Commit(committing) => committing.alone.as_ref().map(|alone| &alone.action),
        }
    }

    /// The same with another saving of its action; `None` where a lever saves nothing then and
    /// has nothing else to say.
    fn saving(&self, action: Action) -> Option<Self> {
        let saves = !action.monthly_savings().amount().is_zero();
        let mut same = self.clone();
        match &mut same {
            Self::Stop(stop) => stop.action = saves.then_some(action),
            _ if !saves => return None,
            Self::Release(own) => *own = action,
            Self::Schedule(scheduling) => scheduling.action = action,
            Self::Rightsize(rightsizing) => rightsizing.action = action,
            Self::Share(sharing) => sharing.action = action,
            Self::Spot(_) | Self::Commit(_) => {}
        }
        Some(same)
    }
}

/// Ending members that compute nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// The action; absent where no saving may be counted.
    pub action: Option<Action>,
    /// The members whose stop saves, ascending by id.
    pub members: Vec<ResourceId>,
    /// What would stop an engineer, the gravest first.
    pub caveats: Vec<String>,
}

impl Stop {
    /// Two stops of one workload as one action.
    fn and(self, right: Self, group: &Workload) -> Self {
        let risk = |stop: &Self| stop.action.as_ref().map(Action::risk);
        // What makes a stop less certain comes first.
        let caveats = if risk(&right) > risk(&self) {
            [right.caveats, self.caveats].concat()
        } else {
            [self.caveats, right.caveats].concat()
        };
        let action = match (self.action, right.action) {
            (Some(left), Some(right)) => {
                let sum = |left: Money, right: Money| left.checked_add(right).unwrap_or(left);
                let cost = group.monthly_cost().unwrap_or(left.monthly_savings());
                let detail = format!("{}; {}", left.detail(), right.detail());
                let saved = sum(left.monthly_savings(), right.monthly_savings());
                let risk = left.risk().max(right.risk());
                Action::saving(ActionKind::Stop, None, detail, saved, cost, risk).map(|action| {
                    action
                        .of_which_certain(sum(left.certain(), right.certain()))
                        .with_caveats(caveats.clone())
                })
            }
            (one, other) => one.or(other),
        };
        let mut members = [self.members, right.members].concat();
        members.sort();
        Self { action, members, caveats }
    }
}

/// What is said of a commitment for what is used too little.
pub const NOTHING_SMALLER: &str = "its GPUs are overprovisioned, but no smaller type, shared card \
     or schedule would do: one year at most";

/// What may be bought ahead for members that work.
#[derive(Debug, Clone, PartialEq)]
pub struct Committing {
    /// A commitment for these members alone, without any other lever; absent where none
    /// saves, or they are to be brought to their size first.
    pub alone: Option<Commitment>,
    /// The members that a plan may size commitments by, as places among them.
    pub places: Vec<usize>,
    /// What a plan does before it.
    pub after: CommitAfter,
    /// Whether no term may be longer than a year: they are used too little, and it is only
    /// the types and cards of today of which nothing less would do.
    pub one_year_only: bool,
}

/// Why a lever does not offer something.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("own hardware costs the same whether it is used or not")]
    OwnHardware,
    #[error("it cannot be stopped and started, only deleted")]
    NoPause,
    #[error("other instance types of SageMaker are not compared")]
    TypesNotCompared,
    #[error("SageMaker runs the host, so its GPUs cannot be divided")]
    ManagedHost,
    #[error("SageMaker sells no spot capacity for it")]
    NoSpotMarket,
    #[error("only SageMaker savings plans cover it, and gpucost does not evaluate them")]
    OtherCommitments,
    /// It is for what runs.
    #[error("stopped")]
    Stopped,
    /// It is for what is stopped.
    #[error("running")]
    Running,
    /// It is for what works.
    #[error("{0}")]
    Resting(UsageState),
    #[error("no GPU was active, but the observed time is too short")]
    SeenBriefly,
    #[error("its GPUs are in use")]
    InUse,
    #[error("the data does not show whether its GPUs are idle")]
    IdlenessUnknown,
    #[error("the data is not sufficient for a verdict")]
    NoVerdict,
    /// Its GPUs are idle and its CPU works.
    #[error("its CPU works on something else (p95 {p95_percent:.1}%)")]
    CpuWorks { p95_percent: f64 },
    #[error("power data alone does not justify a stop")]
    PowerOnly,
    #[error("its GPUs were taken too recently for the idle time before to justify a stop")]
    TakenLately,
    #[error("price not available")]
    Unpriced,
    #[error("it stopped recently and may be started again")]
    StoppedLately,
    #[error("no billed storage or addresses remain")]
    NothingStands,
    #[error("snapshots that keep the data may cost as much as the volumes")]
    OnlySnapshots,
    #[error("its hours are committed")]
    Committed,
    #[error("it runs in a capacity reservation that this account cannot lower")]
    Held,
    #[error("it runs in a capacity reservation, which is also billed during off hours")]
    HeldHours,
    /// It is used too little, and nothing within the accepted risk changes that.
    #[error("its GPUs are used too little, and no other lever right-sizes or schedules it")]
    StaysOversized,
    #[error("billed as {0}")]
    Billed(PurchaseOption),
    /// Its members have several prices and so several markets.
    #[error("its instances differ in operating system or tenancy")]
    SeveralMarkets,
    #[error("no instance was measured for long enough")]
    TooShort,
    #[error("it ends on {0} by its tag, before any term does")]
    Ends(Date),
    #[error("the savings plan {plan} may cover it, and its rate for {instance_type} is unknown")]
    RateUnknown {
        /// The id of the plan.
        plan: String,
        instance_type: String,
    },
    #[error("it saves nothing")]
    SavesNothing,
    /// What it rests on was not measured, or is not known.
    #[error("{0}")]
    Missing(MissingData),
    #[error("{0}")]
    Schedule(NoSchedule),
    #[error("{0}")]
    Type(Rejection),
    #[error("{0}")]
    Share(NoSharing),
    #[error("{0}")]
    Spot(Ineligible),
}

impl Refusal {
    /// Whether another reason is of the same kind, whatever its figures are.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Type(one), Self::Type(other)) => discriminant(one) == discriminant(other),
            _ => discriminant(self) == discriminant(other),
        }
    }
}

/// What a lever does not offer, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The type and number that were evaluated; absent where the reason is against the
    /// lever as a whole.
    pub candidate: Option<Target>,
    pub reason: Refusal,
}

impl Refused {
    /// Whether nothing but its risk is against it.
    pub fn is_for_risk(&self) -> bool {
        matches!(
            self.reason,
            Refusal::Type(Rejection::Risk(_)) | Refusal::Spot(Ineligible::Risk { .. })
        )
    }
}

impl From<Refusal> for Refused {
    fn from(reason: Refusal) -> Self {
        Self { candidate: None, reason }
    }
}

/// What one lever says about some members.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub offered: Option<Arc<Proposal>>,
    /// What it does not offer, nearest first; at least one where it saves nothing.
    pub refused: Vec<Refused>,
    /// How many further candidates were refused: of those that are farther away the nearest
    /// is kept for each reason, because a fleet has a hundred for each workload.
    pub more_refused: usize,
    /// Every type that was evaluated, the suitable ones first; empty unless the facts ask
    /// for them.
    pub types: Vec<Arc<Considered>>,
}

impl Answer {
    /// How many candidates were refused.
    pub fn refused_in_all(&self) -> usize {
        self.refused.len() + self.more_refused
    }
}

impl From<Proposal> for Answer {
    fn from(proposal: Proposal) -> Self {
        Self { offered: Some(Arc::new(proposal)), ..Self::default() }
    }
}

impl From<Refusal> for Answer {
    fn from(reason: Refusal) -> Self {
        Self { refused: vec![reason.into()], ..Self::default() }
    }
}

/// What every lever says about some members, each as if it were alone. A stop is about
/// those that compute nothing, everything else about those that work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proposals {
    /// Shared by the whole of a group and the part that they are about.
    answers: BTreeMap<ActionKind, Arc<Answer>>,
    /// Whether they are used too little and yet nothing less would do, at any risk.
    pub nothing_less_would_do: bool,
}

impl Proposals {
    /// The answers about a workload from those about each of its parts, of which the one
    /// that works comes last.
    pub fn whole(group: &Workload, parts: &[Part], by_part: &[Self]) -> Self {
        let mut whole = by_part.last().cloned().unwrap_or_default();
        let stops = parts
            .iter()
            .zip(by_part)
            .filter(|(part, _)| part.idle.is_some())
            .filter_map(|(_, proposals)| proposals.answer(ActionKind::Stop).cloned());
        if let Some(answer) = stops.reduce(|sum, next| together(sum, next, group)) {
            whole.insert(ActionKind::Stop, answer);
        }
        whole
    }

    pub(super) fn insert(&mut self, kind: ActionKind, mut answer: Answer) {
        answer.refused.shrink_to_fit();
        self.answers.insert(kind, Arc::new(answer));
    }

    /// What one lever says; absent where it was not asked, because a tag takes all
    /// members out of advice.
    pub fn answer(&self, kind: ActionKind) -> Option<&Answer> {
        self.answers.get(&kind).map(Arc::as_ref)
    }

    /// What one lever offers.
    pub fn offered(&self, kind: ActionKind) -> Option<&Proposal> {
        self.answer(kind)?.offered.as_deref()
    }

    /// What no lever offers.
    pub fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.answers.values().flat_map(|answer| &answer.refused)
    }

    /// What the levers offer, in their order.
    pub(in crate::savings) fn offers(&self) -> impl Iterator<Item = &Proposal> {
        self.answers.values().filter_map(|answer| answer.offered.as_deref())
    }

    /// The action of each lever alone, in their order.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.offers().filter_map(Proposal::action)
    }

    /// The members to end.
    pub fn stop(&self) -> Option<&Stop> {
        let Proposal::Stop(stop) = self.offered(ActionKind::Stop)? else { return None };
        Some(stop)
    }

    /// The stop, where it saves.
    pub fn stopping(&self) -> Option<&Action> {
        self.stop()?.action.as_ref()
    }

    pub fn release(&self) -> Option<&Action> {
        self.offered(ActionKind::Release)?.action()
    }

    /// The hours off.
    pub fn schedule(&self) -> Option<&Scheduling> {
        let Proposal::Schedule(scheduling) = self.offered(ActionKind::Schedule)? else {
            return None;
        };
        Some(scheduling)
    }

    /// The other type or number.
    pub fn rightsize(&self) -> Option<&Rightsizing> {
        let Proposal::Rightsize(rightsizing) = self.offered(ActionKind::Rightsize)? else {
            return None;
        };
        Some(rightsizing)
    }

    /// The shared cards.
    pub fn share(&self) -> Option<&Sharing> {
        let Proposal::Share(sharing) = self.offered(ActionKind::Share)? else { return None };
        Some(sharing)
    }

    /// The spot markets, by instance type.
    pub fn spot(&self) -> Option<&BTreeMap<String, SpotOffer>> {
        let Proposal::Spot(markets) = self.offered(ActionKind::Spot)? else { return None };
        Some(markets)
    }

    /// The members that may be committed to.
    pub fn committing(&self) -> Option<&Committing> {
        let Proposal::Commit(committing) = self.offered(ActionKind::Commit)? else { return None };
        Some(committing)
    }

    /// The commitment of these members alone.
    pub fn commit(&self) -> Option<&Commitment> {
        self.committing()?.alone.as_ref()
    }

    /// What one lever alone would do.
    pub fn action(&self, kind: ActionKind) -> Option<&Action> {
        self.offered(kind).and_then(Proposal::action)
    }

    /// Makes the move that a plan takes the first of those that were tried.
    pub fn lead_to(&mut self, target: &Target) {
        let Some(answer) = self.answers.get_mut(&ActionKind::Rightsize) else { return };
        let Some(Proposal::Rightsize(rightsizing)) = answer.offered.as_deref() else { return };
        let mut runner_ups = rightsizing.runner_ups.iter();
        if runner_ups.any(|runner_up| runner_up.action.target() == Some(target)) {
            let chosen = rightsizing.clone().leading_to(target);
            Arc::make_mut(answer).offered = Some(Arc::new(Proposal::Rightsize(chosen)));
        }
    }

    /// Lets an action save its part of `saved`, of which `list` is the whole at list price; where
    /// nothing is left of it, commitments have paid for what it would end.
    pub fn scale(&mut self, kind: ActionKind, saved: Decimal, list: Decimal) {
        let Some(action) = self.action(kind) else { return };
        let own = action.monthly_savings();
        let part = (own.amount() * saved).checked_div(list).unwrap_or_default();
        let part = Money::new(part, own.currency()).rounded();
        let scaled = action.clone().saving_instead(part);
        let Some(answer) = self.answers.get_mut(&kind) else { return };
        let answer = Arc::make_mut(answer);
        let offered = answer.offered.take();
        if part.amount().is_zero() {
            answer.refused.insert(0, Refusal::Committed.into());
        }
        answer.offered = offered.and_then(|offered| offered.saving(scaled)).map(Arc::new);
    }

    /// The measurement without which a lever stayed silent.
    pub(super) fn unmeasured(&self, kind: ActionKind) -> Option<MissingData> {
        let refused = &self.answers.get(&kind)?.refused;
        refused.iter().find_map(|refused| match refused.reason {
            Refusal::Missing(missing) if missing.measurement().is_some() => Some(missing),
            _ => None,
        })
    }

    /// Whether a lever offers an action within some risk.
    pub(super) fn offers_within(&self, kind: ActionKind, accepted: Risk) -> bool {
        self.action(kind).is_some_and(|action| action.risk() <= accepted)
    }
}

/// What is said about two parts to be stopped, as one answer.
fn together(left: Answer, right: Answer, group: &Workload) -> Answer {
    let offered = [left.offered, right.offered].into_iter().flatten();
    Answer {
        offered: offered.reduce(|left, right| match (&*left, &*right) {
            (Proposal::Stop(one), Proposal::Stop(other)) => {
                Arc::new(Proposal::Stop(one.clone().and(other.clone(), group)))
            }
            _ => left,
        }),
        refused: [left.refused, right.refused].concat(),
        more_refused: left.more_refused + right.more_refused,
        types: Vec::new(),
    }
}
