//! From what could be done about each workload to one plan, with what the account has bought
//! already.

mod owned;

pub(super) use self::owned::{EstateCommitments, machine_facts, unknown_rate};

use crate::analysis::PriceUse;
use crate::analysis::workloads::Grouped;
use crate::catalog::{self, Prices};
use crate::domain::{
    Action, ActionKind, Cause, CauseKind, CommitmentPool, Gap, KindBasis, Money, Policy,
    RejectedAction, Risk, WORK, WorkUnit, Workload, WorkloadKind,
};
use crate::savings::{
    Alternatives, Existing, ExistingCommitments, Facts, HeldMachines, Members, NOTHING_SMALLER,
    Plan, Proposals, Refusal, RejectedKinds, ResizeOffer, TermOffer, Terms, commitment_pools, plan,
    propose,
};
use crate::usage::{Estate, Timeline};
use rayon::prelude::*;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// What a plan is made by.
pub(super) struct Planner<'a> {
    pub prices: &'a Prices<'a>,
    pub policy: &'a Policy,
    pub owned: &'a EstateCommitments<'a>,
    pub estate: &'a Estate,
    pub accepted: Risk,
    pub keeps_types: bool,
    pub held: &'a HeldMachines<'a>,
}

/// What could be done about one workload.
pub(super) struct GroupProposals {
    /// About all of it.
    pub whole: Proposals,
    /// About each of its parts, in their order.
    pub by_part: Vec<Proposals>,
}

impl GroupProposals {
    /// Asks every lever about every part of a group.
    fn of(group: &Grouped, facts: &Facts<'_>, held: &HeldMachines<'_>) -> Self {
        let about = |part| {
            let members = Members {
                part,
                group: &group.workload,
                parts: &group.parts,
                has_working_peers: group.has_working_peers,
                held,
            };
            propose(&members, facts)
        };
        let by_part: Vec<Proposals> = group.parts.iter().map(about).collect();
        Self { whole: Proposals::whole(&group.workload, &group.parts, &by_part), by_part }
    }

    /// Each action saves what it drops by itself of the cost of a fleet with commitments; one of
    /// the plan that saves only together with others, what it saves there.
    fn save_alone(
        &mut self,
        alone: &BTreeMap<ActionKind, Decimal>,
        taken: &[Action],
        group: &Workload,
    ) {
        for (kind, saved) in alone {
            let is_of_kind =
                |action: &&Action| action.kind() == *kind && *kind != ActionKind::Commit;
            let mut taken = taken.iter().filter(is_of_kind);
            let together = taken.next().map(|action| action.monthly_savings().amount());
            let saved = match together {
                Some(together) if *saved <= Decimal::ZERO => together,
                _ => *saved,
            };
            let list = self.whole.action(*kind).map(|action| action.monthly_savings().amount());
            let Some(list) = list.filter(|list| *list != saved) else { continue };
            let most = group.monthly_cost().map_or(saved, |cost| saved.min(cost.amount()));
            for proposals in self.by_part.iter_mut().chain([&mut self.whole]) {
                proposals.scale(*kind, most.max(Decimal::ZERO), list);
            }
        }
    }

    /// What kept levers silent because of missing data.
    fn gaps(&self, workload: &Workload) -> Vec<Gap> {
        let refused = self.by_part.iter().flat_map(Proposals::refused);
        refused.filter_map(|refused| missing_data(&refused.reason, workload)).collect()
    }
}

/// A plan at one level of risk, with everything that it was chosen from.
pub(super) struct Planned {
    pub risk: Risk,
    pub proposals: Vec<GroupProposals>,
    pub offers: Offers,
    pub plan: Plan,
    pub prices_used: PriceUse,
    pub gaps: Vec<Gap>,
}

impl Planned {
    /// Everything that it saves.
    pub fn saved(&self) -> Decimal {
        saved(&self.plan)
    }
}

/// Everything that a plan saves.
fn saved(plan: &Plan) -> Decimal {
    plan.actions.iter().flatten().map(|action| action.monthly_savings().amount()).sum()
}

/// What a plan at one level of risk is chosen from.
#[derive(Debug, Clone)]
pub struct Offers {
    /// Of each workload.
    pub alternatives: Vec<Alternatives>,
    /// Why it is not known whether the dollars of its actions come, of each workload.
    doubts: Vec<Option<String>>,
    /// What a purchase for each workload has to be told.
    running: Vec<RunsOn>,
    sold: BTreeMap<CommitmentPool, Vec<TermOffer>>,
    existing: Existing,
    accepted: Risk,
    hours_per_month: Decimal,
    window_hours: usize,
}

impl Offers {
    /// The plan without some kinds of actions.
    fn plan(&self, rejected: &RejectedKinds) -> Plan {
        let mut composed = plan(
            &self.alternatives,
            &Terms {
                accepted: self.accepted,
                hours_per_month: self.hours_per_month,
                window_hours: self.window_hours,
                sold: &self.sold,
                rejected,
                existing: &self.existing,
            },
        );
        for (doubt, actions) in self.doubts.iter().zip(&mut composed.actions) {
            let Some(caveat) = doubt else { continue };
            for action in actions {
                let caveats = [std::slice::from_ref(caveat), action.caveats()].concat();
                *action = action.clone().with_caveats(caveats);
            }
        }
        for action in composed.actions.iter_mut().flatten() {
            if action.monthly_savings().amount().is_zero() {
                let caveats = [action.caveats(), &[FREES_OTHERS.to_owned()]].concat();
                *action = action.clone().with_caveats(caveats);
            }
        }
        self.ask(&mut composed);
        composed
    }

    /// Says with every purchase what only its owner knows: until when work runs that ends,
    /// and whether a new shape proves itself. No dollar depends on it.
    fn ask(&self, plan: &mut Plan) {
        let moves = self.alternatives.iter().zip(&plan.actions);
        let moves: Vec<bool> =
            moves.map(|(alternatives, actions)| is_reshaped(alternatives, actions)).collect();
        let asked = |place: usize, taken: &[Action]| {
            let ends = self.running[place].ends.then_some(UNTIL_WHEN);
            let oversized = self.oversized(place, taken);
            oversized.into_iter().chain(ends).chain(moves[place].then_some(AFTER_A_MONTH))
        };
        let shares = plan.purchases.iter().flat_map(|purchase| &purchase.shares);
        let buying: BTreeSet<usize> = shares.map(|share| share.workload).collect();
        // What commitments cover that others free buys nothing.
        let bought = plan.actions.iter_mut().enumerate();
        for (place, actions) in bought.filter(|(place, _)| buying.contains(place)) {
            let asked: Vec<&str> = asked(place, actions).collect();
            let bought = |action: &&mut Action| action.kind() == ActionKind::Commit;
            for action in actions.iter_mut().filter(bought) {
                let mut caveats = action.caveats().to_vec();
                caveats.extend(asked.iter().map(|caveat| (*caveat).to_owned()));
                *action = action.clone().with_caveats(caveats);
            }
        }
        for purchase in &mut plan.purchases {
            let about = |is_about: &dyn Fn(usize) -> bool, what: &str| {
                let shares = purchase.shares.iter().filter(|share| is_about(share.workload));
                let names: Vec<&str> =
                    shares.map(|share| self.running[share.workload].name.as_str()).collect();
                (!names.is_empty()).then(|| format!("{}: {what}", few(&names)))
            };
            let oversized = |words: &'static str| {
                let is_said =
                    |place: usize| self.oversized(place, &plan.actions[place]) == Some(words);
                about(&is_said, words)
            };
            let ends = about(&|place| self.running[place].ends, UNTIL_WHEN);
            let step = about(&|place| moves[place], AFTER_A_MONTH);
            let caveats = [oversized(NOTHING_SMALLER), oversized(STAYS_OVERSIZED), ends];
            (purchase.caveats, purchase.steps) =
                (caveats.into_iter().flatten().collect(), step.into_iter().collect());
        }
    }

    /// Why no longer term is bought for what a plan leaves of a workload, if its GPUs are used
    /// too little.
    fn oversized(&self, place: usize, taken: &[Action]) -> Option<&'static str> {
        let alternatives = &self.alternatives[place];
        let is_move = |offer: &&ResizeOffer| taken.iter().any(|action| offer.leads_to(action));
        let offer = alternatives.resizes.iter().find(is_move);
        let is_scheduled = taken.iter().any(|action| action.kind() == ActionKind::Schedule);
        alternatives.most_years(offer, is_scheduled)?;
        let nothing_less = offer.is_none() && self.running[place].nothing_less_would_do;
        Some(if nothing_less { NOTHING_SMALLER } else { STAYS_OVERSIZED })
    }
}

/// What is said of an action that saves nothing where it is taken.
const FREES_OTHERS: &str = "saves nothing here: it frees existing commitments for other workloads";

/// What is said of a commitment for GPUs that something less would do for, at a higher cost.
const STAYS_OVERSIZED: &str = "its GPUs stay overprovisioned, and no smaller type, shared card or \
     schedule saves more: one year at most";

/// The question about work that ends.
const UNTIL_WHEN: &str = "until when does it run? It is declared as work that ends, and a \
     commitment is paid to the end of its term; the tag `gpucost:until=DATE` rules out terms \
     beyond it";

/// What a purchase waits for where the shape of a workload changes.
const AFTER_A_MONTH: &str = "buy after 30 days on the new shape";

/// Names that a sentence lists.
const MOST_NAMES: usize = 3;

/// The first of some names; one that several workloads have stands once, with how many have it.
fn few(names: &[&str]) -> String {
    let mut named: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match named.iter_mut().find(|(known, _)| known == name) {
            Some((_, workloads)) => *workloads += 1,
            None => named.push((name, 1)),
        }
    }
    let (shown, rest) = named.split_at(named.len().min(MOST_NAMES));
    let shown: Vec<String> = shown
        .iter()
        .map(|(name, workloads)| match workloads {
            1 => (*name).to_owned(),
            several => format!("{several} × {name}"),
        })
        .collect();
    match rest.iter().map(|(_, workloads)| workloads).sum() {
        0usize => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// How long a workload goes on.
#[derive(Debug, Clone)]
struct RunsOn {
    name: String,
    /// Whether it is declared to be work that ends, and a member does not say when.
    ends: bool,
    /// Whether it is used too little and nothing smaller would do.
    nothing_less_would_do: bool,
}

impl RunsOn {
    fn of(workload: &Workload, proposals: &Proposals) -> Self {
        let is_declared = workload.kind_basis == KindBasis::Declared;
        let is_open = workload.members.iter().any(|member| member.until.is_none());
        let ends = matches!(
            workload.kind,
            WorkloadKind::Training | WorkloadKind::Batch | WorkloadKind::Evaluation
        );
        Self {
            name: workload.name.clone(),
            ends: is_declared && is_open && ends,
            nothing_less_would_do: proposals
                .committing()
                .is_some_and(|committing| committing.one_year_only),
        }
    }
}

/// Whether actions change what a workload runs on: it shares GPUs, is split or packed, or
/// moves to another GPU model.
fn is_reshaped(alternatives: &Alternatives, actions: &[Action]) -> bool {
    let model = |name: &str| Some(&catalog::shape(name)?.gpu.as_ref()?.model);
    let Some(today) = &alternatives.today else { return false };
    actions.iter().any(|action| match action.kind() {
        ActionKind::Share => true,
        ActionKind::Rightsize => action.target().is_some_and(|to| {
            let is_other_type = to.instance_type != today.instance_type;
            let is_other_count = to.count != today.count;
            (is_other_type && is_other_count)
                || model(&to.instance_type) != model(&today.instance_type)
        }),
        _ => false,
    })
}

impl Planner<'_> {
    /// Composes the plan of workloads at list price, each with what it is billed per month and what
    /// of that is paid to commitments, and notes the prices that its figures rest on.
    pub fn plan(&self, groups: &[Grouped], billed: &[(Option<Money>, Vec<Decimal>)]) -> Planned {
        let bought = self.owned.bought();
        let facts = Facts {
            prices: self.prices,
            policy: self.policy,
            bought,
            accepted: self.accepted,
            keeps_types: self.keeps_types,
        };
        let number = Some(groups.len() as u64);
        let _work = WORK.begin("planning workloads".to_owned(), number, WorkUnit::Things);
        let (mut proposals, (alternatives, gaps)): (Vec<_>, (Vec<_>, Vec<Vec<Gap>>)) = groups
            .par_iter()
            .zip(billed)
            .map(|(group, (cost, open_shares))| {
                let proposals = GroupProposals::of(group, &facts, self.held);
                let own = Alternatives::of(
                    &group.workload,
                    group.working(),
                    (*cost, open_shares),
                    &proposals.whole,
                    &facts,
                );
                let gaps = proposals.gaps(&group.workload);
                WORK.advance(1);
                (proposals, (own, gaps))
            })
            .unzip();
        let mut prices_used = PriceUse::default();
        for (group, own_proposals) in groups.iter().zip(&proposals) {
            prices_used.record(&group.workload, &own_proposals.whole);
        }
        let pools = commitment_pools(&alternatives);
        let existing = self.owned.existing(&pools);
        let sold = pools.into_iter().map(|pool| {
            let terms = bought.sold(&pool);
            (pool, terms)
        });
        let running = groups.iter().zip(&proposals);
        let running = running.map(|(group, own)| RunsOn::of(&group.workload, &own.whole)).collect();
        let doubts = groups.iter().map(|group| doubt(&group.workload, bought));
        let offers = Offers {
            doubts: doubts.collect(),
            running,
            alternatives,
            sold: sold.collect(),
            existing,
            accepted: self.accepted,
            hours_per_month: self.policy.hours_per_month,
            window_hours: self.window_hours(),
        };
        let ids = groups.iter().map(|group| &group.workload);
        let ids: Vec<(String, &str)> =
            ids.map(|workload| (workload.id(), workload.name.as_str())).collect();
        let composed = offers.plan(&rejected_kinds(&self.policy.rejected, &ids));
        for (proposals, actions) in proposals.iter_mut().zip(&composed.actions) {
            let kind = ActionKind::Rightsize;
            let taken = actions.iter().find(|action| action.kind() == kind);
            if let Some(target) = taken.and_then(Action::target) {
                let of_parts = proposals.by_part.iter_mut();
                of_parts.chain([&mut proposals.whole]).for_each(|part| part.lead_to(target));
            }
        }
        let taken = composed.alone.iter().zip(&composed.actions);
        for ((proposals, (alone, taken)), group) in proposals.iter_mut().zip(taken).zip(groups) {
            proposals.save_alone(alone, taken, &group.workload);
        }
        for purchase in &composed.purchases {
            let key = purchase.key.with_option(purchase.term.option);
            if let Ok(priced) = self.prices.find(&key) {
                prices_used.insert(priced);
            }
        }
        Planned {
            risk: self.accepted,
            proposals,
            offers,
            plan: composed,
            prices_used,
            gaps: gaps.into_iter().flatten().collect(),
        }
    }

    /// Whole hours of the window.
    fn window_hours(&self) -> usize {
        let window = self.estate.window;
        Timeline::new(window, self.estate.period_seconds).activity(None, window.start).len()
    }
}

/// The kinds of actions that a policy rejects of workloads, each with its ID and its name.
pub fn rejected_kinds(policy: &[RejectedAction], workloads: &[(String, &str)]) -> RejectedKinds {
    let mut rejected = RejectedKinds::new();
    if policy.is_empty() {
        return rejected;
    }
    let ids: BTreeSet<String> = workloads.iter().map(|(id, _)| id.clone()).collect();
    for (id, name) in workloads {
        let own = policy.iter().filter(|rejection| rejection.is_about(id, name, &ids));
        let kinds: BTreeSet<ActionKind> = own.map(|rejection| rejection.action).collect();
        if !kinds.is_empty() {
            rejected.insert(id.clone(), kinds);
        }
    }
    rejected
}

/// The gap of data without which a lever stays silent.
fn missing_data(reason: &Refusal, workload: &Workload) -> Option<Gap> {
    match reason {
        Refusal::Missing(missing) => {
            let cause = Cause::of(CauseKind::NotMeasured, [missing.name()]);
            Some(Gap::of(missing.measurement()?, workload.id(), cause))
        }
        Refusal::RateUnknown { plan, instance_type } => {
            Some(unknown_rate(plan, instance_type, workload))
        }
        _ => None,
    }
}

/// The caveat of actions on hours that a savings plan of unknown rate may pay for: it is not
/// known whether their dollars come.
fn doubt(workload: &Workload, bought: ExistingCommitments<'_>) -> Option<String> {
    workload.members.iter().find_map(|member| bought.doubt(workload, member))
}

/// What the plan of an audit was chosen from, at every level of risk that was weighed.
#[derive(Debug, Clone)]
pub struct Choices {
    levels: BTreeMap<Risk, Offers>,
    pub(super) policy: Policy,
}

impl Choices {
    pub(super) fn new(levels: BTreeMap<Risk, Offers>, policy: Policy) -> Self {
        Self { levels, policy }
    }

    /// The plan without some kinds of actions at a level of risk or below, with that level and what
    /// it was chosen from: the one that saves the most, and of those that save the same the one at
    /// the highest level. `None` without any level.
    pub fn plan(&self, rejected: &RejectedKinds, most: Risk) -> Option<(Risk, &Offers, Plan)> {
        let levels = self.levels.range(..=most);
        let plans = levels.map(|(risk, offers)| (*risk, offers, offers.plan(rejected)));
        plans.reduce(|best, next| if saved(&next.2) >= saved(&best.2) { next } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, HourlyRate, Money, Target};
    use crate::savings::{Stage, StageMember};

    /// So many machines of a type that move to others.
    fn moved(from: (u32, &str), kind: ActionKind, to: (u32, &str)) -> bool {
        let hourly = HourlyRate::new(Decimal::ONE, Currency::Usd).expect("positive");
        let member = StageMember { hourly, monthly: Decimal::from(730) };
        let cost = Money::new(Decimal::from(730 * from.0), Currency::Usd);
        let alternatives = Alternatives {
            id: "i-1".to_owned(),
            cost,
            list: cost,
            today: Some(Stage {
                instance_type: from.1.to_owned(),
                count: from.0,
                members: vec![member; from.0 as usize],
            }),
            end: None,
            schedule: None,
            resizes: Vec::new(),
            spot: BTreeMap::new(),
            billed: Vec::new(),
            commit_after: crate::savings::CommitAfter::Nothing,
        };
        let target = Target { instance_type: to.1.to_owned(), count: to.0 };
        let saving = Money::new(Decimal::ONE, Currency::Usd);
        let action = Action::saving(kind, Some(target), "moves", saving, cost, Risk::Medium);
        is_reshaped(&alternatives, &[action.expect("it saves")])
    }

    #[test]
    fn a_name_of_several_workloads_stands_once() {
        assert_eq!(few(&["a", "b", "a", "c", "d", "a", "d"]), "3 × a, b, c and 2 more");
        assert_eq!(few(&["a", "b"]), "a, b");
    }

    #[test]
    fn a_new_shape_is_another_model_a_split_or_a_share() {
        let rightsize = ActionKind::Rightsize;
        assert!(moved((1, "p3.2xlarge"), rightsize, (1, "g6e.xlarge")));
        assert!(moved((1, "g5.12xlarge"), rightsize, (4, "g5.xlarge")));
        assert!(moved((1, "g5.xlarge"), rightsize, (1, "m7i.2xlarge")));
        assert!(moved((2, "p4d.24xlarge"), ActionKind::Share, (1, "p4d.24xlarge")));
        // The same cards on a smaller host, and fewer machines of the same type.
        assert!(!moved((2, "g5.16xlarge"), rightsize, (2, "g5.xlarge")));
        assert!(!moved((3, "g5.xlarge"), rightsize, (2, "g5.xlarge")));
    }
}
