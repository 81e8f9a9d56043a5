//! The flags of `gpucost profile`.

use super::guard::GuardArgs;
use crate::catalog::time_zone;
use crate::cli::args::{OutputArgs, RiskChoice, kind, time};
use crate::cli::kpi_args::log_unit;
use crate::domain::WorkloadKind;
use clap::{Args, ValueEnum};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The driver's own readings are no finer than its windows of 1/6 to 1 s; what
/// is faster than this only costs.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
const USUAL_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(3_600);

/// `gpucost profile`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ProfileArgs {
    /// Command to run and sample until it ends; its exit code is passed through
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with_all = ["duration", "live"]
    )]
    pub command: Vec<OsString>,

    /// Time between samples, at least 100ms [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = interval, help_heading = "Sampling")]
    pub interval: Option<Duration>,
    /// Time after which to stop, such as 10m [default: when interrupted]
    #[arg(long, value_name = "TIME", value_parser = length, help_heading = "Sampling")]
    pub duration: Option<Duration>,
    /// Write each sample to a file as it is taken (.jsonl or .csv)
    #[arg(long, value_name = "FILE", help_heading = "Sampling")]
    pub samples: Option<PathBuf>,
    /// Record the driver's responses, to attach to a bug report
    #[arg(long, value_name = "FILE", help_heading = "Sampling")]
    pub record: Option<PathBuf>,
    /// Path to the NVML library, if it is not in the loader's search path
    #[arg(long, value_name = "FILE", help_heading = "Sampling")]
    pub nvml_lib: Option<PathBuf>,
    /// Show a full-screen live view
    #[arg(long, help_heading = "Sampling")]
    pub live: bool,

    #[command(flatten)]
    pub guard: GuardArgs,

    /// Log that the command writes
    #[arg(
        long,
        value_name = "FILE",
        requires = "log_unit",
        help_heading = "Units of work"
    )]
    pub log: Option<PathBuf>,
    /// A unit that each new line of the log with a text marks, such as `epochs=val_loss`; the
    /// samples record the number for `gpucost kpi` (can be repeated)
    #[arg(
        long,
        value_name = "NAME=TEXT",
        value_parser = log_unit,
        requires_all = ["log", "samples"],
        help_heading = "Units of work"
    )]
    pub log_unit: Vec<(String, String)>,

    /// Summarize a log instead: samples of `--samples`, or nvidia-smi CSV or XML; `-` for stdin
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["command", "duration", "samples", "record", "live", "nvml_lib"],
        help_heading = "Logs"
    )]
    pub read: Option<PathBuf>,
    /// Columns of a log, replacing its header, such as timestamp,index,utilization.gpu
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        requires = "read",
        help_heading = "Logs"
    )]
    pub read_columns: Option<Vec<String>>,
    /// Time zone of a log's timestamps, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", value_parser = zone, requires = "read", help_heading = "Logs")]
    pub read_zone: Option<TimeZone>,

    /// Kind of workload on the host: training, serving, batch, evaluation, development
    #[arg(long, value_name = "KIND", value_parser = kind, help_heading = "Price")]
    pub kind: Option<WorkloadKind>,
    /// Instance type of the host [default: from the instance metadata service]
    #[arg(long = "type", value_name = "TYPE", help_heading = "Price")]
    pub instance_type: Option<String>,
    /// Region of the host [default: from the instance metadata service]
    #[arg(long, value_name = "R", help_heading = "Price")]
    pub region: Option<String>,
    /// Do not query the instance metadata service
    #[arg(long, help_heading = "Price")]
    pub no_imds: bool,
    /// Use bundled prices only
    #[arg(long, help_heading = "Price")]
    pub offline: bool,
    /// Maximum accepted risk level of another instance type [default: medium]
    #[arg(long, value_enum, help_heading = "Price")]
    pub risk: Option<RiskChoice>,

    /// Output format of the summary [default: table]
    #[arg(long, value_enum, default_value_t = SummaryFormat::Table, help_heading = "Output")]
    pub format: SummaryFormat,
    #[command(flatten)]
    pub out: OutputArgs,
}

impl ProfileArgs {
    /// Time between two samples.
    pub(super) fn interval(&self) -> Duration {
        self.interval.unwrap_or(USUAL_INTERVAL)
    }
}

/// Layout of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SummaryFormat {
    /// Table, for reading
    Table,
    /// JSON, for scripts
    Json,
}

fn interval(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration from 100ms to 1h".to_owned();
    length(text)
        .ok()
        .filter(|interval| (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(interval))
        .ok_or_else(expected)
}

/// A length of time, in milliseconds too.
fn length(text: &str) -> Result<Duration, String> {
    match text.strip_suffix("ms").map(str::parse) {
        Some(Ok(milliseconds)) if milliseconds > 0 => Ok(Duration::from_millis(milliseconds)),
        Some(_) => Err("expected a duration such as 500ms".to_owned()),
        None => time(text).map(SignedDuration::unsigned_abs),
    }
}

fn zone(text: &str) -> Result<TimeZone, String> {
    time_zone(text)
        .ok_or_else(|| "expected a time zone database name, such as Europe/Berlin".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_100_ms_to_1_h() {
        let read = |text: &str| interval(text).ok();
        assert_eq!(read("100ms"), Some(Duration::from_millis(100)));
        assert_eq!(read("1s"), Some(Duration::from_secs(1)));
        assert_eq!(read("1h"), Some(Duration::from_secs(3_600)));
        for bad in ["99ms", "61m", "0s", "-1s", "ms", "1.5ms", "fast", ""] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
