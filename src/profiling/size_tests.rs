//! Long runs and many GPUs: memory, and figures against all readings sorted.

use super::Profiler;
use super::scenes::{facts, finish, gpu, read, reading, run_of, sample, slice};
use crate::domain::{FineSample, GpuIdentity, GpuReading, Policy};
use crate::usage::distribution;
use proptest::prelude::*;

fn profiler(gpus: Vec<GpuIdentity>) -> Profiler {
    Profiler::new(facts(gpus), &Policy::default())
}

#[test]
fn a_day_of_eight_gpus_takes_no_more_memory_than_an_hour() {
    let mut profiler = profiler((0..8).map(gpu).collect());
    let mut after_an_hour = 0;
    for at in 0..86_400_u32 {
        let gpus = (0..8_u32).map(|index| {
            let step = (at * 7 + index * 13) % 1_601;
            read(GpuReading {
                power_w: Some(f64::from(step % 300)),
                xids: if at % 100 == 0 { vec![u64::from(at)] } else { vec![] },
                ..reading(f64::from(step) / 16.0, f64::from((at * 31 + index) % 24_000))
            })
        });
        profiler.add(&sample(f64::from(at), gpus.collect()));
        if at == 3_600 {
            after_an_hour = profiler.size_bytes();
        }
    }
    let after_a_day = profiler.size_bytes();
    assert!(after_a_day < 1_000_000, "{after_a_day} bytes");
    // Windows are half as many at one time as at another.
    assert!(after_a_day <= after_an_hour * 2, "{after_an_hour} then {after_a_day}");
    let run = finish(profiler, 86_400.0);
    let row = &run.gpus[0];
    assert_eq!(row.utilization.expect("measured").n_samples, 86_400);
    assert_eq!((row.xids.len(), row.xid_count), (64, 864));
    assert!(run.phases.len() <= 256);
}

#[test]
fn eight_gpus_of_seven_slices_stay_small() {
    let mut identities = Vec::new();
    for index in 0..8 {
        identities.push(gpu(index));
        identities.extend((0..7).map(slice));
    }
    let mut profiler = profiler(identities);
    for at in 0..255_u32 {
        let gpus = (0..64).map(|row| {
            let most = if row % 8 == 0 { 294_912 } else { 36_864 };
            read(GpuReading {
                fine: vec![FineSample { at_microseconds: 0, utilization_percent: 1.0 }],
                ..reading(1.0, f64::from(most - at % 2))
            })
        });
        profiler.add(&sample(f64::from(at), gpus.collect()));
    }
    assert!(profiler.size_bytes() < 8_000_000, "{} bytes", profiler.size_bytes());
}

proptest! {
    #[test]
    fn figures_are_those_of_all_readings_sorted(
        percents in prop::collection::vec(0_u8..=100, 5..400),
    ) {
        let values: Vec<f64> = percents.into_iter().map(f64::from).collect();
        let run = run_of(values.iter().copied());
        let exact = distribution(values).expect("some");
        let utilization = run.gpus[0].utilization.expect("measured");
        for (found, exact) in [
            (utilization.mean, exact.mean), (utilization.p50, exact.p50),
            (utilization.p95, exact.p95), (utilization.p99, exact.p99),
            (utilization.max, exact.max),
        ] {
            prop_assert!((found - exact).abs() < 1e-9, "{} {}", found, exact);
        }
        prop_assert_eq!(run.utilization, run.gpus[0].utilization);
    }
}
