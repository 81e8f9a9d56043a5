//! What became of advised actions.

use crate::domain::{RecordedAction, Target};
use crate::report::doc::{Head, Table, Value, column, detail};
use crate::report::shared::text::{counted, money};
use crate::trend::{Overview, Realised};
use jiff::civil::Date;

const OF_ACTIONS: [Head; 19] = [
    column("name", "workload"),
    detail("workload", "id"),
    column("action", "action"),
    detail("target", "to"),
    column("status", "status"),
    column("since", "since"),
    detail("undone_on", "undone"),
    column("days", "days"),
    column("expected", "expected"),
    column("saved", "saved"),
    column("missed", "not done cost"),
    detail("saved_usage", "usage"),
    detail("saved_mix", "mix"),
    detail("saved_rate", "rate"),
    detail("saved_standing", "standing"),
    detail("days_not_comparable", "grew"),
    detail("days_unpriced", "unpriced"),
    detail("risk", "risk"),
    detail("action_id", "action id"),
];

/// Every advised action; absent where none was.
pub(super) fn actions(found: &Overview) -> Option<Table> {
    let all = &found.realised.actions;
    if all.is_empty() {
        return None;
    }
    let title = "ADVISED ACTIONS  saved so far, at the prices of each day".to_owned();
    Some(Table {
        key: "actions",
        title,
        noun: ("action", "actions"),
        columns: OF_ACTIONS.to_vec(),
        rows: all.iter().map(row).collect(),
        ..Table::default()
    })
}

fn row(one: &Realised) -> Vec<Value> {
    let RecordedAction {
        name,
        workload,
        kind,
        target,
        risk,
        action_id,
        ..
    } = &one.action;
    let currency = one.expected.currency();
    let part = |amount| Value::Money(crate::domain::Money::new(amount, currency));
    let parts = one.saved.map(|(_, parts)| parts);
    let date = |day: Option<Date>| Value::of(day, |day| Value::text(day.to_string()));
    let count = |number: u32| Value::Count(u64::from(number));
    vec![
        Value::text(name),
        Value::text(workload),
        Value::text(kind.name()),
        Value::of(target.as_ref(), |target| Value::text(to(target))),
        Value::text(one.status.name()),
        date(one.since),
        date(one.undone_on),
        count(one.days),
        Value::Money(one.expected),
        Value::of(one.saved, |(saved, _)| Value::Money(saved)),
        Value::of(one.missed, Value::Money),
        Value::of(parts, |parts| part(parts.usage)),
        Value::of(parts, |parts| part(parts.mix)),
        Value::of(parts, |parts| part(parts.rate)),
        Value::of(parts, |parts| part(parts.standing)),
        count(one.days_not_comparable),
        count(one.days_unpriced),
        Value::text(risk.name()),
        Value::text(action_id),
    ]
}

pub(super) fn to(target: &Target) -> String {
    format!("{} × {}", target.count, target.instance_type)
}

/// What may be read wrong in it.
pub(super) fn claims(found: &Overview) -> Vec<String> {
    let realised = &found.realised;
    let mut claims = Vec::new();
    if realised.actions.is_empty() {
        return claims;
    }
    if !realised.price.amount().is_zero() {
        claims.push(format!(
            "price changes of the cloud took off {}, which no action claims",
            money(realised.price)
        ));
    }
    if !realised.unclaimed.amount().is_zero() {
        claims.push(format!(
            "{} of the difference is of changes that none of these actions brings about",
            money(realised.unclaimed)
        ));
    }
    let grew: u32 = realised
        .actions
        .iter()
        .map(|one| one.days_not_comparable)
        .sum();
    if grew > 0 {
        let days = counted(u64::from(grew), "day", "days");
        claims.push(format!(
            "{days} of actions cannot be compared, because more ran than before; `--units FILE` \
             compares per unit of work"
        ));
    }
    let unpriced: u32 = realised.actions.iter().map(|one| one.days_unpriced).sum();
    if unpriced > 0 {
        let days = counted(u64::from(unpriced), "day", "days");
        claims.push(format!(
            "{days} of actions have no public price of that day, so that nothing is claimed"
        ));
    }
    if realised.other_currencies > 0 {
        let actions = counted(realised.other_currencies, "action is", "actions are");
        claims.push(format!("{actions} in another currency and left out"));
    }
    claims
}
