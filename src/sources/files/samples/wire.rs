//! The written form of samples: the keys of the JSON lines, which are the
//! columns of the CSV as well.

use crate::domain::{
    Activity, FineSample, GpuProcess, GpuReading, GpuSample, HostReading, Loss, Sample,
    ThrottleReasons,
};
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
        }

        pub(super) const $columns: &[FigureColumn<$domain>] = &[
            $((stringify!($field), |from| from.$field, |into, value| into.$field = value),)*
        ];
    };
}

figures! {
    ActivityWire of Activity as ACTIVITY_COLUMNS {
        graphics_percent,
        sm_percent,
        occupancy_percent,
        tensor_percent,
        dram_percent,
        pcie_sent_bytes_per_second,
        pcie_received_bytes_per_second,
        nvlink_sent_bytes_per_second,
        nvlink_received_bytes_per_second,
    }
}

figures! {
    GpuWire of GpuReading as GPU_COLUMNS {
        utilization_percent,
        memory_utilization_percent,
        vram_used_mib,
        vram_total_mib,
        power_w,
        energy_j,
        temperature_c,
        sm_clock_mhz,
        memory_clock_mhz,
        pcie_sent_bytes_per_second,
        pcie_received_bytes_per_second,
        encoder_percent,
        decoder_percent,
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
        cpu_percent,
        busiest_core_percent,
        io_wait_percent,
        cpu_pressure_percent,
        io_pressure_percent,
        memory_pressure_percent,
        memory_used_mib,
        memory_total_mib,
        network_received_bytes_per_second,
        network_sent_bytes_per_second,
        disk_read_bytes_per_second,
        disk_written_bytes_per_second,
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
        let mut reading = GpuReading::default();
        self.put_figures(&mut reading);
        reading.throttle = self.throttle.map(ThrottleReasons);
        reading.processes = self.processes;
        reading.activity = self.activity.map(|wire| {
            let mut activity = Activity::default();
            wire.put_figures(&mut activity);
            activity
        });
        reading.fine = fine(self.fine.unwrap_or_default());
        reading.xids = self.xids.unwrap_or_default();
        GpuSample::Read(Box::new(reading))
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
        let mut host = HostReading { cores: self.host.cores, ..HostReading::default() };
        self.host.put_figures(&mut host);
        Ok(Sample {
            at_seconds: self.at_seconds,
            time: time("time", &self.time)?,
            gpus: self.gpus.into_iter().map(GpuWire::into_sample).collect(),
            host,
        })
    }
}

pub(super) fn time(key: &str, text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("`{key}` is not a time such as 2026-11-21T10:00:00Z"))
}
