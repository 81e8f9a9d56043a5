//! Runs in which a GPU goes away.

use super::lab::{facts, finish, gpu, read, reading, run_of, sample, slice};
use super::{AlertKind, Bottleneck, Profiler, RunProfile};
use crate::domain::{
    Activity, Classification, FineSample, GpuIdentity, GpuReading, GpuSample, HostReading, Loss,
    Policy, Sample,
};
use crate::usage::distribution;
use proptest::prelude::*;

/// A run of two GPUs on a host whose CPU is busy: the first works at a mean all
/// the time, the second at another until it is lost.
fn run(samples: u32, first: f64, second: f64, lost_from: u32, is_back_from: u32) -> RunProfile {
    let mut profiler = Profiler::new(facts(vec![gpu(0), gpu(1)]), &Policy::default());
    for at in 0..samples {
        let other = if (lost_from..is_back_from).contains(&at) {
            GpuSample::Lost(Loss {
                reason: "gone".to_owned(),
                xids: if at == lost_from { vec![79] } else { vec![] },
            })
        } else {
            read(reading(second, 1_000.0))
        };
        let host = HostReading { cpu_percent: Some(95.0), ..HostReading::default() };
        let gpus = vec![read(reading(first, 1_000.0)), other];
        profiler.add(&Sample { host, ..sample(f64::from(at), gpus) });
    }
    finish(profiler, f64::from(samples))
}

#[test]
fn work_counts_for_the_time_in_which_it_was_done() {
    // 12 samples of 50% are more work than 6 at 90%.
    let profile = run(12, 50.0, 90.0, 6, 12);
    assert_eq!(profile.gpus[1].diagnosis.bottleneck, Bottleneck::Unknown);
    assert_eq!(profile.diagnosis.bottleneck, Bottleneck::Input);
    // With 8 at 90% the second did more: 720 to 600.
    let profile = run(12, 50.0, 90.0, 8, 12);
    assert_eq!(profile.diagnosis, profile.gpus[1].diagnosis);
}

#[test]
fn a_gpu_with_too_few_readings_does_not_speak_for_the_host() {
    // It did more in its two samples, 200 to 180, and how is not known.
    let profile = run(6, 30.0, 100.0, 2, 6);
    assert!(profile.gpus[1].diagnosis.reason.contains("too few"));
    assert_eq!(profile.diagnosis, profile.gpus[0].diagnosis);
    // Nor does one that nothing runs on.
    let profile = run(6, 0.0, 0.0, 2, 6);
    assert_eq!(profile.diagnosis.bottleneck, Bottleneck::Idle);
    // Where no GPU has enough, that is what is said.
    let profile = run(3, 30.0, 100.0, 2, 3);
    assert!(profile.diagnosis.reason.contains("too few"));
}

#[test]
fn a_gpu_that_is_gone_most_of_the_time_has_no_verdict_of_its_own() {
    let profile = run(20, 50.0, 90.0, 6, 20);
    assert_eq!(
        profile.gpus[1].verdict.reason,
        "30.0% of the samples reported this GPU, 50% needed"
    );
    assert_eq!(profile.verdict.classification, Classification::Underutilized);
}

#[test]
fn a_divided_gpu_does_not_speak_for_slices_with_too_few_readings() {
    let divided = GpuIdentity { is_mig_enabled: Some(true), ..gpu(0) };
    let mut profiler = Profiler::new(facts(vec![divided, slice(0)]), &Policy::default());
    for at in 0..3 {
        let works = GpuReading {
            utilization_percent: None,
            activity: Some(Activity { graphics_percent: Some(40.0), ..Activity::default() }),
            ..reading(0.0, 4_000.0)
        };
        let gpus = vec![read(reading(0.0, 4_000.0)), read(works)];
        profiler.add(&sample(f64::from(at), gpus));
    }
    let profile = finish(profiler, 3.0);
    assert_eq!(profile.diagnosis.reason, "3 readings are too few, 5 needed");
}

#[test]
fn a_loss_and_the_errors_that_came_with_it_are_alerts() {
    let profile = run(30, 50.0, 90.0, 10, 20);
    let alerts: Vec<_> =
        profile.alerts.iter().map(|alert| (alert.kind, alert.gpu, alert.began_seconds)).collect();
    assert_eq!(alerts, [(AlertKind::Xid, Some(1), 10.0), (AlertKind::Lost, Some(1), 10.0)]);
    let row = &profile.gpus[1];
    assert_eq!((row.xids[0].xid, row.xid_count), (79, 1));
    assert_eq!(profile.alerts[0].worst, 79.0);
    // Samples at 10 to 19 s had no answer; it was back at 20 s.
    let lost = profile.alerts[1];
    assert_eq!((lost.worst, lost.ended_seconds), (10.0, Some(20.0)));
    assert_eq!((lost.episodes, lost.total_seconds), (1, 9.0));
    // To the end: it is in force.
    assert!(run(30, 50.0, 90.0, 10, 30).alerts[1].is_active());
}

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
