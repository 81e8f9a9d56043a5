//! Figures of one metric over a run of any length, in memory that does not grow.

use hdrhistogram::Histogram;

/// Steps of a percentage that a [`Sketch`] distinguishes, in a point. A power of
/// two, so that whole percentages fall on a step.
const STEPS_PER_POINT: f64 = 16.0;
/// Significant digits of every histogram: 2 048 steps of the same width, then
/// twice as wide ones.
const SIGNIFICANT_DIGITS: u8 = 3;

/// What a metric counts, and so how finely its percentiles are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// 0–100. Percentiles are exact for multiples of 1/16 of a point, so for
    /// whole percentages, and off by at most [`Scale::PERCENT_ERROR`] else.
    Percent,
    /// Whole MiB. Percentiles are exact below 2 048 MiB, and off by at most one
    /// part in 2 048 of the value above.
    Mebibytes,
}

impl Scale {
    /// Most that a percentile of percentages is off, in points.
    pub const PERCENT_ERROR: f64 = 0.5 / STEPS_PER_POINT;
    /// Most that a percentile of MiB from 2 048 on is off, as a share of it.
    pub const MEBIBYTES_RELATIVE_ERROR: f64 = 1.0 / 2048.0;

    fn steps_per_unit(self) -> f64 {
        match self {
            Self::Percent => STEPS_PER_POINT,
            Self::Mebibytes => 1.0,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Self::Percent => (0.0..=100.0).contains(&value),
            Self::Mebibytes => value.is_finite() && value >= 0.0,
        }
    }
}

/// Count, mean and range of what was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// How many values.
    pub n_samples: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// The same with percentiles: linear interpolation between order statistics
/// (numpy's `linear`), within the error of the [`Scale`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// How many values.
    pub n_samples: u64,
    /// Arithmetic mean; exact.
    pub mean: f64,
    /// Smallest value; exact.
    pub min: f64,
    /// Largest value; exact.
    pub max: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// A sum whose error does not grow with the number of its terms (Neumaier 1974).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds a term.
    pub fn add(&mut self, term: f64) {
        let total = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - total) + term
        } else {
            (term - total) + self.total
        };
        self.total = total;
    }

    /// The sum so far.
    pub fn value(self) -> f64 {
        self.total + self.lost
    }
}

/// Streaming count, mean and range of finite values; others are passed over.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    count: u64,
    sum: Sum,
    min: f64,
    max: f64,
}

impl Tally {
    /// Adds a value, when there is one.
    pub fn add(&mut self, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            return;
        };
        (self.min, self.max) = if self.count == 0 {
            (value, value)
        } else {
            (self.min.min(value), self.max.max(value))
        };
        self.count += 1;
        self.sum.add(value);
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Arithmetic mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.value() / self.count as f64)
    }

    /// Count, mean and range; `None` of nothing.
    pub fn range(&self) -> Option<Range> {
        Some(Range {
            n_samples: self.count,
            mean: self.mean()?,
            min: self.min,
            max: self.max,
        })
    }
}

/// Streaming figures with percentiles. Holds at most some ten thousand counters,
/// however many values come.
#[derive(Debug, Clone)]
pub struct Sketch {
    scale: Scale,
    tally: Tally,
    steps: Histogram<u32>,
}

impl Sketch {
    /// An empty one.
    pub fn new(scale: Scale) -> Self {
        let mut steps = match scale {
            Scale::Percent => {
                Histogram::new_with_max((100.0 * STEPS_PER_POINT) as u64, SIGNIFICANT_DIGITS)
            }
            Scale::Mebibytes => Histogram::new(SIGNIFICANT_DIGITS),
        }
        .expect("three digits of a positive range are a valid histogram");
        steps.auto(scale == Scale::Mebibytes);
        Self {
            scale,
            tally: Tally::default(),
            steps,
        }
    }

    /// Adds a value, when there is one. What the scale does not hold is passed
    /// over: a percentage below 0 or above 100, and what is no number.
    pub fn add(&mut self, value: Option<f64>) {
        let Some(value) = value.filter(|value| self.scale.holds(*value)) else {
            return;
        };
        let step = (value * self.scale.steps_per_unit()).round() as u64;
        if self.steps.record(step).is_ok() {
            self.tally.add(Some(value));
        }
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        self.tally.count()
    }

    /// Arithmetic mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        self.tally.mean()
    }

    /// Largest value; `None` of nothing.
    pub fn max(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.tally.max)
    }

    /// All figures; `None` of nothing.
    pub fn figures(&self) -> Option<Figures> {
        let range = self.tally.range()?;
        Some(Figures {
            n_samples: range.n_samples,
            mean: range.mean,
            min: range.min,
            max: range.max,
            p50: self.quantile(0.50)?,
            p95: self.quantile(0.95)?,
            p99: self.quantile(0.99)?,
        })
    }

    /// The `q`-quantile (0–1) by linear interpolation between order statistics;
    /// `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let last = self.count().checked_sub(1)?;
        let position = q.clamp(0.0, 1.0) * last as f64;
        let below = position.floor() as u64;
        let (lower, upper) = self.ranked(below, (below + 1).min(last));
        Some(lower + (upper - lower) * (position - below as f64))
    }

    /// The values at two ranks from 0 in ascending order.
    fn ranked(&self, lower: u64, upper: u64) -> (f64, f64) {
        let mut seen = 0;
        let mut found = None;
        for step in self.steps.iter_recorded() {
            seen += u64::from(step.count_at_value());
            let value = || self.value_of(step.value_iterated_to());
            if found.is_none() && seen > lower {
                found = Some(value());
            }
            if let (Some(lower), true) = (found, seen > upper) {
                return (lower, value());
            }
        }
        (found.unwrap_or(self.tally.max), self.tally.max)
    }

    /// The middle of the step that a raw value falls into, within what was seen.
    fn value_of(&self, raw: u64) -> f64 {
        let lowest = self.steps.lowest_equivalent(raw) as f64;
        let highest = self.steps.highest_equivalent(raw) as f64;
        let middle = f64::midpoint(lowest, highest) / self.scale.steps_per_unit();
        middle.clamp(self.tally.min, self.tally.max)
    }

    /// Bytes that its counters take.
    pub fn size_bytes(&self) -> usize {
        size_of::<Self>() + self.steps.distinct_values() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::quantile;
    use proptest::prelude::*;

    fn sketch(scale: Scale, values: &[f64]) -> Sketch {
        let mut sketch = Sketch::new(scale);
        for value in values {
            sketch.add(Some(*value));
        }
        sketch
    }

    #[test]
    fn whole_percentages_have_the_percentiles_of_numpy() {
        // numpy.percentile([15, 20, 35, 40, 50], [50, 95, 99]) = 35, 48, 49.6
        let figures = sketch(Scale::Percent, &[50.0, 15.0, 40.0, 20.0, 35.0]).figures();
        let figures = figures.expect("five values");
        assert_eq!((figures.n_samples, figures.mean), (5, 32.0));
        assert_eq!((figures.min, figures.max), (15.0, 50.0));
        assert_eq!(figures.p50, 35.0);
        assert!((figures.p95 - 48.0).abs() < 1e-9);
        assert!((figures.p99 - 49.6).abs() < 1e-9);
    }

    #[test]
    fn what_never_changes_is_told_exactly_at_any_size() {
        let figures = sketch(Scale::Mebibytes, &[143_771.0; 9]).figures();
        let figures = figures.expect("nine values");
        assert_eq!((figures.p50, figures.p99), (143_771.0, 143_771.0));
    }

    #[test]
    fn what_is_no_percentage_is_passed_over_and_nothing_has_no_figures() {
        let values = [f64::NAN, -1.0, 100.5, f64::INFINITY];
        assert_eq!(sketch(Scale::Percent, &values).figures(), None);
        assert_eq!(sketch(Scale::Mebibytes, &[f64::INFINITY]).figures(), None);
        let mut tally = Tally::default();
        tally.add(None);
        tally.add(Some(f64::NAN));
        assert_eq!(tally.range(), None);
    }

    #[test]
    fn a_sum_of_many_terms_keeps_its_small_ones() {
        let mut sum = Sum::default();
        for term in [1.0, 1e100, 1.0, -1e100] {
            sum.add(term);
        }
        assert_eq!(sum.value(), 2.0);
    }

    #[test]
    fn a_sketch_stays_small() {
        let mut vram = Sketch::new(Scale::Mebibytes);
        let mut percent = Sketch::new(Scale::Percent);
        for step in 0..300_000 {
            vram.add(Some(f64::from(step)));
            percent.add(Some(f64::from(step % 1601) / 16.0));
        }
        // 2 × 1 024 and 9 × 1 024 counters of four bytes, and the struct.
        assert!(percent.size_bytes() < 9_000, "{}", percent.size_bytes());
        assert!(vram.size_bytes() < 42_000, "{}", vram.size_bytes());
    }

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_by(f64::total_cmp);
        values
    }

    proptest! {
        #[test]
        fn whole_percentages_are_exact(
            values in prop::collection::vec(0_u8..=100, 1..300), q in 0.0..=1.0_f64,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let found = sketch(Scale::Percent, &values).quantile(q).expect("some");
            let exact = quantile(&sorted(values), q).expect("some");
            prop_assert!((found - exact).abs() < 1e-9, "{found} {exact}");
        }

        #[test]
        fn any_percentage_is_within_its_bound(
            values in prop::collection::vec(0.0..=100.0_f64, 1..300), q in 0.0..=1.0_f64,
        ) {
            let found = sketch(Scale::Percent, &values).quantile(q).expect("some");
            let exact = quantile(&sorted(values), q).expect("some");
            prop_assert!((found - exact).abs() <= Scale::PERCENT_ERROR + 1e-9, "{found} {exact}");
        }

        #[test]
        fn mebibytes_are_within_their_bound(
            values in prop::collection::vec(0_u32..300_000, 1..300), q in 0.0..=1.0_f64,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let largest = values.iter().copied().fold(0.0, f64::max);
            let found = sketch(Scale::Mebibytes, &values).quantile(q).expect("some");
            let exact = quantile(&sorted(values), q).expect("some");
            let bound = if largest < 2048.0 { 1e-9 } else { largest * Scale::MEBIBYTES_RELATIVE_ERROR };
            prop_assert!((found - exact).abs() <= bound, "{found} {exact}");
        }
    }
}
