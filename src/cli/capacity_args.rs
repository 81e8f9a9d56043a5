//! Flags of `gpucost capacity`.

use super::args::{DocFormat, EstateArgs, valid};
use super::planner_flags::{self, rate};
use super::rightsize_flags::{bound, size_mib};
use crate::planners::capacity::{MOST_ZONES, PeakOf, ServiceTimes};
use crate::savings::Bound;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Times that are evaluated, in seconds: a microsecond to eleven days.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
const MOST_TOKENS: f64 = 1e9;
const MOST_HEADROOM_PERCENT: f64 = 1_000.0;

/// A length of time in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    planner_flags::seconds(text)
        .filter(|seconds| SECONDS.contains(seconds))
        .ok_or_else(|| "expected a duration above zero such as 250ms, 1.5s or 2m".to_owned())
}

/// A percentile, such as `p95`.
fn percentile(text: &str) -> Result<f64, String> {
    let number = text.strip_prefix('p').unwrap_or(text).parse().ok();
    number
        .filter(|number: &f64| (50.0..=99.99).contains(number))
        .ok_or_else(|| "expected a percentile from p50 to p99.99, such as p95".to_owned())
}

/// Which of the counted periods counts.
fn peak(text: &str) -> Result<PeakOf, String> {
    valid(PeakOf::from_name(text), PeakOf::NAMES)
}

/// Percent beyond what is expected.
fn headroom(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|percent: &f64| (0.0..=MOST_HEADROOM_PERCENT).contains(percent))
        .ok_or_else(|| "expected a percentage from 0 to 1000".to_owned())
}

/// Tokens, of a request or per second.
fn tokens(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|tokens: &f64| *tokens > 0.0 && *tokens <= MOST_TOKENS)
        .ok_or_else(|| "expected a number of tokens above zero, at most 1000000000".to_owned())
}

/// How long GPUs work on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ServiceTimesChoice {
    /// Spread around their mean: many short requests and a few long ones
    Exponential,
    /// All alike
    Fixed,
}

impl From<ServiceTimesChoice> for ServiceTimes {
    fn from(choice: ServiceTimesChoice) -> Self {
        match choice {
            ServiceTimesChoice::Exponential => Self::Exponential,
            ServiceTimesChoice::Fixed => Self::Fixed,
        }
    }
}

/// `gpucost capacity`.
#[derive(Debug, Args)]
pub(super) struct CapacityArgs {
    /// Requests to serve, such as 500, 500/s, 30000/min or 1800000/h
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true, required_unless_present_any = ["arrivals", "request_counts"], help_heading = "Requests")]
    pub rate: Option<f64>,
    /// Recorded requests as CSV: a column `timestamp`, and `service_seconds` or tokens;
    /// replayed at `--rate`, or as fast as they came
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    pub arrivals: Option<PathBuf>,
    /// Requests counted by period: what `aws cloudwatch get-metric-data` or `query_range` of
    /// Prometheus prints, or CSV with the columns `time` and `requests`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "arrivals"], help_heading = "Requests")]
    pub request_counts: Option<PathBuf>,
    /// Length of these periods [default: the shortest time between two of them]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true, requires = "request_counts", conflicts_with_all = ["rate", "arrivals"], help_heading = "Requests")]
    pub request_period: Option<f64>,
    /// Period that the GPUs have to serve: p99 (one in a hundred has more) or max
    #[arg(long, value_name = "WHICH", value_parser = peak, default_value = "p99", requires = "request_counts", conflicts_with_all = ["rate", "arrivals"], help_heading = "Requests")]
    pub request_peak: PeakOf,
    /// Percentage to plan for beyond that rate
    #[arg(long, value_name = "PERCENT", value_parser = headroom, allow_negative_numbers = true, default_value = "0", help_heading = "Requests")]
    pub headroom: f64,
    /// Tokens of a request, prompt and generated
    #[arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true, help_heading = "Requests")]
    pub tokens_per_request: Option<f64>,
    /// Requests that one GPU serves, per second or as for `--rate`
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true, help_heading = "Throughput of a GPU")]
    pub per_gpu: Option<f64>,
    /// Time that a request takes on a GPU at that batch
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true, help_heading = "Throughput of a GPU")]
    pub latency: Option<f64>,
    /// Requests that a GPU works on at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_096), default_value_t = 1, help_heading = "Throughput of a GPU")]
    pub batch: u32,
    /// Tokens per second of one GPU over all requests that it works on
    #[arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true, help_heading = "Throughput of a GPU")]
    pub tokens_per_second: Option<f64>,
    /// The same for tokens of prompts, where they are faster [default: as the others]
    #[arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true, requires_all = ["tokens_per_second", "arrivals"], help_heading = "Throughput of a GPU")]
    pub prompt_tokens_per_second: Option<f64>,
    /// Requests that were served while `--workload` or `--profile-data` was measured, per
    /// second or as for `--rate` [default: those of `--request-counts` in that time]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true, help_heading = "Throughput of a GPU")]
    pub served_rate: Option<f64>,
    /// Workload of the estate, by name or ID, whose GPU utilization shows its throughput
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "instance_type",
        help_heading = "Throughput of a GPU"
    )]
    pub workload: Option<String>,
    /// Time in which requests have to be answered
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true, help_heading = "Objective")]
    pub objective: Option<f64>,
    /// Share of the requests that the objective holds for
    #[arg(long, value_name = "pN", value_parser = percentile, default_value = "p95", requires = "objective", help_heading = "Objective")]
    pub percentile: f64,
    /// How long GPUs work on requests that are not recorded
    #[arg(long, value_enum, value_name = "HOW", default_value_t = ServiceTimesChoice::Exponential, requires = "objective", conflicts_with = "arrivals", help_heading = "Objective")]
    pub service_times: ServiceTimesChoice,
    /// Availability zones that the instances are in
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ZONES)), default_value_t = 1, help_heading = "Zones")]
    pub zones: u32,
    /// Zones that may be lost while the others serve everything
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Zones")]
    pub survive_zones: u32,
    /// Instance type on which the throughput was measured; `--region` sets its region
    #[arg(long = "type", value_name = "TYPE", help_heading = "Types")]
    pub instance_type: Option<String>,
    /// Also evaluate types with these GPUs: H100, A100:80GB, 24GB.., 24GB..48GB; without `--type`,
    /// the GPU on which the throughput was measured
    #[arg(long, value_name = "GPU", help_heading = "Types")]
    pub gpu: Option<String>,
    /// Peak memory use of a GPU, such as 18GiB, that other types must hold with headroom;
    /// evaluates every GPU type unless `--gpu` is given
    #[arg(long, value_name = "SIZE", value_parser = size_mib, allow_negative_numbers = true, help_heading = "Types")]
    pub vram_peak: Option<f64>,
    /// Bottleneck of the GPU, by which others are compared: bandwidth, compute, unknown
    #[arg(long, value_name = "WHAT", value_parser = bound, default_value = "unknown", help_heading = "Types")]
    pub bound: Bound,
    /// Operating system
    #[arg(
        long,
        value_name = "OS",
        default_value = "linux",
        help_heading = "Types"
    )]
    pub os: String,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DocFormat>,
    #[command(flatten)]
    pub estate: EstateArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_above_zero() {
        assert_eq!(tokens("2048"), Ok(2_048.0));
        for bad in ["0", "-1", "NaN", "inf", "1e10", "", "many"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
        assert_eq!(headroom("25%"), Ok(25.0));
        assert_eq!(headroom("0"), Ok(0.0));
        for bad in ["-1", "NaN", "1001", ""] {
            assert!(headroom(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(seconds("1.5s"), Ok(1.5));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("1h"), Ok(3_600.0));
        assert!(seconds("250ms").is_ok_and(|seconds| (seconds - 0.25).abs() < 1e-12));
        for bad in ["", "2", "0s", "-1s", "NaNs", "infs", "1e9h", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentiles_are_p50_to_p99_99() {
        assert_eq!(percentile("p95"), Ok(95.0));
        assert_eq!(percentile("99.9"), Ok(99.9));
        for bad in ["p49", "p100", "pNaN", "p", ""] {
            assert!(percentile(bad).is_err(), "{bad}");
        }
    }
}
