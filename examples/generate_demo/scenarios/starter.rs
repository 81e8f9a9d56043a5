//! The demo without a name: a fleet whose waste is known beforehand, so that every
//! figure of an audit of it can be checked by hand. 23 instances of one account, by
//! what they are there for. Traffic takes a copy of the chance, so that it changes no other
//! figure.

use super::super::behaviour::{DRIVER_ONLY_MIB, GpuUse, InstanceUse, Traffic, level_cpu, noisy};
use super::super::cards;
use super::super::chance::Chance;
use super::super::fleet::{Doing, Job, Setting};
use super::super::recording::{PERIODS, PERIODS_PER_DAY, PERIODS_PER_HOUR};
use gpucost::usage::Estate;

/// The estate.
pub fn estate() -> Estate {
    super::estate(JOBS, 0)
}

const JOBS: &[Job] = &[
    Job {
        instance_type: "p3.8xlarge",
        name: "experiment",
        count: 8,
        zones: "ab",
        launched: "2026-07-06T14:20:31Z",
        tags: &[
            ("team", "research"),
            ("owner", "mira.holm"),
            ("env", "research"),
            ("gpucost:kind", "training"),
            ("gpucost:restartable", "true"),
            ("gpucost:workload", "experiments"),
        ],
        card: cards::V100,
        doing: Doing::Work(experiments),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "p4d.24xlarge",
        name: "chat-serving",
        count: 5,
        zones: "bc",
        launched: "2026-05-11T08:02:47Z",
        tags: &[
            ("team", "assistant"),
            ("owner", "jonas.weber"),
            ("env", "production"),
            ("gpucost:kind", "serving"),
            ("gpucost:workload", "chat-serving"),
        ],
        card: cards::A100,
        doing: Doing::Work(chat_serving),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g5.12xlarge",
        name: "nightly-eval",
        count: 5,
        zones: "acd",
        launched: "2026-08-24T16:45:09Z",
        tags: &[
            ("team", "quality"),
            ("owner", "aiko.sato"),
            ("env", "staging"),
            ("gpucost:kind", "evaluation"),
            ("gpucost:workload", "nightly-eval"),
        ],
        card: cards::A10G,
        doing: Doing::Work(nightly_evaluation),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g5.4xlarge",
        name: "notebook-pavel",
        count: 1,
        zones: "a",
        launched: "2026-09-29T09:31:18Z",
        tags: &[
            ("team", "research"),
            ("owner", "pavel.novak"),
            ("env", "dev"),
            ("gpucost:kind", "development"),
        ],
        card: cards::A10G,
        doing: Doing::Work(forgotten_notebook),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g6e.12xlarge",
        name: "llm-poc-old",
        count: 1,
        zones: "d",
        launched: "2026-03-17T11:08:55Z",
        tags: &[("team", "solutions"), ("owner", "lena.fischer"), ("env", "poc")],
        card: cards::L40S,
        doing: Doing::Work(abandoned),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g6.12xlarge",
        name: "video-captioning-2",
        count: 1,
        zones: "b",
        launched: "2026-08-03T07:55:40Z",
        tags: &[("team", "media"), ("owner", "omar.haddad"), ("env", "production")],
        card: cards::L4,
        doing: Doing::Work(unmeasured),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g5.2xlarge",
        name: "speech-prototype",
        count: 1,
        zones: "c",
        launched: "2026-06-22T13:14:02Z",
        tags: &[("team", "speech"), ("owner", "ines.moreau"), ("env", "poc")],
        card: cards::A10G,
        doing: Doing::Rest {
            stop: "User initiated (2026-09-18 09:12:44 GMT)",
            volumes_gib: &[200, 4096],
        },
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "p4d.24xlarge",
        name: "foundation-pretraining",
        count: 1,
        zones: "b",
        launched: "2026-09-07T18:26:13Z",
        tags: &[
            ("team", "foundation"),
            ("owner", "grace.okafor"),
            ("env", "production"),
            ("gpucost:kind", "training"),
            ("gpucost:restartable", "false"),
        ],
        card: cards::A100,
        doing: Doing::Work(pretraining),
        setting: Setting::USUAL,
    },
];

/// Single-GPU training runs of several hours on the first of four GPUs, with
/// pauses between them; the launcher never starts a process for the others.
fn experiments(chance: &mut Chance) -> InstanceUse {
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
        traffic: Traffic::level(&mut chance.clone(), 36_000, 4_000),
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
fn chat_serving(chance: &mut Chance) -> InstanceUse {
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
    let cpu_percent = (0..PERIODS).map(|period| noisy(chance, 14.0 * demand(period), 4)).collect();
    let traffic = Traffic::by_hour(&mut chance.clone(), |hour| {
        let mib = 32_000.0 * demand(hour * PERIODS_PER_HOUR);
        (mib as i32, mib as i32)
    });
    InstanceUse { gpus, cpu_percent, traffic }
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
fn nightly_evaluation(chance: &mut Chance) -> InstanceUse {
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
            if is_evaluation_hour(period) { noisy(chance, 26.0, 10) } else { noisy(chance, 1.0, 1) }
        })
        .collect();
    let traffic = Traffic::by_hour(&mut chance.clone(), |hour| {
        if is_evaluation_hour(hour * PERIODS_PER_HOUR) { (24_000, 2_000) } else { (8, 8) }
    });
    InstanceUse { gpus, cpu_percent, traffic }
}

/// A notebook kernel that was left open with a model in memory.
fn forgotten_notebook(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: vec![GpuUse::unused(14.0 * 1024.0)],
        cpu_percent: level_cpu(chance, 2.0, 2),
        traffic: Traffic::heartbeat(&mut chance.clone()),
    }
}

/// A proof of concept that nobody switched off.
fn abandoned(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: vec![GpuUse::unused(DRIVER_ONLY_MIB); 4],
        cpu_percent: level_cpu(chance, 1.0, 1),
        traffic: Traffic::heartbeat(&mut chance.clone()),
    }
}

/// A busy CPU beside GPUs that no agent reports: nothing can be said of them.
fn unmeasured(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: Vec::new(),
        cpu_percent: level_cpu(chance, 68.0, 24),
        traffic: Traffic::level(&mut chance.clone(), 30_000, 12_000),
    }
}

/// Periods from one evaluation of the model under training to the next.
const VALIDATION_EVERY_PERIODS: usize = 72;

/// One long training run on eight GPUs in step, with a validation every six
/// hours and a restart from a checkpoint every other day.
fn pretraining(chance: &mut Chance) -> InstanceUse {
    let mut gpus: Vec<GpuUse> =
        (0..8).map(|_| GpuUse::unused(f64::from(33 * 1024 + 64 * chance.between(0, 32)))).collect();
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
    InstanceUse { gpus, cpu_percent, traffic: Traffic::level(&mut chance.clone(), 180_000, 26_000) }
}
