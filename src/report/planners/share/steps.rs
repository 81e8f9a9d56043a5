//! What a sharing plan was given, and how its figures follow.

use super::super::figures::{an_hour, basis, step};
use super::words::saved;
use crate::planners::share::{Packing, SharePlan, ShareTenant};
use crate::report::answer::{Figure, Given, Step};
use crate::report::shared::text::{counted, unit_price};
use crate::savings::{SHARED_TARGET_PERCENT, Slice};

const POLICY: &str = "policy";

pub(super) fn given(plan: &SharePlan) -> Vec<Given> {
    let question = &plan.question;
    let card = format!("{} GPUs", question.on.offer.model);
    let price = question.price.as_ref();
    vec![
        basis(
            "instance_type",
            "instance type",
            Figure::text(&question.on.instance_type),
            "asked for",
        ),
        basis(
            "region",
            "region",
            Figure::text(&question.region),
            "asked for",
        ),
        basis(
            "gpus_per_instance",
            "GPUs of an instance",
            Figure::Count(u64::from(question.on.cards)),
            &card,
        ),
        basis(
            "card_mib",
            "memory of a GPU, MiB",
            Figure::Number(question.on.card_mib, 0),
            "catalog",
        ),
        basis(
            "hourly",
            "on-demand price per hour",
            Figure::of(price, |quote| Figure::Price(an_hour(quote.rate))),
            &price.map_or_else(
                || "unpriced".to_owned(),
                |quote| format!("Linux, {}, {}", quote.effective_date, quote.origin.name()),
            ),
        ),
        basis(
            "vram_headroom",
            "factor on VRAM",
            Figure::Number(question.vram_headroom, 2),
            POLICY,
        ),
        basis(
            "target_percent",
            "peaks of a card",
            Figure::Percent(SHARED_TARGET_PERCENT),
            POLICY,
        ),
        basis(
            "tenants",
            "tenants",
            Figure::Count(question.tenants.len() as u64),
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
        steps.push(step("cards", bound, Figure::Count(cards as u64)));
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
            Figure::Count(packing.instances as u64),
        ));
        if packing.spare > 0 {
            steps.push(step(
                "with spare instances",
                format!("{} + {}", packing.instances, packing.spare),
                Figure::Count(packing.instances_with_spare() as u64),
            ));
        }
    }
    let mut alone = format!(
        "{} / {}, rounded up",
        question.tenants.len(),
        question.on.cards
    );
    if question.survive_nodes > 0 {
        alone.push_str(&format!(", + {}", question.survive_nodes));
    }
    let alone_instances = Figure::Count(plan.alone_instances as u64);
    steps.push(step("instances for one GPU each", alone, alone_instances));
    if let Some(quote) = &question.price {
        let month = |instances: usize| {
            let price = unit_price(an_hour(quote.rate));
            let hours = question.hours_per_month.normalize();
            format!("{instances} × {price} × {hours}, rounded to cents each")
        };
        if let Some(packing) = packing {
            let monthly = Figure::of(packing.monthly, Figure::Money);
            let instances = packing.instances_with_spare();
            steps.push(step("shared, per month", month(instances), monthly));
        }
        let monthly = Figure::of(plan.alone_monthly, Figure::Money);
        steps.push(step(
            "one GPU each, per month",
            month(plan.alone_instances),
            monthly,
        ));
        if let Some(saved) = packing.and_then(|packing| saved(plan, packing)) {
            let difference = "one GPU each − shared".to_owned();
            steps.push(step("saved per month", difference, Figure::Money(saved)));
        }
    }
    steps
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
        Figure::Number(needed, 0),
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
        Figure::text(&profile.name),
    ));
    if let Some(peak) = tenant.peak_percent {
        let slices = profile.compute_slices.max(1);
        steps.push(step(
            "its peak on the slice",
            format!(
                "{peak:.1} × {} / {slices} ≤ {SHARED_TARGET_PERCENT:.0}",
                plan.total_slices
            ),
            Figure::Percent(peak * f64::from(plan.total_slices) / f64::from(slices)),
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
