//! The commands.

use super::args::{
    AuditArgs, EstateArgs, ExplainArgs, InventoryArgs, MetricsAction, MetricsArgs, PricingArgs,
    ReservedArgs,
};
use super::check_args::{CheckArgs, PolicyAction};
use super::demo::DemoChoice;
use super::diff::DiffArgs;
use super::profile::ProfileArgs;
use super::rightsize_flags::RightsizeArgs;
use super::spot_args::SpotArgs;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

/// What GPU instances cost, what of it is wasted, and why.
#[derive(Debug, Parser)]
#[command(
    name = "gpucost",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Find out what GPUs cost, what is wasted, why, and what to do first
    ///
    /// Reads instances, prices and GPU metrics of an AWS account (read-only), a
    /// recorded estate (`--from`) or a built-in demo (`--demo`).
    Audit(Box<AuditArgs>),
    /// Hold the audit against a policy, for CI: exit code 100 when it is violated
    ///
    /// The policy is `gpucost-policy.toml`; `gpucost policy init` writes one to start
    /// from. Only what is new or worse than `--baseline` fails.
    Check(Box<CheckArgs>),
    /// Write a policy to start from
    Policy {
        #[command(subcommand)]
        action: PolicyAction,
    },
    /// Show what changed between two audits
    ///
    /// OLD and NEW are what `gpucost audit --format json` wrote, or recorded estates.
    Diff(Box<DiffArgs>),
    /// List GPU instances with shape, state, purchase option and price
    Inventory(Box<InventoryArgs>),
    /// Show GPU utilization per instance with its coverage
    Metrics(Box<MetricsArgs>),
    /// Look up and compare GPU prices, offline
    Pricing(Box<PricingArgs>),
    /// Find the types that would do for less, and say why others would not
    ///
    /// For the fleet, or for one type named by `--type` without any account.
    Rightsize(Box<RightsizeArgs>),
    /// What the spot market would save after interruptions, and for whom
    ///
    /// For every workload of the fleet; or with `--type` for one type, without
    /// any cloud.
    Spot(Box<SpotArgs>),
    /// Compare reserved instances with on-demand for one type, offline
    Reserved(Box<ReservedArgs>),
    /// Sample the GPUs of this host, and say what it really needs
    ///
    /// For a while, until interrupted, or while a command runs: `gpucost profile --
    /// python train.py`. The summary says how much of the GPUs was used, what held
    /// them back, what it cost, and which instance type would do.
    Profile(Box<ProfileArgs>),
    /// Show why a finding, a verdict, a cost or a plan is what it is
    ///
    /// From the last audit of a live account, unless `--from` or `--demo` is given.
    Explain(Box<ExplainArgs>),
    /// Print the read-only IAM policy that gpucost needs, as JSON
    IamPolicy,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

impl Command {
    /// Whether it is only asked for the names of the demos.
    pub(super) fn lists_demos(&self) -> bool {
        let asked = self.estate().and_then(|estate| estate.demo);
        asked == Some(DemoChoice::List)
    }

    /// The flags of the estate that it is about; absent where it takes none.
    fn estate(&self) -> Option<&EstateArgs> {
        match self {
            Self::Audit(args) => Some(&args.estate),
            Self::Check(args) => Some(&args.estate),
            Self::Inventory(args) => Some(&args.estate),
            Self::Metrics(args) => match &args.action {
                Some(MetricsAction::Setup(setup)) => Some(&setup.estate),
                None => Some(&args.estate),
            },
            Self::Rightsize(args) => Some(&args.estate),
            Self::Spot(args) => Some(&args.estate),
            Self::Reserved(args) => Some(&args.estate),
            Self::Explain(args) => Some(&args.estate),
            Self::Policy { .. }
            | Self::Diff(_)
            | Self::Pricing(_)
            | Self::Profile(_)
            | Self::IamPolicy
            | Self::Completions { .. }
            | Self::Man => None,
        }
    }
}

/// The whole command line, for parsing, completions and the manual.
pub fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
