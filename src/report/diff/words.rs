//! What the table and the Markdown of a diff say alike, before names are made safe
//! for either.

use crate::analysis::{AuditDiff, Delta, PlanOutcome, WorkloadChange};
use crate::domain::{Money, PastWorkload};
use crate::report::shared::kpis::{is_above_zero, per, shown, signed, title};
use crate::report::shared::text::{ABSENT, count, counted, money, money_or_absent, unit_price};
use rust_decimal::Decimal;

pub(super) fn signed_or_absent(amount: Option<Money>) -> String {
    amount.map_or_else(|| ABSENT.to_owned(), Money::signed)
}

/// What a workload that came or went changes the cost by.
pub(super) fn gained(one: &PastWorkload, is_gain: bool) -> Option<Money> {
    one.monthly_cost.map(|cost| {
        let sign = if is_gain { Decimal::ONE } else { -Decimal::ONE };
        Money::new(cost.amount() * sign, cost.currency())
    })
}

/// `$1.00 → $2.00`.
pub(super) fn from_to(delta: Delta) -> String {
    format!(
        "{} → {}",
        money_or_absent(delta.old),
        money_or_absent(delta.new)
    )
}

/// A key figure or the cost of units of work that changed, in words.
pub(super) struct KpiRow {
    pub(super) name: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) change: String,
}

/// The key figures that changed, then the costs of units of work that did. Names may be
/// from outside.
pub(super) fn kpi_rows(diff: &AuditDiff<'_>) -> Vec<KpiRow> {
    let price = |amount: Option<Money>| amount.map_or_else(|| ABSENT.to_owned(), unit_price);
    let changed = diff.kpis.iter().filter(|one| one.is_changed());
    let kpis = changed.map(|one| KpiRow {
        name: title(one.kpi).to_owned(),
        old: shown(one.kpi, one.old),
        new: shown(one.kpi, one.new),
        change: signed(one.kpi, one.change()),
    });
    let units = diff.unit_costs.iter().filter(|one| one.old != one.new);
    let units = units.map(|one| {
        let sign = match one.change() {
            Some(change) if is_above_zero(change) => "+",
            _ => "",
        };
        KpiRow {
            name: format!("{}, per {}", one.one.name, per(one.one.per, &one.one.unit)),
            old: price(one.old),
            new: price(one.new),
            change: format!("{sign}{}", price(one.change())),
        }
    });
    kpis.chain(units).collect()
}

/// Cost, waste and what the plan saves, each before and now.
pub(super) fn headlines(diff: &AuditDiff<'_>) -> [(&'static str, Delta); 3] {
    [
        ("Monthly cost", diff.monthly_cost),
        ("Waste", diff.monthly_waste),
        ("Planned savings", diff.monthly_savings),
    ]
}

/// How many workloads did what.
pub(super) fn tally(diff: &AuditDiff<'_>) -> String {
    format!(
        "{} added, {} removed, {} changed, {} unchanged",
        count(diff.added.len() as u64),
        count(diff.removed.len() as u64),
        count(diff.changed.len() as u64),
        count(diff.unchanged)
    )
}

/// What became of the plan of the earlier audit, in a sentence.
pub(super) fn outcome(plan: &PlanOutcome) -> String {
    let mut words = format!(
        "the earlier plan projected savings of {} per month; the same scope now costs {} per \
         month",
        money(plan.planned),
        less(plan.saved)
    );
    for (amount, before, after) in [
        (
            plan.storage_of_stopped,
            "net of",
            "for idle storage while stopped",
        ),
        (
            plan.lost_work,
            "with",
            "that the plan budgeted for work lost on spot",
        ),
        (
            plan.snapshots,
            "with",
            "that the plan budgeted for snapshots of released volumes",
        ),
    ] {
        if !amount.amount().is_zero() {
            words.push_str(&format!(", {before} {} {after}", money(amount)));
        }
    }
    words
}

fn less(saved: Money) -> String {
    let amount = Money::new(saved.amount().abs(), saved.currency());
    if saved.amount().is_sign_negative() && !saved.amount().is_zero() {
        format!("{} more", money(amount))
    } else {
        format!("{} less", money(amount))
    }
}

/// What findings that are gone were worth in the end.
pub(super) fn gone_title(diff: &AuditDiff<'_>) -> String {
    let number = counted(diff.gone.len() as u64, "finding", "findings");
    let saved = diff.saved_by_gone.map_or(String::new(), |saved| {
        let about = if diff.gone.len() == 1 {
            "it covered"
        } else {
            "they covered"
        };
        format!(", and the resources {about} cost {} per month", less(saved))
    });
    format!("{number}{saved}")
}

/// What differs of a workload but its cost, which has a column.
pub(super) fn differences(change: &WorkloadChange<'_>) -> String {
    let parts: Vec<String> = change
        .fields
        .iter()
        .filter(|field| field.name != "monthly_cost")
        .map(|field| {
            let name = match field.name {
                "instance_type" => "type",
                "purchase_option" => "option",
                "classification" => "class",
                other => other,
            };
            format!("{name} {} → {}", field.old, field.new)
        })
        .collect();
    if parts.is_empty() {
        "cost only".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Type, count, option and class of a workload.
pub(super) fn described(one: &PastWorkload) -> String {
    format!(
        "{} × {}, {}, {}",
        one.instances.len(),
        one.instance_type,
        one.purchase_option,
        if one.running {
            &one.classification
        } else {
            "stopped"
        }
    )
}
