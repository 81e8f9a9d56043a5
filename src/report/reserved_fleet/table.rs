//! `gpucost reserved` of a fleet for people: every pool with what is sold to it,
//! then what is committed to already.

use super::concurrency;
use crate::analysis::{FamilyPool, PoolOption, ReservedFleet, ReservedPool, planned_option};
use crate::domain::{Money, PriceBasis, PriceQuote};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::promises::promise_words;
use crate::report::shared::style::{TableStyle, columns_left_out};
use crate::report::shared::text::{
    ABSENT, count, fit, hanging, money, money_or_absent, rounded, safe, whole, wrap,
};
use crate::savings::Purchase;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::fmt::{Result, Write};

/// Pools of each kind before the rest is announced.
const POOLS: usize = 12;
/// Columns for what is bought: instances, or money an hour.
const BUY: &str = "BUY";
const COMMIT: &str = "COMMIT/H";
/// Which columns make room for the others, the first one first.
const SPARE: [&str; 2] = ["MONTH", "EFFECTIVE"];

/// The commitments of a fleet as tables.
pub fn reserved_fleet_table(fleet: &ReservedFleet, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(fleet, style, &mut out);
    out
}

fn draw(fleet: &ReservedFleet, style: TableStyle, out: &mut String) -> Result {
    let title = "RESERVED INSTANCES  by region, type, platform and tenancy";
    writeln!(out, "{}\n", style.heading(title))?;
    if fleet.reserved.is_empty() {
        let nothing = if fleet.is_today {
            "no on-demand usage to commit to"
        } else {
            "the plan leaves no on-demand usage to commit to"
        };
        writeln!(out, "  {nothing}\n")?;
    }
    let shown = style.shown(fleet.reserved.len(), POOLS);
    for pool in &fleet.reserved[..shown] {
        reserved(pool, style, out)?;
    }
    style.left_out(fleet.reserved.len() - shown, "pool", "pools", None, out)?;
    if !fleet.families.is_empty() {
        let title = "EC2 INSTANCE SAVINGS PLANS  by region and family, for the same usage";
        writeln!(out, "{}\n", style.heading(title))?;
    }
    let shown = style.shown(fleet.families.len(), POOLS);
    for pool in &fleet.families[..shown] {
        family(pool, style, out)?;
    }
    style.left_out(fleet.families.len() - shown, "pool", "pools", None, out)?;
    if !fleet.reserved.is_empty() {
        legend(fleet, style, out)?;
    }
    committed(fleet, style, out)?;
    capacity(fleet, style, out)?;
    gap_section(&fleet.gaps, style, out)
}

fn reserved(pool: &ReservedPool, style: TableStyle, out: &mut String) -> Result {
    let title = format!(
        "{} in {}, {}, {}: {}/h on-demand, at most {} concurrent",
        safe(&pool.key.instance_type),
        safe(&pool.key.region),
        pool.key.operating_system,
        pool.key.tenancy,
        price(&pool.on_demand),
        count(u64::from(pool.usage.peak())),
    );
    hanging("", 0, &title, style.width, out)?;
    buyer(pool.account.as_deref(), style, out)?;
    let steps: Vec<String> = concurrency(&pool.usage)
        .into_iter()
        .map(|(from, to, ran)| {
            let numbers = if from == to {
                from.to_string()
            } else {
                format!("{from} to {to}")
            };
            format!("{numbers} in {}", percent(ran))
        })
        .collect();
    let steps = if steps.is_empty() {
        "no uncovered usage".to_owned()
    } else {
        format!(
            "concurrent instances over {} h: {}",
            count(pool.usage.hours()),
            steps.join(", ")
        )
    };
    for line in wrap(&steps, style.width.saturating_sub(2)) {
        writeln!(out, "  {line}")?;
    }
    if pool.covers_other_sizes {
        writeln!(
            out,
            "  regional ones also apply to other sizes of the family"
        )?;
    }
    if let Some(block) = &pool.capacity_block {
        let line = format!(
            "a Capacity Block costs {}/h ({}), paid upfront for days or weeks; not compared",
            price(block),
            block.seen_on
        );
        hanging("  ", 2, &line, style.width, out)?;
    }
    options(
        (&pool.options, pool.purchase.as_ref()),
        BUY,
        "no reserved price available",
        style,
        out,
    )
}

fn family(pool: &FamilyPool, style: TableStyle, out: &mut String) -> Result {
    let rate = |amount: Money| format!("{}/h", money(amount));
    let title = format!(
        "{} in {} ({}): {} on-demand on average, {} at most",
        safe(&pool.family),
        safe(&pool.region),
        safe(&pool.instance_types.join(", ")),
        rate(pool.on_demand_mean),
        rate(pool.on_demand_peak),
    );
    hanging("", 0, &title, style.width, out)?;
    buyer(pool.account.as_deref(), style, out)?;
    options(
        (&pool.options, pool.purchase.as_ref()),
        COMMIT,
        "no plan rate available",
        style,
        out,
    )
}

/// The account that has to buy, where accounts share nothing.
fn buyer(account: Option<&str>, style: TableStyle, out: &mut String) -> Result {
    let Some(account) = account else {
        return Ok(());
    };
    let line = format!("buy in account {}: sized on its own usage", safe(account));
    hanging("  ", 2, &line, style.width, out)
}

/// What is sold to a pool, and what the plan buys of it.
fn options(
    (all, purchase): (&[PoolOption], Option<&Purchase>),
    amount: &str,
    nothing: &str,
    style: TableStyle,
    out: &mut String,
) -> Result {
    if all.is_empty() {
        return writeln!(out, "  {nothing}\n");
    }
    for line in option_table((all, purchase), amount, style).lines_in(style, 2) {
        writeln!(out, "  {line}")?;
    }
    if let Some((purchase, promise)) = purchase.and_then(|one| Some((one, one.promise()?))) {
        let line = format!(
            "the plan buys {}, risk {}: {}, of it {}",
            purchase.count,
            purchase.term.risk,
            money(promise.term_total),
            promise_words(purchase, &promise)
        );
        hanging("  → ", 4, &line, style.width, out)?;
        for said in purchase.steps.iter().chain(&purchase.caveats) {
            hanging("  ! ", 4, &safe(said), style.width, out)?;
        }
    }
    writeln!(out)
}

/// A row for each option; `amount` is the column of what is bought.
fn option_table(
    (all, purchase): (&[PoolOption], Option<&Purchase>),
    amount: &str,
    style: TableStyle,
) -> PlainTable {
    let planned = planned_option(all, purchase);
    let counts = amount == BUY;
    let mut header = vec!["", "TERM", "UPFRONT", amount];
    if counts {
        header.push("EFFECTIVE");
    }
    if style.wide {
        header.extend(["PREPAID", "FULL USE"]);
    }
    header.extend(["BREAK-EVEN", "MONTH", "SAVED/MONTH", "COMMITTED", "HALVED"]);
    let spare = SPARE
        .iter()
        .filter_map(|title| header.iter().position(|one| one == title));
    let spare: Vec<usize> = spare.collect();
    let mut table = PlainTable::new(&header, 3..header.len()).whole(&spare);
    for (index, option) in all.iter().enumerate() {
        let currency = option.hourly.currency();
        let or_absent = |text: String| {
            if option.amount.is_zero() {
                ABSENT.to_owned()
            } else {
                text
            }
        };
        let rate = format!("{}{}", currency.sign(), rounded(option.hourly.amount(), 4));
        let mut row = vec![
            if planned == Some(index) { "→" } else { "" }.to_owned(),
            format!("{}yr", option.term.years),
            option
                .term
                .payment
                .name()
                .trim_end_matches("-upfront")
                .to_owned(),
            if counts {
                option.amount.to_string()
            } else {
                or_absent(rate.clone())
            },
        ];
        if counts {
            row.push(or_absent(rate));
        }
        if style.wide {
            row.push(or_absent(whole(Money::new(option.paid.upfront, currency))));
            row.push(option.full_use_share.map_or(ABSENT.to_owned(), percent));
        }
        row.extend([
            percent(option.break_even_utilization),
            option
                .break_even_month
                .map_or(ABSENT.to_owned(), |month| month.to_string()),
            or_absent(money(option.monthly_savings)),
            or_absent(whole(option.committed)),
            or_absent(whole(option.downside)),
        ]);
        table.row(row);
    }
    table
}

/// The columns that the width leaves out of any pool that is shown.
fn titles_left_out(fleet: &ReservedFleet, style: TableStyle) -> Vec<String> {
    let shown = style.shown(fleet.reserved.len(), POOLS);
    let pools = fleet.reserved.iter().take(shown);
    let pools = pools.map(|pool| (&pool.options, BUY));
    let shown = style.shown(fleet.families.len(), POOLS);
    let families = fleet.families.iter().take(shown);
    let families = families.map(|pool| (&pool.options, COMMIT));
    let titles: BTreeSet<String> = pools
        .chain(families)
        .filter(|(options, _)| !options.is_empty())
        .flat_map(|(options, amount)| {
            option_table((options, None), amount, style).left_out(style, 2)
        })
        .collect();
    titles.into_iter().collect()
}

fn legend(fleet: &ReservedFleet, style: TableStyle, out: &mut String) -> Result {
    let explained = "→ what the plan buys; EFFECTIVE: hourly cost of \
                     the whole purchase, upfront spread over the term; BREAK-EVEN: share of \
                     the hours above which one pays; MONTH: first month in which the \
                     replaced hours have cost as much; COMMITTED: over the term, used or \
                     not; HALVED: loss over the term if usage halves from month 7";
    let derived = fleet
        .quotes()
        .any(|quote| quote.basis == PriceBasis::Derived);
    let dates: Option<(Date, Date)> =
        fleet
            .quotes()
            .map(|quote| quote.seen_on)
            .fold(None, |range, day| match range {
                None => Some((day, day)),
                Some((oldest, newest)) => Some((oldest.min(day), newest.max(day))),
            });
    let dated = dates.map_or(String::new(), |(oldest, newest)| {
        let derived = if derived { ", some derived" } else { "" };
        format!("Prices dated {oldest} to {newest}{derived}.")
    });
    let sized = if fleet.is_today {
        "Sized on today's usage minus existing commitment coverage: it includes what the plan \
         stops, resizes, schedules and moves, so nothing is advised here."
    } else {
        "Sized on what all other actions of the plan leave; `--today` shows today's usage."
    };
    let scope = format!(
        "{sized} A pool of reserved instances and the plan of its family cover the same hours: \
         buy only one of them. Purchases of a payer account are included with `--commitments`."
    );
    let narrowed = columns_left_out(&titles_left_out(fleet, style), style).unwrap_or_default();
    let explained = if fleet.is_today {
        explained.trim_start_matches("→ what the plan buys; ")
    } else {
        explained
    };
    for text in [explained, &narrowed, &scope, &dated] {
        for line in wrap(text, style.width) {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out)
}

/// What is committed to already.
fn committed(fleet: &ReservedFleet, style: TableStyle, out: &mut String) -> Result {
    if fleet.commitments.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("EXISTING COMMITMENTS"))?;
    let header = [
        "WHAT",
        "COST/MONTH",
        "USED",
        "COVERS",
        "UNUSED/MONTH",
        "DAYS LEFT",
        "END",
        "ID",
    ];
    let mut table = PlainTable::new(&header, 1..6).whole(&[]);
    for one in &fleet.commitments {
        let or_absent = |share: Option<Decimal>| share.map_or(ABSENT.to_owned(), percent);
        table.row(vec![
            fit(&one.name, 44),
            money(one.monthly_cost),
            or_absent(one.utilization),
            or_absent(one.coverage()),
            money_or_absent(one.unused_monthly),
            one.days_to_expiry.to_string(),
            one.end.to_zoned(TimeZone::UTC).date().to_string(),
            safe(&one.id),
        ]);
    }
    out.push_str(&table.text(style));
    for line in wrap(
        "USED: share of the paid commitment used in the window (RI utilization); COVERS: \
         share of eligible running hours covered (RI coverage)",
        style.width,
    ) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

fn capacity(fleet: &ReservedFleet, style: TableStyle, out: &mut String) -> Result {
    if fleet.capacity.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("CAPACITY RESERVATIONS"))?;
    let header = ["TYPE", "ZONE", "TOTAL", "FREE", "UNUSED/MONTH", "END", "ID"];
    let mut table = PlainTable::new(&header, 2..5).whole(&[]);
    for one in &fleet.capacity {
        let held = &one.reservation;
        table.row(vec![
            safe(&held.instance_type),
            safe(&held.zone),
            count(u64::from(held.total)),
            count(u64::from(held.available)),
            if held.capacity_block {
                "paid upfront".to_owned()
            } else {
                money_or_absent(one.unused_monthly)
            },
            held.end.map_or("until canceled".to_owned(), |end| {
                end.to_zoned(TimeZone::UTC).date().to_string()
            }),
            safe(&held.id),
        ]);
    }
    out.push_str(&table.text(style));
    Ok(())
}

fn price(quote: &PriceQuote) -> String {
    let amount = quote.rate.amount().normalize();
    format!("{}{amount}", quote.rate.currency().sign())
}

fn percent(share: Decimal) -> String {
    format!("{}%", rounded(share * Decimal::ONE_HUNDRED, 1))
}
