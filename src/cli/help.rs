//! What `-h` shows: the commands by what somebody wants, and of each the flags that matter most,
//! with two examples. `--help` shows everything.

use clap::Command;

/// Headings of flags that many commands share; `-h` shows those of [`FIRST`] alone.
const SHARED: [&str; 7] = [
    "AWS", "AWS organization", "Prometheus", "Kubernetes", "Estate", "Output", "Rows of the tables",
];

/// Flags of these headings that `-h` shows.
const FIRST: [&str; 5] = ["demo", "format", "from", "output", "region"];

/// Flags that only `--help` shows wherever they stand.
const SPARE: [&str; 3] = ["max-price-age", "offline", "os"];

/// Groups of commands, in the order in which they are shown: a line a command, with two examples,
/// and the headings and flags of its own that only `--help` shows.
const COMMANDS: &str = "\
Start:
audit | audit --demo | audit --region all --format html --output audit.html | units, record
doctor | doctor | doctor --region us-east-1,eu-west-1
explain | explain --demo llm-poc-old | explain i-0123456789abcdef0 --format json
fix | fix --demo | fix --demo --format script --output fix.sh
Decide:
rightsize | rightsize --demo | rightsize --type p4d.24xlarge --util-p95 20 --vram-peak 20GiB | bound, cpu-p95, independent-gpus, memory-peak
spot | spot --demo | spot --type g5.xlarge --region us-east-1 | checkpoint-interval, nodes, restart-cost
reserved | reserved --demo | reserved --type p4d.24xlarge --region us-east-1 | Custom prices, hours-per-month, payment, recorded-audits
share | share --demo | share --type p4d.24xlarge --tenant chat:10GiB:33% --tenant search:10GiB:33% | class, processes, survive-nodes
autoscale | autoscale --demo --workload chat-serving | autoscale --demo --workload chat-serving --format json | cool-down, late-after, max-unserved, on-demand-base, queue-length, request-seconds, schedule, spot-share, start-up, today
Plan ahead:
select | select --params 70b --dtype fp8,int4 --context 32k | select --kind training --restartable --vram 40GiB | Assumptions, Load, Measured, active-params, arch, cpu-seconds, efa, head-dim, heads, hours-per-month, kv-dtype, kv-heads, layers, memory, rank-by, rate, vram-total
capacity | capacity --rate 500 --per-gpu 200 | capacity --rate 10/s --model llama-3.1-8b --type g6e.xlarge --objective 9s | Throughput of a GPU, Types, Zones, active-params, arrivals, curve-data, dtype, head-dim, heads, input-tokens, kv-heads, layers, max-wait, output-tokens, params, request-counts, request-peak, request-period, service-times, target, tokens-per-request, unit
place | place --jobs jobs.csv | place --jobs jobs.csv --idle-hours --demo
rent-or-buy | rent-or-buy --help | rent-or-buy --type p5.48xlarge --purchase 270000 --watts 8000 --rack-monthly 1500 --staff-hours 8 --spares-percent 5 --residual-percent 10 --years 4 --utilization 80 | Own server
Money:
bill | bill cur.csv | bill focus.parquet --from estate.json
history | history record --history history | history digest --since last | account, anomaly-amount, anomaly-percent, distinct, measured-by, only, time-unit
kpi | kpi --demo | kpi --type g5.xlarge --hours 10
CI:
check | check init | check --terraform-plan plan.json
diff | diff old.json new.json | diff old.json new.json --format markdown
Host:
profile | profile --duration 10m | profile -- python train.py | Model, Price, Spot guard, Units of work, command-log, nvml-lib, read-columns, read-zone, record
Data:
inventory | inventory --demo | inventory --region all --format csv
pricing | pricing g5.xlarge p5.48xlarge | pricing --gpu H100 --count 8 --region 'eu-*' | max-price, provider, sort
metrics | metrics --demo | metrics --region all --format csv
Setup:
setup | setup iam | setup metrics --region us-east-1
mcp | mcp | mcp --help";

/// A line of [`COMMANDS`]: a command, two examples, and what of it only `--help` shows; none for
/// the name of a group.
fn row(line: &str) -> Option<(&str, [&str; 2], Vec<&str>)> {
    let mut cells = line.split(" | ");
    let (name, first, second) = (cells.next()?, cells.next()?, cells.next()?);
    let hidden = cells.next().map(|cell| cell.split(", ").collect());
    Some((name, [first, second], hidden.unwrap_or_default()))
}

/// The command line with a short help.
pub(super) fn shortened(program: Command) -> Command {
    let line = |line: &str| match row(line) {
        None => format!("{line}\n"),
        Some((name, ..)) => {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            format!("  {name:<16} {about}\n")
        }
    };
    let list: String = COMMANDS.lines().map(line).collect();
    let program = COMMANDS.lines().filter_map(row).fold(program, |program, row| {
        let (name, examples, hidden) = row;
        let examples = examples.map(|example| format!("  gpucost {example}"));
        let text = format!("Examples:\n{}", examples.join("\n"));
        program.mut_subcommand(name, |command| shorten(command, &hidden).after_help(text))
    });
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\nOptions:\n{{options}}\n\n\
         -h after a command shows the flags that matter most, --help all of them.\n"
    ))
}

/// Hides flags from the short help of a command and of those below it.
fn shorten(command: Command, hidden: &[&str]) -> Command {
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
    use super::*;

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
        let commands = commands(&crate::cli::command(), "gpucost").into_iter();
        let lines = commands.map(|(words, mut command)| {
            let text = command.render_help().to_string();
            (words, text.lines().count())
        });
        let long: Vec<_> = lines.filter(|(_, lines)| *lines > 40).collect();
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn every_command_is_in_a_group_and_its_examples_parse() {
        let program = crate::cli::command();
        let rows: Vec<_> = COMMANDS.lines().filter_map(row).collect();
        for command in program.get_subcommands() {
            let name = command.get_name();
            assert!(rows.iter().any(|row| row.0 == name), "{name} has no group");
        }
        for (name, examples, hidden) in rows {
            for example in examples {
                let words = std::iter::once("gpucost").chain(example.split(' '));
                let words = words.map(|word| word.replace('\'', "").into()).collect();
                let words = crate::cli::demo::tell_apart(words, &program);
                if let Err(error) = program.clone().try_get_matches_from(words) {
                    let is_help = error.kind() == clap::error::ErrorKind::DisplayHelp;
                    assert!(is_help, "{example}: {error}");
                }
            }
            let command = program.find_subcommand(name).expect("a command");
            for name in hidden {
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
