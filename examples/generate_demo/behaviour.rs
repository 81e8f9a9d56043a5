//! What instances do with their GPUs, CPUs and network, period by period: what
//! several estates have in common, and the pieces that the others are made of.
//!
//! Utilization stands on a grid of half a percent and memory is constant over
//! long stretches, as in real fleets: both compress well.

use super::chance::Chance;
use super::recording::{HOURS, PERIODS};

/// What the driver holds on a GPU that nothing runs on.
pub const DRIVER_ONLY_MIB: f64 = 3.0;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// One GPU over the window, one value a period.
#[derive(Debug, Clone)]
pub struct GpuUse {
    /// Mean utilization, percent.
    pub average_percent: Vec<f64>,
    /// Largest utilization, percent.
    pub maximum_percent: Vec<f64>,
    /// Mean memory in use.
    pub average_memory_mib: Vec<f64>,
    /// Largest memory in use.
    pub maximum_memory_mib: Vec<f64>,
}

/// What an instance receives and sends, one value an hour.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Bytes received.
    pub received_bytes: Vec<f64>,
    /// Bytes sent.
    pub sent_bytes: Vec<f64>,
}

/// One instance over the window.
#[derive(Debug, Clone)]
pub struct InstanceUse {
    /// Its GPUs by index; none where no agent reports them.
    pub gpus: Vec<GpuUse>,
    /// Mean CPU utilization, percent.
    pub cpu_percent: Vec<f64>,
    /// Its traffic.
    pub traffic: Traffic,
}

impl GpuUse {
    /// A GPU that computes nothing and holds the same memory throughout.
    pub fn unused(memory_mib: f64) -> Self {
        Self {
            average_percent: vec![0.0; PERIODS],
            maximum_percent: vec![0.0; PERIODS],
            average_memory_mib: vec![memory_mib; PERIODS],
            maximum_memory_mib: vec![memory_mib; PERIODS],
        }
    }

    /// Sets the utilization of a period; the maximum stands some whole percents
    /// above the average.
    pub fn work(&mut self, period: usize, average_percent: f64, above_percent: i32) {
        self.average_percent[period] = average_percent;
        let maximum = average_percent.ceil() + f64::from(above_percent);
        self.maximum_percent[period] = maximum.min(100.0);
    }

    /// Sets the memory of a period, the same throughout it.
    pub fn hold(&mut self, period: usize, memory_mib: f64) {
        self.average_memory_mib[period] = memory_mib;
        self.maximum_memory_mib[period] = memory_mib;
    }
}

impl Traffic {
    /// Around so many MiB received and sent an hour, by the number of the hour.
    ///
    /// Series hold single precision: whole MiB below 2^24 are kept to the byte.
    pub fn by_hour(chance: &mut Chance, mib: impl Fn(usize) -> (i32, i32)) -> Self {
        let mut traffic = Self {
            received_bytes: Vec::with_capacity(HOURS),
            sent_bytes: Vec::with_capacity(HOURS),
        };
        for hour in 0..HOURS {
            let (received_mib, sent_mib) = mib(hour);
            traffic.received_bytes.push(around(chance, received_mib));
            traffic.sent_bytes.push(around(chance, sent_mib));
        }
        traffic
    }

    /// Around so many MiB in every hour.
    pub fn level(chance: &mut Chance, received_mib: i32, sent_mib: i32) -> Self {
        Self::by_hour(chance, |_| (received_mib, sent_mib))
    }

    /// What an agent and a health check take: some 2.5 MB a day in all.
    pub fn heartbeat(chance: &mut Chance) -> Self {
        let mut bytes = || f64::from(chance.between(48, 56)) * KIB;
        Self {
            received_bytes: (0..HOURS).map(|_| bytes()).collect(),
            sent_bytes: (0..HOURS).map(|_| bytes()).collect(),
        }
    }
}

/// Bytes of so many MiB, perhaps a thirty-second part more or less.
fn around(chance: &mut Chance, mib: i32) -> f64 {
    let step_mib = (mib / 32).max(1);
    f64::from(mib + step_mib * chance.spread(1)) * MIB
}

/// The nearest multiple of a half.
fn to_halves(percent: f64) -> f64 {
    (percent * 2.0).round() / 2.0
}

/// A level with noise of up to `reach_halves` half percents either way.
pub fn noisy(chance: &mut Chance, percent: f64, reach_halves: i32) -> f64 {
    let noise = f64::from(chance.spread(reach_halves)) / 2.0;
    to_halves(percent + noise).clamp(0.0, 100.0)
}

/// A CPU around one level throughout.
pub fn level_cpu(chance: &mut Chance, percent: f64, reach_halves: i32) -> Vec<f64> {
    (0..PERIODS).map(|_| noisy(chance, percent, reach_halves)).collect()
}

/// Periods from one checkpoint of a training run to the next.
const CHECKPOINT_EVERY_PERIODS: usize = 72;
/// Periods in which it is written.
const CHECKPOINT_PERIODS: usize = 4;
/// What the GPUs do meanwhile, percent.
const CHECKPOINT_PERCENT: f64 = 55.0;

/// The GPUs of an instance that take every step of a training run together, so
/// that all of them show the same whole percents. A checkpoint is written every six
/// hours.
pub fn in_step(
    chance: &mut Chance,
    gpus: usize,
    step_percent: f64,
    memory_mib: f64,
) -> Vec<GpuUse> {
    let mut gpu = GpuUse::unused(memory_mib);
    for period in 0..PERIODS {
        let level_percent = if period % CHECKPOINT_EVERY_PERIODS < CHECKPOINT_PERIODS {
            CHECKPOINT_PERCENT
        } else {
            step_percent
        };
        let average = noisy(chance, level_percent, 3).round();
        gpu.work(period, average, chance.between(1, 2));
    }
    vec![gpu; gpus]
}

/// The GPUs of an instance that work through queues of their own, which never run
/// dry; each at a level of its own between two.
pub fn own_queues(
    chance: &mut Chance,
    gpus: usize,
    levels_percent: (i32, i32),
    memory_mib: f64,
) -> Vec<GpuUse> {
    let (low, high) = levels_percent;
    (0..gpus)
        .map(|_| {
            let level_percent = f64::from(chance.between(low, high));
            let mut gpu = GpuUse::unused(memory_mib);
            for period in 0..PERIODS {
                let average = noisy(chance, level_percent, 3);
                gpu.work(period, average, chance.between(1, 2));
            }
            gpu
        })
        .collect()
}

/// A member of a group that nothing is sent to any more.
pub fn idle_member(chance: &mut Chance, gpus: usize) -> InstanceUse {
    InstanceUse {
        gpus: vec![GpuUse::unused(DRIVER_ONLY_MIB); gpus],
        cpu_percent: level_cpu(chance, 1.0, 1),
        traffic: Traffic::heartbeat(chance),
    }
}
