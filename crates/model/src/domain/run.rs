//! What a run of samples was taken on, how it ended, what the spot guard saw, and a run as far as
//! another one is compared with it.

use super::named::named_enum;
use super::wire::{Time, at_most};
use super::{HourlyRate, MOST_GPUS};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A slice of a GPU in MIG mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MigSlot {
    /// Position among the MIG devices of its GPU.
    pub index: u16,
    /// GPU instance id; absent where the driver did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_instance: Option<u32>,
    /// Compute instance id; absent where the driver did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_instance: Option<u32>,
    /// Its profile, such as `1g.10gb`; absent where the driver did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// What does not change about a GPU, or about a MIG instance of one, which is a
/// row of its own. What the driver does not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuIdentity {
    /// Index of the GPU on its host, from 0.
    pub index: u16,
    /// The slice, when this is a MIG instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mig: Option<MigSlot>,
    /// Unique id, such as `GPU-…` or `MIG-…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Product name as the driver gives it, such as `NVIDIA A10G`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Memory as the driver reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_total_mib: Option<f64>,
    /// Power limit in force, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// Power limit out of the factory, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_default_limit_w: Option<f64>,
    /// What its PCIe link carries at most in one direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_max_bytes_per_second: Option<f64>,
    /// Whether the GPU is divided: utilization of the whole is then not
    /// available, which is not idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_mig_enabled: Option<bool>,
}

/// What a PCIe link carries in one direction after its line code, by the transfers per second of
/// its generation; absent for generations to come, and of a link without lanes.
pub fn pcie_bytes_per_second(generation: u32, lanes: f64) -> Option<f64> {
    let bits = match generation {
        1 => 2.5e9 * 8.0 / 10.0,
        2 => 5e9 * 8.0 / 10.0,
        3 => 8e9 * 128.0 / 130.0,
        4 => 16e9 * 128.0 / 130.0,
        5 => 32e9 * 128.0 / 130.0,
        6 => 64e9 * 242.0 / 256.0,
        _ => return None,
    };
    (lanes > 0.0).then(|| bits / 8.0 * lanes)
}

/// GPUs and slices of one host: each GPU has up to seven, and is one itself.
const MOST_DEVICES: usize = 8 * MOST_GPUS as usize;

/// What a run was taken on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// When sampling began.
    #[serde(with = "Time")]
    pub started: Timestamp,
    /// Seconds between two samples, as asked for; absent for a log of another
    /// program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// Whether a command ran under the sampler, so that its end is the end of
    /// the work.
    pub is_command: bool,
    /// The GPUs, by index; a GPU's MIG instances follow it.
    #[serde(deserialize_with = "at_most::<_, _, MOST_DEVICES>")]
    pub gpus: Vec<GpuIdentity>,
}

impl RunFacts {
    /// Whether a run that ended so covers a command from its start to its
    /// success: what was cut short, or failed, says little about the work. A
    /// command that was warned of an interruption may save its work and succeed
    /// without having finished.
    pub fn covers_a_command(&self, end: Option<&RunEnd>) -> bool {
        self.is_command && end.is_some_and(|end| end.exit_code == Some(0) && !end.is_interrupted())
    }
}

/// Kinds of units that one run counts.
const MOST_UNITS: usize = 100;

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunEnd {
    /// Seconds from its start, on the monotonic clock.
    pub elapsed_seconds: f64,
    /// Exit code of the command, when one ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What the spot guard saw; absent where none watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot: Option<SpotRun>,
    /// Units of work that its log showed, in the order in which they were asked for.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most::<_, _, MOST_UNITS>"
    )]
    pub units: Vec<UnitsDone>,
}

/// Units of work of one kind that a run did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitsDone {
    /// What was counted, such as `steps`.
    pub unit: String,
    pub count: u64,
}

impl RunEnd {
    /// Whether EC2 announced that its processes end, or a signal ended them.
    fn is_interrupted(&self) -> bool {
        let ended_seconds = self.exit_code.map(|_| self.elapsed_seconds);
        let spot = self.spot.as_ref();
        spot.is_some_and(|spot| spot.interruption.is_some() && !spot.keeps_memory(ended_seconds))
    }
}

named_enum! {
    /// What EC2 does with a spot instance that it interrupts.
    SpotAction {
        Terminate = "terminate",
        Stop = "stop",
        /// Memory is kept, and processes continue when the instance comes back. It begins with
        /// the notice, without two minutes of warning.
        Hibernate = "hibernate",
    }
}

/// An interruption that EC2 has announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpotNotice {
    pub action: SpotAction,
    /// When EC2 acts, approximately.
    #[serde(with = "Time")]
    pub time: Timestamp,
}

/// The interruption of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpotInterruption {
    #[serde(flatten)]
    pub notice: SpotNotice,
    /// When the notice was read, in seconds of the run.
    pub noticed_seconds: f64,
    /// The signal that the command got; absent where the notice was only recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned_by: Option<String>,
    /// When EC2 acts, in seconds of the run.
    pub action_seconds: f64,
    /// Until when the run waits for the command, in seconds of the run.
    pub deadline_seconds: f64,
}

/// How long before an interruption EC2 announces it, at most.
const NOTICE_SECONDS: f64 = 120.0;

/// What the spot guard of a run saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpotRun {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruption: Option<SpotInterruption>,
    /// Whether notices could not be read to the end of the run: what EC2 announced then is
    /// unknown.
    #[serde(rename = "unread", skip_serializing_if = "std::ops::Not::not")]
    pub is_unread: bool,
}

impl SpotRun {
    /// Whether an interruption keeps the work in memory: that of a hibernated command, unless
    /// it ended (`ended_seconds`) because it got a signal. What ends later went on.
    pub fn keeps_memory(&self, ended_seconds: Option<f64>) -> bool {
        self.interruption.as_ref().is_some_and(|interruption| {
            let noticed = interruption.noticed_seconds;
            let at_once = noticed..=noticed + NOTICE_SECONDS;
            let ended_at_once = ended_seconds.is_some_and(|ended| at_once.contains(&ended));
            let is_ended = interruption.warned_by.is_some() && ended_at_once;
            interruption.notice.action == SpotAction::Hibernate && !is_ended
        })
    }
}

/// A run that was summarized before. Words are kept as its summary calls them.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// The version of the program that made it; absent when it does not say.
    pub gpucost_version: Option<String>,
    pub hostname: Option<String>,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    /// Models of its GPUs as their driver names them, in its order; slices left out. A model is
    /// absent when the driver did not name it.
    pub gpus: Vec<Option<String>>,
    /// Exit code of its command; absent where none ran to its end.
    pub exit_code: Option<i32>,
    pub elapsed_seconds: f64,
    /// Price of the host; absent when it was unpriced.
    pub hourly: Option<HourlyRate>,
    /// Whether its utilization was measured well enough to be judged.
    pub is_judged: bool,
    pub utilization_mean_percent: Option<f64>,
    pub vram_peak_gib: Option<f64>,
    pub energy_kwh: Option<f64>,
    pub mfu_percent: Option<f64>,
    /// Units of work that it counted with their numbers, in its order.
    pub units: Vec<(String, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_what_the_standard_says() {
        // PCI-SIG's round figures: 4, 16, 32 and 64 GB/s for 16 lanes of
        // generation 1, 3 (15.75), 4 (31.5) and 5 (63).
        let gigabytes = |generation, lanes| {
            pcie_bytes_per_second(generation, lanes).map(|rate| (rate / 1e7).round() / 100.0)
        };
        assert_eq!(gigabytes(1, 16.0), Some(4.0));
        assert_eq!(gigabytes(3, 16.0), Some(15.75));
        assert_eq!(gigabytes(4, 8.0), Some(15.75));
        assert_eq!(gigabytes(5, 16.0), Some(63.02));
        assert_eq!(gigabytes(6, 16.0), Some(121.0));
        assert_eq!(gigabytes(7, 16.0), None);
        assert_eq!(gigabytes(4, 0.0), None);
    }

    /// Noticed at 1,000 s.
    fn run(action: SpotAction) -> SpotRun {
        SpotRun {
            interruption: Some(SpotInterruption {
                notice: SpotNotice { action, time: Timestamp::UNIX_EPOCH },
                noticed_seconds: 1_000.0,
                warned_by: Some("SIGTERM".to_owned()),
                action_seconds: 1_120.0,
                deadline_seconds: 1_110.0,
            }),
            ..SpotRun::default()
        }
    }

    #[test]
    fn hibernation_keeps_what_a_signal_did_not_end() {
        let warned = run(SpotAction::Hibernate);
        // It ended at once: the signal took what memory would have kept.
        assert!(!warned.keeps_memory(Some(1_002.0)));
        // It went on, and ended an hour later.
        assert!(warned.keeps_memory(Some(4_600.0)));
        let mut silent = warned;
        if let Some(interruption) = &mut silent.interruption {
            interruption.warned_by = None;
        }
        assert!(silent.keeps_memory(Some(1_002.0)));
        assert!(!run(SpotAction::Terminate).keeps_memory(None));
        assert!(!SpotRun::default().keeps_memory(None));
    }
}
