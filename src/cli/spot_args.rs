//! Flags of `gpucost spot`.

use super::args::{DocFormat, EstateArgs, RiskChoice, kind, time};
use super::planner_flags::estate_flags;
use super::view_args::LimitArgs;
use crate::domain::WorkloadKind;
use clap::Args;
use jiff::SignedDuration;

/// A length of time, or nothing for the best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval(pub Option<SignedDuration>);

fn interval(text: &str) -> Result<Interval, String> {
    if text == "auto" {
        return Ok(Interval(None));
    }
    time(text).map(|length| Interval(Some(length))).map_err(|message| format!("{message}, or auto"))
}

/// `gpucost spot`.
#[derive(Debug, Args)]
pub(super) struct SpotArgs {
    /// Evaluate one instance type without calling a cloud; `--region` sets its region
    #[arg(
        long = "type",
        value_name = "TYPE",
        help_heading = "One type",
        conflicts_with_all = estate_flags().chain(["limit", "all"])
    )]
    pub instance_type: Option<String>,
    /// Kind of job: training, serving, batch, evaluation, development
    #[arg(long, value_name = "KIND", value_parser = kind, requires = "instance_type", conflicts_with_all = ["demo", "from"], default_value = "unknown", hide_default_value = true, help_heading = "One type")]
    pub kind: WorkloadKind,
    /// Treat the job as safe to interrupt and restart
    #[arg(long, requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "One type")]
    pub restartable: bool,
    /// Number of instances that stop together when one is interrupted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), requires = "instance_type", conflicts_with_all = ["demo", "from"], default_value = "1", help_heading = "One type")]
    pub nodes: u32,
    /// Operating system
    #[arg(
        long,
        value_name = "OS",
        requires = "instance_type", conflicts_with_all = ["demo", "from"],
        default_value = "linux",
        help_heading = "One type"
    )]
    pub os: String,
    /// Evaluate today's fleet instead of what the plan of the audit leaves, and advise nothing
    #[arg(long, conflicts_with = "instance_type")]
    pub today: bool,
    /// Job time that each checkpoint takes, with `--type` or `--today`
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    pub checkpoint_cost: SignedDuration,
    /// Time from an interruption until work resumes, with `--type` or `--today`
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "5m")]
    pub restart_cost: SignedDuration,
    /// Time between checkpoints, with `--type` or `--today`; `auto` for the optimal interval
    #[arg(long, value_name = "TIME|auto", value_parser = interval, default_value = "auto")]
    pub checkpoint_interval: Interval,
    /// Maximum accepted risk level [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DocFormat>,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub estate: EstateArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_above_zero() {
        assert_eq!(time("60s"), Ok(SignedDuration::from_secs(60)));
        assert_eq!(time("5m"), Ok(SignedDuration::from_secs(300)));
        for bad in ["", "s", "0s", "-1s", "60", "1.5h", "soon", "auto", "99999999999999999999s"] {
            assert!(time(bad).is_err(), "{bad}");
        }
        assert_eq!(interval("auto"), Ok(Interval(None)));
        assert_eq!(interval("30m"), Ok(Interval(Some(SignedDuration::from_mins(30)))));
        assert!(interval("never").is_err());
    }
}
