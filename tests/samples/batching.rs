//! Dynamic batching on measured times, 72 steps of real models on slices of an A100, and on
//! measured arrivals, an hour of requests to a model.

use crate::support::data::shared;
use gpucost::catalog::bundled_quote;
use gpucost::domain::PriceKey;
use gpucost::planners::NoResult;
use gpucost::planners::batching::{BatchingRequest, Machine, batching};
use gpucost::planners::batching::{CurvePoint, ThroughputCurve};
use gpucost::planners::model::{Dtype, ModelQuery};
use gpucost::planners::roofline::{Peak, Work};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Seconds of a step by size of the batch, for each model and slice.
type Series = BTreeMap<(String, String), BTreeMap<u32, f64>>;

fn series(folder: &Path) -> Series {
    let mut reader = csv::Reader::from_path(folder.join("mig_step_time_a100_40gb.csv"))
        .expect("the steps are there");
    let mut measured = Series::new();
    for line in reader.deserialize::<HashMap<String, String>>() {
        let line = line.expect("a whole line");
        // Some runs left no log.
        let Ok(seconds) = line["median_step_s"].parse::<f64>() else { continue };
        let batch = line["batch"].parse().expect("a number");
        let of = (line["model"].clone(), line["mig_profile"].clone());
        measured.entry(of).or_default().insert(batch, seconds);
    }
    measured
}

fn curve(steps: &BTreeMap<u32, f64>) -> Result<ThroughputCurve, NoResult> {
    let points = steps.iter().map(|(&batch, seconds)| CurvePoint {
        batch,
        items_per_second: f64::from(batch) / seconds,
    });
    ThroughputCurve::new(points.collect())
}

/// Each measured batch between two others is left out and computed from the rest.
#[test]
fn a_batch_between_two_measured_ones_takes_about_what_the_curve_says() {
    let Some(folder) = shared("batches of a curve", "samples/mig-throughput") else { return };
    let mut falling = Vec::new();
    let mut errors = Vec::new();
    let measured = series(&folder);
    for ((model, profile), steps) in &measured {
        match curve(steps) {
            Ok(_) => {}
            Err(error) if error.to_string().starts_with("throughput falls") => {
                falling.push(format!("{model} {profile}"));
                continue;
            }
            Err(other) => panic!("{model} {profile}: {other}"),
        }
        for (batch, seconds) in steps.iter().skip(1).take(steps.len().saturating_sub(2)) {
            let mut rest = steps.clone();
            rest.remove(batch);
            let computed = curve(&rest).expect("it rises").seconds(f64::from(*batch));
            errors.push(100.0 * (computed / seconds - 1.0).abs());
        }
    }
    assert_eq!(measured.len(), 19);
    assert_eq!(
        falling,
        ["deepspeech2 1g.5gb", "deepspeech2 2g.10gb", "deepspeech2 3g.20gb", "gnn 1g.5gb"]
    );
    errors.sort_by(f64::total_cmp);
    let close = errors.iter().filter(|error| **error <= 5.0).count();
    let half = errors.len() / 2;
    let median = f64::midpoint(errors[half - 1], errors[half]);
    let worst = errors[errors.len() - 1];
    println!(
        "{} batches left out: median error {median:.2}%, {close} within 5%, worst {worst:.1}%",
        errors.len()
    );
    assert_eq!((errors.len(), close), (28, 23));
    // The figures of docs/planners/capacity.md.
    assert!((median - 1.75).abs() < 0.01, "{median}");
    assert!((worst - 53.38).abs() < 0.01, "{worst}");
}

/// BERT on a whole A100, 200 requests a second, from the measured steps alone: a batch of 1
/// takes what 2 do, 47.2 ms, so 200 × 0.0472 / 0.8 = 11.8 GPUs; batches of 8 take 120.7 ms,
/// so 200 × 0.1207 / 8 / 0.8 = 3.77. A p4d.24xlarge has 8 of them.
#[test]
fn measured_batches_of_bert_halve_its_instances() {
    let Some(folder) = shared("batches of BERT", "samples/mig-throughput") else { return };
    let measured = series(&folder);
    let steps = &measured[&("bert".to_owned(), "7g.40gb".to_owned())];
    assert_eq!(*steps, BTreeMap::from([(2, 0.0472), (4, 0.0704), (6, 0.0967), (8, 0.1207)]));
    let key = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
    let plan = batching(BatchingRequest {
        curve: curve(steps).expect("it rises"),
        requests_per_second: 200.0,
        max_wait_seconds: 0.1,
        target: 0.8,
        objective_seconds: None,
        machine: Machine {
            instance_type: Some("p4d.24xlarge".to_owned()),
            servers: 8,
            rate: bundled_quote(&key).map(|quote| quote.rate),
        },
        hours_per_month: Decimal::from(730),
    })
    .expect("an answer");
    // 200 × step / batch / 0.8, rounded up.
    let mut by_hand = vec![(1, 12)];
    for (&batch, seconds) in steps {
        let servers = (200.0 * seconds / f64::from(batch) / 0.8).ceil() as u32;
        by_hand.push((batch, servers));
    }
    assert_eq!(by_hand, [(1, 12), (2, 6), (4, 5), (6, 5), (8, 4)]);
    let servers: Vec<(u32, u32)> =
        plan.choices.iter().map(|choice| (choice.limit, choice.servers)).collect();
    assert_eq!(servers, by_hand);
    let (single, best) = (&plan.choices[0], &plan.choices[plan.best]);
    assert_eq!((single.machines, best.limit, best.machines), (2, 8, 1));
    // 50 a second of each: 5 arrive in 100 ms, which take halfway from 70.4 to 96.7 ms.
    assert!((best.batch - 5.0).abs() < 1e-9);
    assert!((best.service_seconds - 0.083_55).abs() < 1e-9);
    assert!((best.longest_seconds() - 0.183_55).abs() < 1e-9);
    let monthly = |choice| plan.monthly(choice).map(|money| money.amount());
    // 21.957642 × 730, and twice that.
    assert_eq!(monthly(best), Some(Decimal::new(1_602_908, 2)));
    assert_eq!(monthly(single), Some(Decimal::new(3_205_816, 2)));
}

/// When the requests of a service for code at Azure arrived, in seconds of their day, ascending
/// (Azure/AzurePublicDataset, 2023-11-16).
fn arrivals() -> Option<Vec<f64>> {
    let name = "samples/requests/AzureLLMInferenceTrace_code.csv";
    let path = shared("arrivals", name)?;
    let mut reader = csv::Reader::from_path(path).expect("the requests are there");
    let seconds = |row: HashMap<String, String>| -> f64 {
        let (_, time) = row["TIMESTAMP"].split_once(' ').expect("a day and a time");
        let parts = time.split(':').map(|part| part.parse::<f64>().expect("a number"));
        parts.fold(0.0, |sum, part| sum * 60.0 + part)
    };
    let rows = reader.deserialize().map(|row| row.expect("a whole row"));
    let mut times: Vec<f64> = rows.map(seconds).collect();
    times.sort_by(f64::total_cmp);
    Some(times)
}

/// Llama 3.1 8B on one L40S, with prompts of 2,048 and answers of 28 tokens.
fn computed_curve() -> ThroughputCurve {
    let ask = ModelQuery { name: Some("llama-3.1-8b".to_owned()), ..ModelQuery::default() };
    let model = ask.model().expect("published");
    let work = Work {
        model: &model,
        dtype: Dtype::Fp16,
        kv_dtype: Dtype::Fp16,
        input_tokens: 2_048,
        output_tokens: 28,
    };
    let peak = Peak { bytes_per_second: 864e9, flops: 362e12, efficiency: 0.65 };
    let point = |power: u32| {
        let batch: u32 = 1 << power;
        let pace = work.pace(peak, f64::from(batch));
        CurvePoint { batch, items_per_second: pace.sequences / pace.round_seconds }
    };
    ThroughputCurve::new((0..=6).map(point).collect()).expect("it rises")
}

/// Seconds that half and 95% of the requests take at most, where servers take turns.
fn replayed(arrivals: &[f64], ask: &BatchingRequest, servers: u32, limit: u32) -> [f64; 2] {
    let mut taken = Vec::new();
    for server in 0..servers as usize {
        let of_server = arrivals.iter().skip(server).step_by(servers as usize);
        let of_server: Vec<f64> = of_server.copied().collect();
        let (mut next, mut free) = (0, f64::NEG_INFINITY);
        while next < of_server.len() {
            let waiting = &of_server[next..];
            let full = waiting.get(limit as usize - 1).copied();
            let given_up = waiting[0] + ask.max_wait_seconds;
            let start = full.map_or(given_up, |full| full.min(given_up)).max(free);
            let batch = waiting.iter().take(limit as usize);
            let size = batch.take_while(|at| **at <= start).count();
            free = start + ask.curve.seconds(size as f64);
            taken.extend(waiting[..size].iter().map(|at| free - at));
            next += size;
        }
    }
    assert_eq!(taken.len(), arrivals.len());
    taken.sort_by(f64::total_cmp);
    [0.5, 0.95].map(|share| taken[(taken.len() as f64 * share) as usize])
}

/// The figures of docs/planners/capacity.md; a program in another language found the same.
#[test]
fn a_plan_for_the_mean_rate_of_real_requests_is_late() {
    let Some(arrivals) = arrivals() else { return };
    let span = arrivals[arrivals.len() - 1] - arrivals[0];
    let mean = arrivals.len() as f64 / span;
    let mut minutes: BTreeMap<u32, u32> = BTreeMap::new();
    for at in &arrivals {
        *minutes.entry(((at - arrivals[0]) / 60.0) as u32).or_default() += 1;
    }
    let busiest = minutes.values().copied().max().expect("a minute");
    assert_eq!((arrivals.len(), busiest), (8_819, 632));
    assert_eq!(minutes.values().min(), Some(&15));
    for (rate, servers, computed, [half, most]) in
        [(mean, 1, 2.693, [15.951, 67.673]), (f64::from(busiest) / 60.0, 3, 3.595, [2.608, 10.460])]
    {
        let ask = BatchingRequest {
            curve: computed_curve(),
            requests_per_second: rate,
            max_wait_seconds: 0.05,
            target: 0.8,
            objective_seconds: None,
            machine: Machine { instance_type: None, servers: 1, rate: None },
            hours_per_month: Decimal::from(730),
        };
        let plan = batching(ask.clone()).expect("an answer");
        let best = &plan.choices[plan.best];
        assert_eq!((best.limit, best.servers), (64, servers), "{rate}");
        assert!((best.longest_seconds() - computed).abs() < 0.01, "{best:?}");
        let percentiles = replayed(&arrivals, &ask, best.servers, best.limit);
        for (waited, stated) in percentiles.into_iter().zip([half, most]) {
            assert!((waited / stated - 1.0_f64).abs() < 0.01, "{rate}: {waited}");
        }
    }
}
