//! `gpucost share`: who shares which cards, in words.

mod caveats;
mod files;
mod nodes;
mod sheets;
mod steps;
mod words;

use crate::analysis::NoTenant;
use crate::domain::Money;
use crate::planners::share::{Method, Packing, SharePlan};
use crate::report::doc::{Doc, Missing};
use crate::report::shared::text::{counted, money, money_or_absent, shell_word};
use nodes::nodes;
use rust_decimal::Decimal;
use words::{by_memory_alone, fleet_words, method_words};

/// A sharing plan as an answer; `left_out` are those that share no card.
pub fn share_answer(plan: &SharePlan, left_out: &[NoTenant]) -> Doc {
    let chosen = plan.chosen();
    let packing = chosen.map(|(_, packing)| packing);
    let nodes = packing.map_or_else(Vec::new, |packing| nodes(packing, plan.question.on.cards));
    Doc {
        name: "share",
        headline: headline(plan, chosen),
        given: steps::given(plan),
        steps: steps::steps(plan, packing),
        tables: sheets::sheets(plan, &nodes, left_out),
        caveats: packing.map_or_else(Vec::new, |packing| caveats::caveats(plan, packing, &nodes)),
        missing: missing(plan),
        files: files::files(plan, &nodes),
        next: next(plan, packing),
        ..Doc::default()
    }
}

fn headline(plan: &SharePlan, chosen: Option<(Method, &Packing)>) -> String {
    let question = &plan.question;
    let tenants = counted(question.tenants.len() as u64, "tenant", "tenants");
    let on = |instances: usize| format!("{instances} × {}", question.on.instance_type);
    let before = match &question.today {
        Some(today) => format!(
            "today: {}, {} per month",
            fleet_words(today),
            money_or_absent(plan.today_monthly)
        ),
        None => format!(
            "one GPU each: {}, {} per month",
            on(plan.alone_instances),
            money_or_absent(plan.alone_monthly)
        ),
    };
    let Some((method, packing)) = chosen else {
        return format!("{tenants} cannot share the GPUs of this type; {before}");
    };
    let cards = counted(packing.cards() as u64, "card", "cards");
    let shared = format!(
        "{tenants} on {cards} with {}: {}, {} per month",
        method_words(method),
        on(packing.instances_with_spare()),
        money_or_absent(packing.monthly)
    );
    let gain = match plan.saved(packing) {
        Some(saved) if saved.amount() > Decimal::ZERO => String::new(),
        Some(saved) if saved.amount() < Decimal::ZERO => {
            let more = Money::new(-saved.amount(), saved.currency());
            format!("sharing costs {} more per month. ", money(more))
        }
        None if packing.instances_with_spare() < plan.instances_before() => String::new(),
        Some(_) | None => "sharing frees no instance. ".to_owned(),
    };
    let basis = match by_memory_alone(plan, packing) {
        0 => String::new(),
        unknown => format!(
            "; this rests on memory alone for {}: measure {} first",
            counted(unknown as u64, "tenant", "tenants"),
            if unknown == 1 {
                "its peak"
            } else {
                "their peaks"
            }
        ),
    };
    format!("{gain}{shared}; {before}{basis}")
}

fn missing(plan: &SharePlan) -> Vec<Missing> {
    let tenants = plan.question.tenants.iter();
    let unknown = tenants.filter(|tenant| tenant.peak_percent.is_none());
    unknown
        .map(|tenant| Missing {
            what: format!("peak of {}", tenant.name),
            remedy: "run it alone on a GPU beside `gpucost profile --duration 1h`, and pass its \
                     99th percentile as PEAK"
                .to_owned(),
        })
        .collect()
}

fn next(plan: &SharePlan, packing: Option<&Packing>) -> Vec<String> {
    let on = shell_word(&plan.question.on.instance_type);
    let region = shell_word(&plan.question.region);
    if let Some(smaller) = packing.and_then(|packing| plan.smaller(packing)) {
        let smaller = shell_word(&smaller.on.instance_type);
        return vec![format!("gpucost pricing {smaller} --region {region}")];
    }
    let mut next = vec![format!("gpucost pricing {on} --region all")];
    // A commitment to what sharing does not make cheaper is not advice.
    let saves = |packing: &&Packing| {
        let saved = plan.saved(packing);
        saved.is_some_and(|saved| saved.amount() > Decimal::ZERO)
    };
    let packing = packing.filter(saves);
    if let Some(packing) = packing.filter(|_| plan.question.has_commitments) {
        next.push(format!(
            "gpucost reserved --type {on} --region {region} --count {}",
            packing.instances_with_spare()
        ));
    }
    next
}
