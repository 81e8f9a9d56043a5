//! The commands, and what `-h` shows: the commands by what somebody wants, and of each the flags that
//! matter most, with two examples. `--help` shows everything.

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
            Explain(super::explain::ExplainArgs) = explain::run, 19, ["explain --demo llm-poc-old", "explain i-0123456789abcdef0 --format json"], [];
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
            Reserved(super::reserved::ReservedArgs) = reserved::run, 8, ["reserved --demo", "reserved --type p4d.24xlarge --region us-east-1"], ["Custom prices", "hours-per-month", "payment", "recorded-audits"];
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
            Check(super::check::CheckArgs) = check::run, 1, ["check init", "check --terraform-plan plan.json"], [];
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
            Inventory(super::instances::InventoryArgs) = instances::inventory, 3, ["inventory --demo", "inventory --region all --format csv"], [];
            /// Look up and compare GPU prices offline
            Pricing(super::pricing::PricingArgs) = pricing::run, 5, ["pricing g5.xlarge p5.48xlarge", "pricing --gpu H100 --count 8 --region 'eu-*'"], ["max-price", "provider", "sort"];
            /// Show GPU utilization and metric coverage per instance
            Metrics(super::instances::MetricsArgs) = instances::metrics, 4, ["metrics --demo", "metrics --region all --format csv"], [];
        }
        "Setup" {
            /// Print permissions, agent configuration, schemas, completions and manual pages
            Setup(super::setup::SetupArgs) = run_setup, 22, ["setup iam", "setup metrics --region us-east-1"], [];
            /// Serve read-only tools to AI assistants, over the Model Context Protocol
            ///
            /// A client starts it and speaks on stdin and stdout. The tools are commands: audit,
            /// inventory, explain, pricing and select. They answer from recorded estates below
            /// `--root` and from the price catalog, without using the network unless `--live` is given.
            Mcp(super::mcp::McpArgs) = run_mcp, 23, ["mcp", "mcp --help"], [];
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
        const ROWS: &[Row] = &[$($(($heading, $examples, &$hidden),)*)*];
    };
}
commands!(declare);

/// The whole command line, for parsing, completions and the manual.
pub fn command() -> clap::Command {
    shortened(Cli::command(), ROWS)
}

/// Headings of flags that many commands share; `-h` shows those of [`FIRST`] alone.
const SHARED: [&str; 7] = [
    "AWS", "AWS organization", "Prometheus", "Kubernetes", "Estate", "Output", "Rows of the tables",
];

/// Flags of these headings that `-h` shows.
const FIRST: [&str; 5] = ["demo", "format", "from", "output", "region"];

/// Flags that only `--help` shows wherever they stand.
const SPARE: [&str; 3] = ["max-price-age", "offline", "os"];

/// How a command is shown: its heading, two examples, and the headings and flags of its own that
/// only `--help` shows.
type Row = (&'static str, [&'static str; 2], &'static [&'static str]);

/// The command line with a short help; a row for each command, in their order.
fn shortened(program: clap::Command, rows: &[Row]) -> clap::Command {
    let (mut rows, mut list, mut heading) = (rows.iter(), String::new(), "");
    let program = program.mut_subcommands(|command| {
        let Some((own, examples, hidden)) = rows.next() else { return command };
        if heading != *own {
            heading = own;
            list += &format!("{heading}:\n");
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        list += &format!("  {:<16} {about}\n", command.get_name());
        let examples = examples.map(|example| format!("  gpucost {example}"));
        shorten(command, hidden).after_help(format!("Examples:\n{}", examples.join("\n")))
    });
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\nOptions:\n{{options}}\n\n\
         -h after a command shows the flags that matter most, --help all of them.\n"
    ))
}

/// Hides flags from the short help of a command and of those below it.
fn shorten(command: clap::Command, hidden: &[&str]) -> clap::Command {
    let is_spare = |arg: &clap::Arg| {
        let flag = arg.get_long().unwrap_or_default();
        let is_shared = arg.get_help_heading().is_some_and(|heading| SHARED.contains(&heading));
        let mut names = arg.get_help_heading().into_iter().chain([flag]);
        names.any(|name| hidden.contains(&name))
            || SPARE.contains(&flag)
            || (is_shared && !FIRST.contains(&flag))
    };
    let command = command.mut_args(|arg| {
        let is_spare = is_spare(&arg);
        arg.hide_short_help(is_spare)
    });
    command.mut_subcommands(|below| shorten(below, hidden))
}

#[cfg(test)]
mod tests {
    use super::{ROWS, command as program};
    use clap::Command;

    #[test]
    fn the_command_line_is_consistent() {
        program().debug_assert();
    }

    /// Every command below one, with its words.
    fn commands(command: &Command, words: &str) -> Vec<(String, Command)> {
        let below = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help");
        below
            .flat_map(|subcommand| {
                let words = format!("{words} {}", subcommand.get_name());
                let below = commands(subcommand, &words);
                std::iter::once((words, subcommand.clone())).chain(below)
            })
            .collect()
    }

    #[test]
    fn every_short_help_fits_a_screen() {
        let commands = commands(&program(), "gpucost").into_iter();
        let lines = commands.map(|(words, mut command)| {
            let text = command.render_help().to_string();
            (words, text.lines().count())
        });
        let long: Vec<_> = lines.filter(|(_, lines)| *lines > 40).collect();
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn the_examples_of_every_command_parse_and_what_it_hides_is_there() {
        let program = program();
        assert_eq!(program.get_subcommands().count(), ROWS.len());
        for (command, (_, examples, hidden)) in program.get_subcommands().zip(ROWS) {
            for example in examples {
                assert_eq!(example.split(' ').next(), Some(command.get_name()));
                let words = std::iter::once("gpucost").chain(example.split(' '));
                let words = words.map(|word| word.replace('\'', "").into()).collect();
                let words = crate::cli::demo::tell_apart(words, &program);
                if let Err(error) = program.clone().try_get_matches_from(words) {
                    let is_help = error.kind() == clap::error::ErrorKind::DisplayHelp;
                    assert!(is_help, "{example}: {error}");
                }
            }
            for name in hidden.iter().copied() {
                let below = command.get_subcommands().flat_map(Command::get_arguments);
                let mut flags = command.get_arguments().chain(below);
                let is_there = flags.any(|arg| {
                    arg.get_help_heading() == Some(name) || arg.get_long() == Some(name)
                });
                assert!(is_there, "{name} is neither a heading nor a flag");
            }
        }
    }
}
