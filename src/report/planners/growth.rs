//! `gpucost reserved --growth`: what to buy now for a fleet that grows, and what that loses if
//! it does not.

use crate::analysis::{GrownPool, PoolOption, ReservedFleet, grown_pools};
use crate::domain::Money;
use crate::report::doc::{Doc, Given, Head, Missing, Table, Value, column, detail};
use crate::report::shared::text::{counted, money};
use crate::savings::GrownPurchase;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

const OF_POOLS: [Head; 12] = [
    column("instance_type", "type"),
    column("region", "region"),
    detail("account", "account"),
    column("term", "term"),
    column("count_today", "today"),
    column("count_grown", "grown"),
    column("saved_if_grown", "saves grown"),
    column("gained_if_grown", "gain"),
    column("lost_if_flat", "lost if flat"),
    detail("saved_if_flat", "saves flat"),
    detail("today_saved_if_grown", "today, grown"),
    detail("today_saved_if_flat", "today, flat"),
];

/// What a fleet should buy with a growth every month, a share such as 0.03; `source` says
/// where the growth is from, and `flags` lead to the same estate.
pub fn growth_answer(fleet: &ReservedFleet, growth: Decimal, source: &str, flags: &str) -> Doc {
    let pools = grown_pools(&fleet.reserved, growth);
    let rows: Vec<Vec<Value>> = pools
        .iter()
        .flat_map(|one| {
            let each = one.purchases.iter();
            each.map(|(option, grown)| row(one, option, grown))
        })
        .collect();
    let percent = (growth * Decimal::ONE_HUNDRED).to_f64();
    Doc {
        name: "reserved",
        headline: headline(&pools, growth),
        given: vec![Given {
            key: "growth_percent_monthly",
            name: "growth per month",
            value: Value::of(percent, Value::Percent),
            source: source.to_owned(),
        }],
        tables: vec![Table {
            key: "pools",
            title: "RESERVED INSTANCES  what to buy now, over the whole term".to_owned(),
            noun: ("row", "rows"),
            columns: OF_POOLS.to_vec(),
            rows,
            ..Table::default()
        }],
        caveats: vec![
            "each month the whole usage of a pool is taken to grow by the same share, from the \
             second month on; a purchase in steps as the growth comes loses nothing of it"
                .to_owned(),
            "savings are those of the whole term; terms of a pool are alternatives and do not \
             add up"
                .to_owned(),
        ],
        missing: fleet
            .gaps
            .iter()
            .map(|gap| Missing {
                what: format!("{} of {}: {}", gap.what.name(), gap.place, gap.reason),
                remedy: gap.hint.clone(),
            })
            .collect(),
        next: vec![format!("gpucost reserved{flags}")],
        ..Doc::default()
    }
}

fn headline(pools: &[GrownPool<'_>], growth: Decimal) -> String {
    let percent = (growth * Decimal::ONE_HUNDRED).normalize();
    let all = || pools.iter().flat_map(|one| &one.purchases);
    let largest = |of: fn(&GrownPurchase) -> Money| {
        let amounts = all().map(|(_, grown)| of(grown));
        amounts.max_by_key(|amount| amount.amount())
    };
    let gained = largest(GrownPurchase::gained_if_grown);
    let Some((gained, lost)) = gained.zip(largest(GrownPurchase::lost_if_flat)) else {
        return format!("With {percent}% a month, no reserved instance pays");
    };
    let pools = counted(pools.len() as u64, "pool", "pools");
    format!(
        "{pools} at {percent}% a month: buying for the growth gains up to {} over a term, and \
         loses up to {} if it does not come",
        money(gained),
        money(lost)
    )
}

fn row(one: &GrownPool<'_>, option: &PoolOption, grown: &GrownPurchase) -> Vec<Value> {
    let count = |number: u32| Value::Count(u64::from(number));
    let pool = one.pool;
    vec![
        Value::text(&pool.key.instance_type),
        Value::text(&pool.key.region),
        Value::of(pool.account.as_ref(), Value::text),
        Value::text(option.term.to_string()),
        count(grown.count_today),
        count(grown.count_grown),
        Value::Money(grown.grown_if_grown),
        Value::Money(grown.gained_if_grown()),
        Value::Money(grown.lost_if_flat()),
        Value::Money(grown.grown_if_flat),
        Value::Money(grown.today_if_grown),
        Value::Money(grown.today_if_flat),
    ]
}
