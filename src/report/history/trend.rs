//! The answer: a trend, its causes, who it was spent on, and everything beside it.

use super::actions::{actions, claims};
use super::forecast::{forecast_steps, last_day, past_forecasts, unrecorded_words};
use super::words::{days, number, percent, rate};
use crate::domain::{Money, UnitCost};
use crate::report::doc::{Doc, Given, Head, Missing, Table, Value, column, detail};
use crate::report::shared::markup::NAME;
use crate::report::shared::text::{counted, fit, money};
use crate::trend::{Certainty, Overview, Period, Share, Step, TrendKey};

const OF_PERIODS: [Head; 15] = [
    column("first_day", "from"),
    detail("last_day", "to"),
    column("recorded_days", "days"),
    detail("missing_days", "missing"),
    detail("partial_days", "partial"),
    column("spend", "spend"),
    column("waste", "waste"),
    column("gpu_hours", "GPU hours"),
    column("useful_gpu_hours", "useful"),
    detail("unmeasured_gpu_hours", "unmeasured"),
    column("cost_per_useful_gpu_hour", "useful hour"),
    column("effective_savings_rate_percent", "off list"),
    column("commitment_coverage_percent", "covered"),
    column("commitment_utilization_percent", "used"),
    detail("unpriced_hours", "unpriced h"),
];
const OF_CHANGE: [Head; 3] = [
    column("part", "part"),
    column("amount_daily", "per day"),
    column("meaning", "meaning"),
];
const OF_SHARES: [Head; 8] = [
    column("name", "name"),
    detail("key", "key"),
    column("spend", "spend"),
    column("spend_percent", "share"),
    column("waste", "waste"),
    column("gpu_hours", "GPU hours"),
    column("gpu_utilization_percent", "use"),
    column("cost_per_useful_gpu_hour", "useful hour"),
];
const OF_UNITS: [Head; 7] = [
    column("month", "month"),
    column("name", "name"),
    column("unit", "unit"),
    column("days", "days"),
    column("count", "count"),
    column("cost", "cost"),
    column("cost_per_unit", "each"),
];

/// What a history says; `flags` are those that lead to it, each with a blank before it.
pub fn history_answer(found: &Overview, flags: &str) -> Doc {
    let mut sheets = vec![periods(found)];
    sheets.extend(change(found));
    sheets.push(shares(found));
    sheets.extend(actions(found));
    sheets.extend(past_forecasts(found));
    sheets.extend(last_day(found));
    sheets.extend(units(found));
    let mut next = vec![format!(
        "gpucost history{flags} --format html --output history.html"
    )];
    if found.forecast.is_none() {
        next.push(format!("gpucost history{flags} --forecast month"));
    }
    Doc {
        name: "history",
        headline: headline(found),
        given: given(found),
        steps: forecast_steps(found),
        tables: sheets,
        caveats: caveats(found),
        missing: missing(found),
        next,
        ..Doc::default()
    }
}

fn amount(found: &Overview, amount: rust_decimal::Decimal) -> Value {
    Value::Money(found.ledger.money(amount))
}

fn headline(found: &Overview) -> String {
    let of = |amount| money(found.ledger.money(amount));
    let spent = format!(
        "{} was spent from {}, {} of it on what did nothing",
        of(found.sums.spend),
        days(found.span),
        of(found.sums.waste)
    );
    let ends = found.forecast.as_ref().map(|forecast| {
        let word = match forecast.certainty {
            Certainty::Over => "ended",
            _ => "is forecast to end",
        };
        format!(
            "; {} {word} at {}{}",
            days(forecast.span),
            money(forecast.total()),
            unrecorded_words(forecast)
        )
    });
    spent + &ends.unwrap_or_default()
}

fn given(found: &Overview) -> Vec<Given> {
    let recorded: u32 = found.periods.iter().map(|one| one.recorded_days).sum();
    let given = |key, name, value, source: &str| Given {
        key,
        name,
        value,
        source: source.to_owned(),
    };
    vec![
        given("window", "days", Value::text(days(found.span)), "history"),
        given(
            "recorded_days",
            "recorded",
            Value::Count(u64::from(recorded)),
            "history",
        ),
        given(
            "currency",
            "currency",
            Value::text(found.ledger.currency().code()),
            "most rows of the history",
        ),
    ]
}

fn sheet(
    key: &'static str,
    title: String,
    noun: (&'static str, &'static str),
    columns: &[Head],
    rows: Vec<Vec<Value>>,
) -> Table {
    Table {
        key,
        title,
        noun,
        columns: columns.to_vec(),
        rows,
        ..Table::default()
    }
}

fn periods(found: &Overview) -> Table {
    let title = match found.ask.step {
        Step::Day => "BY DAY",
        Step::Week => "BY WEEK",
        Step::Month => "BY MONTH",
    };
    let rows = found.periods.iter().map(|one| period(found, one));
    sheet(
        "periods",
        title.to_owned(),
        ("row", "rows"),
        &OF_PERIODS,
        rows.collect(),
    )
}

fn period(found: &Overview, one: &Period) -> Vec<Value> {
    let sums = &one.sums;
    let count = |number: u32| Value::Count(u64::from(number));
    vec![
        Value::text(one.span.first.to_string()),
        Value::text(one.span.last.to_string()),
        count(one.recorded_days),
        count(one.missing_days()),
        count(one.partial_days),
        amount(found, sums.spend),
        amount(found, sums.waste),
        number(sums.gpu_hours, 1),
        number(sums.useful_gpu_hours, 1),
        number(sums.unmeasured_gpu_hours, 1),
        rate(sums.cost_per_useful_gpu_hour(), |one| {
            found.ledger.money(one)
        }),
        percent(sums.effective_savings_rate_percent()),
        percent(sums.commitment_coverage_percent()),
        percent(sums.commitment_utilization_percent()),
        number(sums.unpriced_hours, 1),
    ]
}

/// What each part of a change means.
fn meaning(part: &str) -> &'static str {
    match part {
        "usage" => "more or fewer GPU hours",
        "mix" => "other types and regions",
        "price" => "the cloud changed its public prices",
        "rate" => "commitments, spot and negotiated discounts",
        "other" => "what is paid for and does not run",
        _ => "accounts, regions and tags that one of the spans does not read",
    }
}

pub(super) fn change(found: &Overview) -> Option<Table> {
    let compared = found.compared?;
    let row = |part: &str, amount: Money, meaning: &str| {
        vec![
            Value::text(part),
            Value::Money(amount),
            Value::text(meaning),
        ]
    };
    let change = compared.change;
    let mut rows = vec![row("before", change.before, &days(compared.before))];
    let parts = change.parts().into_iter();
    rows.extend(parts.map(|(part, amount)| row(part, amount, meaning(part))));
    rows.push(row("after", change.after, &days(compared.after)));
    Some(sheet(
        "change",
        "WHY IT CHANGED  mean day, the parts add up".to_owned(),
        ("row", "rows"),
        &OF_CHANGE,
        rows,
    ))
}

fn shares(found: &Overview) -> Table {
    let (title, noun) = match &found.ask.key {
        TrendKey::Workload => ("BY WORKLOAD".to_owned(), ("workload", "workloads")),
        TrendKey::Account => ("BY ACCOUNT".to_owned(), ("account", "accounts")),
        TrendKey::InstanceType => ("BY TYPE".to_owned(), ("type", "types")),
        TrendKey::Tag(key) => (format!("BY TAG {key}"), ("value", "values")),
    };
    let rows = found.shares.iter().map(|one| share(found, one));
    sheet("shares", title, noun, &OF_SHARES, rows.collect())
}

fn share(found: &Overview, one: &Share) -> Vec<Value> {
    let name = match (&found.ask.key, one.name.as_str()) {
        (TrendKey::Tag(_), "") => "untagged",
        (_, "") => "none",
        (_, name) => name,
    };
    let whole = found.sums.spend;
    let part = (one.sums.spend * rust_decimal::Decimal::ONE_HUNDRED).checked_div(whole);
    vec![
        Value::text(name),
        Value::text(&one.key),
        amount(found, one.sums.spend),
        percent(part),
        amount(found, one.sums.waste),
        number(one.sums.gpu_hours, 1),
        percent(one.sums.gpu_utilization_percent()),
        rate(one.sums.cost_per_useful_gpu_hour(), |one| {
            found.ledger.money(one)
        }),
    ]
}

fn units(found: &Overview) -> Option<Table> {
    let rows: Vec<Vec<Value>> = found
        .units
        .iter()
        .map(|one| {
            let UnitCost {
                name, unit, count, ..
            } = &one.cost;
            vec![
                Value::text(one.month.to_string()),
                Value::text(name),
                Value::text(crate::report::shared::kpis::per(one.cost.per(), unit)),
                Value::Count(u64::from(one.days)),
                number(*count, 0),
                Value::of(one.cost.cost, Value::Money),
                Value::of(one.cost.price(), Value::Price),
            ]
        })
        .collect();
    let title = "UNITS OF WORK".to_owned();
    (!rows.is_empty()).then(|| sheet("units", title, ("row", "rows"), &OF_UNITS, rows))
}

pub(super) fn caveats(found: &Overview) -> Vec<String> {
    let ended = found.ledger.ended_on();
    let mut caveats: Vec<String> = ended
        .map(|last| {
            format!(
                "{last} is the last day that was recorded: what was spent since is in no figure, \
                 and a forecast goes on from that day. Check the job that records every night."
            )
        })
        .into_iter()
        .collect();
    caveats.extend(claims(found));
    let sums = &found.sums;
    if !sums.unpriced_hours.is_zero() {
        caveats.push(format!(
            "{} hours of instances have no price and are in no amount",
            sums.unpriced_hours.round_dp(1).normalize()
        ));
    }
    let left_out = found.ledger.left_out();
    for (code, rows) in &left_out.other_currencies {
        let rows = counted(*rows, "row", "rows");
        caveats.push(format!(
            "{rows} in {code} are left out: currencies do not add up"
        ));
    }
    let others = [
        (
            left_out.runs_ahead,
            ("run", "runs"),
            "of a clock more than a day ahead",
        ),
        (
            left_out.rows_without_run,
            ("row", "rows"),
            "without a run that says so, or of a day that was not over",
        ),
        (
            left_out.rows_beyond,
            ("row", "rows"),
            "with figures that no day has",
        ),
    ];
    for (number, (one, many), why) in others {
        if number > 0 {
            caveats.push(format!("{} {why} are left out", counted(number, one, many)));
        }
    }
    caveats.push(
        "waste is compute by the share of its GPU hours without work, unused commitments, and \
         storage of stopped instances"
            .to_owned(),
    );
    caveats
}

/// Days that were not recorded, and those with places that were not read.
pub(super) fn missing(found: &Overview) -> Vec<Missing> {
    let mut missing = Vec::new();
    let days: u32 = found.periods.iter().map(Period::missing_days).sum();
    // Steps without any recorded day are no rows.
    let recorded: u32 = found.periods.iter().map(|one| one.recorded_days).sum();
    let days = days.max(found.span.days().saturating_sub(recorded));
    if days > 0 {
        missing.push(Missing {
            what: format!(
                "{} without a record",
                counted(u64::from(days), "day", "days")
            ),
            remedy: "run `gpucost history record` every night; a day that is over can be \
                     recorded as long as its metrics are kept"
                .to_owned(),
        });
    }
    let partial: Vec<_> = found
        .ledger
        .days()
        .filter(|(day, read)| found.span.holds(*day) && !read.missing.is_empty())
        .collect();
    if let Some((day, read)) = partial.last() {
        let names = read.missing.iter().take(3);
        let names: Vec<String> = names.map(|row| fit(&row.name, NAME)).collect();
        let named = names.join(", ");
        let days = counted(partial.len() as u64, "day", "days");
        missing.push(Missing {
            what: format!("what {named} cost on {day}, among {days} with unread places"),
            remedy: "the gaps of the run of that night say why".to_owned(),
        });
    }
    missing
}
