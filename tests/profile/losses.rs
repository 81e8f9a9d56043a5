//! GPUs and drivers that go away in mid-run, and traces of all of it.

use crate::profile::stub::{Stage, missing, reading, sample};
use gpucost::domain::{GpuSample, Loss};
use gpucost::sources::GpuSource;
use std::fs;

#[test]
fn a_gpu_that_falls_off_the_bus_is_lost_and_the_others_go_on() {
    let stage = Stage::of("lost-gpu");
    let mut source = stage.open();
    for second in 0..24_u32 {
        let samples = sample(&mut source, f64::from(second));
        assert_eq!(reading(&samples, 0).utilization_percent, Some(50.0));
        let lost = "the GPU fell off the bus or cannot be reached (XID 79)";
        match (second, &samples[1]) {
            // Lost at 2, asked again at 12, when it is still lost, and at 22.
            // What it reported as it went is reported once.
            (2..=21, sample) => {
                let xids = if second == 2 { vec![79] } else { vec![] };
                let reason = lost.to_owned();
                assert_eq!(*sample, GpuSample::Lost(Loss { reason, xids }));
            }
            (second, GpuSample::Read(gpu)) => {
                assert_eq!(gpu.utilization_percent, Some(60.0));
                // A rate needs two samples without a loss between them.
                let rate = (second != 0 && second != 22).then_some(1e6);
                assert_eq!(gpu.pcie_sent_bytes_per_second, rate, "second {second}");
            }
            (second, sample) => panic!("second {second}: {sample:?}"),
        }
    }
}

#[test]
fn a_driver_that_vanishes_loses_every_gpu_until_it_is_back() {
    let stage = Stage::of("vanishing-driver");
    let mut source = stage.open();
    let mut rates = Vec::new();
    for second in 0..6_u32 {
        let samples = sample(&mut source, f64::from(second));
        assert_eq!(samples.len(), 2);
        if (2..=3).contains(&second) {
            let lost = "the NVIDIA driver is no longer loaded";
            assert_eq!(samples, [GpuSample::lost(lost), GpuSample::lost(lost)]);
        } else {
            rates.push(reading(&samples, 0).pcie_sent_bytes_per_second);
        }
    }
    // Seconds 0, 1, 4 and 5: 2 MB in a second, then 0.5 MB.
    assert_eq!(rates, [None, Some(2e6), None, Some(5e5)]);
}

#[test]
fn a_gpu_that_cannot_be_had_at_the_start_is_a_lost_row() {
    let stage = Stage::of_text(concat!(
        r#"{"nvml_trace":1,"system":{"nvmlDeviceGetCount_v2":2},"devices":["#,
        r#"{"gpu":0,"mig":null,"answers":{"nvmlDeviceGetHandleByIndex_v2":{"error":15}}},"#,
        r#"{"gpu":1,"mig":null,"answers":{"nvmlDeviceGetName":"Tesla T4","nvmlDeviceGetPowerUsage":27000}}]}"#,
        "\n",
        r#"{"at":0.0,"devices":{}}"#,
        "\n",
    ));
    let mut source = stage.open();
    assert_eq!(source.identities()[0].name, None);
    assert_eq!(source.identities()[1].name.as_deref(), Some("Tesla T4"));
    let samples = sample(&mut source, 0.0);
    let reason = "the GPU fell off the bus or cannot be reached";
    assert_eq!(samples[0], GpuSample::lost(reason));
    assert_eq!(reading(&samples, 1).power_w, Some(27.0));
}

#[test]
fn a_gpu_that_answers_nothing_but_an_unknown_error_is_lost() {
    let stage = Stage::of_text(concat!(
        r#"{"nvml_trace":1,"system":{"nvmlDeviceGetCount_v2":1},"devices":[{"gpu":0,"mig":null,"#,
        r#""answers":{"nvmlDeviceGetPowerUsage":27000,"nvmlDeviceGetTemperature":40}}]}"#,
        "\n",
        r#"{"at":0.0,"devices":{}}"#,
        "\n",
        r#"{"at":1.0,"devices":{"0":{"nvmlDeviceGetPowerUsage":{"error":999}}}}"#,
        "\n",
        r#"{"at":2.0,"devices":{"0":{"nvmlDeviceGetTemperature":{"error":999}}}}"#,
        "\n",
    ));
    let mut source = stage.open();
    let first = sample(&mut source, 0.0);
    assert_eq!(reading(&first, 0).power_w, Some(27.0));
    let second = sample(&mut source, 1.0);
    assert_eq!(reading(&second, 0).power_w, None, "one metric, this once");
    assert_eq!(reading(&second, 0).temperature_c, Some(40.0));
    let third = sample(&mut source, 2.0);
    let reason = "NVML error: an internal driver error occurred";
    assert_eq!(third, [GpuSample::lost(reason)]);
}

#[test]
fn a_recorded_run_plays_as_it_was() {
    for fixture in [
        "eight-gpus", "fraction", "hopper", "hopper-mig", "lost-gpu", "mig", "old-driver",
        "vanishing-driver", "xid",
    ] {
        let stage = Stage::of(fixture);
        let record = stage.file("recorded.jsonl");
        let mut source = stage.open_with(Some(&record)).expect("the stub opens");
        let samples: Vec<Vec<GpuSample>> =
            (0..26).map(|second| sample(&mut source, f64::from(second))).collect();
        let recorded = fs::read_to_string(&record).expect("a trace");
        assert_eq!(recorded.lines().count(), 27, "{fixture}: a line a look");
        let again = Stage::of_text(&recorded);
        let mut replayed = again.open();
        assert_eq!(replayed.identities(), source.identities(), "{fixture}");
        for (second, sample_then) in samples.iter().enumerate() {
            let now = sample(&mut replayed, second as f64);
            assert_eq!(now, *sample_then, "{fixture}: second {second}");
        }
        assert_eq!(missing(&replayed), missing(&source), "{fixture}");
    }
}

#[test]
fn a_trace_goes_round_with_its_counters_going_on() {
    let stage = Stage::of("eight-gpus").with_clock("step loop");
    let mut source = stage.open();
    let energies: Vec<f64> = (0..12)
        .map(|second| {
            let samples = sample(&mut source, f64::from(second));
            reading(&samples, 3).energy_j.expect("a counter")
        })
        .collect();
    assert!(energies.is_sorted(), "{energies:?}");
    // Three rounds of 3 × 90 J, and the 90 J before the first.
    assert_eq!(energies.last(), Some(&(1_000.0 + 90.0 + 3.0 * 270.0)));
}
