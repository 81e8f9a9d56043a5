//! From what could be done about each workload to one plan.

use super::owned::Owned;
use super::stopping::stop;
use crate::analysis::PriceUse;
use crate::analysis::workloads::Grouped;
use crate::analysis::workloads::Part;
use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, Cause, CauseKind, CommitmentTerm, Gap, Money, Policy, PriceBasis, PriceKey,
    PriceOption, PurchaseOption, Risk, Verdict, Workload,
};
use crate::savings::{
    Alternatives, Offers, Plan, Stop, TermOffer, Terms, nothing_less_would_do, off_in_unused_hours,
    one_year_no_upfront, plan, rightsizing, share,
};
use crate::usage::{Estate, Timeline};
use rayon::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What a plan is made by.
pub(in crate::analysis) struct Planner<'a> {
    pub prices: &'a Prices<'a>,
    pub policy: &'a Policy,
    pub owned: &'a Owned<'a>,
    pub estate: &'a Estate,
    pub accepted: Risk,
}

/// What could be done about one workload.
pub(in crate::analysis) struct GroupOffers {
    /// About all of it.
    pub whole: Offers,
    /// About each of its parts, in their order.
    pub by_part: Vec<Offers>,
}

/// A plan at one level of risk, with everything that it was chosen from.
pub(in crate::analysis) struct Planned {
    pub risk: Risk,
    pub offers: Vec<GroupOffers>,
    pub alternatives: Vec<Alternatives>,
    pub plan: Plan,
    pub prices_used: PriceUse,
    pub gaps: Vec<Gap>,
}

impl Planned {
    /// Everything that it saves.
    pub fn saved(&self) -> Decimal {
        let actions = self.plan.actions.iter().flatten();
        actions
            .map(|action| action.monthly_savings().amount())
            .sum()
    }
}

impl Planner<'_> {
    /// Composes the plan, and notes the prices that its figures rest on.
    pub fn plan(&self, groups: &[Grouped]) -> Planned {
        let mut prices_used = PriceUse::default();
        let mut gaps = Vec::new();
        let mut offers = Vec::with_capacity(groups.len());
        let mut alternatives = Vec::with_capacity(groups.len());
        let weighed: Vec<_> = groups
            .par_iter()
            .map(|group| {
                let (mut used, mut gaps) = (PriceUse::default(), Vec::new());
                let found = self.offers(group, &mut gaps);
                used.record(&group.workload, &found.whole);
                let alternatives = self.alternatives(group, &found.whole, &mut used, &mut gaps);
                (found, alternatives, used, gaps)
            })
            .collect();
        for (found, weighed, used, own_gaps) in weighed {
            offers.push(found);
            alternatives.push(weighed);
            prices_used.merge(used);
            gaps.extend(own_gaps);
        }
        let mut composed = plan(
            &alternatives,
            &Terms {
                accepted: self.accepted,
                hours_per_month: self.policy.hours_per_month,
                window_hours: self.window_hours(),
                commitments: &|key| self.terms(key),
            },
        );
        for purchase in &composed.purchases {
            let key = purchase.key.with_option(purchase.term.option);
            if let Ok(found) = self.prices.find(&key) {
                prices_used.insert(found);
            }
        }
        for (group, actions) in groups.iter().zip(&mut composed.actions) {
            let mut members = group.workload.members.iter();
            let paid = members.find_map(|one| self.owned.plan_that_may_pay(&group.workload, one));
            if let Some(plan) = paid {
                actions
                    .iter_mut()
                    .for_each(|action| *action = maybe_paid(action, &plan.id));
            }
        }
        Planned {
            risk: self.accepted,
            offers,
            alternatives,
            plan: composed,
            prices_used,
            gaps,
        }
    }

    /// Whole hours of the window.
    fn window_hours(&self) -> usize {
        let window = self.estate.window;
        let empty = Timeline::new(window, self.estate.period_seconds);
        empty.activity(None, window.start).len()
    }

    /// What could be done about a workload, and about each of its parts.
    fn offers(&self, group: &Grouped, gaps: &mut Vec<Gap>) -> GroupOffers {
        let by_part: Vec<Offers> = group
            .parts
            .iter()
            .map(|part| self.offers_of(group, part, gaps))
            .collect();
        let mut whole = Offers::default();
        for (part, offers) in group.parts.iter().zip(&by_part) {
            if part.idle.is_some() {
                whole.stop = [whole.stop.take(), offers.stop.clone()]
                    .into_iter()
                    .flatten()
                    .reduce(|sum, next| together(sum, next, &group.workload));
            } else {
                whole = Offers {
                    stop: whole.stop.take(),
                    ..offers.clone()
                };
            }
        }
        GroupOffers { whole, by_part }
    }

    fn offers_of(&self, group: &Grouped, part: &Part, gaps: &mut Vec<Gap>) -> Offers {
        let (workload, verdict) = (&part.workload, &part.verdict);
        if !workload.key.running {
            return Offers {
                release: self.release(workload),
                ..Offers::default()
            };
        }
        if let Some(state) = part.idle {
            // Power alone never justifies a stop, and little of it neither.
            let may_stop = state.is_idle() && verdict.idle_power_percent.is_none();
            return Offers {
                stop: may_stop
                    .then(|| stop(group, workload, self.owned))
                    .flatten(),
                ..Offers::default()
            };
        }
        if workload.committed_cost().is_some() {
            return Offers {
                nothing_less_would_do: self.nothing_less(workload, verdict, &Offers::default()),
                ..Offers::default()
            };
        }
        let hold = self.hold(workload);
        let on_demand = workload.key.purchase_option == PurchaseOption::OnDemand;
        let may_move = hold != Hold::Fixed;
        let mut offers = Offers {
            rightsize: (verdict.is_shrinkable() && may_move)
                .then(|| rightsizing(workload, self.prices, self.policy, self.accepted))
                .flatten(),
            // Capacity that is held for the hours on is paid in the hours off.
            schedule: (hold == Hold::Free)
                .then(|| off_in_unused_hours(workload, verdict, self.policy).ok())
                .flatten(),
            share: may_move
                .then(|| share(workload, verdict, self.policy, self.accepted).ok())
                .flatten(),
            // What is overprovisioned shrinks first; a commitment would fix it.
            commit: (verdict.is_used() && on_demand)
                .then(|| one_year_no_upfront(workload, self.prices, self.policy))
                .flatten()
                .filter(|_| {
                    self.owned
                        .plan_of_unknown_rate(&workload.price_key)
                        .is_none()
                }),
            ..Offers::default()
        };
        if let Hold::Lowerable(words) = &hold {
            if let Some(found) = &mut offers.rightsize {
                found.action = held(&found.action, words);
            }
            if let Some(found) = &mut offers.share {
                found.action = held(&found.action, words);
            }
        }
        if verdict.is_shrinkable()
            && let Some(missing_data) = missing_measurement(workload, self.policy)
        {
            gaps.push(missing_data);
        }
        offers.nothing_less_would_do = self.nothing_less(workload, verdict, &offers);
        offers
    }

    /// Whether no lever for what is used too little saves, at this risk or another.
    fn nothing_less(&self, workload: &Workload, verdict: &Verdict, offers: &Offers) -> bool {
        let is_offered =
            offers.rightsize.is_some() || offers.schedule.is_some() || offers.share.is_some();
        verdict.is_shrinkable()
            && !is_offered
            && nothing_less_would_do(workload, verdict, self.prices, self.policy)
    }

    /// Ends what stands while a workload is stopped, unless it stopped so lately
    /// that it may be started again.
    fn release(&self, workload: &Workload) -> Option<Action> {
        if workload.stopped_within(self.policy.idle_grace(), self.estate.as_of) {
            return None;
        }
        let idle_storage = &workload.idle_storage;
        let mut detail = idle_storage.priced.join("; ");
        if !idle_storage.unpriced.is_empty() {
            let unpriced = idle_storage.unpriced.join(", ");
            detail.push_str(&format!("; unpriced and not included: {unpriced}"));
        }
        let monthly = idle_storage.monthly?;
        let action = Action::saving(
            ActionKind::Release,
            None,
            detail,
            monthly,
            monthly,
            Risk::Low,
        )?;
        Some(action.of_which_certain(monthly))
    }

    /// What capacity reservations do to moving a workload.
    pub(super) fn hold(&self, workload: &Workload) -> Hold {
        let mut lowered: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for member in &workload.members {
            let Some(id) = &member.capacity_reservation else {
                continue;
            };
            let Some(reservation) = self.owned.lowerable(id) else {
                return Hold::Fixed;
            };
            lowered.entry(id).or_insert((reservation.total, 0)).1 += 1;
        }
        if lowered.is_empty() {
            return Hold::Free;
        }
        let words = lowered.iter().map(|(id, (total, less))| {
            let rest = total.saturating_sub(*less);
            format!("lower the capacity reservation {id} from {total} to {rest} in the same step")
        });
        Hold::Lowerable(words.collect::<Vec<_>>().join("; "))
    }

    /// Standard reserved instances, and EC2 Instance Savings Plans whose rates were
    /// read; of the same price the former.
    fn terms(&self, key: &PriceKey) -> Vec<TermOffer> {
        if self.owned.plan_of_unknown_rate(key).is_some() {
            return Vec::new();
        }
        CommitmentTerm::ALL
            .into_iter()
            .flat_map(|term| {
                [
                    (PriceOption::Reserved(term), "standard reserved instance"),
                    (
                        PriceOption::Ec2InstanceSavingsPlan(term),
                        "EC2 Instance Savings Plan",
                    ),
                ]
                .map(|(option, name)| (term, option, name))
            })
            .filter_map(|(term, option, name)| {
                let quote = self.prices.get(&key.with_option(option)).ok()?;
                // A rate that is derived from a reserved instance is no better than
                // that one is today.
                let is_plan = matches!(option, PriceOption::Ec2InstanceSavingsPlan(_));
                if is_plan && quote.basis == PriceBasis::Derived {
                    return None;
                }
                let years = if term.years == 1 { "year" } else { "years" };
                Some(TermOffer {
                    name: format!("{name}, {} {years}, {}", term.years, term.payment),
                    option,
                    effective_hourly: quote.rate,
                    risk: if term == CommitmentTerm::ONE_YEAR_NO_UPFRONT {
                        Risk::Medium
                    } else {
                        Risk::High
                    },
                })
            })
            .collect()
    }
}

/// What capacity reservations do to moving a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hold {
    /// It runs in none.
    Free,
    /// They can be lowered in the same step, in these words.
    Lowerable(String),
    /// They cannot: whatever leaves them goes on being paid.
    Fixed,
}

/// A move out of a capacity reservation: one action that says both.
fn held(action: &Action, words: &str) -> Action {
    let mut caveats = action.caveats().to_vec();
    caveats.push(
        "the cost continues as unused capacity unless the capacity reservation is lowered in \
         the same step"
            .to_owned(),
    );
    action.clone().and_also(words).with_caveats(caveats)
}

/// Two stops of one workload as one action.
fn together(left: Stop, right: Stop, workload: &Workload) -> Stop {
    let action = match (left.action, right.action) {
        (Some(left), Some(right)) => {
            let sum = |left: Money, right: Money| left.checked_add(right).unwrap_or(left);
            let cost = workload.monthly_cost().unwrap_or(left.monthly_savings());
            let detail = format!("{}; {}", left.detail(), right.detail());
            let saved = sum(left.monthly_savings(), right.monthly_savings());
            let caveats = [left.caveats(), right.caveats()].concat();
            Action::saving(ActionKind::Stop, None, detail, saved, cost, Risk::Low).map(|action| {
                action
                    .of_which_certain(sum(left.certain(), right.certain()))
                    .with_caveats(caveats)
            })
        }
        (one, other) => one.or(other),
    };
    let mut members = [left.members, right.members].concat();
    members.sort();
    Stop {
        action,
        members,
        caveats: [left.caveats, right.caveats].concat(),
    }
}

/// An action on hours that a savings plan of unknown rate may pay for: nobody knows whether
/// its dollars come.
fn maybe_paid(action: &Action, plan: &str) -> Action {
    let caveat = format!(
        "the savings plan {plan} may cover these hours, and its rate is unknown: the covered \
         amount is still billed"
    );
    let caveats = [&[caveat][..], action.caveats()].concat();
    action.clone().with_caveats(caveats)
}

/// The gap of a measurement that keeps right-sizing and sharing silent.
fn missing_measurement(workload: &Workload, policy: &Policy) -> Option<Gap> {
    let missing_data = crate::savings::Demand::of(workload, policy).err()?;
    let what = missing_data.measurement()?;
    let cause = Cause::of(CauseKind::NotMeasured, [missing_data.name()]);
    Some(Gap::of(what, workload.id(), cause))
}
