//! What a fleet that grows should commit to now, pool by pool.

use super::pool_options::{PoolOption, ReservedPool};
use crate::savings::{GrownPurchase, PoolRates, grown_purchase};
use rust_decimal::Decimal;

/// A pool with what pays over each term if its usage grows.
#[derive(Debug, Clone, PartialEq)]
pub struct GrownPool<'a> {
    pub pool: &'a ReservedPool,
    /// What is sold to it, with its purchase, in the order of the pool.
    pub purchases: Vec<(&'a PoolOption, GrownPurchase)>,
}

/// The pools in their order, with the terms of which anything pays, today or with growth: a
/// share of the usage every month, 0.03 for 3%.
pub fn grown_pools(pools: &[ReservedPool], growth: Decimal) -> Vec<GrownPool<'_>> {
    let of_pool = |pool| {
        let grown = grown_pool(pool, growth);
        (!grown.purchases.is_empty()).then_some(grown)
    };
    pools.iter().filter_map(of_pool).collect()
}

fn grown_pool(pool: &ReservedPool, growth: Decimal) -> GrownPool<'_> {
    let purchases = pool.options.iter().filter_map(|option| {
        let quote = option.quotes.first()?;
        let rates = PoolRates::new(pool.on_demand.rate, quote.rate).ok()?;
        let grown = grown_purchase(&rates, &pool.usage, growth, option.term)?;
        (grown.count_today + grown.count_grown > 0).then_some((option, grown))
    });
    GrownPool { pool, purchases: purchases.collect() }
}
