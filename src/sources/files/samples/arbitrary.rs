//! Runs of any kind, for properties.

use crate::domain::{
    Activity, FineSample, GpuIdentity, GpuProcess, GpuReading, GpuSample, HostReading, Loss,
    MigSlot, RunEnd, RunFacts, Sample, SpotAction, SpotInterruption, SpotNotice, SpotRun,
    ThrottleReasons, UnitsDone,
};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn figure() -> impl Strategy<Value = Option<f64>> {
    option::of(prop_oneof![0.0..100.0_f64, 0.0..1e15_f64, Just(0.0), Just(1.0 / 3.0)])
}

/// Text that a spreadsheet might run, and text that needs quotes.
fn name() -> impl Strategy<Value = String> {
    "[='+@,\"a-zA-Z0-9 \\-\\.äß]{0,12}[a-z]"
}

prop_compose! {
    fn activity()(
        graphics_percent in figure(),
        sm_percent in figure(),
        tensor_percent in figure(),
        dram in 0.0..100.0_f64,
        nvlink_sent_bytes_per_second in figure(),
    ) -> Activity {
        Activity {
            graphics_percent,
            sm_percent,
            tensor_percent,
            dram_percent: Some(dram),
            nvlink_sent_bytes_per_second,
            ..Activity::default()
        }
    }
}

prop_compose! {
    fn process()(
        pid in any::<u32>(),
        name in option::of(name()),
        vram_mib in option::of(any::<u64>()),
        is_of_command in any::<bool>(),
    ) -> GpuProcess {
        GpuProcess { pid, name, vram_mib, sm_percent: None, is_of_command }
    }
}

prop_compose! {
    fn reading()(
        figures in vec(figure(), 13),
        throttle in option::of(any::<u64>()),
        processes in option::of(vec(process(), 0..3)),
        activity in option::of(activity()),
        fine in vec((any::<u64>(), 0.0..100.0_f64), 0..4),
        xids in vec(any::<u64>(), 0..3),
    ) -> GpuReading {
        GpuReading {
            utilization_percent: figures[0],
            memory_utilization_percent: figures[1],
            vram_used_mib: figures[2],
            vram_total_mib: figures[3],
            power_w: figures[4],
            energy_j: figures[5],
            temperature_c: figures[6].map(|value| -value),
            sm_clock_mhz: figures[7],
            memory_clock_mhz: figures[8],
            throttle: throttle.map(ThrottleReasons),
            pcie_sent_bytes_per_second: figures[9],
            pcie_received_bytes_per_second: figures[10],
            encoder_percent: figures[11],
            decoder_percent: figures[12],
            processes,
            activity,
            fine: fine.into_iter().map(|(at_microseconds, utilization_percent)| FineSample {
                at_microseconds,
                utilization_percent,
            }).collect(),
            xids,
        }
    }
}

fn gpu() -> impl Strategy<Value = GpuSample> {
    prop_oneof![
        4 => reading().prop_map(|reading| GpuSample::Read(Box::new(reading))),
        1 => (name(), vec(any::<u64>(), 0..3))
            .prop_map(|(reason, xids)| GpuSample::Lost(Loss { reason, xids })),
    ]
}

prop_compose! {
    fn identity(index: u16)(
        slot in option::of((option::of(any::<u32>()), option::of(any::<u32>()), option::of(name()))),
        uuid in option::of(name()),
        name in option::of(name()),
        figures in vec(figure(), 4),
        is_mig_enabled in option::of(any::<bool>()),
    ) -> GpuIdentity {
        GpuIdentity {
            index,
            mig: slot.map(|(gpu_instance, compute_instance, profile)| MigSlot {
                index: 3,
                gpu_instance,
                compute_instance,
                profile,
            }),
            uuid,
            name,
            vram_total_mib: figures[0],
            power_limit_w: figures[1],
            power_default_limit_w: figures[2],
            pcie_max_bytes_per_second: figures[3],
            is_mig_enabled,
        }
    }
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_i64, 0..1_000_000_000_i32)
        .prop_map(|(second, nanosecond)| Timestamp::new(second, nanosecond).expect("in range"))
}

prop_compose! {
    fn facts(gpus: usize)(
        started in time(),
        interval_seconds in figure(),
        names in vec(option::of(name()), 5),
        is_command in any::<bool>(),
        gpus in (0..gpus).map(|index| identity(index as u16)).collect::<Vec<_>>(),
    ) -> RunFacts {
        RunFacts {
            started,
            interval_seconds,
            hostname: names[0].clone(),
            instance_id: names[1].clone(),
            instance_type: names[2].clone(),
            region: names[3].clone(),
            driver_version: names[4].clone(),
            is_command,
            gpus,
        }
    }
}

prop_compose! {
    fn sample(gpus: usize)(
        time in time(),
        gpus in vec(gpu(), gpus),
        cores in option::of(any::<u32>()),
        figures in vec(figure(), 12),
    ) -> Sample {
        Sample {
            at_seconds: 0.0,
            time,
            gpus,
            host: HostReading {
                cores,
                cpu_percent: figures[0],
                busiest_core_percent: figures[1],
                io_wait_percent: figures[2],
                cpu_pressure_percent: figures[3],
                io_pressure_percent: figures[4],
                memory_pressure_percent: figures[5],
                memory_used_mib: figures[6],
                memory_total_mib: figures[7],
                network_received_bytes_per_second: figures[8],
                network_sent_bytes_per_second: figures[9],
                disk_read_bytes_per_second: figures[10],
                disk_written_bytes_per_second: figures[11],
            },
        }
    }
}

prop_compose! {
    fn interruption()(
        action in proptest::sample::select(SpotAction::ALL),
        time in time(),
        noticed_seconds in 0.0..1e6_f64,
        warned_by in option::of(name()),
        action_seconds in 0.0..1e6_f64,
        deadline_seconds in 0.0..1e6_f64,
    ) -> SpotInterruption {
        SpotInterruption {
            notice: SpotNotice { action, time },
            noticed_seconds,
            warned_by,
            action_seconds,
            deadline_seconds,
        }
    }
}

prop_compose! {
    fn spot()(
        interruption in option::of(interruption()),
        is_unread in any::<bool>(),
    ) -> SpotRun {
        SpotRun { interruption, is_unread }
    }
}

prop_compose! {
    fn units()(unit in name(), count in 0..=1_000_000_000_000_000_000_u64) -> UnitsDone {
        UnitsDone { unit, count }
    }
}

/// A run of one to three GPUs, its samples and its end.
pub(super) fn run() -> impl Strategy<Value = (RunFacts, Vec<Sample>, RunEnd)> {
    let ended = (option::of(any::<i32>()), option::of(spot()), vec(units(), 0..3));
    (1..4_usize, ended)
        .prop_flat_map(|(gpus, ended)| {
            let rounds = vec((sample(gpus), 0.001..10.0_f64), 1..5);
            (facts(gpus), rounds, Just(ended))
        })
        .prop_map(|(facts, rounds, (exit_code, spot, units))| {
            let mut at_seconds = 0.0;
            let mut samples = Vec::new();
            for (sample, step) in rounds {
                at_seconds += step;
                samples.push(Sample { at_seconds, ..sample });
            }
            let end = RunEnd { elapsed_seconds: at_seconds + 0.1, exit_code, spot, units };
            (facts, samples, end)
        })
}
