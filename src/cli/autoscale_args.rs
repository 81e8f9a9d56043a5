//! Flags of `gpucost autoscale`.

use super::args::{DocFormat, EstateArgs, time};
use super::numbers::within;
use super::planner_flags::estate_flags;
use super::rightsize_flags::percent;
use crate::planners::autoscale::ScheduleWindow;
use clap::Args;
use jiff::SignedDuration;
use std::path::PathBuf;

/// Longest start-up and cool-down.
const A_DAY: SignedDuration = SignedDuration::from_hours(24);

/// A percentage above zero and at most 100, such as `60%`.
fn above_zero(text: &str) -> Result<f64, String> {
    percent(text)
        .ok()
        .filter(|value| *value > 0.0)
        .ok_or_else(|| "expected a percentage above 0 and at most 100, such as 60%".to_owned())
}

/// A length of time up to a day, or `0`.
fn length(text: &str) -> Result<SignedDuration, String> {
    let duration = if text == "0" { SignedDuration::ZERO } else { time(text)? };
    if duration > A_DAY {
        return Err("expected at most 24h".to_owned());
    }
    Ok(duration)
}

/// A number from a thousandth to a million.
fn positive(text: &str) -> Result<f64, String> {
    within(text, 0.001..=1e6, "expected a number from 0.001 to 1000000")
}

/// `gpucost autoscale`.
#[derive(Debug, Args)]
pub(super) struct AutoscaleArgs {
    /// ID or name of the workload to replay [default: the only service, else the only one]
    #[arg(long, value_name = "ID", help_heading = "Demand")]
    pub workload: Option<String>,
    /// CSV file of GPUs in use, with the columns time and gpus, instead of an account
    #[arg(long, value_name = "FILE", requires = "instance_type", conflicts_with_all = estate_flags().chain(["workload"]), help_heading = "Demand")]
    pub demand: Option<PathBuf>,
    /// Instance type that serves the demand of the file, or of the run of `--profile-data` alone;
    /// `--region` sets its region
    #[arg(long = "type", value_name = "TYPE", help_heading = "Demand")]
    pub instance_type: Option<String>,
    /// Number of instances that ran all the time, to compare with
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "demand", help_heading = "Demand")]
    pub today: Option<u32>,

    /// GPU utilization to keep [default: 60%]
    #[arg(long, value_name = "PERCENT", value_parser = above_zero, allow_negative_numbers = true, conflicts_with = "queue_length", help_heading = "Policy")]
    pub target: Option<f64>,
    /// Requests to keep for each instance, waiting or in flight, instead of a utilization
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, requires = "request_seconds", help_heading = "Policy")]
    pub queue_length: Option<f64>,
    /// Seconds of one GPU that a request takes
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true, requires = "queue_length", help_heading = "Policy")]
    pub request_seconds: Option<f64>,
    /// Time after which a waiting request counts as late
    #[arg(long, value_name = "TIME", value_parser = length, default_value = "5m", requires = "queue_length", help_heading = "Policy")]
    pub late_after: SignedDuration,
    /// Time from a launch until the instance serves: the node, its images and the model
    #[arg(long, value_name = "TIME", value_parser = length, default_value = "5m", help_heading = "Policy")]
    pub start_up: SignedDuration,
    /// Time for which fewer instances are wanted before any ends
    #[arg(long, value_name = "TIME", value_parser = length, default_value = "15m", help_heading = "Policy")]
    pub cool_down: SignedDuration,
    /// Least instances [default: as many as hold the models of the workload, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000), help_heading = "Policy")]
    pub min: Option<u32>,
    /// End the last instance too, when nothing is to be done
    #[arg(long, conflicts_with = "min", help_heading = "Policy")]
    pub scale_to_zero: bool,
    /// Most instances [default: enough for the largest demand at 30% utilization]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Policy")]
    pub max: Option<u32>,
    /// Window of a week with more instances, such as mon-fri@08:00-20:00=4, in the time zone
    /// of the policy file (can be repeated)
    #[arg(long, value_name = "WINDOW", value_parser = ScheduleWindow::parse, help_heading = "Policy")]
    pub schedule: Vec<ScheduleWindow>,
    /// Share of the instances above the base that are spot
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, default_value = "0%", help_heading = "Policy")]
    pub spot_share: f64,
    /// Instances that are always on demand
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000), default_value = "0", help_heading = "Policy")]
    pub on_demand_base: u32,
    /// Share of the demand that may wait or fail
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, default_value = "0.1%", help_heading = "Policy")]
    pub max_unserved: f64,
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
    fn shares_and_lengths_have_limits() {
        assert_eq!((above_zero("60%"), above_zero("62.5")), (Ok(60.0), Ok(62.5)));
        for bad in ["0", "-1", "100.1", "NaN", "inf", "", "%", "much"] {
            assert!(above_zero(bad).is_err(), "{bad}");
        }
        assert_eq!(length("0"), Ok(SignedDuration::ZERO));
        assert_eq!(length("90s"), Ok(SignedDuration::from_secs(90)));
        assert!(length("25h").is_err() && length("-5m").is_err());
        assert!(positive("0").is_err() && positive("NaN").is_err());
    }
}
