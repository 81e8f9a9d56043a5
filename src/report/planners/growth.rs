//! `gpucost reserved --growth`: what to buy now for a fleet that grows, and what that loses if
//! it does not.

use crate::analysis::{GrownPool, PoolOption, ReservedFleet, grown_pools};
use crate::domain::Money;
use crate::report::doc::{Doc, Given, Missing, Table, Value, columns, rows};
use crate::report::shared::text::counted;
use crate::savings::GrownPurchase;
use rust_decimal::Decimal;

columns! {
    fn of_purchases<'a>(row: (&'a GrownPool<'a>, &'a PoolOption, &'a GrownPurchase)) {
        text "instance_type", "type", Narrow(0), row.0.pool.key.instance_type.clone();
        text "region", "region", Narrow(0), row.0.pool.key.region.clone();
        opt text "account", "account", Wide, row.0.pool.account.clone();
        text "term", "term", Narrow(0), row.1.term.to_string();
        count "count_today", "today", Narrow(0), row.2.count_today;
        count "count_grown", "grown", Narrow(0), row.2.count_grown;
        money "saved_if_grown", "saves grown", Narrow(0), row.2.grown_if_grown;
        money "gained_if_grown", "gain", Narrow(0), row.2.gained_if_grown();
        money "lost_if_flat", "lost if flat", Narrow(0), row.2.lost_if_flat();
        money "saved_if_flat", "saves flat", Wide, row.2.grown_if_flat;
        money "today_saved_if_grown", "today, grown", Wide, row.2.today_if_grown;
        money "today_saved_if_flat", "today, flat", Wide, row.2.today_if_flat;
    }
}

/// What a fleet should buy with a growth every month, a share such as 0.03; `source` says
/// where the growth is from, and `flags` lead to the same estate.
pub fn growth_answer(fleet: &ReservedFleet, growth: Decimal, source: &str, flags: &str) -> Doc {
    let pools = grown_pools(&fleet.reserved, growth);
    let purchases = pools
        .iter()
        .flat_map(|pool| pool.purchases.iter().map(move |(option, grown)| (pool, *option, grown)));
    let percent = Value::make_percent(growth * Decimal::ONE_HUNDRED);
    Doc {
        name: "reserved",
        headline: headline(&pools, growth),
        given: vec![Given::new("growth_percent_monthly", "growth per month", percent, source)],
        tables: rows! {
            Table::of("pools", "RESERVED INSTANCES  what to buy now, over the whole term", ("row", "rows"), of_purchases(), purchases);
        },
        caveats: rows! {
            "each month the whole usage of a pool is taken to grow by the same share, from the second month on; a purchase in steps as the growth comes loses nothing of it".to_owned();
            "savings are those of the whole term; terms of a pool are alternatives and do not add up".to_owned();
        },
        missing: rows! {
            for gap in &fleet.gaps => Missing::new(format!("{} of {}: {}", gap.what.name(), gap.place, gap.reason), &gap.hint);
        },
        next: vec![format!("gpucost reserved{flags}")],
        ..Doc::default()
    }
}

fn headline(pools: &[GrownPool<'_>], growth: Decimal) -> String {
    let percent = (growth * Decimal::ONE_HUNDRED).normalize();
    let purchases = || pools.iter().flat_map(|pool| &pool.purchases);
    let largest = |of: fn(&GrownPurchase) -> Money| {
        purchases().map(|(_, grown)| of(grown)).max_by_key(|amount| amount.amount())
    };
    let gained = largest(GrownPurchase::gained_if_grown);
    let Some((gained, lost)) = gained.zip(largest(GrownPurchase::lost_if_flat)) else {
        return format!("With {percent}% a month, no reserved instance pays");
    };
    let pools = counted(pools.len(), "pool", "pools");
    format!(
        "{pools} at {percent}% a month: buying for the growth gains up to {gained} over a term, \
         and loses up to {lost} if it does not come"
    )
}
