//! What a month or a quarter will end at: what was spent, what is committed, and what runs
//! on the last known day for the days that are left.

use super::dates::{Horizon, Span, plus_days};
use super::ledger::Ledger;
use super::series::{self, Band, Chooser, JobSeries, Method};
use super::sums::{cents, is_committed, share};
use crate::domain::{CostKind, Money, WorkloadDay};
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use std::collections::{BTreeMap, BTreeSet};

const HOURS_OF_DAY: Decimal = Decimal::from_parts(24, 0, 0, false, 0);

/// What a period will end at. Amounts are in cents, and the parts sum to the total.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The month or quarter.
    pub span: Span,
    /// The last whole day, whose state goes on.
    pub state_day: Date,
    /// Cost of its recorded days.
    pub spent: Money,
    pub recorded_days: u32,
    /// Its days without a whole record: those to come, and those that are missing.
    pub days_left: u32,
    /// Those of them that are over: nights that were missed, or read in part.
    pub unrecorded_days: u32,
    /// What commitments cost on the days left, used or not.
    pub committed: Money,
    /// What else runs on the days left.
    pub running: Money,
    /// Jobs whose weekdays count, because that did better in the past, and all that run.
    pub by_weekdays: usize,
    pub jobs: usize,
    /// Jobs that were launched within the last whole day, and go on for all hours of a day.
    pub launched: usize,
    pub certainty: Certainty,
    /// Hours of the last whole day without a price, which no figure has.
    pub unpriced_hours: Decimal,
}

/// How sure a forecast is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Certainty {
    /// The errors of past forecasts of as many days put the total in here, as often as bands of
    /// the past held.
    Band { low: Money, high: Money, by: Band },
    /// Too few forecasts of the past can be compared with what came: this is only how far
    /// the last day, the mean of seven days and the drift are apart.
    Range { low: Money, high: Money, origins: usize },
    /// No day is left.
    Over,
}

impl Forecast {
    /// Of the month or quarter that the day after the last whole day is in; `None` without a
    /// whole day.
    pub fn of(ledger: &Ledger, horizon: Horizon) -> Option<Self> {
        let running = JobSeries::of(ledger, is_running)?;
        Some(of_span(ledger, &running, horizon.around(plus_days(running.last, 1))))
    }

    /// Of a span of days, such as the month that it is now; `None` without a whole day.
    pub fn within(ledger: &Ledger, span: Span) -> Option<Self> {
        let running = JobSeries::of(ledger, is_running)?;
        Some(of_span(ledger, &running, span))
    }

    pub fn total(&self) -> Money {
        let total = [self.spent, self.committed, self.running].into_iter().map(Money::amount).sum();
        Money::new(total, self.spent.currency())
    }

    /// The least and the most that it may be; absent where no day is left.
    pub fn bounds(&self) -> Option<(Money, Money)> {
        match self.certainty {
            Certainty::Band { low, high, .. } | Certainty::Range { low, high, .. } => {
                Some((low, high))
            }
            Certainty::Over => None,
        }
    }
}

/// Whether a row is of something that can be stopped.
fn is_running(row: &WorkloadDay) -> bool {
    !is_committed(row.option)
}

fn of_span(ledger: &Ledger, running: &JobSeries<'_>, span: Span) -> Forecast {
    let inside = ledger.days().filter(|(day, _)| span.holds(*day));
    let whole = |day: &Date| ledger.is_whole(*day);
    let recorded: Vec<Date> = inside.map(|(day, _)| day).filter(whole).collect();
    let left: Vec<Date> = span.each().filter(|day| !ledger.is_whole(*day)).collect();
    let rows = recorded.iter().flat_map(|day| ledger.rows_on(*day));
    let spent: Decimal = rows.filter_map(|row| ledger.amount(row.effective)).sum();
    let state = ledger.rows_on(running.last);
    let committed: Decimal = left.iter().map(|day| committed_on(ledger, state, *day)).sum();
    let ahead = goes_on(ledger, running, state, left.len());
    let last_day = ledger.last_day();
    let unrecorded = left.iter().filter(|day| Some(**day) <= last_day);
    let money = |amount: Decimal| ledger.money(cents(amount));
    let mut forecast = Forecast {
        span,
        state_day: running.last,
        spent: money(spent),
        recorded_days: u32::try_from(recorded.len()).unwrap_or(u32::MAX),
        days_left: u32::try_from(left.len()).unwrap_or(u32::MAX),
        unrecorded_days: u32::try_from(unrecorded.count()).unwrap_or(u32::MAX),
        committed: money(committed),
        running: money(ahead.cost),
        by_weekdays: ahead.by_weekdays,
        jobs: ahead.jobs,
        launched: ahead.launched,
        certainty: Certainty::Over,
        unpriced_hours: unpriced_hours(ledger, state),
    };
    if !left.is_empty() {
        forecast.certainty = certainty(running, &forecast, left.len());
    }
    forecast
}

/// What the commitments of a day's state cost on another day. What ended by then covers
/// nothing more, and its hours cost what they cost without it.
fn committed_on(ledger: &Ledger, state: &[WorkloadDay], day: Date) -> Decimal {
    let costs = state.iter().filter(|row| !is_running(row)).filter_map(|row| {
        match (row.committed_until.is_some_and(|end| end <= day), row.kind) {
            (false, _) => ledger.amount(row.effective),
            (true, CostKind::Compute) => {
                ledger.amount(row.contracted).or_else(|| ledger.amount(row.list))
            }
            (true, CostKind::Unused | CostKind::IdleStorage) => None,
        }
    });
    costs.sum()
}

/// What runs and is not committed, over some days.
#[derive(Default)]
struct Ahead {
    cost: Decimal,
    by_weekdays: usize,
    jobs: usize,
    launched: usize,
}

/// What the rest of a day's state costs over so many days.
fn goes_on(ledger: &Ledger, running: &JobSeries<'_>, state: &[WorkloadDay], days: usize) -> Ahead {
    let mut today: BTreeMap<&str, Decimal> = BTreeMap::new();
    for row in state.iter().filter(|row| is_running(row)) {
        let cost = ledger.amount(row.effective).unwrap_or_default();
        *today.entry(row.job.as_str()).or_default() += cost;
    }
    let launched = launched(ledger, running.last);
    let origin = running.origin();
    let mut ahead = Ahead::default();
    for (job, chooser) in &running.jobs {
        let last = today.get(job).copied().unwrap_or_default();
        let whole = launched.get(job).and_then(|(ran, hours)| share(last, *hours, *ran));
        ahead.launched += usize::from(whole.is_some());
        let by_weekday = chooser.method(origin) == Method::Weekdays;
        let by_weekday = by_weekday.then(|| chooser.forecast(origin, days)).flatten();
        let by_weekday = by_weekday.and_then(Decimal::from_f64);
        let cost = by_weekday.map(cents);
        let cost = cost.unwrap_or_else(|| whole.unwrap_or(last) * Decimal::from(days));
        ahead.by_weekdays += usize::from(by_weekday.is_some());
        ahead.jobs += usize::from(!cost.is_zero());
        ahead.cost += cost;
    }
    ahead
}

/// The jobs that a day is the first of, with the hours that they ran on it, and the hours of
/// whole days of as few instances as can have run them. One that was stopped again has a row of
/// its storage, and is not among them. None after a night that was missed.
fn launched(ledger: &Ledger, day: Date) -> BTreeMap<&str, (Decimal, Decimal)> {
    let mut hours: BTreeMap<&str, Decimal> = BTreeMap::new();
    if !ledger.is_whole(plus_days(day, -1)) {
        return BTreeMap::new();
    }
    for row in ledger.rows_on(day) {
        *hours.entry(row.job.as_str()).or_default() += row.hours;
    }
    for row in &ledger.rows {
        if row.day < day || (row.day == day && row.kind != CostKind::Compute) {
            hours.remove(row.job.as_str());
        }
    }
    let whole = |(job, ran): (_, Decimal)| {
        // Hours are rounded to millionths.
        let hours = (ran / HOURS_OF_DAY).round_dp(3).ceil() * HOURS_OF_DAY;
        (ran < hours && ran > Decimal::ZERO).then_some((job, (ran, hours)))
    };
    hours.into_iter().filter_map(whole).collect()
}

/// Hours that ran without a price.
fn unpriced_hours(ledger: &Ledger, state: &[WorkloadDay]) -> Decimal {
    let unpriced = state
        .iter()
        .filter(|row| row.kind == CostKind::Compute && ledger.amount(row.effective).is_none());
    unpriced.map(|row| row.hours).sum()
}

fn certainty(running: &JobSeries<'_>, forecast: &Forecast, days: usize) -> Certainty {
    let choosers: Vec<&Chooser> = running.jobs.values().collect();
    let origins = series::origins(&choosers, days);
    let fixed = forecast.spent.amount() + forecast.committed.amount();
    let money = |running: f64| {
        let running = Decimal::from_f64(running).unwrap_or_default();
        Money::new(fixed + cents(running), forecast.spent.currency())
    };
    let ahead = forecast.running.amount().to_f64().unwrap_or_default();
    if let Some(by) = series::band(&origins, days, running.origin()) {
        return Certainty::Band { low: money(ahead * by.low), high: money(ahead * by.high), by };
    }
    let (low, high) = running.range(days).unwrap_or((ahead, ahead));
    Certainty::Range {
        low: money(low.min(ahead)),
        high: money(high.max(ahead)),
        origins: origins.len(),
    }
}

/// What a forecast of a past month said, and what the month cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PastForecast {
    pub month: Span,
    /// The last day that it knew.
    pub made_after: Date,
    pub forecast: Money,
    pub actual: Money,
}

impl PastForecast {
    /// The forecast less what came, in percent of that; absent where nothing came.
    pub fn error_percent(&self) -> Option<f64> {
        let (forecast, actual) = (self.forecast.amount(), self.actual.amount());
        let error = (forecast - actual) * Decimal::ONE_HUNDRED;
        error.checked_div(actual)?.to_f64()
    }
}

/// Forecasts of every month that was recorded whole, of what was known on the day before it
/// and in its middle, beside what came.
pub fn past_forecasts(ledger: &Ledger) -> Vec<PastForecast> {
    let firsts: BTreeSet<Date> = ledger.days().map(|(day, _)| day.first_of_month()).collect();
    let mut past = Vec::new();
    for first in firsts {
        let month = Horizon::Month.around(first);
        if !month.each().all(|day| ledger.is_whole(day)) {
            continue;
        }
        let rows = month.each().flat_map(|day| ledger.rows_on(day));
        let actual: Decimal = rows.filter_map(|row| ledger.amount(row.effective)).sum();
        for made_after in [plus_days(first, -1), plus_days(first, 14)] {
            let known = ledger.until(made_after);
            let Some(running) =
                JobSeries::of(&known, is_running).filter(|known| known.last == made_after)
            else {
                continue;
            };
            past.push(PastForecast {
                month,
                made_after,
                forecast: of_span(&known, &running, month).total(),
                actual: ledger.money(cents(actual)),
            });
        }
    }
    past
}
