//! Means and percentiles over values that are all valid.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
