//! The answer: a trend, its causes, who it was spent on, and everything beside it.

use crate::domain::{Money, Target};
use crate::report::doc::{Bar, MOST_BARS};
use crate::report::doc::{Doc, Given, Missing, Plot, PlotKind, Step, Table, Value, columns, rows};
use crate::report::planners::kpi::per;
use crate::report::shared::markup::NAME;
use crate::report::shared::text::{counted, fit, joined, money, percent, unit_price};
use crate::trend::{
    Band, Certainty, Change, ChangePart, DayRead, EvaluatedDay, Forecast, LEAST_CHECKED,
    LEAST_GAIN_PERCENT, LEAST_ORIGINS, LEAST_TRIALS, Ledger, Overview, PastForecast, Period,
    Realised, SavedPart, Share, Span, Sums, TrendKey, UnitMonth,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::cmp::Reverse;

columns! {
    fn periods<'a>(row: (&'a Period, &'a Ledger)) {
        date "first_day", "from", Narrow(0), row.0.span.first, "";
        date "last_day", "to", Wide, row.0.span.last, "";
        count "recorded_days", "days", Narrow(0), row.0.recorded_days, "";
        count "missing_days", "missing", Wide, row.0.missing_days(), "Days without a record, which no amount has.";
        count "partial_days", "partial", Wide, row.0.partial_days, "Days with places that were not read.";
        money "spend", "spend", Narrow(0), row.1.money(row.0.sums.spend), "Effective cost.";
        money "waste", "waste", Narrow(0), row.1.money(row.0.sums.waste), "";
        number "gpu_hours", "GPU hours", Narrow(0), row.0.sums.gpu_hours, "";
        number "useful_gpu_hours", "useful", Narrow(0), row.0.sums.useful_gpu_hours, "GPU hours times mean utilization.";
        number "unmeasured_gpu_hours", "unmeasured", Wide, row.0.sums.unmeasured_gpu_hours, "";
        opt price "cost_per_useful_gpu_hour", "useful hour", Narrow(0), useful_hour(&row.0.sums, row.1), "Of what was measured.";
        opt percent "effective_savings_rate_percent", "off list", Narrow(0), row.0.sums.effective_savings_rate_percent(), "";
        opt percent "commitment_coverage_percent", "covered", Narrow(0), row.0.sums.commitment_coverage_percent(), "";
        opt percent "commitment_utilization_percent", "used", Narrow(0), row.0.sums.commitment_utilization_percent(), "";
        number "unpriced_hours", "unpriced h", Wide, row.0.sums.unpriced_hours, "Hours of instances without a price.";
    }

    fn parts(row: (&'static str, Money, String)) {
        text "part", "part", Narrow(0), row.0.to_owned(), "";
        money "amount_daily", "per day", Narrow(0), row.1, "Of a mean day.";
        text "meaning", "meaning", Narrow(0), row.2.clone(), "";
    }

    fn shares<'a>(row: (&'a Share, &'a Overview)) {
        text "name", "name", Narrow(0), name(row.0, &row.1.ask.key).to_owned(), "";
        text "key", "key", Wide, row.0.key.clone(), "";
        money "spend", "spend", Narrow(0), row.1.ledger.money(row.0.sums.spend), "Effective cost.";
        opt percent "spend_percent", "share", Narrow(0), (row.0.sums.spend * Decimal::ONE_HUNDRED).checked_div(row.1.sums.spend), "";
        money "waste", "waste", Narrow(0), row.1.ledger.money(row.0.sums.waste), "";
        number "gpu_hours", "GPU hours", Narrow(0), row.0.sums.gpu_hours, "";
        opt percent "gpu_utilization_percent", "use", Narrow(0), row.0.sums.gpu_utilization_percent(), "";
        opt price "cost_per_useful_gpu_hour", "useful hour", Narrow(0), useful_hour(&row.0.sums, &row.1.ledger), "Of what was measured.";
    }

    fn units<'a>(row: &'a UnitMonth) {
        text "month", "month", Narrow(0), row.month.to_string(), "Its first day.";
        text "name", "name", Narrow(0), row.cost.name.clone(), "";
        text "unit", "unit", Narrow(0), per(row.cost.per(), &row.cost.unit), "";
        count "days", "days", Narrow(0), row.days, "Days with units and a whole cost.";
        opt cell "count", "count", Narrow(0), Value::of(row.cost.count.to_f64(), |count| Value::Number(count, 0)), "";
        opt money "cost", "cost", Narrow(0), row.cost.cost, "";
        opt price "cost_per_unit", "each", Narrow(0), row.cost.price(), "";
    }

    fn advised<'a>(row: &'a Realised) {
        text "name", "workload", Narrow(0), row.action.name.clone(), "";
        text "workload", "id", Wide, row.action.workload.clone(), "";
        text "action", "action", Narrow(0), row.action.kind.name().to_owned(), "";
        opt text "target", "to", Wide, row.action.target.as_ref().map(Target::to_string), "";
        text "status", "status", Narrow(0), row.status.name().to_owned(), "";
        opt date "since", "since", Narrow(0), row.since, "The first day on which it was carried out, at least in part.";
        opt date "undone_on", "undone", Wide, row.undone_on, "";
        count "days", "days", Narrow(0), row.days, "Days on which it was carried out and that can be compared.";
        money "expected", "expected", Narrow(0), row.expected, "What it was expected to save on these days.";
        opt money "saved", "saved", Narrow(0), row.saved.map(|(saved, _)| saved), "What it saved on them: its four parts add up to it.";
        opt money "missed", "not done cost", Narrow(0), row.missed, "What it was expected to save on the days on which it was not carried out.";
        opt money "saved_usage", "usage", Wide, part(row, SavedPart::Usage), "";
        opt money "saved_mix", "mix", Wide, part(row, SavedPart::Mix), "";
        opt money "saved_rate", "rate", Wide, part(row, SavedPart::Rate), "";
        opt money "saved_standing", "standing", Wide, part(row, SavedPart::Standing), "";
        count "days_not_comparable", "grew", Wide, row.days_not_comparable, "Days on which more ran than before.";
        count "days_unpriced", "unpriced", Wide, row.days_unpriced, "";
        text "risk", "risk", Wide, row.action.risk.name().to_owned(), "";
        text "action_id", "action id", Wide, row.action.action_id.clone(), "";
    }

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

/// What a history says; `flags` are those that lead to it, each with a blank before it.
pub fn history_answer(overview: &Overview, flags: &str) -> Doc {
    let work = Table::of("units", "UNITS OF WORK", ("row", "rows"), units(), &overview.units);
    let noun = ("forecast", "forecasts");
    let past = Table::of("past_forecasts", "FORECASTS OF THE PAST", noun, past(), &overview.past);
    let more = [actions(overview), past, last_day(overview), work];
    Doc {
        name: "history",
        headline: headline(overview),
        given: rows! {
            Given::new("window", "days", Value::text(days(overview.span)), "history");
            Given::new("recorded_days", "recorded", Value::make_count(recorded_days(overview)), "history");
            Given::new("currency", "currency", Value::text(overview.ledger.currency.code()), "most rows of the history");
        },
        steps: overview.forecast.as_ref().map(forecast_steps).unwrap_or_default(),
        tables: rows! {
            by_step(overview);
            ..change(overview);
            by_key(overview);
            ..more.into_iter().filter(|table| !table.rows.is_empty());
        },
        plots: plots(overview),
        caveats: caveats(overview),
        missing: missing(overview),
        next: rows! {
            format!("gpucost history{flags} --format html --output history.html");
            if overview.forecast.is_none() => format!("gpucost history{flags} --forecast month");
        },
        ..Doc::default()
    }
}

pub(super) fn recorded_days(overview: &Overview) -> u32 {
    overview.periods.iter().map(|period| period.recorded_days).sum()
}

fn headline(overview: &Overview) -> String {
    let ends = overview.forecast.as_ref().map_or(String::new(), |forecast| {
        let word = match forecast.certainty {
            Certainty::Over => "ended",
            _ => "is forecast to end",
        };
        let (span, total) = (days(forecast.span), money(forecast.total()));
        format!("; {span} {word} at {total}{}", unrecorded_words(forecast))
    });
    spent(overview, &format!("from {}", days(overview.span))) + &ends
}

/// What was spent, and how much of it on nothing; `when` follows the amount.
pub(super) fn spent(overview: &Overview, when: &str) -> String {
    let Sums { spend, waste, .. } = overview.sums;
    let [spend, waste] = [spend, waste].map(|amount| money(overview.ledger.money(amount)));
    format!("{spend} was spent {when}, including {waste} of waste")
}

/// A span as `2026-11-01 to 2026-11-30`, or its only day.
pub(super) fn days(span: Span) -> String {
    let Span { first, last } = span;
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

/// The cost of a useful GPU hour, to four decimals.
fn useful_hour(sums: &Sums, ledger: &Ledger) -> Option<Money> {
    Some(ledger.money(sums.cost_per_useful_gpu_hour()?.round_dp(4)))
}

fn by_step(overview: &Overview) -> Table {
    let title = format!("BY {}", overview.ask.step.name().to_uppercase());
    let rows = overview.periods.iter().map(|period| (period, &overview.ledger));
    let mut table = Table::of("periods", title, ("row", "rows"), periods(), rows);
    let useful = useful_hour(&overview.sums, &overview.ledger).filter(|_| table.rows.len() > 1);
    table.notes.extend(useful.map(|cost| {
        let cost = unit_price(cost);
        format!("Over all of them a useful GPU hour cost {cost}, of what was measured.")
    }));
    table
}

/// The newest periods that a plot has room for.
fn plots(overview: &Overview) -> Vec<Plot> {
    let periods = &overview.periods;
    let shown = &periods[periods.len().saturating_sub(MOST_BARS)..];
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else { return Vec::new() };
    let ends = format!(
        "From {} on the left to {} on the right. Days without a record are not drawn.",
        first.span.first, last.span.last
    );
    let bars = |amounts: fn(&Sums) -> (Decimal, Decimal)| {
        let amounts = shown.iter().map(|period| amounts(&period.sums));
        PlotKind::Bars(amounts.map(|(whole, part)| Bar { whole: Some(whole), part }).collect())
    };
    let plot = |key, title: &str, words: String, kind| Plot {
        key,
        title: format!("{title} by {}", overview.ask.step),
        kind,
        notes: vec![words, ends.clone()],
    };
    let most = shown.iter().map(|period| period.sums.spend).max();
    let most = money(overview.ledger.money(most.unwrap_or_default()));
    let spent = format!("The lower part of a bar did nothing. The highest bar is {most}.");
    let useful = "The lower part of a bar was useful: GPU hours times mean utilization.".to_owned();
    let hours = bars(|sums| (sums.gpu_hours, sums.useful_gpu_hours));
    vec![
        plot("plot", "Spend and waste", spent, bars(|sums| (sums.spend, sums.waste))),
        plot("hours", "GPU hours", useful, hours),
    ]
}

/// What each part of a change means.
fn meaning(part: ChangePart) -> &'static str {
    match part {
        ChangePart::Usage => "more or fewer GPU hours",
        ChangePart::Mix => "other types and regions",
        ChangePart::Price => "the cloud changed its public prices",
        ChangePart::Rate => "commitments, spot and negotiated discounts",
        ChangePart::Other => "what is paid for and does not run",
        ChangePart::Scope => "accounts, regions and tags that one of the spans does not read",
    }
}

pub(super) fn change(overview: &Overview) -> Option<Table> {
    let compared = overview.compared?;
    let change = compared.change;
    let named = change.named();
    let rows: Vec<_> = rows! {
        ("before", change.before, days(compared.before));
        ..named.map(|(part, amount)| (part.name(), amount, meaning(part).to_owned()));
        ("after", change.after, days(compared.after));
    };
    let title = "WHY IT CHANGED  mean day, the parts add up";
    Some(Table::of("change", title, ("row", "rows"), parts(), rows))
}

fn by_key(overview: &Overview) -> Table {
    let (title, noun) = match &overview.ask.key {
        TrendKey::Workload => ("BY WORKLOAD".to_owned(), ("workload", "workloads")),
        TrendKey::Account => ("BY ACCOUNT".to_owned(), ("account", "accounts")),
        TrendKey::InstanceType => ("BY TYPE".to_owned(), ("type", "types")),
        TrendKey::Tag(key) => (format!("BY TAG {key}"), ("value", "values")),
    };
    let rows = overview.shares.iter().map(|share| (share, overview));
    Table::of("shares", title, noun, shares(), rows)
}

fn name<'a>(share: &'a Share, key: &TrendKey) -> &'a str {
    match (key, share.name.as_str()) {
        (TrendKey::Tag(_), "") => "untagged",
        (_, "") => "none",
        (_, name) => name,
    }
}

pub(super) fn caveats(overview: &Overview) -> Vec<String> {
    let skipped = &overview.ledger.skipped;
    let unpriced = overview.sums.unpriced_hours;
    rows! {
        for last in overview.ledger.ended_on() => format!("{last} is the last day that was recorded: what was spent since is in no figure, and a forecast goes on from that day. Check the job that records every night.");
        ..claims(overview);
        if !unpriced.is_zero() => format!("{} hours of instances have no price and are in no amount", unpriced.round_dp(1).normalize());
        for (code, rows) in &skipped.other_currencies => format!("{} in {code} are skipped: currencies do not add up", counted(*rows, "row", "rows"));
        if skipped.runs_ahead > 0 => format!("{} of a clock more than a day ahead are skipped", counted(skipped.runs_ahead, "run", "runs"));
        if skipped.rows_without_run > 0 => format!("{} without a run that says so, or of a day that was not over are skipped", counted(skipped.rows_without_run, "row", "rows"));
        if skipped.rows_beyond > 0 => format!("{} with figures that no day has are skipped", counted(skipped.rows_beyond, "row", "rows"));
        "waste is compute by the share of its GPU hours without work, unused commitments, and storage of stopped instances".to_owned();
    }
}

/// Days that were not recorded, and those with places that were not read.
pub(super) fn missing(overview: &Overview) -> Vec<Missing> {
    let days: u32 = overview.periods.iter().map(Period::missing_days).sum();
    // Steps without any recorded day are no rows.
    let days = days.max(overview.span.days().saturating_sub(recorded_days(overview)));
    let shown = overview.ledger.days().filter(|(day, _)| overview.span.holds(*day));
    let partial: Vec<_> = shown.filter(|(_, read)| !read.missing.is_empty()).collect();
    let named =
        |read: &DayRead| joined(read.missing.iter().take(3).map(|row| fit(&row.name, NAME)), ", ");
    rows! {
        if days > 0 => Missing::new(format!("{} without a record", counted(days, "day", "days")), "run `gpucost history record` every night; a day that is over can be recorded as long as its metrics are kept");
        for (day, read) in partial.last() => Missing::new(format!("what {} cost on {day}, among {} with unread places", named(read), counted(partial.len(), "day", "days")), "the gaps of the run of that night say why");
    }
}

fn part(action: &Realised, part: SavedPart) -> Option<Money> {
    let (saved, parts) = action.saved?;
    Some(Money::new(parts[part as usize], saved.currency()))
}

/// Every advised action.
fn actions(overview: &Overview) -> Table {
    let realised = &overview.realised;
    let title = "ADVISED ACTIONS  saved so far, at the prices of each day";
    let noun = ("action", "actions");
    let mut table = Table::of("actions", title, noun, advised(), &realised.actions);
    if realised.actions.iter().any(|action| action.saved.is_some()) {
        let claimed = money(realised.claimed);
        let note = format!("Together they saved {claimed}, without price cuts of the cloud.");
        table.notes.push(note);
    }
    table
}

/// What may be read wrong in it.
fn claims(overview: &Overview) -> Vec<String> {
    let realised = &overview.realised;
    if realised.actions.is_empty() {
        return Vec::new();
    }
    let amount = |amount: Money| (!amount.amount().is_zero()).then(|| money(amount));
    let days = |of: fn(&Realised) -> u32| {
        let days: u64 = realised.actions.iter().map(|action| u64::from(of(action))).sum();
        (days > 0).then(|| counted(days, "day", "days"))
    };
    rows! {
        for price in amount(realised.price) => format!("price changes of the cloud took off {price}, which no action claims");
        for rest in amount(realised.unclaimed) => format!("{rest} of the difference is of changes that none of these actions brings about");
        for days in days(|action| action.days_not_comparable) => format!("{days} of actions cannot be compared, because more ran than before; `--units FILE` compares per unit of work");
        for days in days(|action| action.days_unpriced) => format!("{days} of actions have no public price of that day, so that nothing is claimed");
        if realised.other_currencies > 0 => format!("{} in another currency and skipped", counted(realised.other_currencies, "action is", "actions are"));
    }
}

/// Columns of a workload's name in a cause.
const MOVER: usize = 40;

/// The arithmetic of the forecast.
fn forecast_steps(forecast: &Forecast) -> Vec<Step> {
    let step = |name, words: String, amount| Step::new(name, words, Value::Money(amount));
    let of_days = |number: u32| counted(number, "day", "days");
    let over = match forecast.unrecorded_days {
        0 => String::new(),
        over => format!(" ({over} of them over and not recorded whole)"),
    };
    let left = of_days(forecast.days_left) + &over;
    let (least, most) = match forecast.certainty {
        Certainty::Band { by, .. } => (band_words(&by), "of the same band"),
        Certainty::Range { origins, .. } => {
            let past = counted(origins, "past forecast", "past forecasts");
            let words = format!(
                "range, no band: least of last day, mean of 7 days and drift; {past} of as many \
                 days, {LEAST_ORIGINS} and {LEAST_CHECKED} checked bands are needed"
            );
            (words, "most of the same")
        }
        Certainty::Over => (String::new(), ""),
    };
    rows! {
        step("spent", format!("{} recorded", of_days(forecast.recorded_days)), forecast.spent);
        step("committed", format!("commitments on {left}, used or not"), forecast.committed);
        step("running", goes_on(forecast, &left), forecast.running);
        step("total", format!("spent + committed + running, {}", days(forecast.span)), forecast.total());
        for (low, _) in forecast.bounds() => step("low", least.clone(), low);
        for (_, high) in forecast.bounds() => step("high", most.to_owned(), high);
    }
}

fn goes_on(forecast: &Forecast, left: &str) -> String {
    let Forecast { by_weekdays, launched, state_day, .. } = forecast;
    let jobs = counted(forecast.jobs, "workload", "workloads");
    let parts: Vec<String> = rows! {
        format!("{jobs} of {state_day}, {left}");
        if *by_weekdays > 0 => format!("{by_weekdays} by weekdays, whose error was at least {LEAST_GAIN_PERCENT}% smaller in {LEAST_TRIALS} back-tests or more");
        if *launched > 0 => format!("{launched} launched on it for whole days");
    };
    parts.join("; ")
}

fn band_words(by: &Band) -> String {
    let coverage = by.past_coverage_percent().map_or(String::new(), percent);
    let (origins, inside, checked) = (by.origins, by.inside, by.checked);
    format!("band of {origins} past errors, held {inside} of {checked} times ({coverage})")
}

/// What is assumed of days that are over and were not recorded whole; empty without one.
fn unrecorded_words(forecast: &Forecast) -> String {
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

/// The last day beside what was expected of it; empty where the past is too short.
fn last_day(overview: &Overview) -> Table {
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
    let words = [joined(parts, ", "), joined(movers, ", ")];
    joined(words.into_iter().filter(|words| !words.is_empty()), "; ")
}
