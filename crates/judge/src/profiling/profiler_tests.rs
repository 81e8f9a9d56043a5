use super::super::lab::{
    facts, finish, gpu, read, reading, run_of, run_of_readings, sample, slice,
};
use super::super::{PowerBasis, UtilizationBasis};
use super::*;
use crate::domain::{
    Activity, Classification, Confidence, FineSample, GpuIdentity, GpuProcess, GpuReading,
    GpuSample, HostReading, ThrottleReasons,
};

fn profiler(gpus: Vec<GpuIdentity>) -> Profiler {
    Profiler::new(facts(gpus), &Policy::default())
}

#[test]
fn one_of_four_in_use_is_a_quarter_of_the_host() {
    let mut profiler = profiler((0..4).map(gpu).collect());
    for at in 0..100 {
        let mut gpus = vec![read(reading(80.0, 12_000.0))];
        gpus.extend((0..3).map(|_| read(reading(0.0, 4.0))));
        profiler.add(&sample(f64::from(at), gpus));
    }
    let status = profiler.now();
    assert_eq!(status.utilization_mean_percent, Some(20.0));
    assert_eq!(status.gpus[0].utilization_mean_percent, Some(80.0));
    let run = finish(profiler, 100.0);
    assert_eq!(run.samples, 100);
    assert_eq!((run.gpus_used(), run.gpu_count(), run.coverage), (Some(1), 4, 1.0));
    assert_eq!(run.verdict.classification, Classification::Overprovisioned);
    assert_eq!(run.verdict.confidence, Some(Confidence::Measured));
    assert_eq!(run.verdict.reason, "mean GPU utilization 20.0% (< 25%)");
    assert_eq!(run.verdict.state, None);
    assert_eq!(run.gpus[0].verdict.classification, Classification::WellUtilized);
    assert_eq!(run.gpus[0].vram_peak_percent(), Some(50.0));
    assert_eq!(run.gpus[1].diagnosis.bottleneck, Bottleneck::Idle);
    // The diagnosis of the host is that of the GPU that works.
    assert_eq!(run.diagnosis, run.gpus[0].diagnosis);
    assert_eq!(run.phases[0].utilization_percent, Some(80.0));
    assert_eq!(status.verdict, run.verdict);
}

#[test]
fn a_sample_counts_when_half_of_the_gpus_reported() {
    let mut profiler = profiler((0..4).map(gpu).collect());
    for at in 0..100 {
        let answering = if at < 60 { 2 } else { 1 };
        let gpus = (0..4).map(|index| {
            if index < answering { read(reading(50.0, 1.0)) } else { GpuSample::lost("gone") }
        });
        profiler.add(&sample(f64::from(at), gpus.collect()));
    }
    let run = finish(profiler, 100.0);
    assert_eq!(run.utilization.expect("measured").n_samples, 60);
    assert_eq!((run.coverage, run.verdict.confidence), (0.6, Some(Confidence::Derived)));
    assert_eq!(run.gpus_used(), None, "two were never measured");
}

#[test]
fn too_little_is_insufficient_with_its_reason() {
    let run = run_of([90.0; 4]);
    assert_eq!(run.verdict.classification, Classification::InsufficientData);
    assert_eq!(run.verdict.reason, "4 samples of the GPUs, 5 needed");
    let one = run_of([90.0]).verdict.reason;
    assert_eq!(one, "1 sample of the GPUs, 5 needed");
    let mut half = profiler(vec![gpu(0)]);
    for at in 0..49 {
        half.add(&sample(f64::from(at), vec![read(reading(90.0, 1.0))]));
    }
    let end = RunEnd { elapsed_seconds: 100.0, exit_code: None, spot: None, units: Vec::new() };
    let run = half.finish(end, Pace { missed: Some(51), ..Pace::default() });
    assert_eq!(run.verdict.classification, Classification::InsufficientData);
    assert_eq!(run.verdict.reason, "49 of 100 expected samples were taken (49.0%), 50% needed");
    let none = finish(profiler(Vec::new()), 0.0);
    assert_eq!(none.verdict.reason, "no GPU was found");
    assert_eq!((none.utilization, none.energy_j(), none.gpus_used()), (None, None, Some(0)));
    assert_eq!(run_of([]).verdict.reason, "no sample was taken");
}

#[test]
fn the_borders_of_the_classes_are_those_of_the_policy() {
    for (mean, class) in [
        (24.9375, Classification::Overprovisioned),
        (25.0, Classification::Underutilized),
        (59.9375, Classification::Underutilized),
        (60.0, Classification::WellUtilized),
    ] {
        assert_eq!(run_of([mean; 10]).verdict.classification, class, "{mean}");
    }
}

#[test]
fn a_gpu_in_mig_mode_is_not_idle_and_its_slices_stand_apart() {
    let whole = GpuIdentity { is_mig_enabled: Some(true), ..gpu(0) };
    let mut profiler = profiler(vec![whole, slice(0), slice(1)]);
    for at in 0..20 {
        let active = |graphics| GpuReading {
            utilization_percent: None,
            activity: Some(Activity {
                graphics_percent: Some(graphics),
                sm_percent: Some(60.0),
                ..Activity::default()
            }),
            ..reading(0.0, 2_000.0)
        };
        let gpus = vec![read(reading(0.0, 4_000.0)), read(active(88.0)), read(active(0.0))];
        profiler.add(&sample(f64::from(at), gpus));
    }
    let run = finish(profiler, 20.0);
    assert_eq!(run.verdict.classification, Classification::InsufficientData);
    assert!(run.verdict.reason.contains("MIG"), "{}", run.verdict.reason);
    assert_eq!((run.utilization, run.gpus_used(), run.gpu_count()), (None, None, 1));
    assert!(run.gpus.iter().all(|gpu| gpu.utilization.is_none()));
    assert_eq!(run.gpus[1].ranges.graphics_percent.expect("counted").mean, 88.0);
    let used: Vec<Option<bool>> = run.gpus.iter().map(|gpu| gpu.is_used).collect();
    assert_eq!(used, [None, Some(true), Some(false)]);
    assert_eq!(run.gpus[2].diagnosis.bottleneck, Bottleneck::Parked);
    assert_eq!(run.phases[0].utilization_percent, Some(88.0));
}

#[test]
fn the_drivers_own_samples_see_between_samples() {
    let readings = (0..10).map(|at| GpuReading {
        fine: (0..5)
            .map(|part| FineSample {
                at_microseconds: at * 1_000_000 + part * 200_000,
                utilization_percent: if part == 0 { 100.0 } else { 0.0 },
            })
            .collect(),
        ..reading(100.0, 1_000.0)
    });
    let run = run_of_readings(gpu(0), readings);
    let figures = run.gpus[0].utilization.expect("measured");
    assert_eq!((figures.n_samples, figures.mean, figures.p50), (50, 20.0, 0.0));
    assert_eq!(run.gpus[0].utilization_basis, Some(UtilizationBasis::DriverSamples));
    let host = run.utilization.expect("measured");
    assert_eq!((host.n_samples, host.mean), (10, 20.0));
    let plain = run_of([50.0; 10]);
    assert_eq!(plain.gpus[0].utilization_basis, Some(UtilizationBasis::Samples));
}

#[test]
fn a_lost_gpu_says_when_and_why_and_may_come_back() {
    let mut profiler = profiler(vec![gpu(0), gpu(1)]);
    for at in 0..30 {
        let second = if (10..20).contains(&at) {
            GpuSample::lost("GPU is lost")
        } else {
            read(reading(40.0, 1_000.0))
        };
        profiler.add(&sample(f64::from(at), vec![read(reading(60.0, 1_000.0)), second]));
    }
    let run = finish(profiler, 30.0);
    assert_eq!(run.gpus[0].lost, None);
    let lost = run.gpus[1].lost.clone().expect("it was lost");
    assert_eq!((lost.at_seconds, lost.samples, lost.is_back), (10.0, 10, true));
    assert_eq!(lost.reason, "GPU is lost");
    assert_eq!(run.gpus[1].utilization.expect("measured").n_samples, 20);
    // 20 samples of 50 and ten of the one that answered at 60.
    assert!((run.utilization.expect("measured").mean - 160.0 / 3.0).abs() < 1e-9);
}

#[test]
fn processes_errors_and_throttling_are_kept_with_their_times() {
    let process = |pid, name: Option<&str>, vram_mib| GpuProcess {
        pid,
        name: name.map(str::to_owned),
        vram_mib,
        sm_percent: None,
        is_of_command: pid == 7,
    };
    let readings = (0..10).map(|at| GpuReading {
        processes: Some(match at {
            0 => vec![],
            1 => vec![process(7, None, Some(100))],
            _ => vec![process(7, Some("python"), Some(at * 100)), process(9, Some("Xorg"), None)],
        }),
        throttle: Some(ThrottleReasons(if at < 4 { ThrottleReasons::SW_POWER_CAP } else { 0 })),
        xids: if at == 5 { vec![31, 43] } else { vec![] },
        ..reading(50.0, 1_000.0)
    });
    let run = run_of_readings(gpu(0), readings);
    let row = &run.gpus[0];
    let seen = row.processes.clone().expect("the driver reported");
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].pid, seen[0].name.as_deref()), (7, Some("python")));
    assert_eq!((seen[0].vram_mib, seen[0].is_of_command), (Some(900), true));
    assert_eq!(seen[1].vram_mib, None);
    assert!(!row.has_more_processes);
    let xids: Vec<(f64, u64)> =
        row.xids.iter().map(|event| (event.at_seconds, event.xid)).collect();
    assert_eq!((xids, row.xid_count), (vec![(5.0, 31), (5.0, 43)], 2));
    assert_eq!((run.alerts[0].kind, run.alerts[0].episodes), (AlertKind::Xid, 2));
    // Held at the samples of 0 to 3 s; the first stands for no time.
    let throttle = row.throttle.clone().expect("the driver reported");
    assert_eq!(throttle.len(), 1);
    assert_eq!((throttle[0].reason.names(), throttle[0].seconds), (vec!["power cap"], 3.0));
    let silent = run_of([50.0; 10]);
    assert_eq!((&silent.gpus[0].processes, &silent.gpus[0].throttle), (&None, &None));
}

#[test]
fn many_processes_leave_those_that_hold_most_and_the_commands_own() {
    let readings = (0..400_u64).map(|at| GpuReading {
        processes: Some(vec![GpuProcess {
            pid: u32::try_from(at).expect("small"),
            name: None,
            vram_mib: Some(at),
            sm_percent: None,
            is_of_command: at == 3,
        }]),
        ..reading(50.0, 1_000.0)
    });
    let run = run_of_readings(gpu(0), readings);
    let seen = run.gpus[0].processes.clone().expect("the driver reported");
    assert_eq!((seen.len(), run.gpus[0].has_more_processes), (64, true));
    assert_eq!((seen[0].pid, seen[62].pid, seen[63].pid), (399, 337, 3));
}

#[test]
fn unsupported_is_absent_and_never_zero() {
    let run = run_of([50.0; 10]);
    let row = &run.gpus[0];
    assert_eq!((row.power, row.ranges), (None, super::super::GpuRanges::default()));
    assert_eq!(run.host, super::super::HostProfile::default());
    assert_eq!(run.energy_j(), None);
}

#[test]
fn an_input_starved_run_is_diagnosed_in_its_steady_phase() {
    let mut profiler = profiler(vec![gpu(0)]);
    for at in 0..400_u32 {
        let loading = at < 60;
        let works = !loading && at % 8 < 3;
        let gpu = GpuReading {
            memory_utilization_percent: Some(10.0),
            power_w: Some(if works { 200.0 } else { 60.0 }),
            pcie_received_bytes_per_second: Some(1e9),
            ..reading(if works { 95.0 } else { 0.0 }, if loading { 500.0 } else { 13_500.0 })
        };
        let host = HostReading {
            cpu_percent: Some(if loading { 20.0 } else { 96.0 }),
            ..HostReading::default()
        };
        profiler.add(&Sample { host, ..sample(f64::from(at), vec![read(gpu)]) });
    }
    let run = finish(profiler, 400.0);
    assert_eq!(run.phases[0].kind, super::super::PhaseKind::StartUp);
    assert_eq!(run.diagnosis.bottleneck, Bottleneck::Input, "{}", run.diagnosis.reason);
    assert_eq!(run.diagnosis.confidence, Some(Confidence::Derived));
    assert!(run.diagnosis.reason.contains("host CPU 96.0%"), "{}", run.diagnosis.reason);
    assert_eq!(run.gpus[0].power.expect("read").basis, PowerBasis::Readings);
    assert_eq!(run.host.cpu_percent.expect("read").max, 96.0);
}

#[test]
fn a_log_without_interval_learns_what_a_gap_is() {
    let mut unknown = facts(vec![gpu(0)]);
    unknown.interval_seconds = None;
    let mut profiler = Profiler::new(unknown, &Policy::default());
    // Half an hour and a minute of samples a minute apart, in the middle a break.
    for at in 0..=31 {
        let shift = if at < 16 { 0.0 } else { 7_200.0 };
        profiler.add(&sample(f64::from(at) * 60.0 + shift, vec![read(reading(5.0, 1.0))]));
    }
    assert!(profiler.now().alerts.is_empty());
    for at in 32..=46 {
        profiler.add(&sample(f64::from(at) * 60.0 + 7_200.0, vec![read(reading(5.0, 1.0))]));
    }
    assert_eq!(profiler.now().alerts[0].kind, AlertKind::Underused);
}

#[test]
fn samples_as_far_apart_as_somebody_states_are_no_gap() {
    let alerts = |stated_seconds| {
        let mut unknown = facts(vec![gpu(0)]);
        unknown.interval_seconds = None;
        let profiler = Profiler::new(unknown, &Policy::default());
        let mut profiler = profiler.with_interval(stated_seconds);
        // Two hours, a sample every ten minutes.
        for at in 0..12 {
            let gpus = vec![read(reading(5.0, 1.0))];
            profiler.add(&sample(f64::from(at) * 600.0, gpus));
        }
        let alerts = profiler.now().alerts;
        alerts.iter().map(|alert| alert.kind).collect::<Vec<_>>()
    };
    assert_eq!(alerts(None), []);
    assert_eq!(alerts(Some(600.0)), [AlertKind::Underused]);
}

#[test]
fn steps_of_the_energy_counter_are_no_peaks_of_power() {
    let kinds = |power_w: Option<f64>| -> Vec<AlertKind> {
        let readings = (0..10).map(|at| GpuReading {
            power_w,
            // 150 W on average, reported every other sample.
            energy_j: Some(f64::from(at / 2) * 300.0),
            ..reading(50.0, 1_000.0)
        });
        let alerts = run_of_readings(gpu(0), readings).alerts;
        alerts.iter().map(|alert| alert.kind).collect()
    };
    assert!(kinds(Some(150.0)).is_empty());
    assert_eq!(kinds(Some(271.0)), [AlertKind::PowerNearLimit]);
    assert_eq!(kinds(None), [AlertKind::PowerNearLimit], "nothing else was read");
}

#[test]
fn what_few_samples_tell_of_the_host_is_no_evidence() {
    // The driver's ten samples between two samples are readings of the GPU and not
    // of the host.
    let run = |samples: u32, samples_of_host: u32| {
        let mut profiler = profiler(vec![gpu(0)]);
        for at in 0..samples {
            let fine = |step: u32| FineSample {
                at_microseconds: u64::from(at * 1_000_000 + step * 100_000),
                utilization_percent: 50.0,
            };
            let mut sample = sample(
                f64::from(at),
                vec![read(GpuReading { fine: (0..10).map(fine).collect(), ..reading(50.0, 1.0) })],
            );
            sample.host.cpu_percent = (at < samples_of_host).then_some(97.0);
            profiler.add(&sample);
        }
        finish(profiler, f64::from(samples))
    };
    for (samples, samples_of_host, missing) in [(4, 4, "enough readings"), (9, 4, "host CPU")] {
        let few = run(samples, samples_of_host);
        assert_eq!(few.diagnosis.bottleneck, Bottleneck::Unknown);
        assert_eq!(few.diagnosis.missing, [missing]);
    }
    assert_eq!(run(5, 5).diagnosis.bottleneck, Bottleneck::Input);
}
