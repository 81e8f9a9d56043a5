//! Buying ahead what runs around the clock.

use crate::catalog::Prices;
use crate::domain::{
    Action, ActionKind, CommitmentTerm, Money, Policy, PriceKey, PriceOption, PriceQuote, Risk,
    Workload,
};
use rust_decimal::Decimal;

/// The offer that the default plan considers.
const ONE_YEAR_NO_UPFRONT: PriceOption = PriceOption::Reserved(CommitmentTerm::ONE_YEAR_NO_UPFRONT);

/// A commitment that pays, with the figures it was chosen by.
#[derive(Debug, Clone, PartialEq)]
pub struct Commitment {
    /// The purchase.
    pub action: Action,
    /// What the price is for.
    pub key: PriceKey,
    /// Effective rate per hour of the term.
    pub quote: PriceQuote,
    /// Effective rate over on-demand rate, 0–1: it pays from this share of
    /// running hours on.
    pub break_even_utilization: Decimal,
}

/// One reserved instance of one year without upfront for each instance of the
/// workload. Reserved hours are billed used or not, so the saving is today's
/// cost less the full month. `None` when the type sells none or it does not pay.
pub fn one_year_no_upfront(
    workload: &Workload,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Option<Commitment> {
    let cost = workload.cost.as_ref()?;
    let key = workload.price_key.with_option(ONE_YEAR_NO_UPFRONT);
    let quote = prices.get(&key).ok()?;
    if quote.rate.currency() != cost.hourly.currency() {
        return None;
    }
    let count = workload.instances.len();
    let on_demand = cost.per_instance();
    let break_even = quote.rate.amount() / on_demand;
    let committed = Money::new(
        quote.rate.amount() * policy.hours_per_month * Decimal::from(count),
        quote.rate.currency(),
    )
    .rounded();
    let action = Action::saving(
        ActionKind::Commit,
        None,
        format!(
            "{count} × standard reserved instance, 1 year, no upfront, at {}/h instead of {}/h; \
             breaks even at {} % of the hours",
            quote.rate.amount().normalize(),
            on_demand.normalize(),
            (break_even * Decimal::ONE_HUNDRED).round_dp(1)
        ),
        cost.compute_monthly.checked_sub(committed).ok()?,
        cost.compute_monthly,
        Risk::Medium,
    )?;
    Some(Commitment {
        action,
        key,
        quote,
        break_even_utilization: break_even,
    })
}
