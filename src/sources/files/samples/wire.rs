//! The written form of samples: the keys of the JSON lines, which are the columns of the CSV as
//! well, what a run was taken on, and how it ended.

use crate::domain::{
    Activity, FineSample, GpuIdentity, GpuProcess, GpuReading, GpuSample, HostReading, Loss,
    MOST_GPUS, RunEnd, RunFacts, Sample, SpotAction, SpotInterruption, SpotNotice, SpotRun,
    ThrottleReasons, UnitsDone,
};
use crate::sources::files::shared::bounded::at_most;
use crate::sources::files::shared::same_fields;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A figure of a domain type: its name, how to get it, how to set it.
pub(super) type FigureColumn<T> = (&'static str, fn(&T) -> Option<f64>, fn(&mut T, Option<f64>));

/// The written form of a type of optional figures, its list of columns, and
/// whatever else is written beside them.
macro_rules! figures {
    ($wire:ident of $domain:ident as $columns:ident { $($field:ident),* $(,)? }
     $(and { $($extra:ident: $type:ty),* $(,)? })?) => {
        #[derive(Debug, Default, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(super) struct $wire {
            $(#[serde(skip_serializing_if = "Option::is_none")] $field: Option<f64>,)*
            $($(#[serde(skip_serializing_if = "Option::is_none")] $extra: Option<$type>,)*)?
        }

        impl $wire {
            fn of_figures(from: &$domain) -> Self {
                Self { $($field: from.$field,)* $($($extra: None,)*)? }
            }

            fn put_figures(&self, into: &mut $domain) {
                $(into.$field = self.$field;)*
            }

            fn figures(&self) -> $domain {
                let mut figures = $domain::default();
                self.put_figures(&mut figures);
                figures
            }
        }

        pub(super) const $columns: &[FigureColumn<$domain>] = &[
            $((stringify!($field), |from| from.$field, |into, value| into.$field = value),)*
        ];
    };
}

figures! {
    ActivityWire of Activity as ACTIVITY_COLUMNS {
        graphics_percent, sm_percent, occupancy_percent, tensor_percent, dram_percent,
        pcie_sent_bytes_per_second, pcie_received_bytes_per_second,
        nvlink_sent_bytes_per_second, nvlink_received_bytes_per_second,
    }
}

figures! {
    GpuWire of GpuReading as GPU_COLUMNS {
        utilization_percent, memory_utilization_percent, vram_used_mib, vram_total_mib, power_w,
        energy_j, temperature_c, sm_clock_mhz, memory_clock_mhz, pcie_sent_bytes_per_second,
        pcie_received_bytes_per_second, encoder_percent, decoder_percent,
    } and {
        lost: String,
        throttle: u64,
        processes: Vec<GpuProcess>,
        activity: ActivityWire,
        fine: Vec<(u64, f64)>,
        xids: Vec<u64>,
    }
}

figures! {
    HostWire of HostReading as HOST_COLUMNS {
        cpu_percent, busiest_core_percent, io_wait_percent, cpu_pressure_percent,
        io_pressure_percent, memory_pressure_percent, memory_used_mib, memory_total_mib,
        network_received_bytes_per_second, network_sent_bytes_per_second,
        disk_read_bytes_per_second, disk_written_bytes_per_second,
    } and {
        cores: u32,
    }
}

pub(super) fn fine_wire(fine: &[FineSample]) -> Vec<(u64, f64)> {
    let wire = |sample: &FineSample| (sample.at_microseconds, sample.utilization_percent);
    fine.iter().map(wire).collect()
}

pub(super) fn fine(wire: Vec<(u64, f64)>) -> Vec<FineSample> {
    let sample = |(at_microseconds, utilization_percent)| FineSample {
        at_microseconds,
        utilization_percent,
    };
    wire.into_iter().map(sample).collect()
}

fn unless_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

impl GpuWire {
    fn of(sample: &GpuSample) -> Self {
        let reading = match sample {
            GpuSample::Read(reading) => reading,
            GpuSample::Lost(loss) => {
                return Self {
                    lost: Some(loss.reason.clone()),
                    xids: unless_empty(loss.xids.clone()),
                    ..Self::default()
                };
            }
        };
        Self {
            throttle: reading.throttle.map(|reasons| reasons.0),
            processes: reading.processes.clone(),
            activity: reading.activity.as_ref().map(ActivityWire::of_figures),
            fine: unless_empty(fine_wire(&reading.fine)),
            xids: unless_empty(reading.xids.clone()),
            ..Self::of_figures(reading)
        }
    }

    fn into_sample(self) -> GpuSample {
        if let Some(reason) = self.lost {
            let xids = self.xids.unwrap_or_default();
            return GpuSample::Lost(Loss { reason, xids });
        }
        let figures = self.figures();
        GpuSample::Read(Box::new(GpuReading {
            throttle: self.throttle.map(ThrottleReasons),
            processes: self.processes,
            activity: self.activity.map(|wire| wire.figures()),
            fine: fine(self.fine.unwrap_or_default()),
            xids: self.xids.unwrap_or_default(),
            ..figures
        }))
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SampleWire {
    at_seconds: f64,
    time: String,
    gpus: Vec<GpuWire>,
    #[serde(default)]
    host: HostWire,
}

impl SampleWire {
    pub(super) fn of(sample: &Sample) -> Self {
        Self {
            at_seconds: sample.at_seconds,
            time: sample.time.to_string(),
            gpus: sample.gpus.iter().map(GpuWire::of).collect(),
            host: HostWire { cores: sample.host.cores, ..HostWire::of_figures(&sample.host) },
        }
    }

    pub(super) fn into_sample(self) -> Result<Sample, String> {
        Ok(Sample {
            at_seconds: self.at_seconds,
            time: time("time", &self.time)?,
            gpus: self.gpus.into_iter().map(GpuWire::into_sample).collect(),
            host: HostReading { cores: self.host.cores, ..self.host.figures() },
        })
    }
}

pub(super) fn time(key: &str, text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("`{key}` is not a time such as 2026-11-21T10:00:00Z"))
}

/// The version of the sample files that this program reads and writes.
pub const SAMPLES_VERSION: &str = "1";

/// GPUs and slices of one host: each GPU has up to seven, and is one itself.
const MOST_DEVICES: usize = 8 * MOST_GPUS as usize;

/// Kinds of units that one run counts.
const MOST_UNITS: usize = 100;
/// More than any run does.
const MOST_COUNTED: u64 = 1_000_000_000_000_000_000;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderWire {
    samples_version: String,
    gpucost_version: String,
    started: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    driver_version: Option<String>,
    is_command: bool,
    #[serde(deserialize_with = "at_most::<_, _, MOST_DEVICES>")]
    gpus: Vec<GpuIdentity>,
}

/// What tells the first line of a newer file from an error.
#[derive(Debug, Deserialize)]
pub(super) struct VersionWire {
    pub samples_version: String,
}

impl HeaderWire {
    pub(super) fn of(facts: &RunFacts) -> Self {
        let facts = facts.clone();
        same_fields!(facts => HeaderWire {
            interval_seconds, hostname, instance_id, instance_type, region, driver_version, is_command,
            gpus;
            samples_version: SAMPLES_VERSION.to_owned(),
            gpucost_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: facts.started.to_string(),
        })
    }

    pub(super) fn into_facts(self) -> Result<RunFacts, String> {
        Ok(same_fields!(self => RunFacts {
            interval_seconds, hostname, instance_id, instance_type, region, driver_version,
            is_command, gpus;
            started: time("started", &self.started)?,
        }))
    }
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndWire {
    end: EndOfRun,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndOfRun {
    elapsed_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spot: Option<SpotWire>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most::<_, _, MOST_UNITS>"
    )]
    units: Vec<UnitsDone>,
}

fn check(done: &UnitsDone) -> Result<(), String> {
    if done.unit.trim().is_empty() {
        return Err("a unit has an empty name".to_owned());
    }
    if done.count > MOST_COUNTED {
        return Err(format!("`count` is above {MOST_COUNTED}"));
    }
    Ok(())
}

impl EndWire {
    pub(super) fn of(end: &RunEnd) -> Self {
        Self {
            end: EndOfRun {
                elapsed_seconds: end.elapsed_seconds,
                exit_code: end.exit_code,
                spot: end.spot.as_ref().map(SpotWire::of),
                units: end.units.clone(),
            },
        }
    }

    pub(super) fn into_end(self) -> Result<RunEnd, String> {
        self.end.units.iter().try_for_each(check)?;
        Ok(RunEnd {
            elapsed_seconds: self.end.elapsed_seconds,
            exit_code: self.end.exit_code,
            spot: self.end.spot.map(SpotWire::into_spot).transpose()?,
            units: self.end.units,
        })
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SpotWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption: Option<InterruptionWire>,
    /// Left out where notices were read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unread: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptionWire {
    action: String,
    time: String,
    noticed_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warned_by: Option<String>,
    action_seconds: f64,
    deadline_seconds: f64,
}

impl SpotWire {
    pub(super) fn of(spot: &SpotRun) -> Self {
        Self {
            interruption: spot.interruption.as_ref().map(|found| InterruptionWire {
                action: found.notice.action.name().to_owned(),
                time: found.notice.time.to_string(),
                noticed_seconds: found.noticed_seconds,
                warned_by: found.warned_by.clone(),
                action_seconds: found.action_seconds,
                deadline_seconds: found.deadline_seconds,
            }),
            unread: spot.is_unread,
        }
    }

    pub(super) fn into_spot(self) -> Result<SpotRun, String> {
        let interruption = self.interruption.map(InterruptionWire::into_interruption);
        Ok(SpotRun { interruption: interruption.transpose()?, is_unread: self.unread })
    }
}

impl InterruptionWire {
    fn into_interruption(self) -> Result<SpotInterruption, String> {
        let action = SpotAction::from_name(&self.action)
            .ok_or("`action` is not terminate, stop or hibernate")?;
        Ok(same_fields!(self => SpotInterruption {
            noticed_seconds, warned_by, action_seconds, deadline_seconds;
            notice: SpotNotice { action, time: time("time", &self.time)? },
        }))
    }
}
