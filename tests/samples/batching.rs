//! Dynamic batching on measured times: 72 steps of real models on slices of an A100.

use crate::support::data::shared;
use gpucost::catalog::bundled_quote;
use gpucost::domain::PriceKey;
use gpucost::planners::batching::{BatchingAsk, Machine, batching};
use gpucost::planners::curve::{CurveError, CurvePoint, ThroughputCurve};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Seconds of a step by size of the batch, for each model and slice.
type Series = BTreeMap<(String, String), BTreeMap<u32, f64>>;

fn series(folder: &Path) -> Series {
    let mut reader = csv::Reader::from_path(folder.join("mig_step_time_a100_40gb.csv"))
        .expect("the steps are there");
    let mut found = Series::new();
    for line in reader.deserialize::<HashMap<String, String>>() {
        let line = line.expect("a whole line");
        // Some runs left no log.
        let Ok(seconds) = line["median_step_s"].parse::<f64>() else {
            continue;
        };
        let batch = line["batch"].parse().expect("a number");
        let of = (line["model"].clone(), line["mig_profile"].clone());
        found.entry(of).or_default().insert(batch, seconds);
    }
    found
}

fn curve(steps: &BTreeMap<u32, f64>) -> Result<ThroughputCurve, CurveError> {
    let points = steps.iter().map(|(&batch, seconds)| CurvePoint {
        batch,
        items_per_second: f64::from(batch) / seconds,
    });
    ThroughputCurve::new(points.collect())
}

/// Each measured batch between two others is left out and computed from the rest.
#[test]
fn a_batch_between_two_measured_ones_takes_about_what_the_curve_says() {
    let Some(folder) = shared("batches of a curve", "samples/mig-throughput") else {
        return;
    };
    let mut falling = Vec::new();
    let mut errors = Vec::new();
    let measured = series(&folder);
    for ((model, profile), steps) in &measured {
        match curve(steps) {
            Ok(_) => {}
            Err(CurveError::Falls { .. }) => {
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
        [
            "deepspeech2 1g.5gb",
            "deepspeech2 2g.10gb",
            "deepspeech2 3g.20gb",
            "gnn 1g.5gb"
        ]
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
    // The figures of docs/planners/batching.md.
    assert!((median - 1.75).abs() < 0.01, "{median}");
    assert!((worst - 53.38).abs() < 0.01, "{worst}");
}

/// BERT on a whole A100, 200 requests a second, from the measured steps alone: a batch of 1
/// takes what 2 do, 47.2 ms, so 200 × 0.0472 / 0.8 = 11.8 GPUs; batches of 8 take 120.7 ms,
/// so 200 × 0.1207 / 8 / 0.8 = 3.77. A p4d.24xlarge has 8 of them.
#[test]
fn measured_batches_of_bert_halve_its_instances() {
    let Some(folder) = shared("batches of BERT", "samples/mig-throughput") else {
        return;
    };
    let measured = series(&folder);
    let steps = &measured[&("bert".to_owned(), "7g.40gb".to_owned())];
    assert_eq!(
        *steps,
        BTreeMap::from([(2, 0.0472), (4, 0.0704), (6, 0.0967), (8, 0.1207)])
    );
    let key = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
    let found = batching(BatchingAsk {
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
    let servers: Vec<(u32, u32)> = found
        .choices
        .iter()
        .map(|one| (one.limit, one.servers))
        .collect();
    assert_eq!(servers, by_hand);
    let (one, best) = (&found.choices[0], &found.choices[found.best]);
    assert_eq!((one.machines, best.limit, best.machines), (2, 8, 1));
    // 50 a second of each: 5 arrive in 100 ms, which take halfway from 70.4 to 96.7 ms.
    assert!((best.batch - 5.0).abs() < 1e-9);
    assert!((best.service_seconds - 0.083_55).abs() < 1e-9);
    assert!((best.longest_seconds() - 0.183_55).abs() < 1e-9);
    let monthly = |choice| found.monthly(choice).map(|money| money.amount());
    // 21.957642 × 730, and twice that.
    assert_eq!(monthly(best), Some(Decimal::new(1_602_908, 2)));
    assert_eq!(monthly(one), Some(Decimal::new(3_205_816, 2)));
}
