//! How many items a second a server does by the size of its batches.

/// Points that a curve may have.
const MOST_POINTS: usize = 100;
/// Items that a batch may have.
const MOST_ITEMS: u32 = 1_000_000;
/// Items a second that can be meant.
const MOST_PER_SECOND: f64 = 1e9;

/// Throughput at one size of batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    pub batch: u32,
    pub items_per_second: f64,
}

/// Throughput by batch, measured or computed. It never falls.
#[derive(Debug, Clone, PartialEq)]
pub struct ThroughputCurve(Vec<CurvePoint>);

/// Why points are no curve.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CurveError {
    #[error("a throughput curve needs at least two points, and has {0}")]
    Few(usize),
    #[error("a throughput curve has at most 100 points, and this one {0}")]
    Many(usize),
    #[error("a batch of {0} is not between 1 and 1,000,000")]
    Batch(u32),
    #[error(
        "the throughput at batch {batch} is not above 0 and at most 1,000,000,000 items per second"
    )]
    Throughput { batch: u32, items_per_second: f64 },
    #[error("batch {batch} follows batch {before}: batches must ascend")]
    Order { batch: u32, before: u32 },
    #[error(
        "throughput falls from {} at batch {} to {} at batch {}",
        before.items_per_second, before.batch, point.items_per_second, point.batch
    )]
    Falls { point: CurvePoint, before: CurvePoint },
}

impl ThroughputCurve {
    /// A curve of points in order of batch.
    ///
    /// # Errors
    /// [`CurveError`] with the point that is in the way.
    pub fn new(points: Vec<CurvePoint>) -> Result<Self, CurveError> {
        match points.len() {
            few @ (0 | 1) => return Err(CurveError::Few(few)),
            many if many > MOST_POINTS => return Err(CurveError::Many(many)),
            _ => {}
        }
        for point in &points {
            let (batch, items_per_second) = (point.batch, point.items_per_second);
            if !(1..=MOST_ITEMS).contains(&batch) {
                return Err(CurveError::Batch(batch));
            }
            if !(items_per_second > 0.0 && items_per_second <= MOST_PER_SECOND) {
                return Err(CurveError::Throughput { batch, items_per_second });
            }
        }
        for pair in points.windows(2) {
            let (before, point) = (pair[0], pair[1]);
            if point.batch <= before.batch {
                let (batch, before) = (point.batch, before.batch);
                return Err(CurveError::Order { batch, before });
            }
            if point.items_per_second < before.items_per_second {
                return Err(CurveError::Falls { point, before });
            }
        }
        Ok(Self(points))
    }

    pub fn points(&self) -> &[CurvePoint] {
        &self.0
    }

    pub fn largest_batch(&self) -> u32 {
        self.0.last().map_or(1, |point| point.batch)
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

    fn curve(points: &[(u32, f64)]) -> Result<ThroughputCurve, CurveError> {
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
