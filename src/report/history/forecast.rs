//! What the month ends at, how forecasts did, and whether the last day was unusual.

use super::words::days;
use crate::domain::Money;
use crate::report::doc::{Head, Step, Table, Value, column};
use crate::report::shared::text::{counted, fit, money, percent};
use crate::trend::{
    Band, Certainty, Forecast, JudgedDay, LEAST_CHECKED, LEAST_GAIN_PERCENT, LEAST_ORIGINS,
    LEAST_TRIALS, Overview,
};
use rust_decimal::Decimal;

const OF_PAST: [Head; 5] = [
    column("month", "month"),
    column("made_after", "made after"),
    column("forecast", "forecast"),
    column("actual", "actual"),
    column("error_percent", "error"),
];
const OF_DAY: [Head; 8] = [
    column("name", "what"),
    column("expected", "expected"),
    column("low", "low"),
    column("high", "high"),
    column("band_held", "band held"),
    column("actual", "actual"),
    column("is_unusual", "unusual"),
    column("cause", "cause"),
];

/// Columns of a workload's name in a cause.
const MOVER: usize = 40;

/// The arithmetic of the forecast; empty without one.
pub(super) fn forecast_steps(found: &Overview) -> Vec<Step> {
    let Some(forecast) = &found.forecast else {
        return Vec::new();
    };
    let step = |name: &str, arithmetic: String, amount: Money| Step {
        name: name.to_owned(),
        arithmetic,
        result: Value::Money(amount),
    };
    let of_days = |number: u32| counted(u64::from(number), "day", "days");
    let mut left = of_days(forecast.days_left);
    if forecast.unrecorded_days > 0 {
        left.push_str(&format!(
            " ({} of them over and not recorded whole)",
            forecast.unrecorded_days
        ));
    }
    let mut steps = vec![
        step(
            "spent",
            format!("{} recorded", of_days(forecast.recorded_days)),
            forecast.spent,
        ),
        step(
            "committed",
            format!("commitments on {left}, used or not"),
            forecast.committed,
        ),
        step("running", goes_on(forecast, &left), forecast.running),
        step(
            "total",
            format!("spent + committed + running, {}", days(forecast.span)),
            forecast.total(),
        ),
    ];
    match forecast.certainty {
        Certainty::Band { low, high, by } => {
            steps.push(step("low", band_words(&by), low));
            steps.push(step("high", "of the same band".to_owned(), high));
        }
        Certainty::Range { low, high, origins } => {
            let words = format!(
                "range, no band: least of last day, mean of 7 days and drift; \
                 {} of as many days, {LEAST_ORIGINS} and {LEAST_CHECKED} checked bands are needed",
                counted(origins as u64, "past forecast", "past forecasts")
            );
            steps.push(step("low", words, low));
            steps.push(step("high", "most of the same".to_owned(), high));
        }
        Certainty::Over => {}
    }
    steps
}

fn goes_on(forecast: &Forecast, left: &str) -> String {
    let jobs = counted(forecast.jobs as u64, "workload", "workloads");
    let mut words = format!("{jobs} of {}, {left}", forecast.state_day);
    if forecast.by_weekdays > 0 {
        words.push_str(&format!(
            "; {} by weekdays, whose error was at least {LEAST_GAIN_PERCENT}% smaller in \
             {LEAST_TRIALS} back-tests or more",
            forecast.by_weekdays
        ));
    }
    if forecast.launched > 0 {
        words.push_str(&format!(
            "; {} launched on it for whole days",
            forecast.launched
        ));
    }
    words
}

fn band_words(by: &Band) -> String {
    let coverage = by.past_coverage_percent().map_or(String::new(), percent);
    format!(
        "band of {} past errors, {} ({coverage})",
        by.origins,
        held(by)
    )
}

/// How often bands of the past held.
fn held(by: &Band) -> String {
    format!("held {} of {} times", by.inside, by.checked)
}

/// What is assumed of days that are over and were not recorded whole; empty without one.
pub(super) fn unrecorded_words(forecast: &Forecast) -> String {
    let (number, all) = (forecast.unrecorded_days, forecast.span.days());
    let ahead = forecast.committed.amount() + forecast.running.amount();
    let daily = ahead.checked_div(Decimal::from(forecast.days_left));
    let Some(daily) = daily.filter(|_| number > 0) else {
        return String::new();
    };
    let daily = money(Money::new(daily, forecast.running.currency()));
    let (were, are) = if number == 1 {
        ("was", "is")
    } else {
        ("were", "are")
    };
    let to_come = if number < forecast.days_left {
        ", like those to come"
    } else {
        ""
    };
    format!(
        "; {number} of its {all} days {were} not recorded whole and {are} taken at {daily} a \
         day{to_come}"
    )
}

/// Forecasts of months that are over; absent without one.
pub(super) fn past_forecasts(found: &Overview) -> Option<Table> {
    let rows: Vec<Vec<Value>> = found
        .past
        .iter()
        .map(|one| {
            vec![
                Value::text(one.month.first.to_string()),
                Value::text(one.made_after.to_string()),
                Value::Money(one.forecast),
                Value::Money(one.actual),
                Value::of(one.error_percent(), Value::Percent),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        key: "past_forecasts",
        title: "FORECASTS OF THE PAST".to_owned(),
        noun: ("forecast", "forecasts"),
        columns: OF_PAST.to_vec(),
        rows,
        ..Table::default()
    })
}

/// The last day beside what was expected of it; absent where the past is too short.
pub(super) fn last_day(found: &Overview) -> Option<Table> {
    let report = found.last_day.as_ref()?;
    let judged = report.total.iter().chain(&report.jobs);
    let cause = cause(found);
    let rows: Vec<Vec<Value>> = judged.map(|one| judged_row(one, &cause)).collect();
    (!rows.is_empty()).then(|| Table {
        key: "last_day",
        title: format!("LAST DAY  {}", report.day),
        noun: ("row", "rows"),
        columns: OF_DAY.to_vec(),
        rows,
        ..Table::default()
    })
}

fn judged_row(one: &JudgedDay, cause: &str) -> Vec<Value> {
    let name = one.job.as_ref().map_or("total", |(_, name)| name.as_str());
    let cause = if one.job.is_none() && one.is_unusual {
        cause
    } else {
        ""
    };
    vec![
        Value::text(name),
        Value::Money(one.expected),
        Value::Money(one.low),
        Value::Money(one.high),
        Value::text(format!("{} of {}", one.by.inside, one.by.checked)),
        Value::Money(one.actual),
        Value::Flag(one.is_unusual),
        Value::text(cause),
    ]
}

/// The largest parts of the change since the day before, and the workloads that moved most.
fn cause(found: &Overview) -> String {
    let Some(report) = &found.last_day else {
        return String::new();
    };
    let Some(change) = &report.change else {
        return String::new();
    };
    let mut parts = change.parts().to_vec();
    parts.retain(|(_, amount)| !amount.amount().is_zero());
    parts.sort_by_key(|(_, amount)| std::cmp::Reverse(amount.amount().abs()));
    let parts = parts.iter().take(2);
    let parts: Vec<String> = parts
        .map(|(name, amount)| format!("{name} {}", amount.signed()))
        .collect();
    let movers = report.movers.iter();
    let movers: Vec<String> = movers
        .map(|(name, amount)| format!("{} {}", fit(name, MOVER), amount.signed()))
        .collect();
    let words = [parts.join(", "), movers.join(", ")];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    words
        .into_iter()
        .filter(|one| !one.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// An amount as a tile shows it.
pub(super) fn bounds_words(forecast: &Forecast) -> String {
    match (&forecast.certainty, forecast.bounds()) {
        (Certainty::Band { by, .. }, Some((low, high))) => format!(
            "{} to {}, a band that {}",
            money(low),
            money(high),
            held(by)
        ),
        (_, Some((low, high))) => {
            format!("range {} to {}, no band yet", money(low), money(high))
        }
        (_, None) => "no day is left".to_owned(),
    }
}
