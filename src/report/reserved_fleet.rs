//! `gpucost reserved` of a fleet: every pool with what is sold to it, then the existing
//! commitments; with `--growth`, what to buy now for a fleet that grows, and what that loses if it does
//! not.

use crate::analysis::{
    CapacityUse, FamilyPool, GrownPool, PoolOption, ReservedFleet, ReservedPool, grown_pools,
    is_planned,
};
use crate::domain::{Money, PriceBasis, PriceQuote, Risk, Tenancy};
use crate::report::doc::{
    CsvRows, Doc, Given, Missing, Record, Table, Value, columns, doc_schema, rows,
};
use crate::report::promises::{promise_words, purchase};
use crate::report::reserved::{
    BASES, CURRENCIES, ORIGINS, PAYMENTS, SYSTEMS, TERMS, reserved_form,
};
use crate::report::shared::text::{count, counted, joined, money, rounded, unit_price};
use crate::savings::{
    CommitmentKind, CommitmentUse, ConcurrentUsage, GrownPurchase, Purchase, ScopeChange,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// What is sold to a pool, whether the plan buys it, and whether it is counted in instances, and not
/// in money per hour.
type OptionRow<'a> = (&'a PoolOption, bool, bool);

columns! {
    fn document(fleet: ReservedFleet) {
        time "as_of", "", Data, fleet.as_of, "";
        time "window_start", "", Data, fleet.window.start, "";
        time "window_end", "", Data, fleet.window.end, "Exclusive.";
        word[&["usage-after-plan", "usage-today"]] "sized_on", "", Data, if fleet.is_today { "usage-today" } else { "usage-after-plan" }, "What the pools are sized on: what all other actions of the plan leave, or today's usage.";
    }

    fn reserved<'a>(pool: &'a ReservedPool) {
        word[&["reserved"]] "offer", "", Data, "reserved", "What is sold.";
        opt text "account", "", Data, pool.account.clone(), "The account to buy in; null where accounts share what they buy.";
        text "instance_type", "type", Narrow(0), pool.key.instance_type.clone(), "";
        text "region", "region", Narrow(0), pool.key.region.clone(), "";
        word[SYSTEMS] "operating_system", "system", Narrow(0), pool.key.operating_system.name(), "";
        word[Tenancy::NAMES] "tenancy", "tenancy", Narrow(0), pool.key.tenancy.name(), "";
        flag "size_flexible", "", Data, pool.covers_other_sizes, "Whether regional reserved instances of it cover other sizes of the family too.";
        word[CURRENCIES] "currency", "", Data, pool.on_demand.rate.currency().code(), "Of all amounts.";
        price "on_demand_hourly", "per hour on-demand", Narrow(0), pool.on_demand.an_hour(), "Of one instance.";
        date "on_demand_date", "", Data, pool.on_demand.seen_on, "";
        word[ORIGINS] "on_demand_origin", "", Data, pool.on_demand.origin.name(), "";
        count "hours", "", Data, pool.usage.hours(), "Full hours that were evaluated.";
        count "peak", "concurrent at most", Narrow(0), pool.usage.peak(), "Highest number of concurrent instances that no commitment covers.";
        rows[concurrent] "concurrency", "", Data, concurrency(&pool.usage), "";
        rows[options] "options", "options", Narrow(0), offered(&pool.options, &pool.purchases, true), "Every term and payment option that is sold, shortest term first.";
        texts "notes", "", Screen, pool_notes(pool), "";
        rows[purchase] "purchases", "", Data, &pool.purchases, "What the plan buys for this pool; empty where it buys nothing, and for today's usage.";
        opt price "capacity_block_hourly", "", Data, pool.capacity_block.as_ref().map(PriceQuote::an_hour), "";
        opt date "capacity_block_date", "", Data, pool.capacity_block.as_ref().map(|quote| quote.seen_on), "";
        opt word[ORIGINS] "capacity_block_origin", "", Data, pool.capacity_block.as_ref().map(|quote| quote.origin.name()), "";
    }

    fn families<'a>(pool: &'a FamilyPool) {
        word[&["ec2-instance-savings-plan"]] "offer", "", Data, "ec2-instance-savings-plan", "What is sold.";
        opt text "account", "", Data, pool.account.clone(), "The account to buy in; null where accounts share what they buy.";
        text "family", "family", Narrow(0), pool.family.clone(), "";
        text "region", "region", Narrow(0), pool.region.clone(), "";
        texts "instance_types", "", Data, pool.instance_types.clone(), "Its types, ascending.";
        word[CURRENCIES] "currency", "", Data, pool.on_demand_peak.currency().code(), "Of all amounts.";
        count "hours", "", Data, pool.hours, "Full hours that were evaluated.";
        price "on_demand_mean_hourly", "per hour on-demand on average", Narrow(0), pool.on_demand_mean, "";
        price "on_demand_peak_hourly", "at most", Narrow(0), pool.on_demand_peak, "";
        rows[options] "options", "options", Narrow(0), offered(&pool.options, &pool.purchases, false), "Every term and payment option that is sold, shortest term first.";
        texts "notes", "", Screen, family_notes(pool), "";
        rows[purchase] "purchases", "", Data, &pool.purchases, "What the plan buys for this pool; empty where it buys nothing, and for today's usage.";
    }

    /// So many instances, from the first number to the last, ran in the same hours.
    fn concurrent(step: (u32, u32, Decimal)) {
        count "from", "", Data, step.0, "";
        count "to", "", Data, step.1, "";
        share "share", "", Data, step.2, "Of the hours in which at least so many instances ran.";
    }

    fn options<'a>(row: OptionRow<'a>) {
        flag "planned", "planned", Narrow(0), row.1, "Whether the plan buys it.";
        count[TERMS] "term_years", "years", Narrow(0), row.0.term.years, "";
        word[PAYMENTS] "payment", "payment", Narrow(0), row.0.term.payment.name(), "";
        text "buy", "buy", Screen, if row.2 { row.0.amount.normalize().to_string() } else { format!("{}/h", unit_price(amount(row.0, row.0.amount.round_dp(4)))) }, "";
        opt count "count", "", Data, row.0.amount.to_u64().filter(|_| row.2), "The optimal number of reserved instances; null for a plan.";
        opt price "commitment_hourly", "", Data, (!row.2).then(|| amount(row.0, row.0.amount)), "The optimal commitment of a plan, per hour; null for reserved instances.";
        price "effective_hourly", "effective", Narrow(2), row.0.hourly, "Hourly cost of the whole option, the upfront payment spread over the term.";
        money "upfront_total", "upfront", Wide, amount(row.0, row.0.paid.upfront), "";
        share "break_even_utilization", "break-even", Narrow(0), row.0.break_even_utilization, "Share of the hours above which a unit pays.";
        opt count "break_even_month", "month", Narrow(1), row.0.break_even_month, "First month in which the replaced hours have cost as much.";
        opt share "full_use_share", "full use", Wide, row.0.full_use_share, "Share of the hours in which all of it is used.";
        money "monthly_savings", "saved/month", Narrow(0), row.0.monthly_savings, "At the usage that it is sized on.";
        whole "committed_total", "committed", Narrow(0), row.0.committed, "Over the term, whether used or not.";
        whole "downside_when_halved", "halved", Narrow(0), row.0.downside, "Loss over the term if usage halves from month 7.";
        word[BASES] "basis", "", Data, basis(row.0), "";
        opt date "date", "", Data, oldest(row.0).map(|quote| quote.seen_on), "Of the oldest price.";
        opt word[ORIGINS] "origin", "", Data, oldest(row.0).map(|quote| quote.origin.name()), "Of the oldest price.";
    }

    fn scope_changes<'a>(change: &'a ScopeChange) {
        text "id", "reservation", Narrow(0), change.id.clone(), "";
        text "zone", "from", Narrow(0), change.zone.clone(), "Its zone today.";
        text "region", "to", Narrow(0), change.region.clone(), "";
        count "count", "instances", Narrow(0), change.count, "";
        word[CURRENCIES] "currency", "", Data, change.monthly_savings.currency().code(), "";
        money "monthly_savings", "saves/month", Narrow(0), change.monthly_savings, "Without a fee.";
        word[Risk::NAMES] "risk", "risk", Narrow(0), ScopeChange::RISK.name(), "";
        text "caveat", "", Data, change.caveat(), "";
    }

    fn commitments<'a>(commitment: &'a CommitmentUse) {
        text "name", "what", Narrow(0), commitment.name.clone(), "";
        word[CommitmentKind::NAMES] "kind", "", Data, commitment.kind.name(), "";
        word[CURRENCIES] "currency", "", Data, commitment.monthly_cost.currency().code(), "";
        money "monthly_cost", "cost/month", Narrow(0), commitment.monthly_cost, "";
        opt share "utilization", "used", Narrow(0), commitment.utilization, "Share of the paid commitment that is used in the window (RI utilization).";
        opt share "coverage", "covers", Narrow(0), commitment.coverage(), "Share of the running hours that it can cover (RI coverage).";
        opt money "unused_monthly", "unused/month", Narrow(0), commitment.unused_monthly, "";
        time "start", "start", Narrow(2), commitment.start, "Later than the audit where it is queued.";
        count "days_to_expiry", "days left", Narrow(1), commitment.days_to_expiry, "In days.";
        time "end", "end", Narrow(0), commitment.end, "";
        text "id", "id", Narrow(0), commitment.id.clone(), "";
    }

    fn capacity<'a>(capacity: &'a CapacityUse) {
        text "instance_type", "type", Narrow(0), capacity.reservation.instance_type.clone(), "";
        text "region", "", Data, capacity.reservation.region.clone(), "";
        text "zone", "zone", Narrow(0), capacity.reservation.zone.clone(), "";
        count "total", "total", Narrow(0), capacity.reservation.total, "";
        count "available", "free", Narrow(0), capacity.reservation.available, "";
        flag "capacity_block", "capacity block", Narrow(1), capacity.reservation.capacity_block, "Whether it is paid upfront.";
        opt word[CURRENCIES] "currency", "", Data, capacity.unused_monthly.map(|amount| amount.currency().code()), "";
        opt money "unused_monthly", "unused/month", Narrow(0), capacity.unused_monthly, "Per month, of the mean unused capacity that no commitment pays for.";
        opt time "end", "end", Narrow(0), capacity.reservation.end, "null until it is canceled.";
        text "id", "id", Narrow(0), capacity.reservation.id.clone(), "";
    }
}

/// The commitments of a fleet as a document.
pub fn reserved_fleet_doc(fleet: &ReservedFleet) -> Doc {
    let mut tables = tables(Some(fleet));
    let nothing = if fleet.is_today { "The fleet has" } else { "The plan leaves" };
    tables[0].notes = rows! {
        if fleet.reserved.is_empty() => format!("{nothing} no on-demand usage to commit to.");
    };
    tables[1].notes = legend(fleet);
    tables[3].notes = rows! {
        if !fleet.commitments.is_empty() => "USED is the share of the paid commitment that is used in the window (RI utilization); COVERS is the share of the eligible running hours (RI coverage).".to_owned();
    };
    Doc {
        name: "reserved",
        headline: headline(fleet),
        record: Record::of(document(), fleet),
        csv: CsvRows::Tables(2),
        tables,
        gaps: Some(fleet.gaps.clone()),
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of `gpucost reserved`, of one type and of a fleet.
    reserved_schema: "reserved", [reserved_form(), Doc::form_with_gaps(Record::heads(document()), tables(None))],
    "Commitments compared with on-demand prices, of one type with --type, otherwise of the pools of a fleet; docs/json.md has the promises of every document. Rates per hour have up to six decimals, amounts cents; shares are 0-1 and percentages 0-100. With --growth, the document is an answer. Keys may be added within a schema version."
}

fn tables(fleet: Option<&ReservedFleet>) -> Vec<Table> {
    let fleets = || fleet.into_iter();
    rows! {
        Table::of("reserved_pools", "RESERVED INSTANCES  by region, type, platform and tenancy", ("pool", "pools"), reserved(), fleets().flat_map(|fleet| &fleet.reserved));
        Table::of("savings_plan_pools", "EC2 INSTANCE SAVINGS PLANS  by region and family, for the same usage", ("pool", "pools"), families(), fleets().flat_map(|fleet| &fleet.families));
        Table::of("scope_changes", "CHANGES OF SCOPE  before anything is bought, without a fee", ("change", "changes"), scope_changes(), fleets().flat_map(|fleet| &fleet.scope_changes));
        Table::of("commitments", "EXISTING COMMITMENTS", ("commitment", "commitments"), commitments(), fleets().flat_map(|fleet| &fleet.commitments));
        Table::of("capacity_reservations", "CAPACITY RESERVATIONS", ("reservation", "reservations"), capacity(), fleets().flat_map(|fleet| &fleet.capacity));
    }
}

/// What the plan promises, by currency.
fn headline(fleet: &ReservedFleet) -> String {
    if fleet.is_today {
        return "Commitments for today's on-demand usage; nothing is advised here".to_owned();
    }
    let pools = fleet.reserved.iter().flat_map(|pool| &pool.purchases);
    let families = fleet.families.iter().flat_map(|pool| &pool.purchases);
    let said = pools.chain(families).filter_map(|purchase| {
        let (what, total) = (purchase.what(), purchase.promise()?.term_total);
        let Purchase { count, monthly_savings: saved, .. } = purchase;
        let name = &purchase.key.instance_type;
        Some(format!(
            "{count} × {name} ({what}) for {total} over the term, which saves {saved} per month"
        ))
    });
    let bought = match joined(said, "; ").as_str() {
        "" => "The plan buys no commitments".to_owned(),
        said => format!("The plan buys {said}"),
    };
    let changed = fleet.scope_changes.iter().map(|change| {
        let saved = money(change.monthly_savings);
        format!("; it saves {saved} per month to {}", change.detail())
    });
    std::iter::once(bought).chain(changed).collect()
}

fn amount(option: &PoolOption, amount: Decimal) -> Money {
    Money::new(amount, option.hourly.currency())
}

fn offered<'a>(
    options: &'a [PoolOption],
    purchases: &'a [Purchase],
    is_counted: bool,
) -> impl Iterator<Item = OptionRow<'a>> {
    options.iter().map(move |option| (option, is_planned(option, purchases), is_counted))
}

fn oldest(option: &PoolOption) -> Option<&PriceQuote> {
    option.quotes.iter().min_by_key(|quote| quote.seen_on)
}

fn basis(option: &PoolOption) -> &'static str {
    let is_derived = |quote: &PriceQuote| quote.basis == PriceBasis::Derived;
    if option.quotes.iter().any(is_derived) { "derived" } else { "observed" }
}

/// What a reader is told of a pool beside its figures.
fn pool_notes(pool: &ReservedPool) -> Vec<String> {
    let steps = concurrency(&pool.usage).into_iter().map(|(from, to, ran)| {
        let share = format!("{}%", rounded(ran * Decimal::ONE_HUNDRED, 1));
        if from == to { format!("{from} in {share}") } else { format!("{from} to {to} in {share}") }
    });
    let steps = joined(steps, ", ");
    rows! {
        ..pool.account.as_deref().map(buyer);
        if steps.is_empty() => "No usage is uncovered.".to_owned();
        if !steps.is_empty() => format!("Concurrent instances over {} h: {steps}.", count(pool.usage.hours()));
        for longer in &pool.usage_of_longer_terms => format!("Longer terms are sized on the instances that run for longer than a year with GPUs that are used enough, {} of them concurrently at most.", longer.peak());
        if pool.covers_other_sizes => "Regional reserved instances also apply to other sizes of the family.".to_owned();
        for block in &pool.capacity_block => format!("A Capacity Block costs {}/h ({}), paid upfront for days or weeks; it is not compared.", unit_price(block.an_hour()), block.seen_on);
        if pool.options.is_empty() => "No price of reserved instances is available.".to_owned();
        ..pool.purchases.iter().flat_map(bought);
    }
}

fn family_notes(pool: &FamilyPool) -> Vec<String> {
    rows! {
        ..pool.account.as_deref().map(buyer);
        format!("Types: {}.", pool.instance_types.join(", "));
        ..pool.purchases.iter().flat_map(bought);
    }
}

/// The account that has to buy, where accounts share nothing.
fn buyer(account: &str) -> String {
    format!("Buy in account {account}: it is sized on its own usage.")
}

/// What the plan buys, as the promise that it is.
fn bought(purchase: &Purchase) -> Vec<String> {
    let Some(promise) = purchase.promise() else { return Vec::new() };
    let said = purchase.steps.iter().chain(&purchase.caveats);
    rows! {
        format!("→ the plan buys {}, risk {}: {}, of it {}", purchase.count, purchase.term.risk, money(promise.term_total), promise_words(purchase, &promise));
        for words in said => format!("! {words}");
    }
}

/// Numbers of instances with the share of the hours in which at least as many ran, those of the
/// same share together.
fn concurrency(usage: &ConcurrentUsage) -> Vec<(u32, u32, Decimal)> {
    let mut steps: Vec<(u32, u32, Decimal)> = Vec::new();
    for k in 1..=usage.peak() {
        let hours = usage.hours_with_at_least(k);
        let ran = hours.checked_div(Decimal::from(usage.hours())).unwrap_or_default();
        match steps.last_mut() {
            Some((_, to, same)) if *same == ran => *to = k,
            _ => steps.push((k, k, ran)),
        }
    }
    steps
}

/// What holds for all pools.
fn legend(fleet: &ReservedFleet) -> Vec<String> {
    if fleet.reserved.is_empty() {
        return Vec::new();
    }
    let sized = if fleet.is_today {
        "Sized on today's usage minus existing commitment coverage: it includes what the plan \
         stops, resizes, schedules and moves, so nothing is advised here."
    } else {
        "Sized on what all other actions of the plan leave; `--today` shows today's usage."
    };
    let days = || fleet.quotes().map(|quote| quote.seen_on);
    let derived = fleet.quotes().any(|quote| quote.basis == PriceBasis::Derived);
    let derived = if derived { ", some derived" } else { "" };
    rows! {
        "EFFECTIVE is the hourly cost of the whole purchase, the upfront payment spread over the term; BREAK-EVEN is the share of the hours above which it pays; MONTH is the first month in which the replaced hours have cost as much; COMMITTED is over the term, used or not; HALVED is the loss over the term if usage halves from month 7.".to_owned();
        format!("{sized} A pool of reserved instances and the plan of its family cover the same hours: buy only one of them. Purchases of a payer account are included with `--commitments`.");
        for (oldest, newest) in days().min().zip(days().max()) => format!("Prices dated {oldest} to {newest}{derived}.");
    }
}

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
        headline: growth_headline(&pools, growth),
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

fn growth_headline(pools: &[GrownPool<'_>], growth: Decimal) -> String {
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
