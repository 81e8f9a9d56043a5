//! How many items a second a server does by the size of its batches.

use super::NoResult;

/// Points that a curve may have.
const MOST_POINTS: usize = 100;
/// Items that a batch may have.
const MOST_ITEMS: u32 = 1_000_000;
/// Items a second that can be meant.
const MOST_PER_SECOND: f64 = 1e9;
/// What to do where points are no curve.
const MEASURE: &str =
    "measure batches of several sizes, and pass them as in `--curve 1:35,8:210,32:520`";

/// Throughput at one size of batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    pub batch: u32,
    pub items_per_second: f64,
}

/// Throughput by batch, measured or computed. It never falls.
#[derive(Debug, Clone, PartialEq)]
pub struct ThroughputCurve(Vec<CurvePoint>);

impl ThroughputCurve {
    /// A curve of points in order of batch.
    ///
    /// # Errors
    /// With the point that is in the way.
    pub fn new(points: Vec<CurvePoint>) -> Result<Self, NoResult> {
        let number = points.len();
        refuse! {
            number < 2 => "a throughput curve needs at least two points, and has {number}"; "{MEASURE}";
            number > MOST_POINTS => "a throughput curve has at most 100 points, and this one {number}"; "{MEASURE}";
        }
        for &CurvePoint { batch, items_per_second } in &points {
            let is_meant = items_per_second > 0.0 && items_per_second <= MOST_PER_SECOND;
            refuse! {
                !(1..=MOST_ITEMS).contains(&batch) => "a batch of {batch} is not between 1 and 1,000,000"; "{MEASURE}";
                !is_meant => "the throughput at batch {batch} is not above 0 and at most 1,000,000,000 items per second"; "{MEASURE}";
            }
        }
        for pair in points.windows(2) {
            let CurvePoint { batch: before, items_per_second: high } = pair[0];
            let CurvePoint { batch, items_per_second: low } = pair[1];
            refuse! {
                batch <= before => "batch {batch} follows batch {before}: batches must ascend"; "sort the points by batch, each once";
                low < high => "throughput falls from {high} at batch {before} to {low} at batch {batch}"; "leave out what is beyond batch {before}";
            }
        }
        Ok(Self(points))
    }

    pub fn points(&self) -> &[CurvePoint] {
        &self.0
    }

    /// Seconds that a batch takes. Between two points, time grows evenly with the batch;
    /// below the first, a batch takes as long as the first; above the last, as many batches
    /// of the last follow each other.
    pub fn seconds(&self, batch: f64) -> f64 {
        let time = |point: &CurvePoint| f64::from(point.batch) / point.items_per_second;
        let above = self.0.partition_point(|point| f64::from(point.batch) < batch);
        match (above.checked_sub(1).map(|below| &self.0[below]), self.0.get(above)) {
            (None, Some(first)) => time(first),
            (Some(below), Some(above)) => {
                let (from, to) = (f64::from(below.batch), f64::from(above.batch));
                let part = (batch - from) / (to - from);
                time(below) + part * (time(above) - time(below))
            }
            (Some(last), None) => batch / last.items_per_second,
            (None, None) => 0.0,
        }
    }

    /// Items a second in batches of a size.
    pub fn items_per_second(&self, batch: f64) -> f64 {
        batch / self.seconds(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u32, f64)]) -> Result<ThroughputCurve, NoResult> {
        let points =
            points.iter().map(|&(batch, items_per_second)| CurvePoint { batch, items_per_second });
        ThroughputCurve::new(points.collect())
    }

    /// 8 / 210 = 38.095 ms and 32 / 520 = 61.538 ms; halfway, 20 items, 49.817 ms.
    #[test]
    fn time_grows_evenly_between_points() {
        let curve = curve(&[(1, 35.0), (8, 210.0), (32, 520.0)]).expect("it rises");
        for (batch, milliseconds) in [
            (1.0, 28.571),
            (0.5, 28.571),
            (8.0, 38.095),
            (20.0, 49.817),
            (32.0, 61.538),
            (64.0, 123.077),
        ] {
            let computed = curve.seconds(batch) * 1e3;
            assert!((computed - milliseconds).abs() < 0.001, "{batch}: {computed}");
        }
        assert!((curve.items_per_second(32.0) - 520.0).abs() < 1e-9);
    }

    #[test]
    fn throughput_rises_everywhere() {
        let curve = curve(&[(2, 40.0), (4, 40.0), (16, 100.0), (17, 400.0)]).expect("it rises");
        let mut before = 0.0;
        for step in 1..=400 {
            let throughput = curve.items_per_second(f64::from(step) / 20.0);
            assert!(throughput >= before - 1e-9, "{step}");
            before = throughput;
        }
    }

    #[test]
    fn what_is_no_curve_is_refused_with_its_point() {
        let refused = |points: &[(u32, f64)]| curve(points).expect_err("no curve").to_string();
        assert_eq!(
            refused(&[(1, 35.0), (8, 210.0), (32, 180.5)]),
            "throughput falls from 210 at batch 8 to 180.5 at batch 32"
        );
        assert_eq!(
            refused(&[(8, 35.0), (8, 36.0)]),
            "batch 8 follows batch 8: batches must ascend"
        );
        assert_eq!(
            refused(&[(1, 35.0)]),
            "a throughput curve needs at least two points, and has 1"
        );
        assert!(refused(&[]).contains("has 0"));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(&[(1, bad), (2, 5.0)]).contains("at batch 1"), "{bad}");
        }
        assert!(refused(&[(0, 1.0), (2, 5.0)]).starts_with("a batch of 0"));
        let many: Vec<(u32, f64)> = (1..=101).map(|batch| (batch, 1.0)).collect();
        assert!(refused(&many).contains("101"));
    }
}
