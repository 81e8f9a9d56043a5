//! What a workload and a commitment cost: each rate with its hours, its source and its date.

use super::line::{Derivation, Line};
use crate::domain::{InstanceCost, PriceKey, PriceQuote, Workload, counted};
use crate::report::doc::rows;
use crate::report::shared::gaps::tally;
use crate::report::shared::text::money;
use crate::savings::{CommitmentUse, UnusedCommitment};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// An exact number to at most so many decimals.
pub(super) fn figure(value: Decimal, decimals: u32) -> String {
    value.round_dp(decimals).normalize().to_string()
}

/// A share as a percentage.
pub(super) fn share(value: Decimal) -> String {
    format!("{}%", figure(value * Decimal::ONE_HUNDRED, 4))
}

/// Where a price comes from and when it took effect.
pub(super) fn price(key: &PriceKey, quote: &PriceQuote) -> String {
    let (date, basis) = (quote.effective_date, quote.basis);
    format!("{key}: {}, {} of {date}, {basis}", quote.origin, quote.source)
}

/// What has a price, its price, and its hours in a month.
type Priced<'a> = (&'a PriceKey, &'a PriceQuote, Decimal);

/// Rate times hours with the price, once for all instances that are alike, and the sum, unrounded.
pub(super) fn rates<'a>(rows: impl Iterator<Item = Priced<'a>>) -> (Vec<Line>, Decimal) {
    let mut groups: BTreeMap<_, (u32, &PriceQuote)> = BTreeMap::new();
    for (key, quote, hours) in rows {
        groups.entry((key, quote.rate.amount(), hours)).or_insert((0, quote)).0 += 1;
    }
    let (mut lines, mut sum) = (Vec::new(), Decimal::ZERO);
    for ((key, rate, hours), (instances, quote)) in groups {
        let amount = rate * hours * Decimal::from(instances);
        sum += amount;
        lines.extend(rows! {
            ("compute", format!("{instances} × {}/h × {} h = {} per month", rate.normalize(), figure(hours, 10), figure(amount, 6)));
            ("price", price(key, quote));
        });
    }
    (lines, sum)
}

pub(super) fn cost(workload: &Workload) -> Vec<Line> {
    let storage = &workload.idle_storage;
    let dated = storage.quotes.iter().map(|(resource, quote)| {
        let date = quote.effective_date;
        (resource, quote, date.map_or(String::new(), |date| format!(" as of {date}")))
    });
    let mut lines: Vec<Line> = rows! {
        for unpriced in &workload.unpriced => ("unpriced", format!("{}; {}", unpriced.cause, unpriced.cause.hint()));
        for priced in &storage.priced => ("storage", priced.to_string());
        for (resource, quote, date) in dated => ("price", format!("{resource}: {}, {}{date}", quote.origin, quote.source));
        for resource in &storage.unpriced => ("unpriced", resource.to_string());
    };
    let Some(cost) = &workload.cost else { return lines };
    let open = cost.instances.iter().filter(|instance| instance.committed.is_none());
    let open = open.map(|instance| (&instance.key, &instance.quote, instance.monthly_hours));
    lines.extend(rates(open).0);
    for ((product, parts), instances) in tally(cost.instances.iter().filter_map(paid_hours)) {
        lines.push(("compute", format!("{instances} × {product}")));
        lines.extend(parts.into_iter().map(|part| ("rate", part)));
    }
    let is_one = cost.instances.len() == 1;
    let rounded = if is_one { "rounded" } else { "each instance rounded to cents" };
    rows! {
        ..lines;
        ("total", format!("{} per month, {rounded}", money(cost.compute_monthly)));
        for committed in workload.committed_cost() => ("committed", format!("{} of the cost is committed by {}: stopping saves none of it before then, but frees the hours for other instances", money(committed.monthly), committed.in_words()));
    }
}

/// The cost of one instance, and how its hourly rate comes about. `None` when nothing is
/// committed.
fn paid_hours(instance: &InstanceCost) -> Option<(String, Vec<String>)> {
    let paid = instance.committed.as_ref()?;
    let part = |amount, whom: &str, of| {
        format!("{}/h {whom} for {} of its hours", figure(amount, 10), share(of))
    };
    let covered = paid.parts.iter().map(|covered| {
        part(covered.hourly.amount(), &format!("by {}", covered.commitment), covered.share)
    });
    let open = instance.uses_price().then(|| {
        let amount = instance.quote.rate.amount() * paid.uncovered_share;
        let open = part(amount, "on demand", paid.uncovered_share);
        format!("{open}: {}", price(&instance.key, &instance.quote))
    });
    let (hourly, hours) =
        (figure(instance.hourly.amount(), 10), figure(instance.monthly_hours, 10));
    let month = figure(instance.monthly().amount(), 6);
    Some((format!("{hourly}/h × {hours} h = {month} per month"), covered.chain(open).collect()))
}

/// What a reserved instance or a savings plan costs, and how far it is used.
pub(super) fn commitment(used: &CommitmentUse, by: &Derivation<'_>) -> Vec<Line> {
    let month = by.policy.hours_per_month;
    let mut lines: Vec<Line> = Vec::new();
    let reserved = by.commitments.reserved_instances.iter();
    let plans = by.commitments.savings_plans.iter();
    for reservation in reserved.filter(|reservation| reservation.id == used.id) {
        let place = reservation.zone.as_ref().unwrap_or(&reservation.region);
        let (count, hourly) = (reservation.count, reservation.effective_hourly());
        let (upfront, recurring) =
            (reservation.upfront.normalize(), reservation.recurring_hourly.normalize());
        let monthly = figure(hourly * Decimal::from(count) * month, 6);
        lines.extend(rows! {
            ("commitment", format!("{count} × {} in {place}, {}, {}, {}, {}", reservation.instance_type, reservation.operating_system, reservation.tenancy, reservation.class, reservation.payment));
            ("rate", format!("{upfront} / {} + {recurring} = {}/h, used or not", reservation.term_hours(), figure(hourly, 6)));
            ("cost", format!("{count} × {}/h × {month} h = {monthly} per month", figure(hourly, 10)));
        });
    }
    for plan in plans.filter(|plan| plan.id == used.id) {
        let (hourly, monthly) =
            (plan.commitment_hourly.normalize(), plan.commitment_hourly * month);
        lines.extend(rows! {
            ("commitment", used.name.clone());
            ("cost", format!("{hourly}/h × {month} h = {} per month, used or not", figure(monthly, 6)));
        });
    }
    let outside = || "unknown: the term does not overlap the window".to_owned();
    rows! {
        ..lines;
        ("total", format!("{} per month, rounded", money(used.monthly_cost)));
        ("term", format!("{} to {}: {} left", used.start, used.end, counted(used.days_to_expiry, "day", "days")));
        ("coverage", format!("{} of {} eligible running hours", figure(used.covered_hours, 4), figure(used.eligible_hours, 4)));
        ("used", used.utilization.map_or_else(outside, share));
        for unused in used.unused_monthly => ("unused", format!("{} per month", money(unused)));
    }
}

/// What of a commitment is paid for and does not run.
pub(super) fn unused(commitment: &UnusedCommitment) -> Vec<Line> {
    rows! {
        ("unused", commitment.name.clone());
        for account in &commitment.account => ("account", account.to_string());
        ("cost", commitment.detail.clone());
        for cost in commitment.monthly_cost => ("total", format!("{} per month, rounded", money(cost)));
        if commitment.monthly_cost.is_none() => ("total", "unknown: the price is not available".to_owned());
        for until in commitment.committed_until => ("committed", format!("until {until} in any case"));
    }
}
