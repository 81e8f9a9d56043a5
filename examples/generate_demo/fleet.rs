//! The inventory: 23 instances of one account, by what they are there for.

use super::behaviour::{self, InstanceUse};
use super::chance::Chance;
use super::recording::{Card, record};
use gpucost::domain::{
    Instance, InstanceId, InstanceState, Lifecycle, OperatingSystem, Series, Tenancy, Volume,
    Window,
};
use jiff::Timestamp;

/// The account that owns everything; the number AWS uses in examples.
pub const ACCOUNT: &str = "111122223333";
/// The region that everything runs in.
pub const REGION: &str = "us-east-1";

const V100: Card = Card {
    total_mib: 16_160.0,
    idle_w: 24.0,
    held_w: 40.0,
    full_w: 280.0,
};
const A100: Card = Card {
    total_mib: 40_960.0,
    idle_w: 50.0,
    held_w: 62.0,
    full_w: 380.0,
};
const A10G: Card = Card {
    total_mib: 23_028.0,
    idle_w: 57.0,
    held_w: 60.0,
    full_w: 280.0,
};
const L40S: Card = Card {
    total_mib: 46_068.0,
    idle_w: 78.0,
    held_w: 82.0,
    full_w: 330.0,
};
const L4: Card = Card {
    total_mib: 23_034.0,
    idle_w: 27.0,
    held_w: 30.0,
    full_w: 70.0,
};

/// Instances of one type that do one job.
struct Job {
    instance_type: &'static str,
    /// `Name` tag; a number follows where there are several.
    name: &'static str,
    count: usize,
    /// Last letter of the availability zones, taken in turn.
    zones: &'static str,
    launched: &'static str,
    tags: &'static [(&'static str, &'static str)],
    card: Card,
    /// What it does; absent where it is stopped.
    behaviour: Option<fn(&mut Chance) -> InstanceUse>,
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
        card: V100,
        behaviour: Some(behaviour::experiments),
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
        card: A100,
        behaviour: Some(behaviour::chat_serving),
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
        card: A10G,
        behaviour: Some(behaviour::nightly_evaluation),
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
        card: A10G,
        behaviour: Some(behaviour::forgotten_notebook),
    },
    Job {
        instance_type: "g6e.12xlarge",
        name: "llm-poc-old",
        count: 1,
        zones: "d",
        launched: "2026-03-17T11:08:55Z",
        tags: &[
            ("team", "solutions"),
            ("owner", "lena.fischer"),
            ("env", "poc"),
        ],
        card: L40S,
        behaviour: Some(behaviour::abandoned),
    },
    Job {
        instance_type: "g6.12xlarge",
        name: "video-captioning-2",
        count: 1,
        zones: "b",
        launched: "2026-08-03T07:55:40Z",
        tags: &[
            ("team", "media"),
            ("owner", "omar.haddad"),
            ("env", "production"),
        ],
        card: L4,
        behaviour: Some(behaviour::unmeasured),
    },
    Job {
        instance_type: "g5.2xlarge",
        name: "speech-prototype",
        count: 1,
        zones: "c",
        launched: "2026-06-22T13:14:02Z",
        tags: &[("team", "speech"), ("owner", "ines.moreau"), ("env", "poc")],
        card: A10G,
        behaviour: None,
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
        card: A100,
        behaviour: Some(behaviour::pretraining),
    },
];

/// Every instance with its series. Each has chance of its own, so that a change
/// to one job leaves the figures of the others alone.
pub fn fleet(window: Window) -> (Vec<Instance>, Vec<Series>) {
    let mut instances = Vec::new();
    let mut metrics = Vec::new();
    for (job_number, job) in (1_u64..).zip(JOBS) {
        for number in 1..=job.count {
            let mut chance = Chance::new(job_number << 32 | number as u64);
            let instance = instance(job, number, &mut chance);
            if let Some(behaviour) = job.behaviour {
                let usage = behaviour(&mut chance);
                let series = record(&instance.id, &usage, job.card, window, &mut chance);
                metrics.extend(series);
            }
            instances.push(instance);
        }
    }
    (instances, metrics)
}

fn instance(job: &Job, number: usize, chance: &mut Chance) -> Instance {
    let id = InstanceId::new(format!("i-{}", resource_number(chance)));
    let address = (chance.between(16, 95), chance.between(4, 251));
    let name = if job.count == 1 {
        job.name.to_owned()
    } else {
        format!("{}-{number}", job.name)
    };
    let tags = [("Name", name.as_str())]
        .iter()
        .chain(job.tags)
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let zone = job.zones.chars().cycle().nth(number - 1);
    let launch_time: Timestamp = job.launched.parse().expect("a constant in RFC 3339");
    let is_stopped = job.behaviour.is_none();
    Instance {
        id,
        account: ACCOUNT.to_owned(),
        region: REGION.to_owned(),
        zone: zone.map(|letter| format!("{REGION}{letter}")),
        instance_type: job.instance_type.to_owned(),
        state: if is_stopped {
            InstanceState::Stopped
        } else {
            InstanceState::Running
        },
        lifecycle: Lifecycle::OnDemand,
        capacity_reservation_id: None,
        capacity_block_id: None,
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        launch_time,
        attached_time: Some(launch_time),
        state_transition_reason: is_stopped
            .then(|| "User initiated (2026-09-18 09:12:44 GMT)".to_owned()),
        tags,
        auto_scaling_group: None,
        private_dns_name: Some(format!("ip-10-20-{}-{}.ec2.internal", address.0, address.1)),
        // An inventory asks for the volumes of stopped instances only.
        volumes: if is_stopped {
            vec![volume(200, chance), volume(4096, chance)]
        } else {
            Vec::new()
        },
        addresses: Vec::new(),
    }
}

fn volume(size_gib: u64, chance: &mut Chance) -> Volume {
    Volume {
        id: format!("vol-{}", resource_number(chance)),
        volume_type: Some("gp3".to_owned()),
        size_gib: Some(size_gib),
    }
}

/// Seventeen hexadecimal digits, the first a zero as in most real ids.
fn resource_number(chance: &mut Chance) -> String {
    format!("0{:016x}", chance.bits())
}
