//! Count, mean and range of a metric, in memory that does not grow.

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
