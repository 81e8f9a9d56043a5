//! What a sharing plan was given, and how its figures follow.

use super::super::figures::{an_hour, basis, step};
use super::words::{by_memory_alone, fleet_words, origin_words};
use crate::domain::{HourlyRate, Money};
use crate::planners::share::{Packing, SharePlan, ShareTenant};
use crate::report::doc::{Given, Step, Value};
use crate::report::shared::text::{counted, unit_price};
use crate::savings::{SHARED_TARGET_PERCENT, Slice};
use rust_decimal::Decimal;

const POLICY: &str = "policy";

pub(super) fn given(plan: &SharePlan) -> Vec<Given> {
    let question = &plan.question;
    let card = format!("{} GPUs", question.on.offer.model);
    let price = question.price.as_ref();
    vec![
        basis(
            "instance_type",
            "instance type",
            Value::text(&question.on.instance_type),
            origin_words(question.on_origin, "--type"),
        ),
        basis(
            "region",
            "region",
            Value::text(&question.region),
            origin_words(question.region_origin, "--region"),
        ),
        basis(
            "gpus_per_instance",
            "GPUs of an instance",
            Value::Count(u64::from(question.on.cards)),
            &card,
        ),
        basis(
            "card_mib",
            "memory of a GPU, MiB",
            Value::Number(question.on.card_mib, 0),
            "catalog",
        ),
        basis(
            "hourly",
            "on-demand price per hour",
            Value::of(price, |quote| Value::Price(an_hour(quote.rate))),
            &price.map_or_else(
                || "unpriced".to_owned(),
                |quote| format!("Linux, {}, {}", quote.effective_date, quote.origin.name()),
            ),
        ),
        basis(
            "vram_headroom",
            "factor on VRAM",
            Value::Number(question.vram_headroom, 2),
            POLICY,
        ),
        basis(
            "target_percent",
            "peaks of a card",
            Value::Percent(SHARED_TARGET_PERCENT),
            POLICY,
        ),
        basis(
            "tenants",
            "tenants",
            Value::Count(question.tenants.len() as u64),
            peaks_basis(&question.tenants),
        ),
    ]
}

/// How the peaks of tenants are added up.
fn peaks_basis(tenants: &[ShareTenant]) -> &'static str {
    let by_hour = tenants.iter().filter(|one| !one.hours.is_empty()).count();
    if by_hour == tenants.len() {
        "peaks added up hour by hour"
    } else if by_hour > 0 {
        "peaks added up hour by hour where hours are known"
    } else {
        "separate peaks added up"
    }
}

pub(super) fn steps(plan: &SharePlan, packing: Option<&Packing>) -> Vec<Step> {
    let mut steps = Vec::new();
    let question = &plan.question;
    if let Some(packing) = packing {
        steps.extend(largest(plan, packing));
        let (cards, least) = (packing.cards(), packing.least_cards());
        let bound = if cards == least {
            "no packing takes fewer".to_owned()
        } else {
            format!("no packing takes fewer than {least}")
        };
        steps.push(step("cards", bound, Value::Count(cards as u64)));
        let parts: Vec<String> = packing
            .lots
            .iter()
            .map(|lot| format!("{} / {}", lot.cards.len(), question.on.cards))
            .collect();
        let each = if parts.len() > 1 {
            ", each rounded up"
        } else {
            ", rounded up"
        };
        steps.push(step(
            "instances",
            format!("{}{each}", parts.join(" + ")),
            Value::Count(packing.instances as u64),
        ));
        if packing.spare > 0 {
            steps.push(step(
                "with spare instances",
                format!("{} + {}", packing.instances, packing.spare),
                Value::Count(packing.instances_with_spare() as u64),
            ));
        }
    }
    steps.push(instances_before(plan));
    if let Some(quote) = &question.price {
        let month = |instances: usize| {
            let price = unit_price(an_hour(quote.rate));
            let hours = question.hours_per_month.normalize();
            format!("{instances} × {price} × {hours}, rounded to cents each")
        };
        if let Some(packing) = packing {
            let monthly = Value::of(packing.monthly, Value::Money);
            let instances = packing.instances_with_spare();
            steps.push(step("shared, per month", month(instances), monthly));
        }
    }
    steps.extend(cost_before(plan));
    steps.extend(packing.and_then(|packing| saved(plan, packing)));
    steps
}

/// Instances that run today, else for one GPU each.
fn instances_before(plan: &SharePlan) -> Step {
    let question = &plan.question;
    let count = Value::Count(plan.instances_before() as u64);
    if let Some(today) = &question.today {
        return step("instances today", fleet_words(today), count);
    }
    let mut alone = format!(
        "{} / {}, rounded up",
        question.tenants.len(),
        question.on.cards
    );
    if question.survive_nodes > 0 {
        alone.push_str(&format!(", + {}", question.survive_nodes));
    }
    step("instances for one GPU each", alone, count)
}

/// What these cost; absent where it is unpriced.
fn cost_before(plan: &SharePlan) -> Option<Step> {
    let question = &plan.question;
    let hours = question.hours_per_month.normalize();
    let part = |count: usize, rate: HourlyRate| {
        format!("{count} × {} × {hours}", unit_price(an_hour(rate)))
    };
    let (name, parts, cost) = match &question.today {
        Some(today) => {
            let parts = today.instances.values();
            let parts = parts.map(|(count, rate)| Some(part(*count, (*rate)?)));
            let parts: Option<Vec<String>> = parts.collect();
            ("today, per month", parts?.join(" + "), plan.today_monthly?)
        }
        None => (
            "one GPU each, per month",
            part(plan.alone_instances, question.price.as_ref()?.rate),
            plan.alone_monthly?,
        ),
    };
    let arithmetic = format!("{parts}, rounded to cents each");
    Some(step(name, arithmetic, Value::Money(cost)))
}

/// What sharing saves, or costs more.
fn saved(plan: &SharePlan, packing: &Packing) -> Option<Step> {
    let saved = plan.saved(packing)?;
    let before = if plan.question.today.is_some() {
        "today"
    } else {
        "one GPU each"
    };
    Some(if saved.amount() < Decimal::ZERO {
        let more = Money::new(-saved.amount(), saved.currency());
        let arithmetic = format!("shared − {before}");
        step("more per month", arithmetic, Value::Money(more))
    } else {
        let mut arithmetic = format!("{before} − shared");
        let unknown = by_memory_alone(plan, packing);
        if unknown > 0 {
            let tenants = counted(unknown as u64, "tenant", "tenants");
            arithmetic.push_str(&format!(", by memory alone for {tenants}"));
        }
        step("saved per month", arithmetic, Value::Money(saved))
    })
}

/// The arithmetic of the tenant with most memory, and of its slice.
fn largest(plan: &SharePlan, packing: &Packing) -> Vec<Step> {
    let question = &plan.question;
    let tenants = question.tenants.iter().enumerate();
    let largest = tenants
        .rev()
        .max_by(|(_, left), (_, right)| left.vram_peak_mib.total_cmp(&right.vram_peak_mib));
    let Some((index, tenant)) = largest else {
        return Vec::new();
    };
    let needed = question.vram_needed_mib(tenant);
    let mut steps = vec![step(
        &format!("VRAM of {}, MiB", tenant.name),
        format!("{:.0} × {}", tenant.vram_peak_mib, question.vram_headroom),
        Value::Number(needed, 0),
    )];
    let cards = packing.lots.iter().flat_map(|lot| &lot.cards);
    let slice = cards
        .flat_map(|card| &card.tenants)
        .find(|one| one.tenant == index);
    let Some(Slice {
        placement: Some((profile, _)),
        ..
    }) = slice
    else {
        return steps;
    };
    steps.push(step(
        "its slice",
        profile.memory_mib.map_or_else(String::new, |mib| {
            format!("{needed:.0} ≤ {mib} MiB of {}", profile.name)
        }),
        Value::text(&profile.name),
    ));
    if let Some(peak) = tenant.peak_percent {
        let slices = profile.compute_slices.max(1);
        steps.push(step(
            "its peak on the slice",
            format!(
                "{peak:.1} × {} / {slices} ≤ {SHARED_TARGET_PERCENT:.0}",
                plan.total_slices
            ),
            Value::Percent(peak * f64::from(plan.total_slices) / f64::from(slices)),
        ));
    }
    let alike = question
        .tenants
        .iter()
        .filter(|other| other.vram_peak_mib == tenant.vram_peak_mib)
        .count();
    if alike > 1 {
        let counted = counted(alike as u64, "tenant", "tenants");
        if let Some(first) = steps.first_mut() {
            first.name = format!("VRAM of {counted} such as {}, MiB", tenant.name);
        }
    }
    steps
}
