//! A bill beside an audit: differences by name, instances, and how what is billed was used.

use super::cents::{cents, in_cents};
use super::figures::{Amounts, hours, percent, text};
use crate::billing::{
    Bill, ComparedInstance, Comparison, CurrencyBill, DifferenceName, DifferenceReason, UsedCost,
};
use crate::domain::LineKind;
use crate::report::doc::{Head, Step, Table, Value, column, detail};
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::BTreeMap;

const DIFFERENCES: [Head; 5] = [
    column("difference", "difference"),
    column("reason", "reason"),
    column("hours", "hours"),
    column("cost", "cost"),
    detail("currency", "currency"),
];
const COMPARED: [Head; 17] = [
    column("instance", "instance"),
    detail("account", "account"),
    detail("region", "region"),
    column("instance_type", "type"),
    column("billed_hours", "billed h"),
    column("seen_hours", "seen h"),
    column("bill_cost", "bill"),
    column("audit_cost", "audit"),
    detail("hours_cost", "hours"),
    detail("price_cost", "price"),
    detail("commitment_cost", "commitment"),
    detail("scope_cost", "scope"),
    detail("late_cost", "late"),
    detail("unstated_cost", "unstated"),
    column("difference_cost", "difference"),
    column("idle_cost", "idle"),
    detail("currency", "currency"),
];
/// What an instance can differ in, in the order of the columns.
const NAMES: [DifferenceName; 6] = [
    DifferenceName::Hours,
    DifferenceName::Price,
    DifferenceName::Commitment,
    DifferenceName::Scope,
    DifferenceName::Late,
    DifferenceName::Unstated,
];
const USED: [Head; 8] = [
    column("group", "group"),
    column("effective_cost", "effective"),
    column("useful_cost", "useful"),
    column("spare_cost", "spare"),
    column("idle_cost", "idle"),
    column("unmeasured_cost", "unmeasured"),
    column("idle_percent", "idle share"),
    detail("currency", "currency"),
];

/// The sheets of a comparison; none without an audit.
pub(super) fn sheets(bill: &Bill) -> Vec<Table> {
    if bill.currencies.iter().all(|one| one.comparison.is_none()) {
        return Vec::new();
    }
    let rows = |of: fn(&Comparison, Amounts) -> Vec<Vec<Value>>| -> Vec<Vec<Value>> {
        let all = bill.currencies.iter();
        let all = all.filter_map(|one| Some((one.comparison.as_ref()?, Amounts(one.currency))));
        all.flat_map(|(comparison, amounts)| of(comparison, amounts))
            .collect()
    };
    let sheet = |key, title: String, noun, columns: &[Head], rows| Table {
        key,
        title,
        noun,
        columns: columns.to_vec(),
        rows,
        ..Table::default()
    };
    let key = bill.grouped_by.as_ref();
    let key = key.map_or_else(|| "type".to_owned(), ToString::to_string);
    vec![
        sheet(
            "differences",
            "BILL AND AUDIT  what differs".to_owned(),
            ("difference", "differences"),
            &DIFFERENCES,
            rows(differences),
        ),
        sheet(
            "compared",
            "INSTANCES OF THE AUDIT  effective cost".to_owned(),
            ("instance", "instances"),
            &COMPARED,
            rows(compared),
        ),
        sheet(
            "used",
            format!("USE OF GPU INSTANCES  effective cost by {key}"),
            ("group", "groups"),
            &USED,
            rows(used),
        ),
    ]
}

/// The difference of both sums, as they are shown.
fn shown_difference(bill: Decimal, audit: Decimal) -> Decimal {
    cents(bill) - cents(audit)
}

/// Each part of the difference in whole cents, which add up to what is shown.
fn in_parts(comparison: &Comparison) -> Vec<(DifferenceReason, Decimal, Decimal)> {
    let all = &comparison.differences;
    let exact: Vec<Decimal> = all.values().map(|part| part.cost).collect();
    let total = shown_difference(comparison.bill, comparison.audit);
    let shown = in_cents(&exact, total);
    let all = all.iter().zip(shown);
    all.map(|((reason, part), cost)| (*reason, part.hours, cost))
        .collect()
}

fn differences(comparison: &Comparison, amounts: Amounts) -> Vec<Vec<Value>> {
    let parts = in_parts(comparison).into_iter();
    let row = |(reason, of_hours, cost): (DifferenceReason, Decimal, Decimal)| {
        vec![
            Value::text(reason.name().name()),
            Value::text(in_words(reason)),
            hours((!of_hours.is_zero()).then_some(of_hours)),
            amounts.of(Some(cost)),
            amounts.code(),
        ]
    };
    parts.map(row).collect()
}

fn in_words(reason: DifferenceReason) -> &'static str {
    match reason {
        DifferenceReason::NotSeen => "billed, not seen running",
        DifferenceReason::NotBilled => "seen running, not billed",
        DifferenceReason::UnknownInstance => "instance not in the audit",
        DifferenceReason::OtherPrice => "another price",
        DifferenceReason::Unpriced => "no price in the audit",
        DifferenceReason::Commitment => "reserved instances and savings plans",
        DifferenceReason::OtherAccount => "account not in the audit",
        DifferenceReason::OtherRegion => "region not in the audit",
        DifferenceReason::OtherTime => "outside the hours of the audit",
        DifferenceReason::NotSelected => "not selected by tags",
        DifferenceReason::Unnamed => "no instance or time in the bill",
        DifferenceReason::NoLines => "account not in the bill",
        DifferenceReason::BeforeBill => "before the bill begins",
        DifferenceReason::Line(LineKind::Instance) => "instance without GPUs",
        DifferenceReason::Line(kind) => kind.name(),
        DifferenceReason::AfterBill => "after the last billed hour",
        DifferenceReason::NoCost => "no effective cost in the bill",
    }
}

fn compared(comparison: &Comparison, amounts: Amounts) -> Vec<Vec<Value>> {
    let row = |one: &ComparedInstance| {
        let exact = NAMES.map(|name| one.differences.get(&name).copied().unwrap_or_default());
        let total = shown_difference(one.bill, one.audit.unwrap_or_default());
        let mut row = vec![
            Value::text(&one.id),
            Value::text(&one.account),
            Value::text(&one.region),
            Value::text(&one.instance_type),
            hours(Some(one.billed_hours)),
            hours(Some(one.seen_hours)),
            amounts.of(Some(one.bill)),
            amounts.of(one.audit),
        ];
        let shown = in_cents(&exact, total).into_iter();
        row.extend(shown.map(|cost| amounts.of(Some(cost))));
        row.extend([
            amounts.of(Some(total)),
            amounts.of(Some(one.used.idle)),
            amounts.code(),
        ]);
        row
    };
    comparison.instances.iter().map(row).collect()
}

fn used(comparison: &Comparison, amounts: Amounts) -> Vec<Vec<Value>> {
    let mut groups: Vec<(&Option<String>, &UsedCost)> = comparison.used.iter().collect();
    groups.sort_by_key(|(_, one)| Reverse(one.idle));
    let row = |(group, one): (&Option<String>, &UsedCost)| {
        let parts = [one.useful, one.spare, one.idle, one.unmeasured];
        let mut row = vec![text(group.as_deref()), amounts.of(Some(one.cost))];
        let shown = in_cents(&parts, cents(one.cost)).into_iter();
        row.extend(shown.map(|cost| amounts.of(Some(cost))));
        row.extend([percent(one.idle_percent()), amounts.code()]);
        row
    };
    groups.into_iter().map(row).collect()
}

/// The difference of a bill and an audit, and the idle share of what was measured.
pub(super) fn steps(bill: &CurrencyBill, of_currency: &str) -> Vec<Step> {
    let Some(comparison) = &bill.comparison else {
        return Vec::new();
    };
    let amounts = Amounts(bill.currency);
    let mut names: BTreeMap<DifferenceName, Decimal> = BTreeMap::new();
    for (reason, _, cost) in in_parts(comparison) {
        *names.entry(reason.name()).or_default() += cost;
    }
    let named: Vec<String> = names
        .iter()
        .map(|(name, cost)| format!("{name} {}", amounts.text(*cost)))
        .collect();
    let total = shown_difference(comparison.bill, comparison.audit);
    let both = format!(
        "{} − {}",
        amounts.text(comparison.bill),
        amounts.text(comparison.audit)
    );
    let mut steps = vec![Step {
        name: format!("bill − audit{of_currency}"),
        arithmetic: if named.is_empty() {
            both
        } else {
            format!("{both} = {}", named.join(" + "))
        },
        result: amounts.of(Some(total)),
    }];
    let used = comparison.used();
    if let Some(share) = used.idle_percent() {
        steps.push(Step {
            name: format!("idle GPU cost{of_currency}"),
            arithmetic: format!(
                "{} / ({} − {} not measured)",
                amounts.text(used.idle),
                amounts.text(used.cost),
                amounts.text(used.unmeasured)
            ),
            result: percent(Some(share)),
        });
    }
    steps
}

/// What of a bill was idle, in a sentence.
pub(super) fn idle_words(bill: &CurrencyBill) -> Option<String> {
    let used = bill.comparison.as_ref()?.used();
    let amounts = Amounts(bill.currency);
    if used.cost.is_zero() {
        return None;
    }
    let cost = amounts.text(used.cost);
    // Where nothing was measured, an idle cost of zero would be a claim.
    if used.cost == used.unmeasured {
        return Some(format!("how much of the {cost} was idle is not known"));
    }
    Some(format!(
        "{} of the {cost} was idle, and the use of {} is not known",
        amounts.text(used.idle),
        amounts.text(used.unmeasured)
    ))
}
