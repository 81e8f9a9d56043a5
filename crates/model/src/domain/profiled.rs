//! Runs of `gpucost profile` on instances, and what a workload is judged by when
//! runs are all there is.

use super::wire::{Time, renamed};
use super::{ResourceId, Window};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of a run, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = renamed("told", "reported"))]
#[serde(deny_unknown_fields, expecting = "the sample counts of a run as an object")]
pub struct SampleCounts {
    /// Those that reported at least half of the GPUs, or of the one in question.
    #[serde(alias = "told")]
    pub reported: u64,
    pub taken: u64,
    /// Those that were due and not taken.
    pub missed: u64,
}

impl SampleCounts {
    pub fn due(self) -> u64 {
        self.taken.saturating_add(self.missed)
    }

    /// Share of those that were due that reported, 0–1; 0 where none was due.
    pub fn coverage(self) -> f64 {
        if self.due() == 0 { 0.0 } else { self.reported as f64 / self.due() as f64 }
    }
}

/// A run of `gpucost profile` on an instance. Its GPU readings are series of the source
/// `profile`; this is the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = renamed("looks", "samples"))]
#[serde(deny_unknown_fields, expecting = "a profiled run object")]
pub struct ProfiledRun {
    /// ID of one of the instances.
    pub instance: ResourceId,
    /// When sampling began.
    #[serde(with = "Time")]
    pub start: Timestamp,
    /// If the run was cut short, the last sample.
    #[serde(with = "Time")]
    pub end: Timestamp,
    /// Whether the run covers a command from its start to its successful end.
    #[serde(default)]
    pub covers_a_command: bool,
    /// Inside the window; without these counts the run is not evaluated.
    #[serde(default, alias = "looks", skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleCounts>,
    /// Mean over its samples of the mean over all GPUs, percent; absent when it has
    /// no utilization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub gpu_mean_percent: Option<f64>,
    /// 95th percentile of the host's CPU utilization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub cpu_p95_percent: Option<f64>,
    /// 95th percentile of the memory of the host in use, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub memory_p95_mib: Option<f64>,
}

impl ProfiledRun {
    pub fn seconds(&self) -> f64 {
        self.end.duration_since(self.start).as_secs_f64().max(0.0)
    }

    /// Whether a window holds it. The last period may still be running when an
    /// audit reads, so that a run may end inside it.
    pub fn is_inside(&self, window: Window, period_seconds: u32) -> bool {
        let last_second = window.end.as_second() + i64::from(period_seconds);
        self.start >= window.start && self.start < window.end && self.end.as_second() < last_second
    }

    /// The periods of a grid that it touches, as first and last. Its end is not part
    /// of it.
    pub fn periods(&self, window: Window, period_seconds: u32) -> (u32, u32) {
        let index = |second: i64| {
            let last = (window.seconds() - 1).max(0);
            let offset = (second - window.start.as_second()).clamp(0, last);
            u32::try_from(offset / i64::from(period_seconds.max(1))).unwrap_or(u32::MAX)
        };
        let start = self.start.as_second();
        let end = self.end.as_second() - i64::from(self.end.subsec_nanosecond() == 0);
        (index(start), index(end.max(start)))
    }
}

/// What profiled runs are good for where series alone give no verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileBasis {
    /// Every instance has a run that covers a complete command: the workload is
    /// judged over these.
    Judged {
        runs: u32,
        /// Their hours together.
        hours: f64,
    },
    /// There are runs, and they are not enough for this reason.
    NotEnough(String),
}

impl ProfileBasis {
    /// The runs that a verdict rests on, such as `one run of 2.4 h`.
    pub fn in_words(&self) -> Option<String> {
        let Self::Judged { runs, hours } = self else { return None };
        let length = if *hours >= 1.0 {
            format!("{hours:.1} h")
        } else if *hours * 60.0 >= 1.0 {
            format!("{:.0} min", hours * 60.0)
        } else {
            format!("{:.0} s", hours * 3600.0)
        };
        Some(if *runs == 1 {
            format!("one run of {length}")
        } else {
            format!("{runs} runs, {length} in total")
        })
    }
}
