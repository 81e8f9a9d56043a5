//! What a sharing plan was given, and how its figures follow.

use super::nodes::{by_memory_alone, count_of, fleet, packed_slices};
use crate::domain::{HourlyRate, Money};
use crate::planners::share::{Origin, Packing, SharePlan};
use crate::report::doc::{Given, Step, Value, rows};
use crate::report::shared::text::{joined, unit_price};
use crate::savings::SHARED_TARGET_PERCENT;
use rust_decimal::Decimal;

/// Where a type or a region is from.
fn origin(origin: Origin, flag: &'static str) -> &'static str {
    match origin {
        Origin::Flag => flag,
        Origin::MostTenants => "most tenants",
        Origin::Home => "home region",
    }
}

pub(super) fn given(plan: &SharePlan) -> Vec<Given> {
    let question = &plan.question;
    let (on, price) = (&question.on, question.price.as_ref());
    let tenants = question.tenants.len();
    let peaks = match question.tenants.iter().filter(|tenant| !tenant.hours.is_empty()).count() {
        0 if tenants > 0 => "separate peaks added up",
        known if known == tenants => "peaks added up hour by hour",
        _ => "peaks added up hour by hour where hours are known",
    };
    let price_source = price.map_or("unpriced".to_owned(), |quote| {
        format!("Linux, {}, {}", quote.effective_date, quote.origin.name())
    });
    rows! {
        Given::new("instance_type", "instance type", Value::text(&on.instance_type), origin(question.on_origin, "--type"));
        Given::new("region", "region", Value::text(&question.region), origin(question.region_origin, "--region"));
        Given::new("gpus_per_instance", "GPUs of an instance", Value::make_count(on.cards), format!("{} GPUs", on.offer.model));
        Given::new("card_mib", "memory of a GPU, MiB", Value::Number(on.card_mib, 0), "catalog");
        Given::new("hourly", "on-demand price per hour", Value::make_price(price.map(|quote| quote.rate.an_hour())), price_source);
        Given::new("vram_headroom", "factor on VRAM", Value::Number(question.vram_headroom, 2), "policy");
        Given::new("target_percent", "peaks of a card", Value::Percent(SHARED_TARGET_PERCENT), "policy");
        Given::new("tenants", "tenants", Value::make_count(tenants), peaks);
    }
}

pub(super) fn steps(plan: &SharePlan, packing: Option<&Packing>) -> Vec<Step> {
    let question = &plan.question;
    let price = question.price.as_ref().map(|quote| quote.rate);
    let hours = question.hours_per_month.normalize();
    let month = |instances: usize, rate: HourlyRate| {
        format!("{instances} × {} × {hours}", unit_price(rate.an_hour()))
    };
    let bound = |packing: &Packing| match packing.least_cards() {
        least if least == packing.cards() => "no packing takes fewer".to_owned(),
        least => format!("no packing takes fewer than {least}"),
    };
    let (before, cost_before) = match &question.today {
        Some(today) => {
            let parts = today.instances.values().map(|(count, rate)| Some(month(*count, (*rate)?)));
            let parts = parts.collect::<Option<Vec<String>>>().map(|parts| parts.join(" + "));
            (("instances today", fleet(today)), ("today, per month", parts, plan.today_monthly))
        }
        None => {
            let alone = format!("{} / {}, rounded up", question.tenants.len(), question.on.cards);
            let spare = match question.survive_nodes {
                0 => String::new(),
                spare => format!(", + {spare}"),
            };
            let parts = price.map(|rate| month(plan.alone_instances, rate));
            (
                ("instances for one GPU each", alone + &spare),
                ("one GPU each, per month", parts, plan.alone_monthly),
            )
        }
    };
    let (cost_name, parts, cost) = cost_before;
    rows! {
        ..packing.into_iter().flat_map(|packing| largest(plan, packing));
        for packing in packing => Step::new("cards", bound(packing), Value::make_count(packing.cards()));
        for packing in packing => Step::new("instances", instances(plan, packing), Value::make_count(packing.instances));
        for packing in packing.filter(|packing| packing.spare > 0) => Step::new("with spare instances", format!("{} + {}", packing.instances, packing.spare), Value::make_count(packing.instances_with_spare()));
        Step::new(before.0, before.1, Value::make_count(plan.instances_before()));
        for (packing, rate) in packing.zip(price) => Step::new("shared, per month", format!("{}, rounded to cents each", month(packing.instances_with_spare(), rate)), Value::make_money(packing.monthly));
        for (parts, cost) in parts.zip(cost) => Step::new(cost_name, format!("{parts}, rounded to cents each"), Value::Money(cost));
        ..packing.and_then(|packing| saved(plan, packing));
    }
}

fn instances(plan: &SharePlan, packing: &Packing) -> String {
    let lots = packing.lots.iter();
    let lots = lots.map(|lot| format!("{} / {}", lot.cards.len(), plan.question.on.cards));
    let each = if packing.lots.len() > 1 { ", each" } else { "," };
    format!("{}{each} rounded up", joined(lots, " + "))
}

/// What sharing saves, or costs more.
fn saved(plan: &SharePlan, packing: &Packing) -> Option<Step> {
    let saved = plan.saved(packing)?;
    let before = if plan.question.today.is_some() { "today" } else { "one GPU each" };
    if saved.amount() < Decimal::ZERO {
        let more = Money::new(-saved.amount(), saved.currency());
        return Some(Step::new("more per month", format!("shared − {before}"), Value::Money(more)));
    }
    let unknown = match by_memory_alone(plan, packing) {
        0 => String::new(),
        unknown => format!(", by memory alone for {}", count_of(unknown, "tenant", "tenants")),
    };
    Some(Step::new("saved per month", format!("{before} − shared{unknown}"), Value::Money(saved)))
}

/// The arithmetic of the tenant with most memory, and of its slice.
fn largest(plan: &SharePlan, packing: &Packing) -> Vec<Step> {
    let question = &plan.question;
    let tenants = question.tenants.iter().enumerate().rev();
    let largest =
        tenants.max_by(|(_, left), (_, right)| left.vram_peak_mib.total_cmp(&right.vram_peak_mib));
    let Some((index, tenant)) = largest else { return Vec::new() };
    let needed = question.vram_needed_mib(tenant);
    let slice = packed_slices(packing).find(|slice| slice.tenant == index);
    let profile = slice.and_then(|slice| Some(&slice.placement.as_ref()?.0));
    let alike = question.tenants.iter().filter(|other| other.vram_peak_mib == tenant.vram_peak_mib);
    let name = match (profile, alike.count()) {
        (Some(_), alike @ 2..) => {
            format!("{} such as {}", count_of(alike, "tenant", "tenants"), tenant.name)
        }
        _ => tenant.name.clone(),
    };
    let total = plan.total_slices;
    let peak = profile.zip(tenant.peak_percent);
    let peak = peak.map(|(profile, peak)| (peak, profile.compute_slices.max(1)));
    rows! {
        Step::new(format!("VRAM of {name}, MiB"), format!("{:.0} × {}", tenant.vram_peak_mib, question.vram_headroom), Value::Number(needed, 0));
        for profile in profile => Step::new("its slice", profile.memory_mib.map_or(String::new(), |mib| format!("{needed:.0} ≤ {mib} MiB of {}", profile.name)), Value::text(&profile.name));
        for (peak, slices) in peak => Step::new("its peak on the slice", format!("{peak:.1} × {total} / {slices} ≤ {SHARED_TARGET_PERCENT:.0}"), Value::Percent(peak * f64::from(total) / f64::from(slices)));
    }
}
