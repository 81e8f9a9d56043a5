use super::*;
use crate::domain::Currency;
use crate::planners::batching::CurvePoint;

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
    let hurried = BatchingRequest { objective_seconds: Some(0.1), ..request(&CURVE, 300.0, 0.1) };
    let hurried = batching(hurried).expect("an answer");
    assert_eq!(hurried.choices[hurried.best].servers, 2);
    assert!(hurried.choices[hurried.best].longest_seconds() <= 0.1);
    let never = BatchingRequest { objective_seconds: Some(0.02), ..request(&CURVE, 300.0, 0.1) };
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
