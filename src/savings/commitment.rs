//! Buying ahead what runs around the clock.

use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, CommitmentTerm, Money, Policy, PriceKey, PriceOption, PriceQuote, Risk,
    Workload, per_hour,
};
use rust_decimal::Decimal;

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
