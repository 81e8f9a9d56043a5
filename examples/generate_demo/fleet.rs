//! Inventories: jobs, each done by some instances of one type.

use super::behaviour::InstanceUse;
use super::chance::Chance;
use super::recording::{Card, LONGEST_OUTAGE_PERIODS, record};
use gpucost::domain::{
    Instance, InstanceState, Lifecycle, OperatingSystem, ResourceId, Tenancy, Volume, Window,
};
use gpucost::usage::Series;
use jiff::Timestamp;

/// The account that owns most of it; the number AWS uses in examples.
pub const ACCOUNT: &str = "111122223333";
/// The region that everything runs in.
pub const REGION: &str = "us-east-1";

/// Instances of one type that do one job.
pub struct Job {
    /// The type.
    pub instance_type: &'static str,
    /// `Name` tag; a number follows where there are several.
    pub name: &'static str,
    /// How many they are.
    pub count: usize,
    /// Last letter of the availability zones, taken in turn.
    pub zones: &'static str,
    /// When they were launched.
    pub launched: &'static str,
    /// Their other tags.
    pub tags: &'static [(&'static str, &'static str)],
    /// Their card.
    pub card: Card,
    /// What they do.
    pub doing: Doing,
    /// What most jobs have in common.
    pub setting: Setting,
}

/// What the instances of a job do.
pub enum Doing {
    /// They run around the clock.
    Work(fn(&mut Chance) -> InstanceUse),
    /// They are stopped.
    Rest {
        /// Why and when, as EC2 words it.
        stop: &'static str,
        /// The volumes that they keep.
        volumes_gib: &'static [u64],
    },
}

/// What most jobs have in common.
pub struct Setting {
    /// Number of the first instance: above 1 where another job of the same name
    /// has those before it.
    pub first: usize,
    /// The account that owns them.
    pub account: &'static str,
    /// Their operating system.
    pub operating_system: OperatingSystem,
    /// Their Auto Scaling group.
    pub auto_scaling_group: Option<&'static str>,
    /// The capacity reservation that they run in.
    pub capacity_reservation: Option<&'static str>,
    /// The longest outage of the agent on them.
    pub longest_outage_periods: i32,
}

impl Setting {
    /// Linux in the first account, and nothing special.
    pub const USUAL: Self = Self {
        first: 1,
        account: ACCOUNT,
        operating_system: OperatingSystem::Linux,
        auto_scaling_group: None,
        capacity_reservation: None,
        longest_outage_periods: LONGEST_OUTAGE_PERIODS,
    };
}

/// Every instance with its series. Each has chance of its own, so that a change
/// to one job leaves the figures of the others alone; `seed` tells estates apart.
pub fn fleet(jobs: &[Job], seed: u64, window: Window) -> (Vec<Instance>, Vec<Series>) {
    let mut instances = Vec::new();
    let mut metrics = Vec::new();
    for (job_number, job) in (1_u64..).zip(jobs) {
        let first = job.setting.first;
        for number in first..first + job.count {
            let mut chance = Chance::new((seed << 48) | (job_number << 32) | number as u64);
            let instance = instance(job, number, &mut chance);
            if let Doing::Work(behaviour) = job.doing {
                let usage = behaviour(&mut chance);
                let longest_outage_periods = job.setting.longest_outage_periods;
                let series = record(
                    &instance.id, &usage, job.card, longest_outage_periods, window, &mut chance,
                );
                metrics.extend(series);
            }
            instances.push(instance);
        }
    }
    (instances, metrics)
}

fn instance(job: &Job, number: usize, chance: &mut Chance) -> Instance {
    let id = ResourceId::named(format!("i-{}", resource_number(chance)));
    let address = (chance.between(16, 95), chance.between(4, 251));
    let setting = &job.setting;
    let name = if job.count == 1 && setting.first == 1 {
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
    let (state, stop, volumes) = match job.doing {
        Doing::Work(_) => (InstanceState::Running, None, Vec::new()),
        // An inventory asks for the volumes of stopped instances only.
        Doing::Rest { stop, volumes_gib } => {
            let sizes = volumes_gib.iter();
            let volumes = sizes.map(|size_gib| volume(*size_gib, chance)).collect();
            (InstanceState::Stopped, Some(stop.to_owned()), volumes)
        }
    };
    Instance {
        id,
        account: setting.account.to_owned(),
        region: REGION.to_owned(),
        zone: zone.map(|letter| format!("{REGION}{letter}")),
        instance_type: job.instance_type.to_owned(),
        state,
        lifecycle: Lifecycle::OnDemand,
        capacity_reservation_id: setting.capacity_reservation.map(str::to_owned),
        capacity_block_id: None,
        operating_system: setting.operating_system,
        tenancy: Tenancy::Shared,
        launch_time,
        attached_time: Some(launch_time),
        state_transition_reason: stop,
        tags,
        auto_scaling_group: setting.auto_scaling_group.map(str::to_owned),
        private_dns_name: Some(format!("ip-10-20-{}-{}.ec2.internal", address.0, address.1)),
        volumes,
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
