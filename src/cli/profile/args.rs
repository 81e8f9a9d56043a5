//! The flags of `gpucost profile`.

use super::endpoint::{USUAL_ADDRESS, address};
use crate::catalog::time_zone;
use crate::cli::args::{OutputArgs, RISKS, doc_formats, kind, time};
use crate::cli::choices::within;
use crate::cli::kpi::log_unit;
use crate::cli::model_args::{ModelArgs, dtype, tokens};
use crate::cli::{flags, parsers};
use crate::domain::{Risk, WorkloadKind};
use crate::planners::model::Dtype;
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

/// EC2 announces an interruption so long before it.
const LONGEST_MARGIN: SignedDuration = SignedDuration::from_secs(110);
/// Signals that leave a process the time to save its work.
const SIGNALS: [&str; 7] =
    ["SIGTERM", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP", "SIGQUIT", "SIGALRM"];

flags! {
    /// `gpucost profile`.
    pub(in crate::cli) struct ProfileArgs {
        /// Command to run and sample until it ends; its exit code is passed through
        command: Vec<OsString> = arg(last = true, value_name = "COMMAND", conflicts_with = "duration");

        /// Time between samples, at least 100ms [default: 1s]
        interval: Option<Duration> = arg(long, value_name = "TIME", value_parser = interval, help_heading = "Sampling");
        /// Time after which to stop, such as 10m [default: when interrupted]
        duration: Option<Duration> = arg(long, value_name = "TIME", value_parser = length, help_heading = "Sampling");
        /// Write each sample to a file as it is taken (.jsonl or .csv)
        samples: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "Sampling");
        /// Record the driver's responses, to attach to a bug report
        record: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "Sampling");
        /// Path to the NVML library, if it is not in the loader's search path
        nvml_lib: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "Sampling");
        /// Show a full-screen live view; what a command writes to the terminal goes to a file
        live: bool = arg(long, help_heading = "Sampling");
        /// File for the output of the command beside the live view, which is added to its end
        /// [default: gpucost-command.log]
        command_log: Option<PathBuf> = arg(long, value_name = "FILE", requires_all = ["live", "command"], help_heading = "Sampling");
        /// Serve the figures of the last sample to Prometheus while this runs; on this host alone
        /// unless another address is named [default: 127.0.0.1:9837]
        listen: Option<SocketAddr> = arg(long, value_name = "ADDR:PORT", value_parser = address, num_args = 0..=1, default_missing_value = USUAL_ADDRESS, help_heading = "Sampling");

        guard: GuardArgs = command(flatten);

        /// Log that the command writes
        log: Option<PathBuf> = arg(long, value_name = "FILE", requires = "log_unit", help_heading = "Units of work");
        /// A unit that each new line of the log with a text marks, such as `epochs=val_loss`; the
        /// summary has the price of each, and samples record the number (can be repeated)
        log_unit: Vec<(String, String)> = arg(long, value_name = "NAME=TEXT", value_parser = log_unit, requires = "log", help_heading = "Units of work");
        /// Tokens that this host trains on in a step, such as 524288 or 512k
        tokens_per_step: Option<u64> = arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true, help_heading = "Units of work");
        /// Operations of the model on this host in a step, such as 2.4e16, for its share of the
        /// peak (MFU)
        flops_per_step: Option<f64> = arg(long, value_name = "FLOP", value_parser = flops, allow_hyphen_values = true, conflicts_with_all = ["model", "params"], help_heading = "Units of work");
        /// Tokens of a sequence, for the operations of a model
        sequence_length: Option<u64> = arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true, help_heading = "Model");
        /// Type that matrices are multiplied in, for the peak of the GPUs [default: bf16]
        dtype: Option<Dtype> = arg(long, value_name = "DTYPE", value_parser = dtype, help_heading = "Model");
        model: ModelArgs = command(flatten);

        /// Summarize a log instead: samples of `--samples`, or nvidia-smi CSV or XML; `-` for stdin
        read: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with_all = ["command", "duration", "samples", "record", "live", "listen", "nvml_lib"], help_heading = "Logs");
        /// Columns of a log, replacing its header, such as timestamp,index,utilization.gpu
        read_columns: Option<Vec<String>> = arg(long, value_name = "A,B,…", value_delimiter = ',', requires = "read", help_heading = "Logs");
        /// Time zone of a log's timestamps, such as Europe/Berlin [default: UTC]
        read_zone: Option<TimeZone> = arg(long, value_name = "ZONE", value_parser = |text: &str| time_zone(text).ok_or("expected a time zone database name, such as Europe/Berlin"), requires = "read", help_heading = "Logs");

        /// Kind of workload on the host: training, serving, batch, evaluation, development
        kind: Option<WorkloadKind> = arg(long, value_name = "KIND", value_parser = kind, help_heading = "Price");
        /// Instance type of the host [default: from the instance metadata service]
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", help_heading = "Price");
        /// Region of the host [default: from the instance metadata service]
        region: Option<String> = arg(long, value_name = "R", help_heading = "Price");
        /// Do not query the instance metadata service
        no_imds: bool = arg(long, help_heading = "Price");
        /// Use bundled prices only
        offline: bool = arg(long, help_heading = "Price");
        /// Maximum accepted risk level of another instance type [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS, help_heading = "Price");

        /// Output format of the summary [default: table]
        format: SummaryFormat = arg(long, value_enum, default_value = "table", help_heading = "Output");
        out: OutputArgs = command(flatten);
    }

    /// `gpucost profile --spot-guard`.
    pub(in crate::cli) struct GuardArgs {
        /// Signal the command before EC2 interrupts this spot instance, and record the notice
        spot_guard: bool = arg(long, requires = "command", conflicts_with = "no_imds", help_heading = "Spot guard");
        /// Signal that the command gets [default: TERM, and none before a hibernation]
        on_interrupt: Option<&'static str> = arg(long, value_name = "SIGNAL", value_parser = signal, requires = "spot_guard", help_heading = "Spot guard");
        /// Time before the interruption at which to stop waiting for the command [default: 10s]
        interrupt_margin: Option<SignedDuration> = arg(long, value_name = "TIME", value_parser = margin, requires = "spot_guard", help_heading = "Spot guard");
    }
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

parsers! {
    fn interval(text) -> Duration = length(text).ok().filter(|time| (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(time)), "expected a duration from 100ms to 1h";
    /// Operations of a step: from one to more than any cluster does in a day.
    fn flops(text) -> f64 = within(text.trim(), 1.0..=1e26), "expected a number of operations from 1 to 1e26, such as 2.4e16";
    /// Reads `TERM` or `SIGTERM`.
    fn signal(text) -> &'static str = SIGNALS.into_iter().find(|name| *name == text || name.strip_prefix("SIG") == Some(text)), format!("expected a signal of {}", SIGNALS.join(", "));
    fn margin(text) -> SignedDuration = time(text).ok().filter(|margin| *margin <= LONGEST_MARGIN), "expected a duration from 1s to 110s";
}

/// A length of time, in milliseconds too.
fn length(text: &str) -> Result<Duration, String> {
    match text.strip_suffix("ms").map(str::parse) {
        Some(Ok(milliseconds)) if milliseconds > 0 => Ok(Duration::from_millis(milliseconds)),
        Some(_) => Err("expected a duration such as 500ms".to_owned()),
        None => time(text).map(SignedDuration::unsigned_abs),
    }
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
