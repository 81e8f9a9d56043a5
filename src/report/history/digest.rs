//! `gpucost report`: what happened since an earlier audit, short enough for a chat.

use super::actions::to;
use super::trend::{caveats, change, missing};
use super::words::days;
use crate::domain::{Money, PastTotals};
use crate::report::doc::{Doc, Given, Head, Missing, Table, Value, column, detail};
use crate::report::shared::text::{counted, minute, money};
use crate::trend::{Digest, Realised, Span, Turn};

const OF_TOTALS: [Head; 4] = [
    column("figure", "figure"),
    column("before", "before"),
    column("now", "now"),
    column("change", "change"),
];
const OF_ACTIONS: [Head; 10] = [
    column("turn", "what"),
    column("name", "workload"),
    column("action", "action"),
    column("target", "to"),
    column("expected_monthly", "per month"),
    detail("saved", "saved"),
    column("missed", "not done cost"),
    column("since", "since"),
    detail("risk", "risk"),
    detail("action_id", "action id"),
];

/// What happened between two audits; `flags` are those that lead to the history, each with a
/// blank before it.
pub fn digest_answer(digest: &Digest, flags: &str) -> Doc {
    let found = &digest.overview;
    let mut sheets = vec![totals(digest)];
    sheets.extend(change(found));
    sheets.push(actions(digest));
    let first = found.span.first;
    Doc {
        name: "report",
        headline: headline(digest),
        given: given(digest),
        tables: sheets,
        caveats: cautions(digest),
        missing: gaps(digest),
        next: vec![
            "gpucost fix --format markdown --output runbook.md".to_owned(),
            format!("gpucost history{flags} --since {first}"),
        ],
        ..Doc::default()
    }
}

fn headline(digest: &Digest) -> String {
    let found = &digest.overview;
    let of = |amount| money(found.ledger.money(amount));
    let spent = format!(
        "{} was spent on GPUs {}, {} of it on what did nothing",
        of(found.sums.spend),
        in_days(found.span),
        of(found.sums.waste)
    );
    let moved = found.compared.map(|compared| {
        let total = compared.change.total();
        let amount = money(Money::new(total.amount().abs(), total.currency()));
        let before = in_days(compared.before);
        if total.rounded().amount().is_zero() {
            format!("; a mean day cost as much as {before}")
        } else if total.amount().is_sign_negative() {
            format!("; a mean day cost {amount} less than {before}")
        } else {
            format!("; a mean day cost {amount} more than {before}")
        }
    });
    spent + &moved.unwrap_or_default()
}

/// `from 2026-11-01 to 2026-11-07`, or `on 2026-11-01`.
fn in_days(span: Span) -> String {
    let word = if span.first == span.last {
        "on"
    } else {
        "from"
    };
    format!("{word} {}", days(span))
}

fn given(digest: &Digest) -> Vec<Given> {
    let found = &digest.overview;
    let given = |key, name, value| Given {
        key,
        name,
        value,
        source: "history".to_owned(),
    };
    let recorded: u32 = found.periods.iter().map(|one| one.recorded_days).sum();
    let mut given_all = vec![
        given("before", "earlier audit", Value::Time(digest.before.as_of)),
        given("now", "last audit", Value::Time(digest.now.as_of)),
        given(
            "recorded_days",
            "days kept between",
            Value::Count(u64::from(recorded)),
        ),
    ];
    if let Some(forecast) = &found.forecast {
        given_all.push(given(
            "month_ends_at",
            "the month ends at",
            Value::Money(forecast.total()),
        ));
    }
    given_all
}

/// What both audits said, per month of what ran at their time.
fn totals(digest: &Digest) -> Table {
    let (before, now) = (&digest.before, &digest.now);
    let amount = |name: &str, of: fn(&PastTotals) -> Option<Money>| {
        let (old, new) = (of(&before.totals), of(&now.totals));
        let change = old
            .zip(new)
            .and_then(|(old, new)| new.checked_sub(old).ok());
        vec![
            Value::text(name),
            Value::of(old, Value::Money),
            Value::of(new, Value::Money),
            Value::of(change, Value::Money),
        ]
    };
    let number = |name: &str, old: u64, new: u64| {
        // A fleet has fewer than 2^53 of anything, so that the difference is exact.
        let change = new as f64 - old as f64;
        vec![
            Value::text(name),
            Value::Count(old),
            Value::Count(new),
            Value::Number(change, 0),
        ]
    };
    Table {
        key: "totals",
        title: "TOTALS  per month, at the time of each audit".to_owned(),
        noun: ("row", "rows"),
        columns: OF_TOTALS.to_vec(),
        rows: vec![
            amount("monthly cost", |totals| totals.monthly_cost),
            amount("waste", |totals| totals.monthly_waste),
            amount("planned savings", |totals| totals.monthly_savings),
            number("instances", before.totals.instances, now.totals.instances),
            number("GPUs", before.totals.gpus, now.totals.gpus),
            number("data gaps", before.gaps_count, now.gaps_count),
        ],
        ..Table::default()
    }
}

fn actions(digest: &Digest) -> Table {
    let rows = digest.actions().into_iter();
    Table {
        key: "actions",
        title: "ACTIONS  done, undone, new, open, no longer advised".to_owned(),
        noun: ("action", "actions"),
        columns: OF_ACTIONS.to_vec(),
        rows: rows.map(|(turn, one)| row(turn, one)).collect(),
        ..Table::default()
    }
}

fn row(turn: Turn, one: &Realised) -> Vec<Value> {
    let action = &one.action;
    vec![
        Value::text(turn.name()),
        Value::text(&action.name),
        Value::text(action.kind.name()),
        Value::of(action.target.as_ref(), |target| Value::text(to(target))),
        Value::Money(action.expected_monthly),
        Value::of(one.saved, |(saved, _)| Value::Money(saved)),
        Value::of(one.missed, Value::Money),
        Value::of(one.since, |day| Value::text(day.to_string())),
        Value::text(action.risk.name()),
        Value::text(&action.action_id),
    ]
}

fn cautions(digest: &Digest) -> Vec<String> {
    let mut all = Vec::new();
    if digest.begins_later {
        all.push(format!(
            "the history begins later than was asked: the earlier audit is its first, of {}",
            minute(digest.before.as_of)
        ));
    }
    if digest.other_scopes > 0 {
        let scopes = counted(digest.other_scopes, "other scope", "other scopes");
        all.push(format!(
            "the history also has audits of {scopes}, which are in no figure: this is about the \
             scope that was recorded last"
        ));
    }
    let (before, now) = (&digest.before.totals, &digest.now.totals);
    if before.currency != now.currency {
        all.push("the two audits are in different currencies".to_owned());
    }
    if now.unpriced_instances > 0 {
        let instances = counted(now.unpriced_instances, "instance has", "instances have");
        all.push(format!("{instances} no price and are in no amount"));
    }
    all.extend(caveats(&digest.overview));
    all
}

fn gaps(digest: &Digest) -> Vec<Missing> {
    let mut all = missing(&digest.overview);
    let now = &digest.now;
    if now.gaps_count > 0 {
        all.push(Missing {
            what: counted(now.gaps_count, "data gap", "data gaps") + " of the last audit",
            remedy: "`gpucost audit` lists each with its fix".to_owned(),
        });
    }
    all
}
