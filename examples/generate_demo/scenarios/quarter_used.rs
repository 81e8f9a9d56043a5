//! `--demo quarter-used`: 31 instances whose 108 GPUs work at a quarter of what
//! they could. Everything that is wrong with it can be set right without guessing:
//! what may be stopped, moved, taken together or switched off is declared and
//! measured.
//!
//! What it costs a month today, in us-east-1 from `pricing-data/prices.csv`, with
//! 730 hours to the month; every instance runs around the clock:
//!
//! ```text
//! workload               instances            an hour            a month
//! sweeps                 4 × g7e.48xlarge     4 × 33.14432     96 781.41
//! embedding              7 × g6e.12xlarge     7 × 10.49264     53 617.39
//! finetune               6 × g5.12xlarge      6 ×  5.672       24 843.36
//! chat-replicas         12 × g6e.xlarge      12 ×  1.861       16 302.36
//! foundation-pretraining 1 × p4d.24xlarge     1 × 21.957642    16 029.08
//! nightly-transcription  1 × g5.12xlarge      1 ×  5.672        4 140.56
//!                                                             211 714.16
//! ```
//!
//! And what is left of it without buying anything ahead:
//!
//! ```text
//! sweeps                 4 × g7e.12xlarge     4 ×  8.28608     24 195.35
//! embedding              5 of 7 stop          2 × 10.49264     15 319.25
//! finetune               5 of 6 stop          1 ×  5.672        4 140.56
//! chat-replicas          3 × g6e.xlarge       3 ×  1.861        4 075.59
//! foundation-pretraining as it is             1 × 21.957642    16 029.08
//! nightly-transcription  35 of 168 hours      5.672 × 35/168      862.62
//!                                                              64 622.45
//! ```
//!
//! 69.5% less. The GPUs that stay do the same work, 27 GPUs' worth: 35 are kept,
//! which is 77% of them, and 85% of the hours for which they are paid.

use super::super::behaviour::{
    DRIVER_ONLY_MIB, GpuUse, InstanceUse, Traffic, idle_member, in_step, level_cpu, noisy,
    own_queues,
};
use super::super::cards;
use super::super::chance::Chance;
use super::super::fleet::{Doing, Job, Setting};
use super::super::recording::{PERIODS, PERIODS_PER_HOUR};
use gpucost::usage::Estate;

/// The estate.
pub fn estate() -> Estate {
    super::estate(JOBS, 1)
}

const EMBEDDING_TAGS: &[(&str, &str)] = &[
    ("team", "search"),
    ("owner", "aiko.sato"),
    ("env", "production"),
    ("gpucost:kind", "batch"),
    ("gpucost:workload", "embedding"),
];

const FINETUNE_TAGS: &[(&str, &str)] = &[
    ("team", "vision"),
    ("owner", "mira.holm"),
    ("env", "research"),
    ("gpucost:kind", "training"),
    ("gpucost:workload", "finetune"),
];

const JOBS: &[Job] = &[
    Job {
        instance_type: "g6e.xlarge",
        name: "chat-replica",
        count: 12,
        zones: "ab",
        launched: "2026-06-02T07:48:12Z",
        tags: &[
            ("team", "assistant"),
            ("owner", "jonas.weber"),
            ("env", "production"),
            ("gpucost:kind", "serving"),
            ("gpucost:workload", "chat-replicas"),
            ("gpucost:replicas", "interchangeable"),
        ],
        card: cards::L40S,
        doing: Doing::Work(chat_replica),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g6e.12xlarge",
        name: "embedding",
        count: 2,
        zones: "b",
        launched: "2026-05-19T12:31:40Z",
        tags: EMBEDDING_TAGS,
        card: cards::L40S,
        doing: Doing::Work(embedding),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g6e.12xlarge",
        name: "embedding",
        count: 5,
        zones: "b",
        launched: "2026-05-19T12:34:05Z",
        tags: EMBEDDING_TAGS,
        card: cards::L40S,
        doing: Doing::Work(idle_on_four_gpus),
        setting: Setting { first: 3, ..Setting::USUAL },
    },
    Job {
        instance_type: "g7e.48xlarge",
        name: "sweep",
        count: 4,
        zones: "bf",
        launched: "2026-07-28T09:10:27Z",
        tags: &[
            ("team", "research"),
            ("owner", "pavel.novak"),
            ("env", "research"),
            ("gpucost:kind", "batch"),
            ("gpucost:restartable", "true"),
            ("gpucost:workload", "sweeps"),
        ],
        card: cards::RTX_PRO_6000,
        doing: Doing::Work(sweeps),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g5.12xlarge",
        name: "nightly-transcription",
        count: 1,
        zones: "c",
        launched: "2026-08-10T15:22:51Z",
        tags: &[
            ("team", "media"),
            ("owner", "omar.haddad"),
            ("env", "staging"),
            ("gpucost:kind", "batch"),
        ],
        card: cards::A10G,
        doing: Doing::Work(nightly_transcription),
        // Two lost readings of twelve would leave an hour unknown.
        setting: Setting { longest_outage_periods: 1, ..Setting::USUAL },
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
    Job {
        instance_type: "g5.12xlarge",
        name: "finetune-1",
        count: 1,
        zones: "d",
        launched: "2026-07-14T10:02:33Z",
        tags: FINETUNE_TAGS,
        card: cards::A10G,
        doing: Doing::Work(finetune),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g5.12xlarge",
        name: "finetune",
        count: 5,
        zones: "d",
        launched: "2026-07-14T10:05:58Z",
        tags: FINETUNE_TAGS,
        card: cards::A10G,
        doing: Doing::Work(idle_on_four_gpus),
        setting: Setting { first: 2, ..Setting::USUAL },
    },
];

/// Memory that the model of a replica takes; the same on each of them, and small
/// enough for four beside each other.
const REPLICA_MIB: f64 = 9.0 * 1024.0;

/// One replica of a chat model, asked evenly around the clock and far below what
/// its GPU could answer: all twelve together take 2.3 GPUs, never more than 2.4.
fn chat_replica(chance: &mut Chance) -> InstanceUse {
    let level_percent = 18.5 + f64::from(chance.between(0, 2)) / 2.0;
    let mut gpu = GpuUse::unused(REPLICA_MIB);
    for period in 0..PERIODS {
        let average = noisy(chance, level_percent, 1);
        gpu.work(period, average, chance.between(2, 5));
    }
    InstanceUse {
        gpus: vec![gpu],
        cpu_percent: level_cpu(chance, 12.0, 2),
        traffic: Traffic::level(chance, 21_000, 24_000),
    }
}

/// Four workers with a GPU each.
fn embedding(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: own_queues(chance, 4, (85, 88), 38.0 * 1024.0),
        cpu_percent: level_cpu(chance, 31.0, 3),
        traffic: Traffic::level(chance, 96_000, 22_000),
    }
}

fn idle_on_four_gpus(chance: &mut Chance) -> InstanceUse {
    idle_member(chance, 4)
}

/// Runs of some hours that take one GPU, on the first two of eight; nothing ever
/// starts a process on the other six.
fn sweeps(chance: &mut Chance) -> InstanceUse {
    let mut gpus = vec![GpuUse::unused(DRIVER_ONLY_MIB); 8];
    for gpu in gpus.iter_mut().take(2) {
        let mut start = 0;
        while start < PERIODS {
            let end = (start + chance.between(72, 168) as usize).min(PERIODS);
            let level_percent = f64::from(chance.between(84, 90));
            let memory_mib = f64::from(52 * 1024 + 64 * chance.between(0, 96));
            for period in start..end {
                let average = noisy(chance, level_percent, 4);
                gpu.work(period, average, chance.between(1, 4));
                gpu.hold(period, memory_mib);
            }
            start = end + chance.between(1, 2) as usize;
        }
    }
    InstanceUse {
        gpus,
        cpu_percent: level_cpu(chance, 9.0, 3),
        traffic: Traffic::level(chance, 58_000, 9_000),
    }
}

/// Whether the transcription works: 01:00 to 06:00 UTC every night, which is 35 of
/// the 168 hours of a week.
fn is_transcription_hour(hour: usize) -> bool {
    (1..6).contains(&(hour % 24))
}

/// A day's recordings on four GPUs every night; the process ends with the work.
fn nightly_transcription(chance: &mut Chance) -> InstanceUse {
    let works = |period: usize| is_transcription_hour(period / PERIODS_PER_HOUR);
    let mut gpus = vec![GpuUse::unused(DRIVER_ONLY_MIB); 4];
    for gpu in &mut gpus {
        let level_percent = f64::from(chance.between(86, 89));
        for period in (0..PERIODS).filter(|period| works(*period)) {
            let average = noisy(chance, level_percent, 4);
            gpu.work(period, average, chance.between(1, 4));
            gpu.hold(period, 16.0 * 1024.0);
        }
    }
    let cpu_percent = (0..PERIODS)
        .map(|period| if works(period) { noisy(chance, 27.0, 4) } else { noisy(chance, 1.0, 1) })
        .collect();
    let traffic = Traffic::by_hour(chance, |hour| {
        if is_transcription_hour(hour) { (60_000, 4_000) } else { (8, 8) }
    });
    InstanceUse { gpus, cpu_percent, traffic }
}

/// One long training run on eight GPUs.
fn pretraining(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: in_step(chance, 8, 89.0, 34.0 * 1024.0),
        cpu_percent: level_cpu(chance, 38.0, 4),
        traffic: Traffic::level(chance, 180_000, 26_000),
    }
}

/// The one box of its group that still trains.
fn finetune(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: in_step(chance, 4, 88.0, 19.0 * 1024.0),
        cpu_percent: level_cpu(chance, 24.0, 4),
        traffic: Traffic::level(chance, 42_000, 7_000),
    }
}
