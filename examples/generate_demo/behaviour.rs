//! What each kind of instance does with its GPUs and CPU, period by period.
//!
//! Utilization stands on a grid of half a percent and memory is constant over
//! long stretches, as in real fleets: both compress well.

use super::chance::Chance;
use super::recording::{PERIODS, PERIODS_PER_DAY, PERIODS_PER_HOUR};

/// What the driver holds on a GPU that nothing runs on.
pub const DRIVER_ONLY_MIB: f64 = 3.0;

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

/// One instance over the window.
#[derive(Debug, Clone)]
pub struct InstanceUse {
    /// Its GPUs by index; none where no agent reports them.
    pub gpus: Vec<GpuUse>,
    /// Mean CPU utilization, percent.
    pub cpu_percent: Vec<f64>,
}

impl GpuUse {
    /// A GPU that computes nothing and holds the same memory throughout.
    fn unused(memory_mib: f64) -> Self {
        Self {
            average_percent: vec![0.0; PERIODS],
            maximum_percent: vec![0.0; PERIODS],
            average_memory_mib: vec![memory_mib; PERIODS],
            maximum_memory_mib: vec![memory_mib; PERIODS],
        }
    }

    /// Sets the utilization of a period; the maximum stands some whole percents
    /// above the average.
    fn work(&mut self, period: usize, average_percent: f64, above_percent: i32) {
        self.average_percent[period] = average_percent;
        let maximum = average_percent.ceil() + f64::from(above_percent);
        self.maximum_percent[period] = maximum.min(100.0);
    }

    /// Sets the memory of a period, the same throughout it.
    fn hold(&mut self, period: usize, memory_mib: f64) {
        self.average_memory_mib[period] = memory_mib;
        self.maximum_memory_mib[period] = memory_mib;
    }
}

/// The nearest multiple of a half.
fn to_halves(percent: f64) -> f64 {
    (percent * 2.0).round() / 2.0
}

/// A level with noise of up to `reach_halves` half percents either way.
fn noisy(chance: &mut Chance, percent: f64, reach_halves: i32) -> f64 {
    let noise = f64::from(chance.spread(reach_halves)) / 2.0;
    to_halves(percent + noise).clamp(0.0, 100.0)
}

/// A CPU around one level throughout.
fn level_cpu(chance: &mut Chance, percent: f64, reach_halves: i32) -> Vec<f64> {
    (0..PERIODS)
        .map(|_| noisy(chance, percent, reach_halves))
        .collect()
}

/// Single-GPU training runs of several hours on the first of four GPUs, with
/// pauses between them; the launcher never starts a process for the others.
pub fn experiments(chance: &mut Chance) -> InstanceUse {
    let mut cpu_percent = level_cpu(chance, 1.5, 2);
    let mut first = GpuUse::unused(DRIVER_ONLY_MIB);
    let mut start = chance.between(0, 30) as usize;
    while start < PERIODS {
        let end = (start + chance.between(72, 216) as usize).min(PERIODS);
        let level_percent = f64::from(chance.between(72, 86));
        let memory_mib = f64::from(9 * 1024 + 64 * chance.between(0, 64));
        for (period, cpu) in cpu_percent.iter_mut().enumerate().take(end).skip(start) {
            let average = noisy(chance, level_percent, 14).clamp(60.0, 95.0);
            first.work(period, average, chance.between(1, 12));
            first.hold(period, memory_mib);
            *cpu = noisy(chance, 11.0, 8);
        }
        start = end + chance.between(6, 40) as usize;
    }
    let unused = GpuUse::unused(DRIVER_ONLY_MIB);
    InstanceUse {
        gpus: vec![first, unused.clone(), unused.clone(), unused],
        cpu_percent,
    }
}

/// Demand by hour of day (UTC), percent of the day's mean: people at work in
/// the Americas.
const DEMAND_PERCENT: [f64; 24] = [
    110.0, 101.0, 91.0, 82.0, 75.0, 70.0, 67.0, 66.0, 68.0, 73.0, 81.0, 91.0, 102.0, 113.0, 122.0,
    129.0, 133.0, 135.0, 135.0, 133.0, 130.0, 126.0, 122.0, 117.0,
];
/// Demand on Saturday and Sunday, as a share of a working day's.
const WEEKEND_SHARE: f64 = 0.84;

/// Demand at a period as a share of its mean on working days.
fn demand(period: usize) -> f64 {
    let within = period % PERIODS_PER_DAY;
    let hour = within / PERIODS_PER_HOUR;
    let weight = (within % PERIODS_PER_HOUR) as f64 / PERIODS_PER_HOUR as f64;
    let next = DEMAND_PERCENT[(hour + 1) % 24];
    let share = (DEMAND_PERCENT[hour] * (1.0 - weight) + next * weight) / 100.0;
    // The window begins on a Sunday.
    match period / PERIODS_PER_DAY % 7 {
        0 | 6 => share * WEEKEND_SHARE,
        _ => share,
    }
}

/// One chat model on each of eight GPUs, asked around the clock: quiet at night
/// and at weekends. A new build goes out once and changes what it holds.
pub fn chat_serving(chance: &mut Chance) -> InstanceUse {
    let gpus = (0..8)
        .map(|_| {
            let level_percent = f64::from(chance.between(198, 220)) / 10.0;
            let release = chance.between(4 * 288, 10 * 288) as usize;
            let before_mib = f64::from(10 * 1024 + 64 * chance.between(0, 92));
            let after_mib = before_mib + 256.0;
            let mut gpu = GpuUse::unused(before_mib);
            for period in 0..PERIODS {
                let average = noisy(chance, level_percent * demand(period), 6);
                gpu.work(period, average, chance.between(3, 18));
                if period >= release {
                    gpu.hold(period, after_mib);
                }
            }
            gpu
        })
        .collect();
    let cpu_percent = (0..PERIODS)
        .map(|period| noisy(chance, 14.0 * demand(period), 4))
        .collect();
    InstanceUse { gpus, cpu_percent }
}

/// Whether the evaluation works: Tuesday and Friday, 02:00 to 06:00 UTC, which
/// is 8 of the 168 hours of a week.
fn is_evaluation_hour(period: usize) -> bool {
    let hour = period % PERIODS_PER_DAY / PERIODS_PER_HOUR;
    // The window begins on a Sunday.
    matches!(period / PERIODS_PER_DAY % 7, 2 | 5) && (2..6).contains(&hour)
}

/// Benchmarks twice a week on four GPUs; between them the server process stays
/// with half a GiB and computes nothing.
pub fn nightly_evaluation(chance: &mut Chance) -> InstanceUse {
    let mut gpus = vec![GpuUse::unused(512.0); 4];
    for gpu in &mut gpus {
        let memory_mib = f64::from(17 * 1024 + 64 * chance.between(0, 16));
        for period in (0..PERIODS).filter(|period| is_evaluation_hour(*period)) {
            let average = noisy(chance, 80.0, 16);
            gpu.work(period, average, chance.between(1, 10));
            gpu.hold(period, memory_mib);
        }
    }
    let cpu_percent = (0..PERIODS)
        .map(|period| {
            if is_evaluation_hour(period) {
                noisy(chance, 26.0, 10)
            } else {
                noisy(chance, 1.0, 1)
            }
        })
        .collect();
    InstanceUse { gpus, cpu_percent }
}

/// A notebook kernel that was left open with a model in memory.
pub fn forgotten_notebook(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: vec![GpuUse::unused(14.0 * 1024.0)],
        cpu_percent: level_cpu(chance, 2.0, 2),
    }
}

/// A proof of concept that nobody switched off.
pub fn abandoned(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: vec![GpuUse::unused(DRIVER_ONLY_MIB); 4],
        cpu_percent: level_cpu(chance, 1.0, 1),
    }
}

/// A busy CPU beside GPUs that no agent reports: nothing can be said of them.
pub fn unmeasured(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: Vec::new(),
        cpu_percent: level_cpu(chance, 68.0, 24),
    }
}

/// Periods from one evaluation of the model under training to the next.
const VALIDATION_EVERY_PERIODS: usize = 72;

/// One long training run on eight GPUs in step, with a validation every six
/// hours and a restart from a checkpoint every other day.
pub fn pretraining(chance: &mut Chance) -> InstanceUse {
    let mut gpus: Vec<GpuUse> = (0..8)
        .map(|_| GpuUse::unused(f64::from(33 * 1024 + 64 * chance.between(0, 32))))
        .collect();
    let mut cpu_percent = Vec::with_capacity(PERIODS);
    for period in 0..PERIODS {
        let restarts = matches!(period % (2 * PERIODS_PER_DAY), 400..404);
        let validates = period % VALIDATION_EVERY_PERIODS < 4;
        let step_percent = if restarts {
            6.0
        } else if validates {
            noisy(chance, 42.0, 8)
        } else {
            noisy(chance, 82.5, 10)
        };
        for gpu in &mut gpus {
            let average = noisy(chance, step_percent, 4);
            gpu.work(period, average, chance.between(2, 9));
        }
        let cpu = if restarts { 12.0 } else { 38.0 };
        cpu_percent.push(noisy(chance, cpu, 8));
    }
    InstanceUse { gpus, cpu_percent }
}
