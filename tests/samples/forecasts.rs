//! The forecast of a day's level on the GPU hours that real applications used.

use crate::support::data::shared;
use gpucost::trend::{Chooser, DailySeries, Origin, band, origins};
use jiff::civil::date;
use std::collections::BTreeMap;

/// GPU hours a day of each application over 30 days, by name.
fn applications() -> Option<BTreeMap<String, Vec<f64>>> {
    let path = shared("forecasts of GPU hours", "samples/daily-gpu-hours/series.csv")?;
    let mut series: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut rows = csv::Reader::from_path(path).expect("the sample opens");
    for row in rows.records() {
        let row = row.expect("a whole row");
        let days = series.entry(row[0].to_owned()).or_default();
        assert_eq!(row[1].parse::<usize>().ok(), Some(days.len()), "in order");
        days.push(row[2].parse().expect("a number"));
    }
    Some(series)
}

fn chooser(days: &[f64]) -> Chooser {
    let known = days.iter().copied().map(Some).collect();
    Chooser::new(DailySeries::new(date(2025, 7, 1), known))
}

/// The error in percent of a way over so many days, at the origins 15, 17 and so on, and
/// how many these are: straight from its definition.
fn counted_error(
    series: &BTreeMap<String, Vec<f64>>,
    days: usize,
    way: impl Fn(&[f64]) -> f64,
) -> (f64, usize) {
    let (mut errors, mut sum, mut number) = (0.0, 0.0, 0);
    for values in series.values() {
        for origin in (15..=values.len() - days).step_by(2) {
            let actual: f64 = values[origin..origin + days].iter().sum();
            errors += (way(&values[..origin]) * days as f64 - actual).abs();
            sum += actual;
            number += 1;
        }
    }
    (100.0 * errors / sum, number)
}

#[test]
fn the_forecast_is_no_worse_than_the_last_day_repeated() {
    let Some(series) = applications() else { return };
    let total: f64 = series["dlrm/ALL"].iter().sum();
    assert!((total - 2_296_984.19).abs() < 0.01, "{total}");
    for (days, published_last, published_mean, number) in
        [(7, 2.66, 3.88, 380), (14, 3.72, 5.26, 76)]
    {
        let last = counted_error(&series, days, |past| past[past.len() - 1]);
        let mean =
            counted_error(&series, days, |past| past[past.len() - 7..].iter().sum::<f64>() / 7.0);
        assert!((last.0 - published_last).abs() < 0.005, "{last:?}");
        assert!((mean.0 - published_mean).abs() < 0.005, "{mean:?}");
        assert_eq!((last.1, mean.1), (number, number));
        let own: Vec<_> = series
            .values()
            .flat_map(|values| origins(&[&chooser(values)], days))
            .filter(|origin| origin.at >= 15 && (origin.at - 15) % 2 == 0)
            .collect();
        assert_eq!(own.len(), number);
        let own = error_percent(&own);
        assert!(own <= last.0 + 1e-9, "{own} instead of {}", last.0);
    }
}

/// The errors of the forecasts, summed, over what came, in percent.
fn error_percent(origins: &[Origin]) -> f64 {
    let actual: f64 = origins.iter().map(|origin| origin.actual).sum();
    let errors = origins.iter();
    let errors: f64 = errors.map(|origin| (origin.forecast - origin.actual).abs()).sum();
    100.0 * errors / actual
}

/// Bands of the past that held, and all of them, of series that have a band at the end:
/// counted by another program.
const HELD: [(usize, usize, usize); 3] = [(1, 543, 620), (2, 415, 482), (3, 283, 340)];

#[test]
fn bands_hold_at_least_as_often_as_they_say() {
    let Some(series) = applications() else { return };
    for (days, expected_inside, expected_checked) in HELD {
        let (mut inside, mut checked) = (0, 0);
        for values in series.values() {
            let past = origins(&[&chooser(values)], days);
            if let Some(outcome) = band(&past, days, values.len()) {
                inside += outcome.inside;
                checked += outcome.checked;
            }
        }
        assert_eq!((inside, checked), (expected_inside, expected_checked), "{days}");
        // 80% is what a band shall hold.
        assert!(inside * 10 >= checked * 8, "{inside} of {checked}");
    }
}
