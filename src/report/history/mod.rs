//! `gpucost history`: what recorded audits add up to, and `gpucost history digest`: what happened since
//! an earlier audit, short enough for a chat.

mod trend;

pub use trend::history_answer;

use crate::domain::{Money, PastTotals, Target};
use crate::report::doc::{Doc, Given, Missing, Table, Value, columns, rows};
use crate::report::history::trend::{caveats, change, days, missing, recorded_days, spent};
use crate::report::promises::promises_words;
use crate::report::shared::text::{counted, less, minute};
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
    let gaps = digest.now.gaps_count;
    Doc {
        name: "history digest",
        headline: headline(digest),
        given: given(digest),
        tables: rows! {
            both(digest);
            ..change(overview);
            Table::of("actions", title, ("action", "actions"), actions(), digest.actions());
        },
        caveats: cautions(digest),
        missing: rows! {
            ..missing(overview);
            if gaps > 0 => Missing::new(format!("{} of the last audit", counted(gaps, "data gap", "data gaps")), "`gpucost audit` lists each with its fix");
        },
        next: rows! {
            "gpucost fix --format markdown --output runbook.md".to_owned();
            format!("gpucost history{flags} --since {}", overview.span.first);
        },
        ..Doc::default()
    }
}

fn headline(digest: &Digest) -> String {
    let moved = digest.overview.compared.map_or(String::new(), |compared| {
        let total = compared.change.total();
        let cost = match total.rounded().amount().is_zero() {
            true => "as much as".to_owned(),
            false => format!("{} than", less(Money::new(-total.amount(), total.currency()))),
        };
        format!("; a mean day cost {cost} {}", in_days(compared.before))
    });
    spent(&digest.overview, &format!("on GPUs {}", in_days(digest.overview.span))) + &moved
}

/// `from 2026-11-01 to 2026-11-07`, or `on 2026-11-01`.
fn in_days(span: Span) -> String {
    let word = if span.first == span.last { "on" } else { "from" };
    format!("{word} {}", days(span))
}

fn given(digest: &Digest) -> Vec<Given> {
    let overview = &digest.overview;
    let line = |key, name, value| Given::new(key, name, value, "history");
    rows! {
        line("before", "earlier audit", Value::Time(digest.before.as_of));
        line("now", "last audit", Value::Time(digest.now.as_of));
        line("recorded_days", "days kept between", Value::make_count(recorded_days(overview)));
        for forecast in &overview.forecast => line("month_ends_at", "the month ends at", Value::Money(forecast.total()));
        for promises in digest.now.promises.as_deref().and_then(promises_words) => line("promises", "promises", Value::Text(promises));
    }
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
    rows! {
        if digest.begins_later => format!("the history begins later than was asked: the earlier audit is its first, of {}", minute(digest.before.as_of));
        if digest.other_scopes > 0 => format!("the history also has audits of {}, which are in no figure: this is about the scope that was recorded last", counted(digest.other_scopes, "other scope", "other scopes"));
        if before.currency != now.currency => "the two audits are in different currencies".to_owned();
        if now.unpriced_instances > 0 => format!("{} no price and are in no amount", counted(now.unpriced_instances, "instance has", "instances have"));
        ..caveats(&digest.overview);
    }
}

#[cfg(test)]
mod tests;
