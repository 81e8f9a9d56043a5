//! Runs in which a GPU goes away.

use super::scenes::{facts, finish, gpu, read, reading, sample, slice};
use super::{AlertKind, Bottleneck, Profiler, RunProfile};
use crate::domain::{
    Activity, Classification, GpuIdentity, GpuReading, GpuSample, HostReading, Loss, Policy, Sample,
};

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
