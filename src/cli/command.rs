//! The commands.

use super::{
    args, autoscale, bill, capacity_args, check, diff, doctor, fix, help, history, kpi, mcp_args,
    place, pricing, profile, rent_or_buy, rightsize, select, setup_args, share, spot,
};
use clap::{CommandFactory, Parser, Subcommand};

/// Audit GPU instances: what they cost, what is wasted, and why.
#[derive(Debug, Parser)]
#[command(name = "gpucost", version, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Report GPU costs and waste, their causes, and the actions to take first
    ///
    /// Reads instances, prices and GPU metrics from an AWS account (read-only), a
    /// Kubernetes cluster (`--kubernetes`, `--from-kubectl`), a recorded estate (`--from`)
    /// or a built-in demo (`--demo`).
    Audit(Box<args::AuditArgs>),
    /// Check the audit against a policy in CI; a violation exits with code 100
    ///
    /// The policy file is `gpucost-policy.toml`; `gpucost check init` creates a starter
    /// policy. With `--baseline`, only new or worse violations fail.
    Check(Box<check::CheckArgs>),
    /// Show what changed between two audits
    ///
    /// OLD and NEW are reports of `gpucost audit --format json`, or recorded estates.
    Diff(Box<diff::DiffArgs>),
    /// List GPU instances with shape, state, purchase option and price
    Inventory(Box<args::InventoryArgs>),
    /// Show GPU utilization and metric coverage per instance
    Metrics(Box<args::MetricsArgs>),
    /// Look up and compare GPU prices offline
    Pricing(Box<pricing::PricingArgs>),
    /// Find cheaper suitable instance types, and show why others are rejected
    ///
    /// Evaluates the fleet, or with `--type` one instance type, without an account.
    Rightsize(Box<rightsize::RightsizeArgs>),
    /// Estimate spot savings per workload, net of interruptions
    ///
    /// Evaluates every workload of the fleet, or with `--type` one instance type,
    /// without calling a cloud.
    Spot(Box<spot::SpotArgs>),
    /// Compare commitments with on-demand prices
    ///
    /// Evaluates the fleet, or with `--type` one instance type, without calling a cloud.
    Reserved(Box<args::ReservedArgs>),
    /// Estimate the GPUs that a rate of requests needs, with an objective for latency
    ///
    /// From the throughput of a GPU: stated, measured by `gpucost profile`, or that of a
    /// workload of an estate. Arrivals are random, or replayed from a recording. With
    /// `--curve` or a language model, requests are batched.
    Capacity(Box<capacity_args::CapacityArgs>),
    /// Rank the instance types that suit a piece of work, and show why others are out
    ///
    /// Calls no cloud. Needs come from flags or from samples of a run.
    Select(Box<select::SelectArgs>),
    /// Compare an own GPU server with rented machines
    ///
    /// Calls no cloud. Computes the cost over the term, the month from which the own server
    /// has cost less, and how that month moves with each input.
    RentOrBuy(Box<rent_or_buy::RentOrBuyArgs>),
    /// Pack tenants onto shared GPUs: MIG, MPS and time-slicing
    ///
    /// Shows how many GPUs and instances they take, at which cost, and prints the
    /// configuration. Tenants are workloads and pods of an estate, or are given with
    /// `--tenant`, `--tenants` or `--processes`, without calling a cloud.
    Share(Box<share::ShareArgs>),
    /// Show key figures: useful and idle GPU hours, and what jobs and units of work cost
    ///
    /// Evaluates the fleet, or with `--type` or `--run` one run, without calling a cloud.
    Kpi(Box<kpi::KpiArgs>),
    /// Replay an autoscaling policy over what a workload asked of its GPUs
    ///
    /// Replays a workload of an estate, or with `--demand` a record of GPUs in use, without
    /// calling a cloud, and prints the policy for Auto Scaling, KEDA and Karpenter.
    Autoscale(Box<autoscale::AutoscaleArgs>),
    /// Place jobs into idle hours, spot and cheaper regions, within their deadlines
    ///
    /// Places the jobs of a list without calling a cloud, or training jobs that were seen in
    /// an estate, and compares with on demand at once.
    Place(Box<place::PlaceArgs>),
    /// Show what GPU instances really cost, from the bill: CUR or FOCUS
    ///
    /// Reads CSV, gzip-compressed CSV and Parquet, here or in a bucket of S3, without calling
    /// another service: list, contracted, effective and billed cost, the use of commitments,
    /// parts of pods, and the negotiated prices that follow. With an estate (`--from`, `--demo`),
    /// `--compare`, or audits that were recorded (`--history`), each difference has a name, and
    /// idle GPU hours have their cost on the bill.
    Bill(Box<bill::BillArgs>),
    /// Sample the GPUs of this host, and show the resources that it needs
    ///
    /// Samples for a fixed duration, until interrupted, or while a command runs:
    /// `gpucost profile -- python train.py`. The summary shows GPU utilization, the
    /// bottleneck, the cost, and a suitable instance type.
    Profile(Box<profile::ProfileArgs>),
    /// Record audits; show trend, realized savings and forecast, send a digest, roll up archives
    ///
    /// Without an action: spend and why it changed, what advised actions saved, and what the
    /// month will end at. `gpucost history record` keeps what each workload cost on each day
    /// that is over, and what the plan advised, in Parquet that DuckDB, Spark and Athena read
    /// as it is. Archives of metrics and bills of any size become roll-ups on an SQL engine.
    History(Box<history::HistoryArgs>),
    /// Show how a finding, verdict, cost or plan was derived
    ///
    /// Uses the last audit of a live account, unless `--from` or `--demo` is given.
    Explain(Box<args::ExplainArgs>),
    /// Print how to carry out the actions of the plan: a runbook or a script
    ///
    /// Each action has the checks before it, its commands and files, the way back, and what
    /// to watch. gpucost changes nothing: the script prints its commands, and runs them only
    /// when you pass `--yes` to it.
    Fix(Box<fix::FixArgs>),
    /// Check credentials, permissions, regions, metrics and prices; each problem has its fix
    ///
    /// Takes the flags of `gpucost audit`, and asks for everything that this audit would rest
    /// on. Reads no instance, and one value of a metric.
    Doctor(Box<doctor::DoctorArgs>),
    /// Print permissions, agent configuration, schemas, completions and manual pages
    Setup {
        #[command(subcommand)]
        action: setup_args::SetupAction,
    },
    /// Serve read-only tools to AI assistants, over the Model Context Protocol
    ///
    /// A client starts it and speaks on stdin and stdout. The tools are commands: audit,
    /// inventory, explain, pricing and select. They answer from recorded estates below
    /// `--root` and from the price catalog, without using the network unless `--live` is given.
    Mcp(mcp_args::McpArgs),
}

/// The whole command line, for parsing, completions and the manual.
pub fn command() -> clap::Command {
    help::shortened(Cli::command())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
