//! What `-h` shows: the commands by what somebody wants, and of each the flags that matter most,
//! with two examples. `--help` shows everything.

use clap::Command;

/// Headings of flags that many commands share; `-h` shows those of [`FIRST`] alone.
const SHARED: [&str; 7] = [
    "AWS",
    "AWS organization",
    "Prometheus",
    "Kubernetes",
    "Estate",
    "Output",
    "Rows of the tables",
];

/// Flags of these headings that `-h` shows.
const FIRST: [&str; 5] = ["demo", "format", "from", "output", "region"];

/// Groups of commands, in the order in which they are shown: a line a command, with two examples,
/// and the headings and flags of its own that only `--help` shows.
const COMMANDS: &str = "\
Start:
audit | audit --demo | audit --region all --format html --output audit.html | units, record
doctor | doctor | doctor --region us-east-1,eu-west-1
explain | explain --demo llm-poc-old | explain i-0123456789abcdef0 --format json
fix | fix --demo | fix --demo --format script --output fix.sh
Decide:
rightsize | rightsize --demo | rightsize --type p4d.24xlarge --util-p95 20 --vram-peak 20GiB
spot | spot --demo | spot --type g5.xlarge --region us-east-1
reserved | reserved --demo | reserved --type p4d.24xlarge --region us-east-1 | Custom prices
share | share --demo | share --type p4d.24xlarge --tenant chat:10GiB:33% --tenant search:10GiB:33%
autoscale | autoscale --demo --workload chat-serving | autoscale --demo --workload chat-serving --format json
Plan ahead:
select | select --params 70b --dtype fp8 --budget-monthly 4000 | select --kind training --restartable --vram 40GiB | Assumptions, Measured, Load
fit | fit --model llama-3.1-8b --concurrency 4 | fit --params 70b --dtype fp8 --context 32k --concurrency 16 | Assumptions, Measured
capacity | capacity --rate 500 --per-gpu 200 | capacity --rate 500 --per-gpu 200 --headroom 20 | Zones, Types, Throughput of a GPU
batching | batching --help | batching --model llama-3.1-8b --rate 10/s --latency-ms 2000 | Model, Measured
schedule | schedule --jobs jobs.csv | schedule --jobs jobs.csv --idle-hours --demo
rent-or-buy | rent-or-buy --help | rent-or-buy --type p5.48xlarge --purchase 270000 --watts 8000 --utilization 80 | Own server
Money:
bill | bill cur.csv | bill focus.parquet --from estate.json
history | history record --history history | history --history history --forecast month | anomaly_amount, anomaly_percent
report | report --since last.json estate.json | report --since last.json estate.json --format slack
archive | archive sql --dialect duckdb --table points | archive --help
kpi | kpi --demo | kpi --type g5.xlarge --hours 10
CI:
check | check --region us-east-1 | check --terraform-plan plan.json
policy | policy init | policy init --help
diff | diff old.json new.json | diff old.json new.json --format markdown
Host:
profile | profile --duration 10m | profile -- python train.py | Spot guard, Units of work, Model, Price
Data:
inventory | inventory --demo | inventory --region all --format csv
pricing | pricing g5.xlarge p5.48xlarge | pricing --gpu H100 --count 8 --region 'eu-*'
metrics | metrics --demo | metrics setup
Setup:
iam-policy | iam-policy | iam-policy --org --account 111122223333
kubernetes-rbac | kubernetes-rbac | kubernetes-rbac | kubectl diff -f -
schema | schema audit | schema estate
completions | completions bash | completions zsh
man | man audit | man --out man
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
    let program = COMMANDS
        .lines()
        .filter_map(row)
        .fold(program, |program, row| {
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
    let is_spare = |heading: Option<&str>, id: &str| {
        let is_shared = heading.is_some_and(|heading| SHARED.contains(&heading));
        let is_own = heading.is_some_and(|heading| hidden.contains(&heading));
        is_own || hidden.contains(&id) || (is_shared && !FIRST.contains(&id))
    };
    let command = command.mut_args(|arg| {
        let is_spare = is_spare(arg.get_help_heading(), arg.get_id().as_str());
        if is_spare {
            arg.hide_short_help(true)
        } else {
            arg
        }
    });
    command.mut_subcommands(|below| shorten(below, hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command below one, with its words.
    fn commands(command: &Command, words: &str) -> Vec<(String, Command)> {
        let below = command
            .get_subcommands()
            .filter(|one| one.get_name() != "help");
        below
            .flat_map(|one| {
                let words = format!("{words} {}", one.get_name());
                let below = commands(one, &words);
                std::iter::once((words, one.clone())).chain(below)
            })
            .collect()
    }

    #[test]
    fn every_short_help_fits_a_screen() {
        let program = crate::cli::command();
        for (words, mut command) in commands(&program, "gpucost") {
            let text = command.render_help().to_string();
            let lines = text.lines().count();
            assert!(lines <= 60, "{words} -h has {lines} lines:\n{text}");
        }
    }

    #[test]
    fn every_command_is_in_a_group() {
        let program = crate::cli::command();
        let rows = COMMANDS.lines().filter_map(row);
        let listed: Vec<&str> = rows.map(|(name, ..)| name).collect();
        for command in program.get_subcommands() {
            let name = command.get_name();
            assert!(
                name == "help" || listed.contains(&name),
                "{name} has no group"
            );
        }
    }
}
