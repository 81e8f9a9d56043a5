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
        Some(Money::new(cost.checked_div(millions)?.round_dp(4), rate.currency()))
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
    use crate::domain::Currency;

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

    fn request(
        points: &[(u32, f64)],
        requests_per_second: f64,
        max_wait_seconds: f64,
    ) -> BatchingRequest {
        let points =
            points.iter().map(|&(batch, items_per_second)| CurvePoint { batch, items_per_second });
        BatchingRequest {
            curve: ThroughputCurve::new(points.collect()).expect("it rises"),
            requests_per_second,
            max_wait_seconds,
            target: 0.8,
            objective_seconds: None,
            machine: Machine {
                instance_type: Some("g5.xlarge".to_owned()),
                servers: 1,
                rate: HourlyRate::new(Decimal::new(1_006, 3), Currency::Usd),
            },
            hours_per_month: Decimal::from(730),
        }
    }

    const CURVE: [(u32, f64); 3] = [(1, 35.0), (8, 210.0), (32, 520.0)];

    /// By hand, 300 requests a second, 50 ms of waiting, 80% of the throughput at most.
    ///
    /// - One at a time: 300 / (0.8 × 35) = 10.7, so 11 servers; 28.57 ms.
    /// - Up to 8: 300 / (0.8 × 210) = 1.8, so 2 servers with 150 a second each. In 50 ms 7.5
    ///   arrive. They take 28.571 + 6.5 / 7 × (38.095 − 28.571) = 37.415 ms. The first waits
    ///   50 ms. The load is 150 / 210 = 71.4%.
    /// - Up to 32: 300 / (0.8 × 520) = 0.7, so one server. In 50 ms 15 arrive, which take
    ///   38.095 + 7 / 24 × (61.538 − 38.095) = 44.933 ms.
    #[test]
    fn waiting_makes_batches_and_batches_save_servers() {
        let answer = batching(request(&CURVE, 300.0, 0.05)).expect("an answer");
        let servers: Vec<(u32, u32)> =
            answer.choices.iter().map(|choice| (choice.limit, choice.servers)).collect();
        // Up to 4: 4 take 28.571 + 3 / 7 × 9.524 = 32.653 ms, 122.5 a second:
        // 300 / 98 = 3.06, so 4. Up to 2: 29.932 ms, 66.8 a second: 300 / 53.5 = 5.6, so 6.
        assert_eq!(servers, [(1, 11), (2, 6), (4, 4), (8, 2), (16, 2), (32, 1)]);
        let eight = &answer.choices[3];
        assert!((eight.batch - 7.5).abs() < 1e-9);
        assert!((eight.service_seconds - 0.037_415).abs() < 1e-6);
        assert!((eight.load - 0.714_286).abs() < 1e-6);
        assert!((eight.longest_seconds() - 0.087_415).abs() < 1e-6);
        assert!((eight.mean_seconds() - 0.062_415).abs() < 1e-6);
        assert_eq!(answer.best, 5);
        assert!((answer.choices[5].longest_seconds() - 0.094_933).abs() < 1e-6);
        let text = |money: Option<Money>| money.map(|money| money.amount().to_string());
        // 2 × 1.006 × 730, and 2.012 / 1.08 million.
        assert_eq!(text(answer.monthly(eight)).as_deref(), Some("1468.76"));
        assert_eq!(text(answer.per_million(eight)).as_deref(), Some("1.8630"));
    }

    /// Without waiting, one server with 300 a second collects what arrives while it works:
    /// batches of which as many arrive as they have. At 12.85, a batch takes
    /// 38.095 + 4.85 / 24 × 23.443 = 42.83 ms, in which 300 × 0.04283 = 12.85 arrive.
    #[test]
    fn batches_grow_while_a_server_works() {
        let answer = batching(request(&CURVE, 300.0, 0.0)).expect("an answer");
        let choice = &answer.choices[5];
        assert_eq!((choice.limit, choice.servers), (32, 1));
        assert!((choice.batch - 12.849_741).abs() < 1e-5, "{}", choice.batch);
        assert!((choice.wait_seconds - 0.042_832).abs() < 1e-6);
        assert!((choice.longest_seconds() - 0.085_665).abs() < 1e-6);
    }

    /// With 100 ms, 30 arrive at one server: 38.095 + 22 / 24 × 23.443 = 59.585 ms.
    #[test]
    fn an_objective_costs_servers() {
        let patient = batching(request(&CURVE, 300.0, 0.1)).expect("an answer");
        let best = &patient.choices[patient.best];
        assert_eq!((best.limit, best.servers), (32, 1));
        assert!((best.longest_seconds() - 0.159_585).abs() < 1e-6);
        let hurried =
            BatchingRequest { objective_seconds: Some(0.1), ..request(&CURVE, 300.0, 0.1) };
        let hurried = batching(hurried).expect("an answer");
        assert_eq!(hurried.choices[hurried.best].servers, 2);
        assert!(hurried.choices[hurried.best].longest_seconds() <= 0.1);
        let never =
            BatchingRequest { objective_seconds: Some(0.02), ..request(&CURVE, 300.0, 0.1) };
        let error = batching(never).expect_err("one alone takes 28.6 ms");
        assert_eq!(
            error.to_string(),
            "no batch answers within 20.0 ms: the shortest is 28.6 ms, at batch 1"
        );
    }

    /// A second way: requests arrive one by one at one server, which starts a batch when it is
    /// idle and the batch is full or its first request has waited long enough.
    #[test]
    fn a_server_that_is_simulated_does_the_same() {
        let simulated = |asked: &BatchingRequest, choice: &BatchChoice| -> (f64, f64) {
            let gap = f64::from(choice.servers) / asked.requests_per_second;
            let limit = choice.limit as usize;
            let arrivals: Vec<f64> = (0..20_000).map(|index| f64::from(index) * gap).collect();
            let (mut next, mut free) = (0, 0.0_f64);
            let (mut batches, mut longest) = (0.0, 0.0_f64);
            while next + limit < arrivals.len() {
                let full = arrivals[next + limit - 1];
                let given_up = arrivals[next] + asked.max_wait_seconds;
                let start = full.min(given_up).max(free);
                let waiting = arrivals[next..].iter().take(limit);
                let size = waiting.take_while(|at| **at <= start).count();
                free = start + asked.curve.seconds(size as f64);
                batches += 1.0;
                longest = longest.max(free - arrivals[next]);
                next += size;
            }
            (next as f64 / batches, longest)
        };
        let mut compared = 0;
        for rate in [20.0, 90.0, 300.0, 2_000.0] {
            for wait in [0.0, 0.005, 0.05, 0.2] {
                let asked = request(&CURVE, rate, wait);
                let answer = batching(asked.clone()).expect("an answer");
                for choice in &answer.choices {
                    let (batch, longest) = simulated(&asked, choice);
                    let about = format!("{rate} {wait} {choice:?}: {batch} {longest}");
                    // Requests are whole: a batch may have one more than flows in.
                    assert!((batch - choice.batch).abs() <= 1.0 + 1e-6, "{about}");
                    let one_more = asked.curve.seconds(choice.batch + 1.0) - choice.service_seconds;
                    let most = choice.longest_seconds() + 2.0 * one_more;
                    assert!(longest <= most + 1e-6, "{about}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 4 * 4 * 6);
    }

    #[test]
    fn servers_fill_instances_and_are_bounded() {
        let mut asked = request(&CURVE, 300.0, 0.0);
        asked.machine.servers = 4;
        let answer = batching(asked).expect("an answer");
        let choice = &answer.choices[0];
        assert_eq!((choice.servers, choice.machines), (11, 3));
        let endless = batching(request(&CURVE, 1e9, 0.0));
        let error = endless.expect_err("too many").to_string();
        assert_eq!(error, "more than 100,000 servers would be needed");
    }

    /// By hand, 90 requests a second without waiting: a batch of b takes 28.571 + (b − 1) / 7 ×
    /// 9.524 ms, in which b arrive where b = 2.449 / 0.87755 = 2.7907, 31.0078 ms. The first
    /// request of a batch takes 62.016 ms with a limit of 4, 8, 16 or 32, on one server. Its
    /// load is 90 of 122.5, 210, 348.5 or 520.
    #[test]
    fn of_equal_limits_that_with_the_lowest_load_is_taken() {
        let answer = batching(request(&CURVE, 90.0, 0.0)).expect("an answer");
        let alone: Vec<(u32, String, String)> = answer
            .choices
            .iter()
            .filter(|choice| choice.servers == 1)
            .map(|choice| {
                let longest = format!("{:.3}", choice.longest_seconds() * 1e3);
                (choice.limit, longest, format!("{:.1}", choice.load * 100.0))
            })
            .collect();
        let expected = [(4, "73.5"), (8, "42.9"), (16, "25.8"), (32, "17.3")];
        let expected = expected.map(|(limit, load)| (limit, "62.016".to_owned(), load.to_owned()));
        assert_eq!(alone, expected);
        assert_eq!(answer.choices[answer.best].limit, 32);
    }

    /// What requests at one server take where they arrive at random, as a simulation of each.
    struct AtRandom {
        mean_batch: f64,
        /// Seconds that half, 95% and 99% take at most.
        at_most: [f64; 3],
    }

    /// Gaps between requests are exponential. An idle server starts a batch that is full or whose
    /// first request has waited long enough, a busy one as soon as it is free.
    fn at_random(asked: &BatchingRequest, choice: &BatchChoice, seed: u64) -> AtRandom {
        let mut random = fastrand::Rng::with_seed(seed);
        let rate = asked.requests_per_second / f64::from(choice.servers);
        let mut clock = 0.0;
        let arrivals: Vec<f64> = (0..200_000)
            .map(|_| {
                clock -= (1.0 - random.f64()).ln() / rate;
                clock
            })
            .collect();
        let limit = choice.limit as usize;
        let (mut next, mut batches, mut free) = (0, 0.0, 0.0_f64);
        let mut taken = Vec::new();
        while next + limit < arrivals.len() {
            let full = arrivals[next + limit - 1];
            let start = full.min(arrivals[next] + asked.max_wait_seconds).max(free);
            let batch = arrivals[next..].iter().take(limit);
            let batch: Vec<f64> = batch.copied().take_while(|at| *at <= start).collect();
            free = start + asked.curve.seconds(batch.len() as f64);
            taken.extend(batch.iter().map(|at| free - at));
            next += batch.len();
            batches += 1.0;
        }
        taken.sort_by(f64::total_cmp);
        let at_most = [0.5, 0.95, 0.99].map(|share| taken[(taken.len() as f64 * share) as usize]);
        AtRandom { mean_batch: taken.len() as f64 / batches, at_most }
    }

    /// The figures of docs/planners/capacity.md, which a program in another language found too.
    /// Below its limit, a batch takes a burst, and 99% of requests are within the time that is
    /// computed for even arrivals. At its limit, requests queue.
    #[test]
    fn random_arrivals_queue_where_batches_are_full() {
        for (rate, wait, limit, computed, stated, is_late) in [
            (300.0, 0.1, 32, 159.6, [29.2, 106.6, 153.0, 158.6], false),
            (300.0, 0.1, 16, 144.9, [14.5, 89.4, 140.0, 144.1], false),
            (300.0, 0.1, 8, 91.4, [8.0, 62.5, 98.8, 117.2], true),
            (300.0, 0.1, 1, 28.6, [1.0, 59.6, 197.0, 293.0], true),
            (90.0, 0.0, 32, 62.0, [2.9, 47.6, 63.0, 67.0], false),
            (90.0, 0.0, 4, 62.0, [2.8, 52.0, 83.9, 106.0], true),
        ] {
            let asked = request(&CURVE, rate, wait);
            let answer = batching(asked.clone()).expect("an answer");
            let choice = answer.choices.iter().find(|choice| choice.limit == limit);
            let choice = choice.expect("a limit");
            assert!((choice.longest_seconds() * 1e3 - computed).abs() < 0.06);
            let simulated = at_random(&asked, choice, 7);
            let [half, most, nearly_all] = simulated.at_most.map(|seconds| seconds * 1e3);
            let figures = [simulated.mean_batch, half, most, nearly_all];
            for (figure, stated) in figures.into_iter().zip(stated) {
                // Tails of a queue differ from run to run.
                let off = (figure / stated - 1.0_f64).abs();
                assert!(off < 0.08, "{rate} {limit}: {figures:?}, stated {stated}");
            }
            assert_eq!(nearly_all > computed * 1.1, is_late, "{rate} {limit}");
        }
    }
}
