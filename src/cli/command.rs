//! The commands.

use super::help;
use clap::{CommandFactory, Parser, Subcommand};

/// Audit GPU instances: what they cost, what is wasted, and why.
#[derive(Debug, Parser)]
#[command(name = "gpucost", version, propagate_version = true, max_term_width = 100)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The commands, by what somebody wants, a row each: its flags, what runs it, its place in the
/// manual, two examples, and the headings and flags of its own that only `--help` shows.
macro_rules! commands {
    ($declare:ident) => { $declare! {
        "Start" {
            /// Report GPU costs and waste, their causes, and the actions to take first
            ///
            /// Reads instances, prices and GPU metrics from an AWS account (read-only), a
            /// Kubernetes cluster (`--kubernetes`, `--from-kubectl`), a recorded estate (`--from`)
            /// or a built-in demo (`--demo`).
            Audit(super::args::AuditArgs) = run_audit, 0, ["audit --demo", "audit --region all --format html --output audit.html"], ["units", "record"];
            /// Check credentials, permissions, regions, metrics and prices; each problem has its fix
            ///
            /// Takes the flags of `gpucost audit`, and asks for everything that this audit would rest
            /// on. Reads no instance, and one value of a metric.
            Doctor(super::doctor::DoctorArgs) = doctor::run, 21, ["doctor", "doctor --region us-east-1,eu-west-1"], [];
            /// Show how a finding, verdict, cost or plan was derived
            ///
            /// Uses the last audit of a live account, unless `--from` or `--demo` is given.
            Explain(super::args::ExplainArgs) = explain::run, 19, ["explain --demo llm-poc-old", "explain i-0123456789abcdef0 --format json"], [];
            /// Print how to carry out the actions of the plan: a runbook or a script
            ///
            /// Each action has the checks before it, its commands and files, the way back, and what
            /// to watch. gpucost changes nothing: the script prints its commands, and runs them only
            /// when you pass `--yes` to it.
            Fix(super::fix::FixArgs) = fix::run, 20, ["fix --demo", "fix --demo --format script --output fix.sh"], [];
        }
        "Decide" {
            /// Find cheaper suitable instance types, and show why others are rejected
            ///
            /// Evaluates the fleet, or with `--type` one instance type, without an account.
            Rightsize(super::rightsize::RightsizeArgs) = rightsize::run, 6, ["rightsize --demo", "rightsize --type p4d.24xlarge --util-p95 20 --vram-peak 20GiB"], ["bound", "cpu-p95", "independent-gpus", "memory-peak"];
            /// Estimate spot savings per workload, net of interruptions
            ///
            /// Evaluates every workload of the fleet, or with `--type` one instance type,
            /// without calling a cloud.
            Spot(super::spot::SpotArgs) = spot::run, 7, ["spot --demo", "spot --type g5.xlarge --region us-east-1"], ["checkpoint-interval", "nodes", "restart-cost"];
            /// Compare commitments with on-demand prices
            ///
            /// Evaluates the fleet, or with `--type` one instance type, without calling a cloud.
            Reserved(super::args::ReservedArgs) = reserved::run, 8, ["reserved --demo", "reserved --type p4d.24xlarge --region us-east-1"], ["Custom prices", "hours-per-month", "payment", "recorded-audits"];
            /// Pack tenants onto shared GPUs: MIG, MPS and time-slicing
            ///
            /// Shows how many GPUs and instances they take, at which cost, and prints the
            /// configuration. Tenants are workloads and pods of an estate, or are given with
            /// `--tenant`, `--tenants` or `--processes`, without calling a cloud.
            Share(super::share::ShareArgs) = share::run, 12, ["share --demo", "share --type p4d.24xlarge --tenant chat:10GiB:33% --tenant search:10GiB:33%"], ["class", "processes", "survive-nodes"];
            /// Replay an autoscaling policy over what a workload asked of its GPUs
            ///
            /// Replays a workload of an estate, or with `--demand` a record of GPUs in use, without
            /// calling a cloud, and prints the policy for Auto Scaling, KEDA and Karpenter.
            Autoscale(super::autoscale::AutoscaleArgs) = autoscale::run, 14, ["autoscale --demo --workload chat-serving", "autoscale --demo --workload chat-serving --format json"], ["cool-down", "late-after", "max-unserved", "on-demand-base", "queue-length", "request-seconds", "schedule", "spot-share", "start-up", "today"];
        }
        "Plan ahead" {
            /// Rank the instance types that suit a piece of work, and show why others are out
            ///
            /// Calls no cloud. Needs come from flags or from samples of a run.
            Select(super::select::SelectArgs) = select::run, 10, ["select --params 70b --dtype fp8,int4 --context 32k", "select --kind training --restartable --vram 40GiB"], ["Assumptions", "Load", "Measured", "active-params", "arch", "cpu-seconds", "efa", "head-dim", "heads", "hours-per-month", "kv-dtype", "kv-heads", "layers", "memory", "rank-by", "rate", "vram-total"];
            /// Estimate the GPUs that a rate of requests needs, with an objective for latency
            ///
            /// From the throughput of a GPU: stated, measured by `gpucost profile`, or that of a
            /// workload of an estate. Arrivals are random, or replayed from a recording. With
            /// `--curve` or a language model, requests are batched.
            Capacity(super::capacity_args::CapacityArgs) = capacity::run, 9, ["capacity --rate 500 --per-gpu 200", "capacity --rate 10/s --model llama-3.1-8b --type g6e.xlarge --objective 9s"], ["Throughput of a GPU", "Types", "Zones", "active-params", "arrivals", "curve-data", "dtype", "head-dim", "heads", "input-tokens", "kv-heads", "layers", "max-wait", "output-tokens", "params", "request-counts", "request-peak", "request-period", "service-times", "target", "tokens-per-request", "unit"];
            /// Place jobs into idle hours, spot and cheaper regions, within their deadlines
            ///
            /// Places the jobs of a list without calling a cloud, or training jobs that were seen in
            /// an estate, and compares with on demand at once.
            Place(super::place::PlaceArgs) = place::run, 15, ["place --jobs jobs.csv", "place --jobs jobs.csv --idle-hours --demo"], [];
            /// Compare an own GPU server with rented machines
            ///
            /// Calls no cloud. Computes the cost over the term, the month from which the own server
            /// has cost less, and how that month moves with each input.
            RentOrBuy(super::rent_or_buy::RentOrBuyArgs) = rent_or_buy::run, 11, ["rent-or-buy --help", "rent-or-buy --type p5.48xlarge --purchase 270000 --watts 8000 --rack-monthly 1500 --staff-hours 8 --spares-percent 5 --residual-percent 10 --years 4 --utilization 80"], ["Own server"];
        }
        "Money" {
            /// Show what GPU instances really cost, from the bill: CUR or FOCUS
            ///
            /// Reads CSV, gzip-compressed CSV and Parquet, here or in a bucket of S3, without calling
            /// another service: list, contracted, effective and billed cost, the use of commitments,
            /// parts of pods, and the negotiated prices that follow. With an estate (`--from`, `--demo`),
            /// `--compare`, or audits that were recorded (`--history`), each difference has a name, and
            /// idle GPU hours have their cost on the bill.
            Bill(super::bill::BillArgs) = bill::run, 16, ["bill cur.csv", "bill focus.parquet --from estate.json"], [];
            /// Record audits; show trend, realized savings and forecast, send a digest, roll up archives
            ///
            /// Without an action: spend and why it changed, what advised actions saved, and what the
            /// month will end at. `gpucost history record` keeps what each workload cost on each day
            /// that is over, and what the plan advised, in Parquet that DuckDB, Spark and Athena read
            /// as it is. Archives of metrics and bills of any size become roll-ups on an SQL engine.
            History(super::history::HistoryArgs) = history::run, 18, ["history record --history history", "history digest --since last"], ["account", "anomaly-amount", "anomaly-percent", "distinct", "measured-by", "only", "time-unit"];
            /// Show key figures: useful and idle GPU hours, and what jobs and units of work cost
            ///
            /// Evaluates the fleet, or with `--type` or `--run` one run, without calling a cloud.
            Kpi(super::kpi::KpiArgs) = kpi::run, 13, ["kpi --demo", "kpi --type g5.xlarge --hours 10"], [];
        }
        "CI" {
            /// Check the audit against a policy in CI; a violation exits with code 100
            ///
            /// The policy file is `gpucost-policy.toml`; `gpucost check init` creates a starter
            /// policy. With `--baseline`, only new or worse violations fail.
            Check(super::check::CheckArgs) = run_check, 1, ["check init", "check --terraform-plan plan.json"], [];
            /// Show what changed between two audits
            ///
            /// OLD and NEW are reports of `gpucost audit --format json`, or recorded estates.
            Diff(super::diff::DiffArgs) = diff::run, 2, ["diff old.json new.json", "diff old.json new.json --format markdown"], [];
        }
        "Host" {
            /// Sample the GPUs of this host, and show the resources that it needs
            ///
            /// Samples for a fixed duration, until interrupted, or while a command runs:
            /// `gpucost profile -- python train.py`. The summary shows GPU utilization, the
            /// bottleneck, the cost, and a suitable instance type.
            Profile(super::profile::ProfileArgs) = profile::run, 17, ["profile --duration 10m", "profile -- python train.py"], ["Model", "Price", "Spot guard", "Units of work", "command-log", "nvml-lib", "read-columns", "read-zone", "record"];
        }
        "Data" {
            /// List GPU instances with shape, state, purchase option and price
            Inventory(super::args::InventoryArgs) = inventory::run, 3, ["inventory --demo", "inventory --region all --format csv"], [];
            /// Look up and compare GPU prices offline
            Pricing(super::pricing::PricingArgs) = pricing::run, 5, ["pricing g5.xlarge p5.48xlarge", "pricing --gpu H100 --count 8 --region 'eu-*'"], ["max-price", "provider", "sort"];
            /// Show GPU utilization and metric coverage per instance
            Metrics(super::args::MetricsArgs) = metrics::run, 4, ["metrics --demo", "metrics --region all --format csv"], [];
        }
        "Setup" {
            /// Print permissions, agent configuration, schemas, completions and manual pages
            Setup(super::setup_args::SetupArgs) = setup::run, 22, ["setup iam", "setup metrics --region us-east-1"], [];
            /// Serve read-only tools to AI assistants, over the Model Context Protocol
            ///
            /// A client starts it and speaks on stdin and stdout. The tools are commands: audit,
            /// inventory, explain, pricing and select. They answer from recorded estates below
            /// `--root` and from the price catalog, without using the network unless `--live` is given.
            Mcp(super::mcp_args::McpArgs) = run_mcp, 23, ["mcp", "mcp --help"], [];
        }
    } };
}
pub(super) use commands;

macro_rules! declare {
    ($($heading:literal { $($(#[$help:meta])* $name:ident($flags:ty) = $run:path, $place:literal, $examples:expr, $hidden:expr;)* })*) => {
        #[derive(Debug, Subcommand)]
        pub(super) enum Command {
            $($($(#[$help])* #[command(display_order = $place)] $name(Box<$flags>),)*)*
        }

        /// How the short help shows each command.
        pub(super) const ROWS: &[help::Row] = &[$($(($heading, $examples, &$hidden),)*)*];
    };
}
commands!(declare);

/// The whole command line, for parsing, completions and the manual.
pub fn command() -> clap::Command {
    help::shortened(Cli::command(), ROWS)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
