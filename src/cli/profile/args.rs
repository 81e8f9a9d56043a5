//! The flags of `gpucost profile`.

use super::endpoint::{USUAL_ADDRESS, address};
use super::guard::GuardArgs;
use crate::catalog::time_zone;
use crate::cli::args::{OutputArgs, RiskChoice, doc_formats, kind, time};
use crate::cli::kpi_args::log_unit;
use crate::cli::model_args::{ModelArgs, dtype, tokens};
use crate::domain::WorkloadKind;
use crate::planners::model::Dtype;
use clap::Args;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use std::ffi::OsString;
use std::net::SocketAddr;
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
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "duration")]
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
    /// Show a full-screen live view; what a command writes to the terminal goes to a file
    #[arg(long, help_heading = "Sampling")]
    pub live: bool,
    /// File for the output of the command beside the live view, which is added to its end
    /// [default: gpucost-command.log]
    #[arg(long, value_name = "FILE", requires_all = ["live", "command"], help_heading = "Sampling")]
    pub command_log: Option<PathBuf>,
    /// Serve the figures of the last sample to Prometheus while this runs; on this host alone
    /// unless another address is named [default: 127.0.0.1:9837]
    #[arg(
        long,
        value_name = "ADDR:PORT",
        value_parser = address,
        num_args = 0..=1,
        default_missing_value = USUAL_ADDRESS,
        help_heading = "Sampling"
    )]
    pub listen: Option<SocketAddr>,

    #[command(flatten)]
    pub guard: GuardArgs,

    /// Log that the command writes
    #[arg(long, value_name = "FILE", requires = "log_unit", help_heading = "Units of work")]
    pub log: Option<PathBuf>,
    /// A unit that each new line of the log with a text marks, such as `epochs=val_loss`; the
    /// summary has the price of each, and samples record the number (can be repeated)
    #[arg(
        long,
        value_name = "NAME=TEXT",
        value_parser = log_unit,
        requires = "log",
        help_heading = "Units of work"
    )]
    pub log_unit: Vec<(String, String)>,
    /// Tokens that this host trains on in a step, such as 524288 or 512k
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true, help_heading = "Units of work")]
    pub tokens_per_step: Option<u64>,
    /// Operations of the model on this host in a step, such as 2.4e16, for its share of the
    /// peak (MFU)
    #[arg(long, value_name = "FLOP", value_parser = flops, allow_hyphen_values = true, conflicts_with_all = ["model", "params"], help_heading = "Units of work")]
    pub flops_per_step: Option<f64>,
    /// Tokens of a sequence, for the operations of a model
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true, help_heading = "Model")]
    pub sequence_length: Option<u64>,
    /// Type that matrices are multiplied in, for the peak of the GPUs [default: bf16]
    #[arg(long, value_name = "DTYPE", value_parser = dtype, help_heading = "Model")]
    pub dtype: Option<Dtype>,
    #[command(flatten)]
    pub model: ModelArgs,

    /// Summarize a log instead: samples of `--samples`, or nvidia-smi CSV or XML; `-` for stdin
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["command", "duration", "samples", "record", "live", "listen", "nvml_lib"],
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
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: SummaryFormat,
    #[command(flatten)]
    pub out: OutputArgs,
}

impl ProfileArgs {
    /// Time between two samples.
    pub(super) fn interval(&self) -> Duration {
        self.interval.unwrap_or(USUAL_INTERVAL)
    }

    /// Whether stdout is the command's.
    pub(super) fn is_beside_command(&self) -> bool {
        !self.command.is_empty() && self.out.output.is_none()
    }
}

doc_formats! {
    /// The formats of a summary.
    SummaryFormat {
        Openmetrics = "openmetrics", "OpenMetrics, for Prometheus";
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration from 100ms to 1h".to_owned();
    length(text)
        .ok()
        .filter(|interval| (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(interval))
        .ok_or_else(expected)
}

/// Operations of a step: from one to more than any cluster does in a day.
fn flops(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|flops| (1.0..=1e26).contains(flops))
        .ok_or_else(|| "expected a number of operations from 1 to 1e26, such as 2.4e16".to_owned())
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
    fn operations_are_finite_and_positive() {
        assert_eq!(flops("2.4e16"), Ok(2.4e16));
        for bad in ["0", "-1e16", "NaN", "inf", "1e27", "", "many"] {
            assert!(flops(bad).is_err(), "{bad}");
        }
    }

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
