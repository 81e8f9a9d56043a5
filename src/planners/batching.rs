//! Dynamic batching: an idle server starts a batch when it is full, or when its first request
//! has waited long enough. While a server works, requests collect for its next batch, so
//! batches grow with the load up to their limit. How many items a second a server does depends on the
//! size of its batches.

use crate::domain::{HourlyRate, Money};
use crate::planners::NoResult;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// Servers that are tried.
const MOST_SERVERS: u32 = 100_000;
const SECONDS_OF_HOUR: u32 = 3_600;
/// Steps of a bisection, to the last digit.
const HALVINGS: u32 = 60;

#[derive(Debug, Clone, PartialEq)]
pub struct BatchingRequest {
    /// Of one server.
    pub curve: ThroughputCurve,
    /// Requests of all servers, above zero.
    pub requests_per_second: f64,
    /// How long a request waits at most for others, in seconds.
    pub max_wait_seconds: f64,
    /// Share of the largest throughput that a server may have to do, above 0 and at most 1.
    pub target: f64,
    /// Longest time that a request may take.
    pub objective_seconds: Option<f64>,
    pub machine: Machine,
    pub hours_per_month: Decimal,
}

/// What the servers run on.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Absent where only servers are counted.
    pub instance_type: Option<String>,
    /// Servers on each, at least one.
    pub servers: u32,
    pub rate: Option<HourlyRate>,
}

/// What a limit on the batch leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchChoice {
    /// The most requests of a batch.
    pub limit: u32,
    pub servers: u32,
    /// Requests of a batch at the even rate of each server.
    pub batch: f64,
    /// From the first request of a batch until it starts.
    pub wait_seconds: f64,
    pub service_seconds: f64,
    /// Share of the throughput at the limit that a server has to do.
    pub load: f64,
    pub machines: u32,
}

impl BatchChoice {
    /// Of a request: on average, it waits half as long as the first.
    pub fn mean_seconds(&self) -> f64 {
        self.wait_seconds / 2.0 + self.service_seconds
    }

    pub fn longest_seconds(&self) -> f64 {
        self.wait_seconds + self.service_seconds
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Batching {
    pub request: BatchingRequest,
    /// By limit, ascending; without those that would take too many servers.
    pub choices: Vec<BatchChoice>,
    /// Place of the choice with the fewest machines, then the fewest servers, then the
    /// shortest time, then the lowest load, of those that hold the objective.
    pub best: usize,
}

impl Batching {
    pub fn monthly(&self, choice: &BatchChoice) -> Option<Money> {
        let rate = self.request.machine.rate?;
        let hours = self.request.hours_per_month * Decimal::from(choice.machines);
        Some(rate.times_hours(hours).rounded())
    }

    /// Of a million requests.
    pub fn per_million(&self, choice: &BatchChoice) -> Option<Money> {
        let rate = self.request.machine.rate?;
        let an_hour = Decimal::try_from(self.request.requests_per_second).ok()?;
        let millions =
            an_hour.checked_mul(Decimal::from(SECONDS_OF_HOUR))? / Decimal::from(1_000_000);
        let cost = rate.amount() * Decimal::from(choice.machines);
        let cost = cost.checked_div(millions)?;
        Some(Money::new(cost.round_dp(4), rate.currency()))
    }
}

/// What each limit on the batch leads to, and the cheapest that holds the objective.
///
/// # Errors
/// When no number of servers or no limit does.
pub fn batching(request: BatchingRequest) -> Result<Batching, NoResult> {
    let choices: Vec<BatchChoice> =
        limits(&request.curve).into_iter().filter_map(|limit| choice(&request, limit)).collect();
    let objective = request.objective_seconds.unwrap_or(f64::INFINITY);
    let holding = choices.iter().enumerate();
    let holding = holding.filter(|(_, choice)| choice.longest_seconds() <= objective);
    let best = holding.min_by(|(_, left), (_, right)| {
        // Times so coarse that equal ones are equal however they were computed; a cast cuts at
        // the largest number.
        let microseconds = |choice: &BatchChoice| (choice.longest_seconds() * 1e6).round() as u64;
        let size = |choice: &BatchChoice| (choice.machines, choice.servers, microseconds(choice));
        // A batch that may grow takes bursts at the same cost.
        let by_load = || left.load.total_cmp(&right.load);
        size(left).cmp(&size(right)).then_with(by_load)
    });
    let Some((best, _)) = best else { return Err(missed(&choices, objective)) };
    Ok(Batching { request, choices, best })
}

fn missed(choices: &[BatchChoice], objective_seconds: f64) -> NoResult {
    let times = choices.iter().map(|choice| (choice.longest_seconds(), choice.limit));
    let Some((shortest, limit)) = times.min_by(|left, right| left.0.total_cmp(&right.0)) else {
        return no_result! { "more than 100,000 servers would be needed"; "pass a lower `--rate`" };
    };
    let [objective, shortest] = [objective_seconds, shortest].map(|seconds| seconds * 1e3);
    no_result! {
        "no batch answers within {objective:.1} ms: the shortest is {shortest:.1} ms, at batch {limit}";
        "pass a shorter `--max-wait`, or `--objective {:.0}ms`", shortest.ceil()
    }
}

/// One, the batches of the curve, and the powers of two below its end.
fn limits(curve: &ThroughputCurve) -> BTreeSet<u32> {
    let most = curve.points().last().map_or(1, |point| point.batch);
    let powers = (0..u32::BITS).map(|power| 1 << power);
    let points = curve.points().iter().map(|point| point.batch);
    powers.take_while(|power| *power <= most).chain(points).collect()
}

/// The fewest servers that a limit allows; absent when there are too many.
fn choice(request: &BatchingRequest, limit: u32) -> Option<BatchChoice> {
    let largest = request.curve.items_per_second(f64::from(limit));
    let servers = (request.requests_per_second / (request.target * largest)).ceil();
    if servers > f64::from(MOST_SERVERS) {
        return None;
    }
    let rate = request.requests_per_second / servers.max(1.0);
    let servers = servers.max(1.0) as u32;
    let (batch, wait_seconds) = batch_and_wait(request, limit, rate);
    Some(BatchChoice {
        limit,
        servers,
        batch,
        wait_seconds,
        service_seconds: request.curve.seconds(batch),
        load: rate / largest,
        machines: servers.div_ceil(request.machine.servers),
    })
}

/// The batches of a server with so many requests a second, fewer than it does at the limit,
/// and how long the first of a batch waits.
fn batch_and_wait(request: &BatchingRequest, limit: u32, rate: f64) -> (f64, f64) {
    let most = f64::from(limit);
    let collected = (rate * request.max_wait_seconds).clamp(1.0, most);
    if request.curve.items_per_second(collected) >= rate {
        let filled = request.max_wait_seconds.min(most / rate);
        return (collected, if limit == 1 { 0.0 } else { filled });
    }
    // The server never rests: as many arrive during a batch as it has.
    let (mut few, mut enough) = (collected, most);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(few, enough);
        if request.curve.items_per_second(middle) >= rate {
            enough = middle;
        } else {
            few = middle;
        }
    }
    (enough, request.curve.seconds(enough))
}

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

#[cfg(test)]
#[path = "batching_tests.rs"]
mod tests;
