//! What the instances of a role measure, period by period.

use super::days::{Days, PERIODS, PERIODS_A_DAY, PERIODS_AN_HOUR};
use crate::wire::fleet::Launched;
use crate::wire::loopback::Loopback;

const AGENT: &str = "CWAgent";
const UTILIZATION: &str = "nvidia_smi_utilization_gpu";
const MEMORY_USED: &str = "nvidia_smi_memory_used";
const MEMORY_TOTAL: &str = "nvidia_smi_memory_total";
const POWER_DRAW: &str = "nvidia_smi_power_draw";
const TEMPERATURE: &str = "nvidia_smi_temperature_gpu";

/// A figure that would show in every sum if a roll-up were counted.
const ROLLED_UP: f64 = 99.0;

/// What the agent's series are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimensions {
    /// With `InstanceId`, as the usual configuration appends it.
    InstanceId,
    /// Without; `host` is the first label of the private name.
    HostLabel,
    /// Without; `host` is the whole private name.
    HostName,
}

/// What a GPU does; both figures are present in the same periods.
#[derive(Clone, Copy)]
pub struct Load {
    /// GPU utilization in percent by GPU and period.
    pub percent: fn(u16, i64) -> Option<f64>,
    /// Memory in use in MiB, while it is measured at all.
    pub memory_mib: fn(u16, i64) -> f64,
}

/// What an instance measures.
#[derive(Clone, Copy)]
pub enum Signal {
    /// CPU only.
    Nothing,
    /// The CloudWatch agent: every GPU.
    Agent(Dimensions, Load),
    /// EC2's own power metric, at this percentage throughout.
    Power(f64),
}

/// Around the clock at one level.
macro_rules! steady {
    ($percent:literal, $memory_mib:literal) => {
        Load { percent: |_, _| Some($percent), memory_mib: |_, _| $memory_mib }
    };
}

pub const CHAT: Load = steady!(30.0, 12_000.0);
pub const TRAINING: Load = steady!(90.0, 30_000.0);
pub const IDLE: Load = steady!(0.0, 0.0);
/// Nothing computes, but half of a T4 is full.
pub const HELD: Load = steady!(0.0, 8_000.0);
pub const FRACTIONS: Load = steady!(70.0, 2_000.0);
pub const HALF: Load = steady!(50.0, 6_000.0);
pub const SPEECH: Load = steady!(15.0, 4_000.0);
pub const SPOT: Load = steady!(75.0, 10_000.0);
pub const FULL: Load = steady!(65.0, 40_000.0);

/// The first of four GPUs at 40%, the others never.
pub const ONE_OF_FOUR: Load = Load {
    percent: |gpu, _| Some(if gpu == 0 { 40.0 } else { 0.0 }),
    memory_mib: |gpu, _| if gpu == 0 { 2_048.0 } else { 0.0 },
};

/// Eight hours a day at 80%, then gone, agent and all.
pub const OFFICE_HOURS: Load =
    Load { percent: |_, period| by_day(period).then_some(80.0), memory_mib: |_, _| 9_000.0 };

/// At 50%, with ten readings below zero and twenty above 100.
pub const DIRTY: Load = Load {
    percent: |_, period| {
        Some(match period {
            100..110 => -5.0,
            200..220 => 150.0,
            _ => 50.0,
        })
    },
    memory_mib: |_, _| 6_000.0,
};

/// Five minutes in the hour at 96%: a mean of 96 / 12 = 8%.
pub const BURSTS: Load = Load {
    percent: |_, period| Some(if period % PERIODS_AN_HOUR == 0 { 96.0 } else { 0.0 }),
    memory_mib: |_, _| 3_000.0,
};

/// One hour a week at 60%, nothing else: a mean of 60 × 24 / 4032%.
pub const WEEKLY: Load = Load {
    percent: |_, period| Some(if is_weekly_hour(period) { 60.0 } else { 0.0 }),
    memory_mib: |_, period| if is_weekly_hour(period) { 6_000.0 } else { 0.0 },
};

/// At 50%, reported in six periods of ten.
pub const SIX_OF_TEN: Load =
    Load { percent: |_, period| (period % 10 < 6).then_some(50.0), memory_mib: |_, _| 6_000.0 };

/// At 50%, reported in four periods of ten.
pub const FOUR_OF_TEN: Load =
    Load { percent: |_, period| (period % 10 < 4).then_some(50.0), memory_mib: |_, _| 6_000.0 };

fn by_day(period: i64) -> bool {
    period % PERIODS_A_DAY < 8 * PERIODS_AN_HOUR
}

fn is_weekly_hour(period: i64) -> bool {
    (100..100 + PERIODS_AN_HOUR).contains(&(period % (PERIODS / 2)))
}

/// CPU around the clock: a few percent, except that it is busy where the GPU
/// is not measured, which must prove nothing about the GPU.
pub fn cpu_always(_period: i64) -> Option<f64> {
    Some(5.0)
}

/// As idle as its GPUs.
pub fn cpu_quiet(_period: i64) -> Option<f64> {
    Some(4.0)
}

pub fn cpu_busy(_period: i64) -> Option<f64> {
    Some(95.0)
}

pub fn cpu_office_hours(period: i64) -> Option<f64> {
    by_day(period).then_some(20.0)
}

/// An instance, as its metrics know it.
pub struct Subject<'a> {
    pub region: &'a str,
    pub instance_type: &'a str,
    pub gpus: u16,
    pub launched: &'a Launched,
}

impl Subject<'_> {
    fn put(
        &self,
        loopback: &Loopback,
        (namespace, name): (&str, &str),
        dimensions: &[(&str, &str)],
        datums: impl Iterator<Item = (i64, f64)>,
    ) {
        loopback.put_metric(self.region, namespace, name, dimensions, datums);
    }

    /// Puts everything that instance measures.
    pub fn measure(
        &self,
        loopback: &Loopback,
        days: Days,
        cpu: fn(i64) -> Option<f64>,
        signal: Signal,
    ) {
        let own = [("InstanceId", self.launched.instance_id.as_str())];
        let name = ("AWS/EC2", "CPUUtilization");
        self.put(loopback, name, &own, days.datums(cpu));
        match signal {
            Signal::Nothing => {}
            Signal::Power(percent) => {
                let name = ("AWS/EC2", "GPUPowerUtilization");
                self.put(loopback, name, &own, days.datums(|_| Some(percent)));
            }
            Signal::Agent(dimensions, load) => {
                for gpu in 0..self.gpus {
                    self.agent(loopback, days, (dimensions, load), gpu);
                }
            }
        }
    }

    /// Puts the traffic of a health check: 2 × 1,000 B × 288 = 0.576 MB a day.
    pub fn hear_little(&self, loopback: &Loopback, days: Days) {
        let own = [("InstanceId", self.launched.instance_id.as_str())];
        for name in ["NetworkIn", "NetworkOut"] {
            let datums = days.datums(|_| Some(1_000.0));
            self.put(loopback, ("AWS/EC2", name), &own, datums);
        }
    }

    /// Puts the power draw and the temperature of every GPU, an A10G, while it is measured:
    /// far below its 300 W and 88 °C, and far above the 57 W that it idles at.
    pub fn stay_cool(&self, loopback: &Loopback, days: Days, signal: (Dimensions, Load)) {
        let (dimensions, load) = signal;
        for gpu in 0..self.gpus {
            let index = gpu.to_string();
            let own = self.agent_dimensions(dimensions, &index);
            for (name, value) in [(POWER_DRAW, 200.0), (TEMPERATURE, 60.0)] {
                let datums = days.datums(|period| (load.percent)(gpu, period).map(|_| value));
                self.put(loopback, (AGENT, name), &own, datums);
            }
        }
    }

    /// What the agent calls a GPU.
    fn agent_dimensions<'a>(
        &'a self,
        dimensions: Dimensions,
        index: &'a str,
    ) -> Vec<(&'a str, &'a str)> {
        let full = self.launched.private_dns_name.as_str();
        let label = full.split('.').next().unwrap_or(full);
        let host = match dimensions {
            Dimensions::HostName => full,
            Dimensions::InstanceId | Dimensions::HostLabel => label,
        };
        let mut own =
            vec![("index", index), ("name", "NVIDIA GPU"), ("arch", "Ampere"), ("host", host)];
        if dimensions == Dimensions::InstanceId {
            own.push(("InstanceId", self.launched.instance_id.as_str()));
            own.push(("InstanceType", self.instance_type));
            own.push(("ImageId", "ami-1e749f67"));
        }
        own
    }

    /// One GPU as the agent publishes it, and the roll-ups that it publishes
    /// beside it.
    fn agent(&self, loopback: &Loopback, days: Days, signal: (Dimensions, Load), gpu: u16) {
        let (dimensions, load) = signal;
        let id = self.launched.instance_id.as_str();
        let index = gpu.to_string();
        let own = self.agent_dimensions(dimensions, &index);
        if dimensions == Dimensions::InstanceId {
            let per_gpu = [("InstanceId", id), ("index", &index)];
            // More dimensions than today's, from before a change of type.
            let was_another_type = [
                &per_gpu[..],
                &own[1..4],
                &own[6..7],
                &[("InstanceType", "g3.4xlarge"), ("AutoScalingGroupName", "old")],
            ];
            let rolled_up: [&[(&str, &str)]; 5] =
                [&[], &own[4..5], &own[5..6], &per_gpu, &was_another_type.concat()];
            for dimensions in rolled_up {
                for name in [UTILIZATION, MEMORY_USED] {
                    let datum = [(days.at(7), ROLLED_UP)].into_iter();
                    self.put(loopback, (AGENT, name), dimensions, datum);
                }
            }
        }
        let memory = |period| (load.percent)(gpu, period).map(|_| (load.memory_mib)(gpu, period));
        let percent = days.datums(|period| (load.percent)(gpu, period));
        self.put(loopback, (AGENT, UTILIZATION), &own, percent);
        self.put(loopback, (AGENT, MEMORY_USED), &own, days.datums(memory));
        if self.instance_type.starts_with("g4dn") {
            // What the driver of a T4 reports, less than its data sheet.
            let total = days.datums(|_| Some(15_360.0));
            self.put(loopback, (AGENT, MEMORY_TOTAL), &own, total);
        }
    }
}
