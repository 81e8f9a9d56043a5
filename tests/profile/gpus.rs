//! What GPUs that answer are read as. Every figure is worked out from the NOTE
//! of its fixture.

use crate::profile::stub::{Stage, missing, reading, sample};
use gpucost::domain::{FineSample, GpuProcess, MigSlot, ThrottleReasons};
use gpucost::sources::GpuSource;

const MIB_PER_SECOND: f64 = 1_048_576.0;

#[test]
fn eight_gpus_are_read_metric_by_metric() {
    let stage = Stage::of("eight-gpus");
    let mut source = stage.open();
    assert_eq!(source.driver_version(), Some("550.127.05"));
    assert_eq!(source.identities().len(), 8);
    for (identity, k) in source.identities().iter().zip(0_u16..) {
        assert_eq!(identity.index, k);
        let uuid = format!("GPU-00000000-0000-0000-0000-00000000000{k}");
        assert_eq!(identity.uuid, Some(uuid));
        assert_eq!(identity.name.as_deref(), Some("NVIDIA A10G"));
        assert_eq!(identity.vram_total_mib, Some(23_028.0));
        assert_eq!(identity.power_limit_w, Some(300.0));
        assert_eq!(identity.power_default_limit_w, Some(300.0));
        // 16 GT/s on 16 lanes, 128 bits of 130.
        let link = identity.pcie_max_bytes_per_second.expect("a link");
        assert!((link / 31_507_692_307.692 - 1.0).abs() < 1e-9, "{link}");
        // A10G cannot be divided: the driver does not know what is asked.
        assert_eq!(identity.is_mig_enabled, None);
        assert_eq!(identity.mig, None);
    }
    let first = sample(&mut source, 1.0);
    for k in 0..8_u32 {
        let gpu = reading(&first, k as usize);
        let n = f64::from(k);
        assert_eq!(gpu.utilization_percent, Some(10.0 * n + 1.0));
        assert_eq!(gpu.memory_utilization_percent, Some(5.0 * n));
        assert_eq!(gpu.vram_used_mib, Some(1_024.0 * (n + 1.0)));
        assert_eq!(gpu.vram_total_mib, Some(23_028.0));
        assert_eq!(gpu.power_w, Some(60.0 + 10.0 * n));
        assert_eq!(gpu.energy_j, Some(1_000.0 + 60.0 + 10.0 * n));
        assert_eq!(gpu.temperature_c, Some(40.0 + n));
        assert_eq!(gpu.sm_clock_mhz, Some(1_500.0 + n));
        assert_eq!(gpu.memory_clock_mhz, Some(6_251.0));
        let throttle = if k == 7 { ThrottleReasons::SW_POWER_CAP } else { 0 };
        assert_eq!(gpu.throttle, Some(ThrottleReasons(throttle)));
        assert_eq!(gpu.encoder_percent, Some(n));
        assert_eq!(gpu.decoder_percent, Some(2.0 * n));
        assert_eq!(gpu.pcie_sent_bytes_per_second, None, "one look is no rate");
        assert_eq!(gpu.activity, None);
        assert!(gpu.xids.is_empty());
        // Of the driver's samples the one from before the run is left out.
        let fine: Vec<FineSample> = (1..=5_u64)
            .map(|j| FineSample {
                at_microseconds: 1_000_000 + j * 200_000,
                utilization_percent: 10.0 * n + j as f64,
            })
            .collect();
        assert_eq!(gpu.fine, fine);
        let holder = GpuProcess {
            pid: 4_000 + k,
            name: None,
            vram_mib: Some(1_024 * (u64::from(k) + 1)),
            sm_percent: None,
            is_of_command: false,
        };
        let holders = if k == 0 { vec![] } else { vec![holder] };
        assert_eq!(gpu.processes, Some(holders));
    }
    let second = sample(&mut source, 2.0);
    let third = sample(&mut source, 4.0);
    for k in 0..8_u32 {
        let megabytes = f64::from(k) * 1e6;
        let [after_1, after_2] = [&second, &third].map(|samples| reading(samples, k as usize));
        assert_eq!(after_1.pcie_sent_bytes_per_second, Some(megabytes));
        assert_eq!(after_1.pcie_received_bytes_per_second, Some(2.0 * megabytes));
        // The same bytes in twice the time.
        assert_eq!(after_2.pcie_sent_bytes_per_second, Some(megabytes / 2.0));
        assert_eq!(after_1.fine.len(), 5);
        assert_eq!(after_2.fine[0].at_microseconds, 3_200_000);
    }
    let activity = "multiprocessor, tensor and memory bandwidth activity (GPM)";
    assert_eq!(
        missing(&source),
        [(activity.to_owned(), "NVIDIA A10G".to_owned())],
        "eight GPUs of one model, one gap"
    );
}

#[test]
fn mig_instances_are_rows_after_their_gpu() {
    let stage = Stage::of("mig");
    let mut source = stage.open();
    let [gpu, large, small] = source.identities() else {
        panic!("{:?}", source.identities());
    };
    assert_eq!(gpu.is_mig_enabled, Some(true));
    assert_eq!(gpu.mig, None);
    assert_eq!(large.index, 0);
    assert_eq!(large.vram_total_mib, Some(19_968.0));
    assert_eq!(
        large.mig,
        Some(MigSlot {
            index: 0,
            gpu_instance: Some(2),
            compute_instance: Some(0),
            profile: Some("3g.20gb".to_owned()),
        })
    );
    assert_eq!(small.vram_total_mib, Some(9_856.0));
    assert_eq!(
        small.mig,
        Some(MigSlot {
            index: 2,
            gpu_instance: Some(3),
            compute_instance: Some(0),
            profile: Some("2g.10gb".to_owned()),
        })
    );
    let samples = sample(&mut source, 1.0);
    let [gpu, large, small] = [0, 1, 2].map(|row| reading(&samples, row));
    for row in [gpu, large, small] {
        assert_eq!(row.utilization_percent, None, "not available is not idle");
        assert_eq!(row.memory_utilization_percent, None);
        assert_eq!(row.activity, None);
    }
    assert_eq!(gpu.power_w, Some(151.0));
    assert_eq!(large.power_w, None);
    assert_eq!(large.energy_j, None);
    assert_eq!(large.vram_used_mib, Some(12_000.0));
    assert_eq!(small.vram_used_mib, Some(15.0));
    let holders = large.processes.as_deref().expect("a list");
    assert_eq!(holders.len(), 1);
    assert_eq!((holders[0].pid, holders[0].vram_mib), (5_001, Some(11_900)));
    assert_eq!(small.processes, Some(vec![]));
    let missing: Vec<String> = missing(&source).into_iter().map(|(what, _)| what).collect();
    assert_eq!(
        missing,
        [
            "decoder utilization", "encoder utilization",
            "multiprocessor, tensor and memory bandwidth activity (GPM)", "utilization",
            "utilization between two samples (from the driver's buffer)",
        ],
        "power is told by the GPU, so that its absence on an instance is no gap"
    );
    let gaps = source.gaps();
    let gap = gaps.iter().find(|gap| gap.what.name() == "utilization");
    let reason = &gap.expect("utilization is missing").reason;
    assert!(reason.contains("MIG"), "{reason}");
}

#[test]
fn hopper_tells_what_its_multiprocessors_did() {
    let stage = Stage::of("hopper");
    let mut source = stage.open();
    let first = sample(&mut source, 0.0);
    assert_eq!(reading(&first, 0).activity, None, "two samples are needed");
    assert_eq!(reading(&first, 0).pcie_sent_bytes_per_second, None);
    let second = sample(&mut source, 1.0);
    let gpu = reading(&second, 0);
    let activity = gpu.activity.expect("counters");
    assert_eq!(activity.graphics_percent, Some(99.5));
    assert_eq!(activity.sm_percent, Some(83.5));
    assert_eq!(activity.occupancy_percent, Some(31.25));
    assert_eq!(activity.tensor_percent, Some(61.0));
    assert_eq!(activity.dram_percent, Some(41.25));
    assert_eq!(activity.pcie_sent_bytes_per_second, Some(512.0 * MIB_PER_SECOND));
    assert_eq!(activity.pcie_received_bytes_per_second, Some(2_048.0 * MIB_PER_SECOND));
    assert_eq!(activity.nvlink_sent_bytes_per_second, None);
    assert_eq!(activity.nvlink_received_bytes_per_second, None);
    assert_eq!(gpu.pcie_received_bytes_per_second, activity.pcie_received_bytes_per_second);
    // A tenth of a second is too near; the next sample spans both.
    let near = sample(&mut source, 1.1);
    assert_eq!(reading(&near, 0).activity, None);
    let after = sample(&mut source, 1.2);
    let tensor = reading(&after, 0).activity.expect("counters").tensor_percent;
    assert_eq!(tensor, Some(62.0));
    let names: Vec<String> = missing(&source).into_iter().map(|(what, _)| what).collect();
    assert!(names.contains(&"NVLink traffic".to_owned()), "{names:?}");
    assert!(!names.contains(&"PCIe traffic".to_owned()), "{names:?}");
}

#[test]
fn hopper_tells_it_of_a_mig_instance_too() {
    let stage = Stage::of("hopper-mig");
    let mut source = stage.open();
    sample(&mut source, 0.0);
    let samples = sample(&mut source, 1.0);
    let [whole, slice] = [0, 1].map(|row| reading(&samples, row));
    assert_eq!(whole.utilization_percent, None);
    assert_eq!(whole.activity.expect("counters").sm_percent, Some(11.5));
    assert_eq!(slice.utilization_percent, None);
    let slice = slice.activity.expect("counters");
    assert_eq!(slice.sm_percent, Some(80.5));
    assert_eq!(slice.occupancy_percent, Some(20.0));
    assert_eq!(slice.tensor_percent, None);
}

#[test]
fn an_old_driver_is_read_by_its_older_calls() {
    let stage = Stage::of("old-driver");
    let mut source = stage.open();
    assert_eq!(source.identities()[0].vram_total_mib, Some(16_160.0));
    let samples = sample(&mut source, 1.0);
    let gpu = reading(&samples, 0);
    assert_eq!(gpu.vram_used_mib, Some(9_001.0));
    assert_eq!(gpu.energy_j, None);
    assert_eq!(gpu.pcie_sent_bytes_per_second, None);
    let holders = gpu.processes.as_deref().expect("a list");
    assert_eq!((holders[0].pid, holders[0].vram_mib), (77, Some(8_000)));
    let gaps = source.gaps();
    let reason = |what: &str| {
        let gap = gaps.iter().find(|gap| gap.what.name() == what);
        gap.map(|gap| gap.reason.as_str())
    };
    assert_eq!(reason("energy counter"), Some("driver 470.82.01 does not provide this call"));
    assert_eq!(reason("PCIe traffic"), Some("driver 470.82.01 does not support it on this GPU"));
    assert_eq!(
        reason("multiprocessor, tensor and memory bandwidth activity (GPM)"),
        Some("driver 470.82.01 does not provide this call")
    );
    let gpm = gaps.iter().find(|gap| gap.what.name().contains("GPM"));
    // A V100 has no such counters, whatever the driver.
    assert!(!gpm.expect("a gap").hint.contains("update"), "{gpm:?}");
    let energy = gaps.iter().find(|gap| gap.what.name() == "energy counter");
    assert_eq!(energy.expect("a gap").hint, "update the NVIDIA driver");
    assert_eq!(reason("memory in use"), None, "the older call tells it");
    assert_eq!(reason("processes"), None);
}

#[test]
fn what_a_fraction_of_a_gpu_does_not_tell_is_absent_and_not_asked_twice() {
    let stage = Stage::of("fraction");
    let mut source = stage.open();
    let first = sample(&mut source, 1.0);
    let gpu = reading(&first, 0);
    assert_eq!(gpu.utilization_percent, Some(30.0));
    assert_eq!(gpu.vram_used_mib, Some(600.0));
    assert_eq!(gpu.power_w, None);
    assert_eq!(gpu.temperature_c, None);
    assert_eq!(gpu.sm_clock_mhz, None);
    assert_eq!(gpu.throttle, None);
    assert_eq!(gpu.processes, None, "not allowed to see is not nobody");
    let second = sample(&mut source, 2.0);
    let gpu = reading(&second, 0);
    assert_eq!(gpu.utilization_percent, Some(31.0));
    assert_eq!(gpu.power_w, None, "asked once, refused, left alone");
    let gaps = source.gaps();
    let names: Vec<String> = gaps.iter().map(|gap| gap.what.to_string()).collect();
    for name in ["power draw", "temperature", "clocks", "XID errors"] {
        assert_eq!(names.iter().filter(|n| *n == name).count(), 1, "{names:?}");
    }
    let processes = gaps.iter().find(|gap| gap.what.name() == "processes");
    let processes = processes.expect("processes are missing");
    assert_eq!(processes.reason, "driver 550.127.05 does not allow it for this user");
    assert_eq!(processes.place, "NVIDIA L4-3Q");
}

#[test]
fn xid_errors_are_told_once_and_in_order() {
    let stage = Stage::of("xid");
    let mut source = stage.open();
    let xids: Vec<Vec<u64>> = (0..5)
        .map(|second| reading(&sample(&mut source, f64::from(second)), 0).xids.clone())
        .collect();
    assert_eq!(xids, [vec![], vec![63, 94], vec![], vec![31], vec![]]);
}

/// The driver stamps its samples with the wall clock.
#[test]
fn samples_of_the_driver_go_on_when_the_clock_is_set_back() {
    let samples = |from: u64, count: u64, percent: u64| {
        let each = (0..count).map(|n| format!("[{},{percent}]", from + n * 1_000));
        let each: Vec<String> = each.collect();
        format!(r#"{{"nvmlDeviceGetSamples.gpu":[{}]}}"#, each.join(","))
    };
    let mut trace = String::from(concat!(
        r#"{"nvml_trace":1,"system":{"nvmlDeviceGetCount_v2":1},"devices":[{"gpu":0,"mig":null,"#,
        r#""answers":{"nvmlDeviceGetUtilizationRates":[50,0],"nvmlDeviceGetSamples.gpu":[[900000000,0]]}}]}"#,
        "\n",
    ));
    // The third sample finds the buffer full of what is older than the second's, the
    // fourth goes on from there; so does the last, after a leap forward.
    for (second, taken) in [
        samples(1_000_000_000, 2, 20),
        samples(1_000_002_000, 2, 40),
        samples(400_000_000, 300, 60),
        samples(400_300_000, 3, 80),
        samples(7_000_000_000, 1, 90),
    ]
    .iter()
    .enumerate()
    {
        let line = format!("{{\"at\":{second}.0,\"devices\":{{\"0\":{taken}}}}}\n");
        trace.push_str(&line);
    }
    let mut source = Stage::of_text(&trace).open();
    let taken: Vec<Vec<f64>> = (0..5)
        .map(|second| {
            let samples = sample(&mut source, f64::from(second));
            let fine = &reading(&samples, 0).fine;
            fine.iter().map(|sample| sample.utilization_percent).collect()
        })
        .collect();
    let expected = [vec![20.0; 2], vec![40.0; 2], vec![], vec![80.0; 3], vec![90.0]];
    assert_eq!(taken, expected);
}

/// A host of one GPU whose PCIe counters have 32 bits, on a link of 16 lanes.
fn narrow_counters(generation: u32) -> Stage {
    let first = format!(
        concat!(
            r#"{{"nvml_trace":1,"system":{{"nvmlDeviceGetCount_v2":1}},"devices":["#,
            r#"{{"gpu":0,"mig":null,"answers":{{"nvmlDeviceGetName":"NVIDIA A10G","#,
            r#""nvmlDeviceGetMaxPcieLinkGeneration":{},"nvmlDeviceGetMaxPcieLinkWidth":16,"#,
            r#""nvmlDeviceGetFieldValues.197":{{"uint":0}},"#,
            r#""nvmlDeviceGetFieldValues.198":{{"uint":0}}}}}}]}}"#
        ),
        generation
    );
    Stage::of_text(&format!("{first}\n{{\"at\":0.0,\"devices\":{{}}}}\n"))
}

fn traffic_gap(source: &impl GpuSource) -> Option<(String, String)> {
    let gaps = source.gaps().into_iter();
    let mut traffic = gaps.filter(|gap| gap.what.name() == "PCIe traffic");
    traffic.next().map(|gap| (gap.reason, gap.hint))
}

#[test]
fn a_counter_that_starts_again_within_an_interval_is_a_gap() {
    let reason = "its counter wraps after 4 GiB, which the link can transfer between two samples";
    // 31.5 GB/s take 136 ms for 4 GiB, less a tenth 123 ms; 63 GB/s take 68 ms,
    // which is less than the shortest interval; 4 GB/s take 1.07 s, less a tenth
    // 966 ms.
    for (generation, interval) in [(4, Some("120ms")), (5, None), (1, Some("960ms"))] {
        let stage = narrow_counters(generation);
        let mut source = stage.open();
        for second in [0.0, 2.0, 4.0] {
            let samples = sample(&mut source, second);
            assert_eq!(reading(&samples, 0).pcie_sent_bytes_per_second, None);
        }
        let hint = match interval {
            Some(interval) => format!("sample more often: `--interval {interval}`"),
            None => "no action possible on this host; verdicts are made without it and say so"
                .to_owned(),
        };
        assert_eq!(traffic_gap(&source), Some((reason.to_owned(), hint)));
    }
    let stage = narrow_counters(4);
    let mut source = stage.open();
    for second in [0.0, 0.1, 0.2] {
        sample(&mut source, second);
    }
    assert_eq!(traffic_gap(&source), None);
}
