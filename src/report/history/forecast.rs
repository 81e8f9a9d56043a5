//! What the month ends at, how forecasts did, and whether the last day was unusual.

use super::days;
use crate::domain::Money;
use crate::report::doc::{Step, Table, Value, columns};
use crate::report::shared::text::{counted, fit, money, percent};
use crate::trend::{
    Band, Certainty, Change, ChangePart, EvaluatedDay, Forecast, LEAST_CHECKED, LEAST_GAIN_PERCENT,
    LEAST_ORIGINS, LEAST_TRIALS, Overview, PastForecast,
};
use rust_decimal::Decimal;
use std::cmp::Reverse;

columns! {
    fn past<'a>(row: &'a PastForecast) {
        date "month", "month", Narrow(0), row.month.first, "Its first day.";
        date "made_after", "made after", Narrow(0), row.made_after, "The last day that it knew.";
        money "forecast", "forecast", Narrow(0), row.forecast, "";
        money "actual", "actual", Narrow(0), row.actual, "";
        opt percent "error_percent", "error", Narrow(0), row.error_percent(), "The forecast less what came, of what came.";
    }

    fn evaluation<'a>(row: (&'a EvaluatedDay, &'a str)) {
        text "name", "what", Narrow(0), row.0.job.as_ref().map_or("total", |(_, name)| name.as_str()).to_owned(), "";
        money "expected", "expected", Narrow(0), row.0.expected, "";
        money "low", "low", Narrow(0), row.0.low, "";
        money "high", "high", Narrow(0), row.0.high, "";
        text "band_held", "band held", Narrow(0), format!("{} of {}", row.0.by.inside, row.0.by.checked), "How many bands of the past held.";
        money "actual", "actual", Narrow(0), row.0.actual, "";
        flag "is_unusual", "unusual", Narrow(0), row.0.is_unusual, "";
        text "cause", "cause", Narrow(0), row.1.to_owned(), "";
    }
}

/// Columns of a workload's name in a cause.
const MOVER: usize = 40;

/// The arithmetic of the forecast; empty without one.
pub(super) fn forecast_steps(overview: &Overview) -> Vec<Step> {
    let Some(forecast) = &overview.forecast else { return Vec::new() };
    let step = |name, words: String, amount| Step::new(name, words, Value::Money(amount));
    let of_days = |number: u32| counted(u64::from(number), "day", "days");
    let mut left = of_days(forecast.days_left);
    if forecast.unrecorded_days > 0 {
        let over = forecast.unrecorded_days;
        left.push_str(&format!(" ({over} of them over and not recorded whole)"));
    }
    let recorded = format!("{} recorded", of_days(forecast.recorded_days));
    let committed = format!("commitments on {left}, used or not");
    let total = format!("spent + committed + running, {}", days(forecast.span));
    let mut steps = vec![
        step("spent", recorded, forecast.spent),
        step("committed", committed, forecast.committed),
        step("running", goes_on(forecast, &left), forecast.running),
        step("total", total, forecast.total()),
    ];
    let (least, most) = match forecast.certainty {
        Certainty::Band { by, .. } => (band_words(&by), "of the same band"),
        Certainty::Range { origins, .. } => {
            let past = counted(origins as u64, "past forecast", "past forecasts");
            let words = format!(
                "range, no band: least of last day, mean of 7 days and drift; {past} of as many \
                 days, {LEAST_ORIGINS} and {LEAST_CHECKED} checked bands are needed"
            );
            (words, "most of the same")
        }
        Certainty::Over => (String::new(), ""),
    };
    if let Some((low, high)) = forecast.bounds() {
        steps.push(step("low", least, low));
        steps.push(step("high", most.to_owned(), high));
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
        let launched = forecast.launched;
        words.push_str(&format!("; {launched} launched on it for whole days"));
    }
    words
}

fn band_words(by: &Band) -> String {
    let coverage = by.past_coverage_percent().map_or(String::new(), percent);
    let (origins, inside, checked) = (by.origins, by.inside, by.checked);
    format!("band of {origins} past errors, held {inside} of {checked} times ({coverage})")
}

/// What is assumed of days that are over and were not recorded whole; empty without one.
pub(super) fn unrecorded_words(forecast: &Forecast) -> String {
    let (number, total) = (forecast.unrecorded_days, forecast.span.days());
    let ahead = forecast.committed.amount() + forecast.running.amount();
    let daily = ahead.checked_div(Decimal::from(forecast.days_left));
    let Some(daily) = daily.filter(|_| number > 0) else { return String::new() };
    let daily = money(Money::new(daily, forecast.running.currency()));
    let (were, are) = if number == 1 { ("was", "is") } else { ("were", "are") };
    let to_come = if number < forecast.days_left { ", like those to come" } else { "" };
    format!(
        "; {number} of its {total} days {were} not recorded whole and {are} taken at {daily} a \
         day{to_come}"
    )
}

/// Forecasts of months that are over.
pub(super) fn past_forecasts(overview: &Overview) -> Table {
    let noun = ("forecast", "forecasts");
    Table::of("past_forecasts", "FORECASTS OF THE PAST", noun, past(), &overview.past)
}

/// The last day beside what was expected of it; empty where the past is too short.
pub(super) fn last_day(overview: &Overview) -> Table {
    let Some(report) = &overview.last_day else { return Table::default() };
    let cause = report.change.map(|change| cause(&change, &report.movers));
    let rows = report.total.iter().chain(&report.jobs).map(|day| {
        let has_cause = day.job.is_none() && day.is_unusual;
        (day, cause.as_deref().filter(|_| has_cause).unwrap_or_default())
    });
    Table::of("last_day", format!("LAST DAY  {}", report.day), ("row", "rows"), evaluation(), rows)
}

/// The largest parts of the change since the day before, and the workloads that moved most.
fn cause(change: &Change, movers: &[(String, Money)]) -> String {
    let mut parts: Vec<(ChangePart, Money)> = change.named().collect();
    parts.retain(|(_, amount)| !amount.amount().is_zero());
    parts.sort_by_key(|(_, amount)| Reverse(amount.amount().abs()));
    let parts = parts.iter().take(2).map(|(name, amount)| format!("{name} {}", amount.signed()));
    let movers = movers.iter();
    let movers = movers.map(|(name, amount)| format!("{} {}", fit(name, MOVER), amount.signed()));
    let words: [Vec<String>; 2] = [parts.collect(), movers.collect()];
    let words = words.iter().filter(|words| !words.is_empty());
    words.map(|words| words.join(", ")).collect::<Vec<_>>().join("; ")
}
