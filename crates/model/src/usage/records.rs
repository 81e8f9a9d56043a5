//! Records of one series: parts of it that a source or a file delivers one by one.

use super::{Points, Series};
use crate::domain::{Rejected, SeriesSource};

/// The records of one series as one: those of the best source, on their finest grid. Beside
/// it those of the same source on other grids, and the other sources that measured the
/// same.
pub(super) fn joined(records: Vec<Series>) -> (Option<Series>, Vec<Series>, Vec<SeriesSource>) {
    let rank = |series: &Series| (series.points.is_empty(), series.source);
    let Some(best) = records.iter().map(rank).min() else {
        return (None, Vec::new(), Vec::new());
    };
    let (own, others): (Vec<Series>, Vec<Series>) =
        records.into_iter().partition(|record| rank(record) == best);
    let outranked = others.iter().filter(|record| !record.points.is_empty());
    let outranked = outranked.map(|record| record.source).collect();
    let grid = |series: &Series| (series.points.period_seconds(), series.points.start());
    let finest = own.iter().map(grid).min();
    let (own, other_grids): (Vec<Series>, Vec<Series>) =
        own.into_iter().partition(|record| Some(grid(record)) == finest);
    (on_one_grid(own), other_grids, outranked)
}

/// Records on one grid as one.
fn on_one_grid(records: Vec<Series>) -> Option<Series> {
    if records.len() < 2 {
        return records.into_iter().next();
    }
    let first = records.first()?;
    let points: Vec<&Points> = records.iter().map(|record| &record.points).collect();
    let (points, repeated) = Points::joined(&points, first.statistic)?;
    let rejected = records.iter().map(|record| record.rejected);
    let rejected = rejected.fold(Rejected::default(), Rejected::plus);
    Some(Series {
        joined_by: records.iter().map(|record| record.joined_by).max()?,
        rejected: Rejected { duplicate: rejected.duplicate + repeated, ..rejected },
        points,
        ..first.clone()
    })
}
