//! Sums that are the same in any order.

/// How many values there were, and their sum in whole units: what was measured at different
/// times adds up to what was measured in one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WholeSum {
    pub(super) count: u64,
    pub(super) sum: u64,
}

impl WholeSum {
    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// Arithmetic mean; `None` of nothing.
    pub(super) fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Of values from zero, each rounded to a whole one.
impl FromIterator<f64> for WholeSum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        values.into_iter().fold(Self::default(), |sum, value| Self {
            count: sum.count + 1,
            sum: sum.sum.saturating_add(value.round() as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole_in_any_order() {
        // As doubles, 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1.
        let of = |values: &[f64]| values.iter().map(|watts| watts * 1_000.0).collect();
        let whole: WholeSum = of(&[0.1, 0.2, 0.3]);
        let [mut first, second]: [WholeSum; 2] = [of(&[0.3, 0.2]), of(&[0.1])];
        first.merge(&second);
        assert_eq!(first, whole);
        assert_eq!(whole, WholeSum { count: 3, sum: 600 });
        assert_eq!(whole.mean(), Some(200.0));
        assert_eq!(WholeSum::default().mean(), None);
    }

    #[test]
    fn what_is_larger_than_the_largest_is_the_largest() {
        let mut largest: WholeSum = [f64::from(f32::MAX), 1.0].into_iter().collect();
        assert_eq!(largest.sum, u64::MAX);
        let same = largest;
        largest.merge(&same);
        assert_eq!((largest.count, largest.sum), (4, u64::MAX));
    }
}
