//! Means and percentiles of values, and figures of one metric over a run of any length, in memory
//! that does not grow.

use super::histogram::{Scale, quantiles};
use crate::domain::Distribution;

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `q`-quantile (0–1) of ascending values by linear interpolation between
/// order statistics: numpy's `linear`, type 7 of Hyndman and Fan (1996).
/// `None` of nothing.
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let weight = position - below as f64;
    Some(ascending[below] + (ascending[above] - ascending[below]) * weight)
}

/// Figures of values in any order; `None` of nothing.
pub fn distribution(mut values: Vec<f64>) -> Option<Distribution> {
    values.sort_unstable_by(f64::total_cmp);
    Some(Distribution {
        mean: mean(&values)?,
        p50: quantile(&values, 0.50)?,
        p95: quantile(&values, 0.95)?,
        p99: quantile(&values, 0.99)?,
        max: *values.last()?,
    })
}

/// Count, mean, range and percentiles: linear interpolation between order statistics
/// (numpy's `linear`), within the error of the [`super::Scale`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    pub n_samples: u64,
    /// Arithmetic mean; exact.
    pub mean: f64,
    /// Smallest value; exact.
    pub min: f64,
    /// Largest value; exact.
    pub max: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Streaming figures with percentiles. Holds a counter for each step of its [`Scale`]
/// that any value fell into, however many values come.
#[derive(Debug, Clone)]
pub struct Sketch {
    scale: Scale,
    tally: Tally,
    /// Ascending.
    steps: Vec<(u16, u32)>,
}

impl Sketch {
    /// An empty one.
    pub fn new(scale: Scale) -> Self {
        Self { scale, tally: Tally::default(), steps: Vec::new() }
    }

    /// Adds a value, when there is one. What the scale does not hold is passed
    /// over: a percentage below 0 or above 100, and what is not a number.
    pub fn add(&mut self, value: Option<f64>) {
        let Some(value) = value.filter(|value| self.scale.holds(*value)) else { return };
        let step = self.scale.bin(value);
        match self.steps.binary_search_by_key(&step, |(known, _)| *known) {
            Ok(place) => self.steps[place].1 = self.steps[place].1.saturating_add(1),
            Err(place) => self.steps.insert(place, (step, 1)),
        }
        self.tally.add(Some(value));
    }

    pub fn count(&self) -> u64 {
        self.tally.count()
    }

    /// Arithmetic mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        self.tally.mean()
    }

    /// Largest value; `None` of nothing.
    pub fn max(&self) -> Option<f64> {
        self.tally.range().map(|range| range.max)
    }

    /// All figures; `None` of nothing.
    pub fn figures(&self) -> Option<Figures> {
        let range = self.tally.range()?;
        let [p50, p95, p99] = self.quantiles([0.50, 0.95, 0.99])?;
        Some(Figures {
            n_samples: range.n_samples,
            mean: range.mean,
            min: range.min,
            max: range.max,
            p50,
            p95,
            p99,
        })
    }

    /// The `q`-quantile (0–1) by linear interpolation between order statistics;
    /// `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// The middle of the step of each rank, within what was seen.
    fn quantiles<const N: usize>(&self, asked: [f64; N]) -> Option<[f64; N]> {
        let range = self.tally.range()?;
        let value = |bin| self.scale.value(bin).clamp(range.min, range.max);
        quantiles(self.steps.iter().copied(), value, asked)
    }

    pub fn size_bytes(&self) -> usize {
        size_of::<Self>() + self.steps.capacity() * size_of::<(u16, u32)>()
    }
}

/// Count, mean and range of what was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub n_samples: u64,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// A sum whose error does not grow with the number of its terms (Neumaier 1974).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
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
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        (self.min, self.max) = if self.count == 0 {
            (value, value)
        } else {
            (self.min.min(value), self.max.max(value))
        };
        self.count += 1;
        self.sum.add(value);
    }

    pub fn merge(&mut self, other: Self) {
        if other.count == 0 {
            return;
        }
        (self.min, self.max) = if self.count == 0 {
            (other.min, other.max)
        } else {
            (self.min.min(other.min), self.max.max(other.max))
        };
        self.count += other.count;
        self.sum.add(other.sum.value());
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Arithmetic mean; `None` of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.value() / self.count as f64)
    }

    /// Count, mean and range; `None` of nothing.
    pub fn range(&self) -> Option<Range> {
        Some(Range { n_samples: self.count, mean: self.mean()?, min: self.min, max: self.max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::quantile;
    use proptest::prelude::*;

    #[test]
    fn quantiles_match_numpy_linear() {
        // numpy.percentile([15, 20, 35, 40, 50], [40, 95, 99]) = 29, 48, 49.6
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        let close = |q: f64, expected: f64| {
            let value = quantile(&values, q).expect("not empty");
            assert!((value - expected).abs() < 1e-9, "{q}: {value} != {expected}");
        };
        close(0.40, 29.0);
        close(0.95, 48.0);
        close(0.99, 49.6);
        close(0.0, 15.0);
        close(1.0, 50.0);
    }

    #[test]
    fn nothing_has_no_figures() {
        assert_eq!(distribution(Vec::new()), None);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn one_value_is_every_quantile() {
        let single = distribution(vec![7.0]).expect("not empty");
        assert_eq!((single.mean, single.p50, single.p95, single.max), (7.0, 7.0, 7.0, 7.0));
    }

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
    }

    #[test]
    fn a_sketch_stays_small() {
        let mut vram = Sketch::new(Scale::Mebibytes);
        let mut percent = Sketch::new(Scale::Percent);
        let mut whole = Sketch::new(Scale::Percent);
        for step in 0..300_000 {
            vram.add(Some(f64::from(step)));
            percent.add(Some(f64::from(step % 10_001) / 100.0));
            whole.add(Some(f64::from(step % 101)));
        }
        // Eight bytes for each of at most 16,384 steps, and the struct.
        let most = 16_384 * 8 + 100;
        assert!(percent.size_bytes() < most, "{}", percent.size_bytes());
        assert!(vram.size_bytes() < most, "{}", vram.size_bytes());
        assert!(whole.size_bytes() < 128 * 8 + 100, "{}", whole.size_bytes());
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
            let estimate = sketch(Scale::Percent, &values).quantile(q).expect("some");
            let exact = quantile(&sorted(values), q).expect("some");
            prop_assert!((estimate - exact).abs() < 1e-9, "{estimate} {exact}");
        }

        #[test]
        fn any_percentage_is_within_its_bound(
            values in prop::collection::vec(0.0..=100.0_f64, 1..300), q in 0.0..=1.0_f64,
        ) {
            let estimate = sketch(Scale::Percent, &values).quantile(q).expect("some");
            let exact = quantile(&sorted(values), q).expect("some");
            prop_assert!((estimate - exact).abs() <= Scale::PERCENT_ERROR + 1e-9, "{estimate} {exact}");
        }

        #[test]
        fn mebibytes_are_within_their_bound(
            values in prop::collection::vec(0_u32..300_000, 1..300), q in 0.0..=1.0_f64,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let largest = values.iter().copied().fold(0.0, f64::max);
            let estimate = sketch(Scale::Mebibytes, &values).quantile(q).expect("some");
            let exact = quantile(&sorted(values), q).expect("some");
            let bound = if largest < 2048.0 { 1e-9 } else { largest * Scale::MEBIBYTES_RELATIVE_ERROR };
            prop_assert!((estimate - exact).abs() <= bound, "{estimate} {exact}");
        }
    }

    #[test]
    fn nothing_has_no_range() {
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
    fn two_tallies_are_that_of_both() {
        let of = |values: &[f64]| {
            let mut tally = Tally::default();
            values.iter().for_each(|value| tally.add(Some(*value)));
            tally
        };
        let mut both = of(&[3.0, 5.0]);
        both.merge(of(&[]));
        both.merge(of(&[1.0]));
        assert_eq!(both, of(&[3.0, 5.0, 1.0]));
        let mut none = of(&[]);
        none.merge(of(&[2.0]));
        assert_eq!(none, of(&[2.0]));
    }
}
