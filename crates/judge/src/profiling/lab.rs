//! Runs for the tests of this folder.

use super::{Pace, Profiler, RunProfile};
use crate::domain::{
    GpuIdentity, GpuReading, GpuSample, HostReading, MigSlot, Policy, RunEnd, RunFacts, Sample,
};
use jiff::Timestamp;

/// A GPU of 24 GiB with a limit of 300 W and a link of 32 GB/s.
pub(super) fn gpu(index: u16) -> GpuIdentity {
    GpuIdentity {
        index,
        mig: None,
        uuid: None,
        name: Some("NVIDIA A10G".to_owned()),
        vram_total_mib: Some(24_000.0),
        power_limit_w: Some(300.0),
        power_default_limit_w: Some(300.0),
        pcie_max_bytes_per_second: Some(32e9),
        is_mig_enabled: None,
    }
}

/// A slice of the first GPU.
pub(super) fn slice(index: u16) -> GpuIdentity {
    let mig = MigSlot {
        index,
        gpu_instance: None,
        compute_instance: None,
        profile: Some("1g.5gb".to_owned()),
    };
    GpuIdentity { mig: Some(mig), vram_total_mib: Some(4_864.0), ..gpu(0) }
}

/// A run on some GPUs with a sample a second.
pub(super) fn facts(gpus: Vec<GpuIdentity>) -> RunFacts {
    RunFacts {
        started: Timestamp::UNIX_EPOCH,
        interval_seconds: Some(1.0),
        hostname: None,
        instance_id: None,
        instance_type: None,
        region: None,
        driver_version: None,
        is_command: true,
        gpus,
    }
}

/// A reading of utilization and memory alone.
pub(super) fn reading(utilization_percent: f64, vram_used_mib: f64) -> GpuReading {
    GpuReading {
        utilization_percent: Some(utilization_percent),
        vram_used_mib: Some(vram_used_mib),
        ..GpuReading::default()
    }
}

/// A GPU that answers.
pub(super) fn read(reading: GpuReading) -> GpuSample {
    GpuSample::Read(Box::new(reading))
}

/// A sample at that many seconds, of a host that tells nothing.
pub(super) fn sample(at_seconds: f64, gpus: Vec<GpuSample>) -> Sample {
    let host = HostReading::default();
    Sample { at_seconds, time: Timestamp::UNIX_EPOCH, gpus, host }
}

/// A run of one GPU with a sample a second, by utilization.
pub(super) fn run_of(utilizations: impl IntoIterator<Item = f64>) -> RunProfile {
    let readings = utilizations.into_iter().map(|percent| reading(percent, 12_000.0));
    run_of_readings(gpu(0), readings)
}

/// The same by readings.
pub(super) fn run_of_readings(
    identity: GpuIdentity,
    readings: impl IntoIterator<Item = GpuReading>,
) -> RunProfile {
    let mut profiler = Profiler::new(facts(vec![identity]), &Policy::default());
    let mut at_seconds = 0.0;
    for reading in readings {
        profiler.add(&sample(at_seconds, vec![read(reading)]));
        at_seconds += 1.0;
    }
    finish(profiler, at_seconds)
}

/// A run that missed nothing and ended well.
pub(super) fn finish(profiler: Profiler, elapsed_seconds: f64) -> RunProfile {
    profiler.finish(
        RunEnd { elapsed_seconds, exit_code: Some(0), spot: None, units: Vec::new() },
        Pace::default(),
    )
}
