//! `gpucost history digest`: what happened since an earlier audit, short enough for a chat.

use super::days;
use super::trend::{caveats, change, missing};
use crate::domain::{Money, PastTotals, Target};
use crate::report::doc::{Doc, Given, Missing, Table, Value, columns, sentences};
use crate::report::promises::promises_words;
use crate::report::shared::text::{counted, minute, money};
use crate::trend::{Digest, Realised, Span, Turn};

columns! {
    fn totals(row: (&'static str, [Value; 3])) {
        text "figure", "figure", Narrow(0), row.0.to_owned(), "";
        opt cell "before", "before", Narrow(0), row.1[0].clone(), "Of the earlier audit.";
        opt cell "now", "now", Narrow(0), row.1[1].clone(), "Of the last audit.";
        opt cell "change", "change", Narrow(0), row.1[2].clone(), "";
    }

    fn actions<'a>(row: (Turn, &'a Realised)) {
        text "turn", "what", Narrow(0), row.0.name().to_owned(), "What it did since the earlier audit.";
        text "name", "workload", Narrow(0), row.1.action.name.clone(), "";
        text "action", "action", Narrow(0), row.1.action.kind.name().to_owned(), "";
        opt text "target", "to", Narrow(0), row.1.action.target.as_ref().map(Target::to_string), "";
        money "expected_monthly", "per month", Narrow(0), row.1.action.expected_monthly, "What the plan said that it saves.";
        opt money "saved", "saved", Wide, row.1.saved.map(|(saved, _)| saved), "";
        opt money "missed", "not done cost", Narrow(0), row.1.missed, "";
        opt date "since", "since", Narrow(0), row.1.since, "The first day on which it was carried out, at least in part.";
        text "risk", "risk", Wide, row.1.action.risk.name().to_owned(), "";
        text "action_id", "action id", Wide, row.1.action.action_id.clone(), "";
    }
}

/// What happened between two audits; `flags` are those that lead to the history, each with a
/// blank before it.
pub fn digest_answer(digest: &Digest, flags: &str) -> Doc {
    let overview = &digest.overview;
    let title = "ACTIONS  done, undone, new, open, no longer advised";
    let actions = Table::of("actions", title, ("action", "actions"), actions(), digest.actions());
    let tables = [Some(both(digest)), change(overview), Some(actions)];
    let first = overview.span.first;
    let mut missing = missing(overview);
    let gaps = digest.now.gaps_count;
    if gaps > 0 {
        let gaps = counted(gaps, "data gap", "data gaps");
        missing.push(Missing::new(
            format!("{gaps} of the last audit"),
            "`gpucost audit` lists each with its fix",
        ));
    }
    Doc {
        name: "history digest",
        headline: headline(digest),
        given: given(digest),
        tables: tables.into_iter().flatten().collect(),
        caveats: cautions(digest),
        missing,
        next: vec![
            "gpucost fix --format markdown --output runbook.md".to_owned(),
            format!("gpucost history{flags} --since {first}"),
        ],
        ..Doc::default()
    }
}

fn headline(digest: &Digest) -> String {
    let overview = &digest.overview;
    let of = |amount| money(overview.ledger.money(amount));
    let spent = format!(
        "{} was spent on GPUs {}, {} of it on what did nothing",
        of(overview.sums.spend),
        in_days(overview.span),
        of(overview.sums.waste)
    );
    let moved = overview.compared.map(|compared| {
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
    let word = if span.first == span.last { "on" } else { "from" };
    format!("{word} {}", days(span))
}

fn given(digest: &Digest) -> Vec<Given> {
    let overview = &digest.overview;
    let recorded = overview.periods.iter().map(|period| period.recorded_days);
    let recorded = Value::make_count(recorded.sum::<u32>());
    let (before, now) = (digest.before.as_of, digest.now.as_of);
    let ends = overview.forecast.as_ref().map(|forecast| Value::Money(forecast.total()));
    let promises = digest.now.promises.as_deref().and_then(promises_words);
    let given = [
        ("before", "earlier audit", Some(Value::Time(before))),
        ("now", "last audit", Some(Value::Time(now))),
        ("recorded_days", "days kept between", Some(recorded)),
        ("month_ends_at", "the month ends at", ends),
        ("promises", "promises", promises.map(Value::Text)),
    ];
    let given = given.into_iter();
    given.filter_map(|(key, name, value)| Some(Given::new(key, name, value?, "history"))).collect()
}

/// What both audits said, per month of what ran at their time.
fn both(digest: &Digest) -> Table {
    let (before, now) = (&digest.before, &digest.now);
    let amount = |name, of: fn(&PastTotals) -> Option<Money>| {
        let (old, new) = (of(&before.totals), of(&now.totals));
        let change = old.zip(new).and_then(|(old, new)| new.checked_sub(old).ok());
        (name, [old, new, change].map(Value::make_money))
    };
    let number = |name, old: u64, new: u64| {
        // A fleet has fewer than 2^53 of anything, so that the difference is exact.
        let change = Value::Number(new as f64 - old as f64, 0);
        (name, [Value::Count(old), Value::Count(new), change])
    };
    let (old, new) = (&before.totals, &now.totals);
    let rows = [
        amount("monthly cost", |totals| totals.monthly_cost),
        amount("waste", |totals| totals.monthly_waste),
        amount("planned savings", |totals| totals.monthly_savings),
        number("instances", old.instances, new.instances),
        number("GPUs", old.gpus, new.gpus),
        number("data gaps", before.gaps_count, now.gaps_count),
    ];
    let title = "TOTALS  per month, at the time of each audit";
    Table::of("totals", title, ("row", "rows"), totals(), rows)
}

fn cautions(digest: &Digest) -> Vec<String> {
    let (before, now) = (&digest.before.totals, &digest.now.totals);
    let mut cautions = Vec::new();
    sentences! { cautions;
        if digest.begins_later => "the history begins later than was asked: the earlier audit is its first, of {}", minute(digest.before.as_of);
        if digest.other_scopes > 0 => "the history also has audits of {}, which are in no figure: this is about the scope that was recorded last", counted(digest.other_scopes, "other scope", "other scopes");
        if before.currency != now.currency => "the two audits are in different currencies";
        if now.unpriced_instances > 0 => "{} no price and are in no amount", counted(now.unpriced_instances, "instance has", "instances have");
    }
    cautions.extend(caveats(&digest.overview));
    cautions
}
