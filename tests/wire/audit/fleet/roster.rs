//! The roles of the fleet.

use super::super::signals::{self, Dimensions, Signal};
use crate::wire::fleet::{Launch, Volume};

/// Instances that do the same.
pub struct Role {
    /// Name of the workload: of the group, or of the only instance.
    pub name: &'static str,
    pub group: Group,
    /// Zones by turns.
    pub zones: &'static [&'static str],
    pub instance_type: &'static str,
    pub gpus: u16,
    pub instances: usize,
    pub tags: &'static [(&'static str, &'static str)],
    pub volumes: &'static [Volume<'static>],
    pub buying: Buying,
    pub cpu: fn(i64) -> Option<f64>,
    /// Whether its traffic is measured, and is hardly any.
    pub hears_little: bool,
    pub signal: Signal,
}

/// What makes the instances of a role one workload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Nothing: each is its own.
    Alone,
    /// An Auto Scaling group.
    AutoScaling,
    /// The workload tag.
    Tag,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Buying {
    OnDemand,
    Windows,
    Spot,
    /// On demand, and stopped.
    Stopped,
}

impl Role {
    /// One running On-Demand Linux instance.
    const fn new(
        name: &'static str,
        zones: &'static [&'static str],
        (instance_type, gpus): (&'static str, u16),
        signal: Signal,
    ) -> Self {
        Self {
            name,
            group: Group::Alone,
            zones,
            instance_type,
            gpus,
            instances: 1,
            tags: &[],
            volumes: &[],
            buying: Buying::OnDemand,
            cpu: signals::cpu_always,
            hears_little: false,
            signal,
        }
    }

    /// Without a sign of use beside its GPUs.
    const fn quiet(self) -> Self {
        Self { cpu: signals::cpu_quiet, hears_little: true, ..self }
    }

    const fn times(self, instances: usize, group: Group) -> Self {
        Self { instances, group, ..self }
    }

    pub fn region(&self) -> &'static str {
        self.zones[0].trim_end_matches(|c: char| c.is_ascii_lowercase())
    }

    /// All tags of its instances.
    pub fn all_tags(&self) -> Vec<(&'static str, &'static str)> {
        let mut tags = self.tags.to_vec();
        match self.group {
            Group::Alone => tags.push(("Name", self.name)),
            Group::AutoScaling => tags.push(("aws:autoscaling:groupName", self.name)),
            Group::Tag => tags.push(("gpucost:workload", self.name)),
        }
        tags
    }

    /// How its instances are launched, with all their tags.
    pub fn launches<'a>(
        &'a self,
        tags: &'a [(&'static str, &'static str)],
    ) -> impl Iterator<Item = Launch<'a>> {
        (0..self.instances).map(move |index| Launch {
            tags,
            volumes: self.volumes,
            spot: self.buying == Buying::Spot,
            windows: self.buying == Buying::Windows,
            stopped: self.buying == Buying::Stopped,
            ..Launch::on_demand(self.zones[index % self.zones.len()], self.instance_type)
        })
    }
}

const VIRGINIA: &[&str] = &["us-east-1a", "us-east-1b"];
const IRELAND: &[&str] = &["eu-west-1a", "eu-west-1b"];
const OREGON: &[&str] = &["us-west-2a"];

const G4DN: (&str, u16) = ("g4dn.xlarge", 1);
const G5: (&str, u16) = ("g5.xlarge", 1);
const G5_FOUR: (&str, u16) = ("g5.12xlarge", 4);
const P4D: (&str, u16) = ("p4d.24xlarge", 8);
const P5: (&str, u16) = ("p5.48xlarge", 8);

const BY_ID: Dimensions = Dimensions::InstanceId;

const fn volume(volume_type: &'static str, gib: i32) -> Volume<'static> {
    Volume { volume_type, gib }
}

/// The fleet: 33 instances in Virginia, 14 in Ireland, 15 in Oregon.
pub const ROSTER: &[Role] = &[
    // Virginia: 12 + 2 + 2 + 3 + 1 + 1 + 3 + 1 + 5 + 1 + 1 + 1 = 33.
    Role {
        tags: &[("gpucost:kind", "serving"), ("team", "chat")],
        ..Role::new("chat", VIRGINIA, G5, Signal::Agent(BY_ID, signals::CHAT))
            .times(12, Group::AutoScaling)
    },
    Role {
        tags: &[("gpucost:kind", "training")],
        ..Role::new("pretrain", VIRGINIA, P4D, Signal::Agent(BY_ID, signals::TRAINING))
            .times(2, Group::Tag)
    },
    Role::new("wide", VIRGINIA, G5_FOUR, Signal::Agent(BY_ID, signals::ONE_OF_FOUR))
        .times(2, Group::Tag),
    Role::new("idle-1", VIRGINIA, G4DN, Signal::Agent(BY_ID, signals::IDLE)).quiet(),
    Role::new("idle-2", VIRGINIA, G4DN, Signal::Agent(Dimensions::HostLabel, signals::IDLE))
        .quiet(),
    Role::new("idle-3", VIRGINIA, G4DN, Signal::Agent(Dimensions::HostName, signals::IDLE)).quiet(),
    Role::new("held", VIRGINIA, ("g4dn.12xlarge", 4), Signal::Agent(BY_ID, signals::HELD)).quiet(),
    Role {
        cpu: signals::cpu_office_hours,
        ..Role::new("office", VIRGINIA, G5, Signal::Agent(BY_ID, signals::OFFICE_HOURS))
    },
    Role::new("fractions", VIRGINIA, ("g6f.large", 1), Signal::Agent(BY_ID, signals::FRACTIONS))
        .times(3, Group::Tag),
    Role {
        buying: Buying::Windows,
        cpu: signals::cpu_busy,
        ..Role::new("windows", VIRGINIA, G4DN, Signal::Nothing)
    },
    silent("silent-1"),
    silent("silent-2"),
    silent("silent-3"),
    silent("silent-4"),
    silent("silent-5"),
    Role {
        tags: &[("gpucost:ignore", "demo next week")],
        ..Role::new("ignored", VIRGINIA, G5_FOUR, Signal::Agent(BY_ID, signals::IDLE)).quiet()
    },
    Role::new("dirty", VIRGINIA, G5, Signal::Agent(BY_ID, signals::DIRTY)),
    Role::new("unknown", VIRGINIA, ("g99.xlarge", 0), Signal::Nothing),
    // Ireland: 6 + 1 + 4 running, 3 stopped.
    Role::new("speech", IRELAND, G5, Signal::Agent(Dimensions::HostLabel, signals::SPEECH))
        .times(6, Group::Tag),
    Role::new("bursty", IRELAND, G4DN, Signal::Agent(BY_ID, signals::BURSTS)),
    Role {
        buying: Buying::Spot,
        tags: &[("gpucost:restartable", "true")],
        ..Role::new("spotty", IRELAND, G5, Signal::Agent(BY_ID, signals::SPOT)).times(4, Group::Tag)
    },
    Role {
        buying: Buying::Stopped,
        volumes: &[volume("gp3", 500)],
        ..Role::new("stopped-1", IRELAND, G5, Signal::Nothing)
    },
    Role {
        buying: Buying::Stopped,
        volumes: &[volume("gp2", 100), volume("io2", 200)],
        ..Role::new("stopped-2", IRELAND, G4DN, Signal::Nothing)
    },
    Role { buying: Buying::Stopped, ..Role::new(ADDRESSED, IRELAND, P4D, Signal::Nothing) },
    // Oregon: 3 with power only, 4 alone, 8 in a group.
    Role::new("power-idle", OREGON, P5, Signal::Power(10.0)),
    Role::new("power-busy", OREGON, P4D, Signal::Power(70.0)),
    Role::new("power-between", OREGON, G5, Signal::Power(40.0)),
    Role::new("full", OREGON, P5, Signal::Agent(BY_ID, signals::FULL)),
    Role::new("six-of-ten", OREGON, G5, Signal::Agent(BY_ID, signals::SIX_OF_TEN)),
    Role::new("four-of-ten", OREGON, G5, Signal::Agent(BY_ID, signals::FOUR_OF_TEN)),
    Role::new("weekly", OREGON, G5, Signal::Agent(BY_ID, signals::WEEKLY)),
    Role::new("render", OREGON, G4DN, Signal::Agent(BY_ID, signals::HALF))
        .times(8, Group::AutoScaling),
];

/// The stopped instance that holds an Elastic IP address.
pub const ADDRESSED: &str = "stopped-3";

const fn silent(name: &'static str) -> Role {
    Role { cpu: signals::cpu_busy, ..Role::new(name, VIRGINIA, G4DN, Signal::Nothing) }
}
