//! What an account has bought already, where it decides about a lever; what is sold to it beside
//! that; and buying ahead what runs around the clock.

use super::{TermOffer, instalments};
use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, CapacityReservation, CommitmentPool, CommitmentTerm, Commitments, Member,
    Money, Policy, PriceBasis, PriceKey, PriceOption, PriceQuote, PurchaseOption, Risk,
    SavingsPlan, Workload, counted, per_hour,
};
use jiff::Timestamp;
use rust_decimal::Decimal;

/// The commitments of an account, at an instant and with the prices of that time.
#[derive(Debug, Clone, Copy)]
pub struct ExistingCommitments<'a> {
    pub commitments: &'a Commitments,
    pub prices: &'a Prices<'a>,
    pub as_of: Timestamp,
}

impl<'a> ExistingCommitments<'a> {
    /// The capacity reservation of an id, where the account may lower it; `None` for
    /// one that cannot be lowered, and for one that is not in sight, which is somebody
    /// else's.
    pub(super) fn lowerable(&self, id: &str) -> Option<&'a CapacityReservation> {
        let mut reservations = self.commitments.capacity_reservations.iter();
        let reservation = reservations.find(|reservation| reservation.id == id)?;
        reservation.can_be_cancelled(self.as_of).then_some(reservation)
    }

    /// Whether reserved instances of a type are there, or begin later.
    pub(super) fn has_reserved(&self, region: &str, instance_type: &str) -> bool {
        self.commitments.reserved_instances.iter().any(|reservation| {
            reservation.end > self.as_of
                && reservation.region == region
                && reservation.instance_type == instance_type
        })
    }

    /// The pool that what a workload runs at an on-demand price is in.
    pub fn pool(&self, workload: &Workload, key: PriceKey) -> CommitmentPool {
        self.commitments.pool(&workload.key.account, key)
    }

    /// A savings plan that may cover a pool and whose rate for it no source knows: whether
    /// anything pays beside it cannot be said.
    pub fn plan_of_unknown_rate(&self, pool: &CommitmentPool) -> Option<&'a SavingsPlan> {
        let key = &pool.key;
        let account = pool.account.as_deref().unwrap_or_default();
        self.commitments.savings_plans.iter().find(|plan| {
            let option = plan.kind.price_option(plan.term);
            plan.end > self.as_of
                && plan.may_cover(key)
                && self.commitments.ownership(plan.account.as_deref()).may_cover(account)
                // Rates of plans of other services are not read.
                && option.is_none_or(|option| self.prices.get(&key.with_option(option)).is_err())
        })
    }

    /// A savings plan of unknown rate that may pay for hours of a member of a running
    /// workload. No plan pays for spot or a Capacity Block.
    pub fn plan_that_may_pay(
        &self,
        workload: &Workload,
        member: &Member,
    ) -> Option<&'a SavingsPlan> {
        let option = workload.key.purchase_option;
        let is_never_paid =
            option == PurchaseOption::Spot || option == PurchaseOption::CapacityBlock;
        if !workload.key.running || is_never_paid {
            return None;
        }
        let key = member.price_key.with_option(PriceOption::OnDemand);
        self.plan_of_unknown_rate(&self.pool(workload, key))
    }

    /// What is to be said of the dollars of a member whose hours a savings plan of unknown
    /// rate may pay for: whether they come is not known.
    pub fn doubt(&self, workload: &Workload, member: &Member) -> Option<String> {
        let plan = self.plan_that_may_pay(workload, member)?;
        Some(format!(
            "the savings plan {} may cover these hours, and its rate is unknown: the covered \
             amount is still billed",
            plan.id
        ))
    }

    /// The commitments that are sold for a pool: standard reserved instances, and EC2
    /// Instance Savings Plans whose rates were read; of the same price the former. None
    /// beside a savings plan of unknown rate.
    pub fn sold(&self, pool: &CommitmentPool) -> Vec<TermOffer> {
        if self.plan_of_unknown_rate(pool).is_some() {
            return Vec::new();
        }
        let key = &pool.key;
        CommitmentTerm::ALL
            .into_iter()
            .flat_map(|term| {
                [
                    (PriceOption::Reserved(term), "standard reserved instance"),
                    (PriceOption::Ec2InstanceSavingsPlan(term), "EC2 Instance Savings Plan"),
                ]
                .map(|(option, name)| (term, option, name))
            })
            .filter_map(|(term, option, name)| {
                let quote = self.prices.get(&key.with_option(option)).ok()?;
                // A rate that is derived from a reserved instance is not better than
                // that one is today.
                let is_plan = matches!(option, PriceOption::Ec2InstanceSavingsPlan(_));
                if is_plan && quote.basis == PriceBasis::Derived {
                    return None;
                }
                let years = counted(term.years, "year", "years");
                Some(TermOffer {
                    name: format!("{name}, {years}, {}", term.payment),
                    option,
                    effective_hourly: quote.rate,
                    instalments: instalments(&quote, term),
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

/// The offer that the default plan considers.
const ONE_YEAR_NO_UPFRONT: PriceOption = PriceOption::Reserved(CommitmentTerm::ONE_YEAR_NO_UPFRONT);

/// A commitment that pays, with the figures it was chosen by.
#[derive(Debug, Clone, PartialEq)]
pub struct Commitment {
    pub action: Action,
    /// What the price is for.
    pub key: PriceKey,
    /// Effective rate per hour of the term.
    pub quote: PriceQuote,
    /// Effective rate over on-demand rate, 0–1: it pays from this share of
    /// running hours on.
    pub break_even_utilization: Decimal,
}

/// One reserved instance of one year without upfront for each instance that was seen
/// long enough and that works in more of the hours than it takes to pay. Reserved hours
/// are billed used or not, so the saving of each is today's cost less the full month; their
/// sum is rounded, as that of a pool is. `None` when none pays. The price shown is that of the
/// first instance.
pub fn one_year_no_upfront(
    workload: &Workload,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Option<Commitment> {
    let cost = workload.cost.as_ref()?;
    let currency = cost.hourly.currency();
    let mut saved = Decimal::ZERO;
    let mut count = 0_u32;
    let mut first: Option<(PriceKey, PriceQuote, Decimal)> = None;
    for (place, (member, instance)) in workload.members.iter().zip(&cost.instances).enumerate() {
        if !workload.is_committable(place, policy) {
            continue;
        }
        let key = member.price_key.with_option(ONE_YEAR_NO_UPFRONT);
        let Some(quote) = prices.get(&key).ok() else { continue };
        let fee = quote.rate.times_hours(policy.hours_per_month);
        let saving = instance.monthly_exact().amount() - fee.amount();
        let at_work = instance.monthly_exact().amount() * member.activity.share_at_work();
        if fee.currency() != currency || at_work <= fee.amount() {
            continue;
        }
        saved += saving;
        count += 1;
        first.get_or_insert((key, quote, instance.hourly.amount()));
    }
    let (key, quote, on_demand) = first?;
    let break_even = quote.rate.amount() / on_demand;
    let action = Action::saving(
        ActionKind::Commit,
        None,
        format!(
            "{count} × standard reserved instance, 1 year, no upfront, at {} instead of {}; breaks \
             even at {}% of the hours",
            quote.rate,
            per_hour(on_demand, quote.rate.currency()),
            (break_even * Decimal::ONE_HUNDRED).round_dp(1)
        ),
        Money::new(saved, currency),
        cost.compute_monthly,
        Risk::Medium,
    )?;
    Some(Commitment { action, key, quote, break_even_utilization: break_even })
}
