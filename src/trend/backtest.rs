//! What a forecast would have been on every past day, beside what came: how wide a band has
//! to be, and how often bands of the past held.

use super::series::Chooser;

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
