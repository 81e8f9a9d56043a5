//! A figure of each day, and the few ways to continue it. GPU fleets move in steps, so the last
//! day is the forecast, and weekdays count only where they did clearly better in the past. What a
//! forecast would have been on every past day, beside what came, says how wide a band has to be.

use super::dates::{Span, days_from};
use super::ledger::Ledger;
use crate::domain::{WorkloadDay, named_enum};
use jiff::civil::Date;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// Days back from a forecast in which its last known day may be.
const FRESH_DAYS: usize = 3;
/// Days that factors of weekdays are made of.
const FACTOR_DAYS: usize = 28;
/// How often each weekday must have been seen in them.
const LEAST_OF_WEEKDAY: u32 = 3;
/// A day of a factor below this says nothing about the level of the others.
const LEAST_FACTOR: f64 = 0.2;
/// How far ahead, and on how many of the last origins, the ways are compared.
const TRIAL_DAYS: usize = 7;
const TRIAL_ORIGINS: usize = 56;
/// Back-tests below which nothing has won: four weeks of days.
pub const LEAST_TRIALS: usize = 28;
/// By how much of the error of the last day the error of weekdays has to be smaller, percent.
///
/// Weekdays have seven figures to fit and win on noise by a hair. Of 2,000 random walks without
/// weekdays (steps of a normal distribution, 5% of the level; own simulation, 2026-11) their
/// error was smaller in 36% after 63 days and in 29% after 91, and by a tenth or more in 9% and
/// 3%. Where weekends are 20% lower, they still win in 96 of 100.
pub const LEAST_GAIN_PERCENT: u8 = 10;
/// Days of a drift.
const DRIFT_DAYS: usize = 14;

named_enum! {
    /// How a series goes on.
    Method {
        LastDay = "last day",
        /// The level of the last day, times what each weekday was over four weeks.
        Weekdays = "weekdays",
    }
}

/// One figure for each day in a row, absent where it is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct DailySeries {
    first: Date,
    values: Vec<Option<f64>>,
}

impl DailySeries {
    pub fn new(first: Date, values: Vec<Option<f64>>) -> Self {
        Self { first, values }
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Place of a weekday, from Monday at 0, at a number of days after the first.
    fn weekday(&self, place: usize) -> usize {
        (usize::try_from(self.first.weekday().to_monday_zero_offset()).unwrap_or(0) + place) % 7
    }

    fn known(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = (usize, f64)> {
        let to = to.min(self.values.len());
        (from.min(to)..to).filter_map(move |place| Some((place, self.values[place]?)))
    }

    /// What came on so many days from an origin on; `None` unless all of them are known.
    pub fn actual(&self, origin: usize, days: usize) -> Option<f64> {
        let end = origin.checked_add(days)?;
        self.values.get(origin..end)?.iter().copied().sum()
    }

    /// The last value before an origin; `None` where the days just before it are unknown.
    pub fn last(&self, origin: usize) -> Option<f64> {
        self.known(origin.saturating_sub(FRESH_DAYS), origin).next_back().map(|(_, value)| value)
    }

    /// The sum of so many days from an origin on, of what is known before it.
    pub fn forecast(&self, method: Method, origin: usize, days: usize) -> Option<f64> {
        match method {
            Method::LastDay => Some(self.last(origin)? * days as f64),
            Method::Weekdays => self.by_weekdays(origin, days),
        }
    }

    /// The mean of the last seven days, so many times.
    fn by_mean(&self, origin: usize, days: usize) -> Option<f64> {
        let (mut sum, mut number) = (0.0, 0_u32);
        for (_, value) in self.known(origin.saturating_sub(7), origin) {
            sum += value;
            number += 1;
        }
        (number > 0).then(|| sum / f64::from(number) * days as f64)
    }

    /// The last day, and each further day the mean step of the last two weeks more.
    fn by_drift(&self, origin: usize, days: usize) -> Option<f64> {
        let last = self.last(origin)?;
        let mut known = self.known(origin.saturating_sub(DRIFT_DAYS + 1), origin);
        let (first_place, first) = known.next()?;
        let (last_place, newest) = known.next_back()?;
        let step = (newest - first) / (last_place - first_place) as f64;
        let days = days as f64;
        Some((last * days + step * days * (days + 1.0) / 2.0).max(0.0))
    }

    /// The last day, the mean of seven days and the drift of two weeks over so many days.
    pub fn ways(&self, origin: usize, days: usize) -> [Option<f64>; 3] {
        [
            self.forecast(Method::LastDay, origin, days),
            self.by_mean(origin, days),
            self.by_drift(origin, days),
        ]
    }

    /// What each weekday was, relative to the mean of a week, over four weeks before an
    /// origin; `None` where a weekday is not there often enough, and of nothing.
    fn factors(&self, origin: usize) -> Option<[f64; 7]> {
        let mut sums = [0.0; 7];
        let mut counts = [0_u32; 7];
        for (place, value) in self.known(origin.checked_sub(FACTOR_DAYS)?, origin) {
            sums[self.weekday(place)] += value;
            counts[self.weekday(place)] += 1;
        }
        if counts.iter().any(|count| *count < LEAST_OF_WEEKDAY) {
            return None;
        }
        let mut factors = [0.0; 7];
        for (factor, (sum, count)) in factors.iter_mut().zip(sums.iter().zip(counts)) {
            *factor = sum / f64::from(count);
        }
        let mean = factors.iter().sum::<f64>() / 7.0;
        (mean > 0.0).then(|| factors.map(|factor| factor / mean))
    }

    fn by_weekdays(&self, origin: usize, days: usize) -> Option<f64> {
        let factors = self.factors(origin)?;
        let level = self
            .known(origin.saturating_sub(7), origin)
            .rev()
            .find(|(place, _)| factors[self.weekday(*place)] >= LEAST_FACTOR)
            .map(|(place, value)| value / factors[self.weekday(place)])?;
        Some(level * (origin..origin + days).map(|place| factors[self.weekday(place)]).sum::<f64>())
    }
}

/// A series with how well each way would have done at every past origin.
#[derive(Debug, Clone)]
pub struct Chooser {
    /// Its figures.
    pub series: DailySeries,
    /// Errors of the last day and of weekdays over the next week, by origin.
    errors: Vec<Option<[f64; 2]>>,
}

impl Chooser {
    pub fn new(series: DailySeries) -> Self {
        // Below this nothing can have won.
        let least = FACTOR_DAYS + TRIAL_DAYS + LEAST_TRIALS;
        let origins = if series.len() < least { 0 } else { series.len() - TRIAL_DAYS + 1 };
        let error = |origin: usize| {
            let actual = series.actual(origin, TRIAL_DAYS)?;
            let of = |method| series.forecast(method, origin, TRIAL_DAYS);
            let both = [of(Method::LastDay)?, of(Method::Weekdays)?];
            Some(both.map(|forecast| (forecast - actual).abs()))
        };
        Self { errors: (0..origins).map(error).collect(), series }
    }

    /// Weekdays where their error over the next week was smaller by [`LEAST_GAIN_PERCENT`] or
    /// more, at the last origins whose week was over at this one; else, and with fewer than
    /// [`LEAST_TRIALS`] of them, the last day.
    pub fn method(&self, origin: usize) -> Method {
        let end = (origin + 1).saturating_sub(TRIAL_DAYS).min(self.errors.len());
        let trials = &self.errors[end.saturating_sub(TRIAL_ORIGINS)..end];
        let (mut number, mut last, mut weekdays) = (0, 0.0, 0.0);
        for [of_last, of_weekdays] in trials.iter().flatten() {
            number += 1;
            last += of_last;
            weekdays += of_weekdays;
        }
        let most = last * (1.0 - f64::from(LEAST_GAIN_PERCENT) / 100.0);
        if number >= LEAST_TRIALS && weekdays < last && weekdays <= most {
            Method::Weekdays
        } else {
            Method::LastDay
        }
    }

    /// The sum of so many days from an origin on, by what was better until then.
    pub fn forecast(&self, origin: usize, days: usize) -> Option<f64> {
        let chosen = self.series.forecast(self.method(origin), origin, days);
        chosen.or_else(|| self.series.forecast(Method::LastDay, origin, days))
    }
}

/// Costs by job and day, over all days of a history.
pub(super) struct JobSeries<'a> {
    pub(super) first: Date,
    /// The last whole day.
    pub(super) last: Date,
    pub(super) jobs: BTreeMap<&'a str, Chooser>,
}

impl<'a> JobSeries<'a> {
    /// Of some rows; `None` without a whole day.
    pub(super) fn of(ledger: &'a Ledger, keep: impl Fn(&WorkloadDay) -> bool) -> Option<Self> {
        let (first, last) = (ledger.first_day()?, ledger.last_whole_day()?);
        let days = Span { first, last };
        let is_whole: Vec<bool> = days.each().map(|day| ledger.is_whole(day)).collect();
        let nothing =
            || -> Vec<Option<f64>> { is_whole.iter().map(|whole| whole.then_some(0.0)).collect() };
        let mut costs: BTreeMap<&str, Vec<Option<f64>>> = BTreeMap::new();
        let rows = ledger.rows.iter().filter(|row| keep(row));
        for row in rows {
            let place = usize::try_from(days_from(first, row.day)).ok();
            let cost = ledger.amount(row.effective).and_then(|cost| cost.to_f64());
            let job = costs.entry(row.job.as_str()).or_insert_with(nothing);
            let (Some(place), Some(cost)) = (place, cost) else { continue };
            if let Some(Some(value)) = job.get_mut(place) {
                *value += cost;
            }
        }
        let jobs = costs.into_iter();
        let jobs = jobs.map(|(job, values)| (job, Chooser::new(DailySeries::new(first, values))));
        Some(Self { first, last, jobs: jobs.collect() })
    }

    /// The place of the first day that is not known.
    pub(super) fn origin(&self) -> usize {
        usize::try_from(days_from(self.first, self.last) + 1).unwrap_or(0)
    }

    /// The least and the most that so many days may cost by the simple ways.
    pub(super) fn range(&self, days: usize) -> Option<(f64, f64)> {
        let mut sums = [None; 3];
        for job in self.jobs.values() {
            for (sum, way) in sums.iter_mut().zip(job.series.ways(self.origin(), days)) {
                if let Some(way) = way {
                    *sum = Some(sum.map_or(way, |sum: f64| sum + way));
                }
            }
        }
        let bounds = sums.into_iter().flatten().map(|sum| (sum, sum));
        bounds.reduce(|(least, most), (sum, _)| (f64::min(least, sum), f64::max(most, sum)))
    }
}

/// Past origins below which a band would be a guess.
pub const LEAST_ORIGINS: usize = 20;
/// Past bands below which it is unknown whether bands hold.
pub const LEAST_CHECKED: usize = 5;
/// What a band shall hold, 0–1.
const COVERAGE: f64 = 0.8;

/// A forecast of the past.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// The place of the first day that was not known.
    pub at: usize,
    pub forecast: f64,
    pub actual: f64,
}

impl Origin {
    /// What came relative to the forecast; `None` of a forecast of nothing.
    pub fn ratio(&self) -> Option<f64> {
        (self.forecast > 0.0).then(|| self.actual / self.forecast)
    }
}

/// Forecasts of so many days for the sum of some series of the same days, from every day on
/// that has as many known days after it.
pub fn origins(series: &[&Chooser], days: usize) -> Vec<Origin> {
    let Some(length) = series.iter().map(|chooser| chooser.series.len()).min() else {
        return Vec::new();
    };
    let last = length.checked_sub(days).filter(|_| days > 0).unwrap_or(0);
    let at_origin = |at: usize| {
        let mut origin = Origin { at, forecast: 0.0, actual: 0.0 };
        for chooser in series {
            origin.forecast += chooser.forecast(at, days)?;
            origin.actual += chooser.series.actual(at, days)?;
        }
        Some(origin)
    };
    (1..=last).filter_map(at_origin).collect()
}

/// A band around a forecast, as ratios to it, with how bands of the past did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    pub low: f64,
    pub high: f64,
    /// Past forecasts that it rests on.
    pub origins: usize,
    /// Past forecasts that a band of what was known by then was made for, and how many of
    /// them came inside.
    pub checked: usize,
    pub inside: usize,
}

impl Band {
    /// The share of past bands that held, 0–100; absent where none was checked.
    pub fn past_coverage_percent(&self) -> Option<f64> {
        (self.checked > 0).then(|| 100.0 * self.inside as f64 / self.checked as f64)
    }
}

/// The band of a forecast at a place, by the errors of forecasts of as many days that were
/// over there (split conformal prediction). `None` with fewer than [`LEAST_ORIGINS`] of them,
/// and where fewer than [`LEAST_CHECKED`] bands of the past can be compared with what came.
pub fn band(origins: &[Origin], days: usize, at: usize) -> Option<Band> {
    let ratios: Vec<(usize, f64)> =
        origins.iter().filter_map(|origin| Some((origin.at, origin.ratio()?))).collect();
    // Ascending by origin, and so by when they were over.
    let over = |at: usize| ratios.partition_point(|(origin, _)| origin + days <= at);
    let known = &ratios[..over(at)];
    let (mut checked, mut inside) = (0, 0);
    let mut sorted: Vec<f64> = Vec::new();
    for (origin, ratio) in known {
        for (_, ended) in &ratios[sorted.len()..over(*origin)] {
            let place = sorted.partition_point(|other| other <= ended);
            sorted.insert(place, *ended);
        }
        if let Some((low, high)) = quantiles(&sorted) {
            checked += 1;
            inside += usize::from((low..=high).contains(ratio));
        }
    }
    let mut known_ratios: Vec<f64> = known.iter().map(|(_, ratio)| *ratio).collect();
    known_ratios.sort_by(f64::total_cmp);
    let (low, high) = quantiles(&known_ratios)?;
    (checked >= LEAST_CHECKED).then_some(Band {
        low,
        high,
        origins: known_ratios.len(),
        checked,
        inside,
    })
}

/// The ratios that a further one is between with the wanted probability, if it is like the
/// others: those of rank `⌊(n+1)·α/2⌋` and `⌈(n+1)·(1−α/2)⌉`.
fn quantiles(sorted: &[f64]) -> Option<(f64, f64)> {
    if sorted.len() < LEAST_ORIGINS {
        return None;
    }
    let number = sorted.len() as f64 + 1.0;
    let outside = (1.0 - COVERAGE) / 2.0;
    // Nine decimals: 21 × 0.1 is a little more than 2.1, and 20 × 0.9 less than 18.
    let tidy = |rank: f64| (rank * 1e9).round() / 1e9;
    let low = (tidy(number * outside).floor() as usize).max(1);
    let high = (tidy(number * (1.0 - outside)).ceil() as usize).min(sorted.len());
    Some((*sorted.get(low - 1)?, *sorted.get(high - 1)?))
}
