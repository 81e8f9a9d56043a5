//! Samples as JSON lines: a header, one line a sample, the end. Its keys are the columns of the CSV
//! as well.

use super::SamplesError;
use super::input::{Input, Line, Lines, Log, OpenLog};
use crate::domain::{
    Activity, FineSample, Gap, GpuProcess, GpuReading, GpuSample, HostReading, Loss, RunEnd,
    RunFacts, Sample, ThrottleReasons, Time, counted, is_unsafe,
};
use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::io;

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
    #[serde(with = "Time")]
    time: Timestamp,
    gpus: Vec<GpuWire>,
    #[serde(default)]
    host: HostWire,
}

impl SampleWire {
    pub(super) fn of(sample: &Sample) -> Self {
        Self {
            at_seconds: sample.at_seconds,
            time: sample.time,
            gpus: sample.gpus.iter().map(GpuWire::of).collect(),
            host: HostWire { cores: sample.host.cores, ..HostWire::of_figures(&sample.host) },
        }
    }

    fn into_sample(self) -> Sample {
        Sample {
            at_seconds: self.at_seconds,
            time: self.time,
            gpus: self.gpus.into_iter().map(GpuWire::into_sample).collect(),
            host: HostReading { cores: self.host.cores, ..self.host.figures() },
        }
    }
}

/// The version of the sample files that this program reads and writes.
pub const SAMPLES_VERSION: &str = "1";

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderWire<T> {
    samples_version: String,
    gpucost_version: String,
    #[serde(flatten)]
    facts: T,
}

impl<T> HeaderWire<T> {
    pub(super) fn of(facts: T) -> Self {
        Self {
            samples_version: SAMPLES_VERSION.to_owned(),
            gpucost_version: env!("CARGO_PKG_VERSION").to_owned(),
            facts,
        }
    }
}

/// What tells the first line of a newer file from an error.
#[derive(Debug, Deserialize)]
struct VersionWire {
    samples_version: String,
}

/// The last line, or what has its form.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndWire<T> {
    pub end: T,
}

/// One value as one line, with whatever could hurt a terminal escaped.
pub(super) fn json_line(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string(value)?;
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            line.push(c);
        }
    }
    line.push('\n');
    Ok(line)
}

/// A file of JSON lines that is read.
struct JsonLog {
    lines: Lines,
    /// GPUs that every sample has.
    gpus: usize,
    end: Option<RunEnd>,
    last_at_seconds: f64,
}

pub(super) fn open(input: &Input) -> Result<OpenLog, SamplesError> {
    let mut lines = input.lines()?;
    let Some(line) = lines.next_text_line()? else {
        return Err(SamplesError::unknown(&lines.path, None));
    };
    let facts = header(&lines, &line)?;
    let gpus = facts.gpus.len();
    if gpus == 0 {
        return Err(lines.invalid(line.number, "the header lists no GPUs"));
    }
    Ok((facts, Box::new(JsonLog { lines, gpus, end: None, last_at_seconds: 0.0 })))
}

impl JsonLog {
    fn invalid(&self, line: &Line, message: impl std::fmt::Display) -> SamplesError {
        self.lines.invalid(line.number, message)
    }

    /// The sample on a line; `None` of the line with the end.
    fn read(&mut self, line: &Line) -> Result<Option<Sample>, SamplesError> {
        if self.end.is_some() {
            return Err(self.invalid(line, "unexpected line after the end of the run"));
        }
        let sample = match serde_json::from_str::<SampleWire>(&line.text) {
            Ok(wire) => wire.into_sample(),
            Err(error) => return self.read_end(line, &error),
        };
        if sample.gpus.len() != self.gpus {
            let gpus = counted(sample.gpus.len(), "GPU", "GPUs");
            let message = format!("{gpus} instead of {}", self.gpus);
            return Err(self.invalid(line, message));
        }
        if sample.at_seconds < self.last_at_seconds {
            let message = format!(
                "`at_seconds` decreases from {} to {}",
                self.last_at_seconds, sample.at_seconds
            );
            return Err(self.invalid(line, message));
        }
        self.last_at_seconds = sample.at_seconds;
        Ok(Some(sample))
    }

    fn read_end(
        &mut self,
        line: &Line,
        error: &serde_json::Error,
    ) -> Result<Option<Sample>, SamplesError> {
        if serde_json::from_str::<EndWire<IgnoredAny>>(&line.text).is_ok() {
            let end = end(&line.text).map_err(|message| self.invalid(line, message))?;
            if end.elapsed_seconds < self.last_at_seconds {
                return Err(self.invalid(line, "the run ends before its last sample"));
            }
            self.end = Some(end);
            return Ok(None);
        }
        if serde_json::from_str::<VersionWire>(&line.text).is_ok() {
            return Err(self.invalid(line, "a second run begins here"));
        }
        Err(self.invalid(line, format!("not a GPU sample: {error}")))
    }
}

fn header(lines: &Lines, line: &Line) -> Result<RunFacts, SamplesError> {
    if let Ok(version) = serde_json::from_str::<VersionWire>(&line.text)
        && version.samples_version != SAMPLES_VERSION
    {
        return Err(SamplesError::newer(&lines.path, &version.samples_version, SAMPLES_VERSION));
    }
    let header = serde_json::from_str::<HeaderWire<RunFacts>>(&line.text);
    header
        .map(|header| header.facts)
        .map_err(|error| lines.invalid(line.number, format_args!("invalid header: {error}")))
}

/// More than any run does.
const MOST_COUNTED: u64 = 1_000_000_000_000_000_000;

fn end(line: &str) -> Result<RunEnd, String> {
    let EndWire { end } =
        serde_json::from_str::<EndWire<RunEnd>>(line).map_err(|error| error.to_string())?;
    if end.units.iter().any(|done| done.unit.trim().is_empty()) {
        return Err("a unit has an empty name".to_owned());
    }
    if end.units.iter().any(|done| done.count > MOST_COUNTED) {
        return Err(format!("`count` is above {MOST_COUNTED}"));
    }
    Ok(end)
}

impl Log for JsonLog {
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError> {
        while let Some(line) = self.lines.next_text_line()? {
            match self.read(&line) {
                Ok(None) => {}
                // The sampler was killed while it wrote this line.
                Err(_) if !line.is_whole => {
                    self.lines.torn_line = Some(line.number);
                    break;
                }
                read => return read,
            }
        }
        Ok(None)
    }

    fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    fn gaps(&self) -> Vec<Gap> {
        self.lines.torn_gap().into_iter().collect()
    }
}
