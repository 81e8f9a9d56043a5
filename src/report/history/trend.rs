//! The answer: a trend, its causes, who it was spent on, and everything beside it.

use super::days;
use super::forecast::{forecast_steps, last_day, past_forecasts, unrecorded_words};
use crate::domain::{Money, Target};
use crate::report::doc::{
    Doc, Given, Missing, Plot, PlotKind, Table, Value, columns, rows, sentences,
};
use crate::report::shared::kpis::per;
use crate::report::shared::markup::NAME;
use crate::report::shared::plots::{Bar, MOST_BARS};
use crate::report::shared::text::{counted, fit, money, unit_price};
use crate::trend::{
    Certainty, ChangePart, DayRead, Ledger, Overview, Period, Realised, SavedPart, Share, Step,
    Sums, TrendKey, UnitMonth,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

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
}

/// What a history says; `flags` are those that lead to it, each with a blank before it.
pub fn history_answer(overview: &Overview, flags: &str) -> Doc {
    let tables = [Some(by_step(overview)), change(overview), Some(by_key(overview))];
    let work = Table::of("units", "UNITS OF WORK", ("row", "rows"), units(), &overview.units);
    let more = [actions(overview), past_forecasts(overview), last_day(overview), work];
    let more = more.into_iter().filter(|table| !table.rows.is_empty());
    let page = format!("gpucost history{flags} --format html --output history.html");
    let forecast = format!("gpucost history{flags} --forecast month");
    let recorded = overview.periods.iter().map(|period| period.recorded_days);
    let recorded = Value::make_count(recorded.sum::<u32>());
    let window = Value::text(days(overview.span));
    let currency = Value::text(overview.ledger.currency().code());
    Doc {
        name: "history",
        headline: headline(overview),
        given: vec![
            Given::new("window", "days", window, "history"),
            Given::new("recorded_days", "recorded", recorded, "history"),
            Given::new("currency", "currency", currency, "most rows of the history"),
        ],
        steps: forecast_steps(overview),
        tables: tables.into_iter().flatten().chain(more).collect(),
        plots: plots(overview),
        caveats: caveats(overview),
        missing: missing(overview),
        next: [page].into_iter().chain(overview.forecast.is_none().then_some(forecast)).collect(),
        ..Doc::default()
    }
}

fn headline(overview: &Overview) -> String {
    let of = |amount| money(overview.ledger.money(amount));
    let spent = format!(
        "{} was spent from {}, {} of it on what did nothing",
        of(overview.sums.spend),
        days(overview.span),
        of(overview.sums.waste)
    );
    let ends = overview.forecast.as_ref().map(|forecast| {
        let word = match forecast.certainty {
            Certainty::Over => "ended",
            _ => "is forecast to end",
        };
        let (span, total) = (days(forecast.span), money(forecast.total()));
        format!("; {span} {word} at {total}{}", unrecorded_words(forecast))
    });
    spent + &ends.unwrap_or_default()
}

/// The cost of a useful GPU hour, to four decimals.
fn useful_hour(sums: &Sums, ledger: &Ledger) -> Option<Money> {
    Some(ledger.money(sums.cost_per_useful_gpu_hour()?.round_dp(4)))
}

fn by_step(overview: &Overview) -> Table {
    let title = match overview.ask.step {
        Step::Day => "BY DAY",
        Step::Week => "BY WEEK",
        Step::Month => "BY MONTH",
    };
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
    let plot = |key, title: &str, words: String, bar: fn(&Sums) -> Bar| Plot {
        key,
        title: format!("{title} by {}", overview.ask.step),
        kind: PlotKind::Bars(shown.iter().map(|period| bar(&period.sums)).collect()),
        notes: vec![words, ends.clone()],
    };
    let most = shown.iter().map(|period| period.sums.spend).max();
    let most = money(overview.ledger.money(most.unwrap_or_default()));
    let spent = format!("The lower part of a bar did nothing. The highest bar is {most}.");
    let useful = "The lower part of a bar was useful: GPU hours times mean utilization.".to_owned();
    vec![
        plot("plot", "Spend and waste", spent, |sums| Bar {
            whole: Some(sums.spend),
            part: sums.waste,
        }),
        plot("hours", "GPU hours", useful, |sums| Bar {
            whole: Some(sums.gpu_hours),
            part: sums.useful_gpu_hours,
        }),
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
    let mut rows = vec![("before", change.before, days(compared.before))];
    let named = change.named();
    rows.extend(named.map(|(part, amount)| (part.name(), amount, meaning(part).to_owned())));
    rows.push(("after", change.after, days(compared.after)));
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
    let skipped = &overview.ledger.left_out;
    let unpriced = overview.sums.unpriced_hours;
    let mut caveats = Vec::new();
    sentences! { caveats;
        for last in overview.ledger.ended_on() => "{last} is the last day that was recorded: what was spent since is in no figure, and a forecast goes on from that day. Check the job that records every night.";
    }
    caveats.extend(claims(overview));
    sentences! { caveats;
        if !unpriced.is_zero() => "{} hours of instances have no price and are in no amount", unpriced.round_dp(1).normalize();
        for (code, rows) in &skipped.other_currencies => "{} in {code} are skipped: currencies do not add up", counted(*rows, "row", "rows");
        if skipped.runs_ahead > 0 => "{} of a clock more than a day ahead are skipped", counted(skipped.runs_ahead, "run", "runs");
        if skipped.rows_without_run > 0 => "{} without a run that says so, or of a day that was not over are skipped", counted(skipped.rows_without_run, "row", "rows");
        if skipped.rows_beyond > 0 => "{} with figures that no day has are skipped", counted(skipped.rows_beyond, "row", "rows");
    }
    let waste = "waste is compute by the share of its GPU hours without work, unused \
                 commitments, and storage of stopped instances";
    caveats.push(waste.to_owned());
    caveats
}

/// Days that were not recorded, and those with places that were not read.
pub(super) fn missing(overview: &Overview) -> Vec<Missing> {
    let days: u32 = overview.periods.iter().map(Period::missing_days).sum();
    // Steps without any recorded day are no rows.
    let recorded: u32 = overview.periods.iter().map(|period| period.recorded_days).sum();
    let days = days.max(overview.span.days().saturating_sub(recorded));
    let shown = overview.ledger.days().filter(|(day, _)| overview.span.holds(*day));
    let partial: Vec<_> = shown.filter(|(_, read)| !read.missing.is_empty()).collect();
    let named = |read: &DayRead| {
        read.missing.iter().take(3).map(|row| fit(&row.name, NAME)).collect::<Vec<_>>().join(", ")
    };
    rows! {
        if days > 0 => Missing::new(format!("{} without a record", counted(u64::from(days), "day", "days")), "run `gpucost history record` every night; a day that is over can be recorded as long as its metrics are kept");
        for (day, read) in partial.last() => Missing::new(format!("what {} cost on {day}, among {} with unread places", named(read), counted(partial.len() as u64, "day", "days")), "the gaps of the run of that night say why");
    }
}

columns! {
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
    let mut claims = Vec::new();
    sentences! { claims;
        for price in amount(realised.price) => "price changes of the cloud took off {price}, which no action claims";
        for rest in amount(realised.unclaimed) => "{rest} of the difference is of changes that none of these actions brings about";
        for days in days(|action| action.days_not_comparable) => "{days} of actions cannot be compared, because more ran than before; `--units FILE` compares per unit of work";
        for days in days(|action| action.days_unpriced) => "{days} of actions have no public price of that day, so that nothing is claimed";
        if realised.other_currencies > 0 => "{} in another currency and skipped", counted(realised.other_currencies, "action is", "actions are");
    }
    claims
}
