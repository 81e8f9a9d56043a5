//! Tables of a fleet of two hundred workloads: they fit every width, and what they show and
//! what they say they do not show is everything.

use crate::cli::estates::{one, series};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

const TYPES: [&str; 4] = ["g5.xlarge", "g5.2xlarge", "g6.xlarge", "g6.2xlarge"];
const WIDTHS: [&str; 4] = ["80", "100", "160", "200"];
/// Of two hundred, every eighth reports nothing.
const UNMEASURED: usize = 25;
/// Hours of its fortnight.
const HOURS: u64 = 336;

/// Two hundred workloads of one instance each: of every eight, one is idle, one reports
/// nothing, one is stopped, one is busy, and four do little.
pub fn fleet() -> Value {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let (mut instances, mut metrics) = (Vec::new(), Vec::new());
    for number in 0..200 {
        let id = format!("i-{number:017}");
        let mut instance = template.clone();
        instance["id"] = json!(id);
        instance["instance_type"] = json!(TYPES[number % TYPES.len()]);
        let (team, name) = (number % 7, format!("team-{}-service-{number:03}", number % 7));
        instance["tags"] = json!({"Name": name, "team": format!("team-{team}")});
        let percent = match number % 8 {
            0 => Some(0.0),
            1 => None,
            2 => {
                instance["state"] = json!("stopped");
                instance["volumes"] =
                    json!([{"id": "vol", "volume_type": "gp3", "size_gib": 100 + number}]);
                None
            }
            3 => Some(90.0),
            _ => Some(15.0),
        };
        if let Some(percent) = percent {
            let gpu = |metric, statistic, value| series(&id, Some(0), metric, statistic, value);
            metrics.extend([
                series(&id, None, "cpu_utilization", "average", 20.0),
                gpu("gpu_utilization", "average", percent),
                gpu("gpu_utilization", "maximum", percent),
                gpu("gpu_memory_used", "average", 8000.0),
                gpu("gpu_memory_used", "maximum", 9000.0),
                gpu("gpu_memory_total", "maximum", 23028.0),
            ]);
        }
        instances.push(instance);
    }
    estate["instances"] = json!(instances);
    estate["metrics"] = json!(metrics);
    by_the_hour(&mut estate);
    estate
}

/// A fortnight of hours: a twelfth of the points of five minutes, which take a debug build
/// minutes.
fn by_the_hour(estate: &mut Value) {
    estate["period_seconds"] = json!(3_600);
    for series in estate["metrics"].as_array_mut().expect("a list") {
        series["period_seconds"] = json!(3_600);
        series["values"][0][1] = json!(HOURS);
    }
}

struct Fleet {
    world: World,
    path: String,
}

impl Fleet {
    fn new() -> Self {
        let world = World::new();
        let path = world.estate("fleet.json", &fleet());
        Self { world, path }
    }

    fn run(&self, command: &str, flags: &[&str]) -> Outcome {
        let typed = [&[command, "--from", &self.path][..], flags].concat();
        self.world.run(&typed)
    }

    fn shown(&self, command: &str, flags: &[&str]) -> String {
        let outcome = self.run(command, flags);
        assert_eq!(outcome.code, 0, "{flags:?}: {}", outcome.stderr);
        outcome.stdout
    }
}

/// The lines of a section, without its heading.
fn section<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let (_, rest) =
        text.split_once(&format!("\n{name}  ")).unwrap_or_else(|| panic!("no {name}: {text}"));
    let lines = rest.lines().skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// Amounts of a text in cents.
fn amounts(text: &str) -> Vec<i64> {
    let words = text.split_whitespace();
    words
        .filter_map(|word| word.strip_prefix('$'))
        .filter_map(|word| {
            let digits: String = word.chars().filter(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .collect()
}

/// Number and cost of the workloads that a section shows, and of those that it says it does
/// not show.
fn counted(lines: &[&str]) -> ((usize, i64), (usize, i64)) {
    let rows: Vec<&&str> = lines.iter().filter(|line| line.starts_with("team-")).collect();
    let shown = rows.iter().filter_map(|row| amounts(row).first().copied());
    let said = lines.join(" ");
    let hidden: Vec<(usize, i64)> = said
        .split("… and ")
        .skip(1)
        .map(|rest| {
            let number = rest.split(' ').next().expect("a number");
            let cost = amounts(rest).first().copied().unwrap_or(0);
            (number.parse().expect("a number"), cost)
        })
        .collect();
    let number = hidden.iter().map(|(number, _)| number).sum();
    let cost = hidden.iter().map(|(_, cost)| cost).sum();
    ((rows.len(), shown.sum()), (number, cost))
}

/// Savings and cost of the headline, and the cost after the plan of the last line.
fn totals(text: &str) -> [i64; 3] {
    let (headline, _) = text.split_once("\n\n").expect("a headline");
    let (_, closing) = text.rsplit_once("\nTotal: ").expect("a total");
    let ([saved, cost, ..], [today, planned, ..]) = (&amounts(headline)[..], &amounts(closing)[..])
    else {
        panic!("no amounts: {text}");
    };
    assert_eq!((cost, *saved), (today, cost - planned), "{text}");
    [*saved, *cost, *planned]
}

#[test]
fn the_first_screen_is_short_for_every_fleet_and_ends_with_the_total() {
    let mut fleet = Fleet::new();
    for width in WIDTHS {
        fleet.world.set("COLUMNS", width);
        let demos = [&["--demo"][..], &["--demo", "mixed-fleet"]];
        let demos = demos.map(|demo| fleet.world.run(&[&["audit"], demo].concat()).stdout);
        for text in demos.into_iter().chain([fleet.shown("audit", &[])]) {
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= 40, "{} at {width}: {text}", lines.len());
            let last = lines.iter().rposition(|line| line.starts_with("Total: "));
            assert!(last >= Some(lines.len() - 2), "{text}");
            totals(&text);
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_word_is_cut() {
    let mut fleet = Fleet::new();
    for width in WIDTHS {
        fleet.world.set("COLUMNS", width);
        let most: usize = width.parse().expect("a width");
        let typed: [(&str, &[&str]); 6] = [
            ("audit", &[]),
            ("audit", &["--all"]),
            ("audit", &["--team", "team-3", "--sort", "savings"]),
            ("rightsize", &[]),
            ("rightsize", &["--all"]),
            ("inventory", &[]),
        ];
        for (command, flags) in typed {
            let text = fleet.shown(command, flags);
            for line in text.lines().filter(|line| !line.starts_with("  gpucost ")) {
                let context = format!("{command} {flags:?} at {width}: {line}");
                assert!(line.width() <= most, "{context}");
                let cut = line.trim_start().trim_start_matches('…');
                assert!(!cut.contains('…'), "{context}");
            }
        }
    }
}

#[test]
fn what_is_shown_and_what_is_not_is_the_total() {
    let mut fleet = Fleet::new();
    for width in WIDTHS {
        fleet.world.set("COLUMNS", width);
        let whole = totals(&fleet.shown("audit", &[]));
        let [_, cost, _] = whole;
        for flags in [
            &["--all"][..],
            &["--limit", "7"],
            &["--limit", "0"],
            &["--type", "g5.*,g6.xlarge", "--limit", "7"],
            &["--team", "team-3", "--sort", "name"],
            &["--class", "stopped", "--all"],
            &["--min-savings", "100", "--sort", "savings"],
            &["--workload", "*-service-00*"],
        ] {
            let text = fleet.shown("audit", flags);
            assert_eq!(totals(&text), whole, "{flags:?}");
            let (shown, hidden) = counted(&section(&text, "WORKLOADS"));
            assert_eq!(shown.0 + hidden.0, 200, "{flags:?} at {width}: {text}");
            assert_eq!(shown.1 + hidden.1, cost, "{flags:?} at {width}: {text}");
        }
    }
}

#[test]
fn filters_keep_what_they_name() {
    let fleet = Fleet::new();
    let rows = |flags: &[&str]| -> Vec<String> {
        let text = fleet.shown("audit", &[flags, &["--all"]].concat());
        let lines = section(&text, "WORKLOADS");
        let rows = lines.iter().filter(|line| line.starts_with("team-"));
        let name = |line: &&str| line.split_whitespace().next().map(str::to_owned);
        rows.filter_map(name).collect()
    };
    // 3, 10, 17 and so on: those below 200.
    let of_team: Vec<String> =
        (3..200).step_by(7).map(|number| format!("team-3-service-{number:03}")).collect();
    assert_eq!(rows(&["--team", "team-3", "--sort", "name"]), of_team);
    assert_eq!(rows(&["--class", "stopped"]).len(), 25);
    assert_eq!(rows(&["--type", "g5.*"]).len(), 100);
    let two = ["--workload", "*-service-001", "--workload", "i-00000000000000002"];
    assert_eq!(rows(&two).len(), 2);
}

#[test]
fn equal_gaps_and_findings_are_one_and_listed_on_request() {
    let fleet = Fleet::new();
    let text = fleet.shown("audit", &["--limit", "100"]);
    let gaps = section(&text, "GAPS").join(" ");
    assert!(gaps.contains(&format!("{UNMEASURED} instances (i-")), "{gaps}");
    let findings = section(&text, "FINDINGS").join("\n");
    assert!(findings.contains("25 workloads, "), "{findings}");
    // Behind its amount.
    let count = |text: &str| {
        let rules = text.lines().map(|line| line.split_whitespace().nth(1));
        rules.filter(|rule| *rule == Some("idle-held-gpu")).count()
    };
    assert_eq!(count(&findings), 1);
    assert_eq!(count(&fleet.shown("audit", &["--all"])), 25);
    let page = fleet.shown("audit", &["--format", "markdown"]);
    assert_eq!(page.matches("| idle-held-gpu | ").count(), 1, "{page}");
    assert!(page.contains(&format!("{UNMEASURED} instances ")), "{page}");
}

#[test]
fn bars_appear_where_there_is_room() {
    let mut fleet = Fleet::new();
    let wide = || fleet.shown("audit", &["--format", "wide"]);
    // 90% is in the eighth eighth.
    let text = wide();
    assert!(text.contains(&"█".repeat(14)) && text.contains(&"▂".repeat(14)));
    fleet.world.set("COLUMNS", "100");
    assert!(!fleet.shown("audit", &["--all"]).contains(&"█".repeat(14)));
    fleet.world.set("LANG", "de_DE.ISO-8859-1");
    let text = fleet.shown("audit", &["--format", "wide"]);
    assert!(text.contains(&"@".repeat(14)) && !text.contains('█'));
    fleet.world.set("LC_ALL", "C.UTF-8");
    assert!(fleet.shown("audit", &["--format", "wide"]).contains(&"█".repeat(14)));
}

#[test]
fn the_width_is_bounded_and_a_file_has_its_own() {
    let mut fleet = Fleet::new();
    let widest = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("  gpucost "));
        lines.map(|line| line.width()).max().unwrap_or(0)
    };
    let default = fleet.shown("audit", &[]);
    assert!(widest(&default) <= 100);
    for (columns, most) in [("20", 80), ("9999", 200), ("0", 100), ("x", 100)] {
        fleet.world.set("COLUMNS", columns);
        let text = fleet.shown("audit", &[]);
        assert!(widest(&text) <= most, "{columns}: {text}");
    }
    fleet.world.set("COLUMNS", "160");
    let file = fleet.world.path("report.txt");
    let outcome = fleet.run("audit", &["--output", &file]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(std::fs::read_to_string(&file).expect("a report"), default);
}

#[test]
fn what_fits_nothing_is_refused_with_the_nearest() {
    let fleet = Fleet::new();
    for (flags, said) in [
        (["--type", "g5.xlrage"], "did you mean g5.xlarge"),
        (["--team", "team-9"], "did you mean team-"),
        (["--workload", "nothing*"], "fits `--workload nothing*`"),
        (["--class", "stoped"], "'stopped'"),
        (["--sort", "csot"], "'cost'"),
        (["--min-savings", "-1"], "--min-savings"),
    ] {
        let outcome = fleet.run("audit", &flags);
        assert_eq!(outcome.code, 2, "{flags:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{flags:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{flags:?}");
    }
}

#[test]
fn documents_that_are_complete_refuse_a_choice_of_rows() {
    let fleet = Fleet::new();
    for (command, format) in [
        ("audit", "json"),
        ("audit", "csv"),
        ("audit", "html"),
        ("audit", "focus"),
        ("rightsize", "json"),
        ("inventory", "csv"),
    ] {
        let outcome = fleet.run(command, &["--limit", "3", "--format", format]);
        assert_eq!(outcome.code, 2, "{command} {format}");
        let said = format!("`--limit` cannot be used with `--format {format}`");
        assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    }
    // A gate has no view.
    assert_eq!(fleet.run("check", &["--limit", "3"]).code, 2);
}

#[test]
fn a_fleet_is_resized_in_a_table_that_adds_up() {
    let fleet = Fleet::new();
    let document = fleet.run("rightsize", &["--format", "json"]).json();
    let workloads = document["workloads"].as_array().expect("a list");
    let best = |workload: &Value| {
        let candidates = workload["candidates"].as_array().expect("a list");
        let best = candidates.iter().find(|candidate| candidate["accepted"] == true)?;
        Some((best["monthly_savings"].as_f64()? * 100.0).round() as i64)
    };
    let savings: Vec<i64> = workloads.iter().filter_map(best).collect();
    let sum: i64 = savings.iter().sum();
    assert!(savings.len() > 20, "{}", savings.len());
    let text = fleet.shown("rightsize", &["--all"]);
    let (_, heading) = text.split_once("\nRIGHTSIZE  ").expect("a heading");
    let (heading, _) = heading.split_once("\nWORKLOAD ").expect("a table");
    assert_eq!(amounts(heading), [sum, sum * 12]);
    let rows = section(&text, "RIGHTSIZE");
    let rows = rows.iter().filter(|line| line.starts_with("team-"));
    let shown: Vec<Vec<i64>> = rows.map(|row| amounts(row)).collect();
    // The two amounts at the end are those of a month and of a year.
    let of_month: i64 = shown.iter().map(|row| row[row.len() - 2]).sum();
    let of_year: i64 = shown.iter().map(|row| row[row.len() - 1]).sum();
    assert_eq!((shown.len(), of_month, of_year), (savings.len(), sum, sum * 12));
    let one = fleet.shown("rightsize", &["--workload", "team-4-service-004"]);
    assert!(one.contains("NOT SUITABLE") && one.contains("and 199 other workloads"), "{one}");
}

#[test]
fn a_filtered_view_says_which_figures_it_leaves_and_what_it_keeps() {
    let mut fleet = Fleet::new();
    let said = "Filters choose the rows of workloads, actions and findings; all other figures are \
                of everything in scope.";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for width in WIDTHS {
        fleet.world.set("COLUMNS", width);
        assert!(!words(&fleet.shown("audit", &["--sort", "name"])).contains("Filters choose"));
        let text = fleet.shown("audit", &["--team", "team-3", "--all"]);
        assert!(words(&text).contains(said), "{text}");
        let lines = section(&text, "WORKLOADS");
        let (shown, _) = counted(&lines);
        // 3, 10 and so on up to 199.
        assert_eq!(shown.0, 29);
        let (_, chosen) = text.split_once("29 chosen workloads, ").expect("their sum");
        assert_eq!(amounts(chosen).first(), Some(&shown.1), "{text}");
    }
    // Rows of the plan, and what is outside of it, are all that is saved.
    let text = fleet.shown("audit", &["--team", "team-3", "--all"]);
    let rows = ["DO FIRST", "WITH THE OWNER"].map(|title| {
        let lines = section(&text, title);
        let rows = lines.iter().filter(|line| line.starts_with("  ") && line.contains(" team-3-"));
        rows.filter_map(|row| amounts(row).first().copied()).sum::<i64>()
    });
    let (before, _) = text.split_once(" outside of the filters.").expect("the others");
    let outside = amounts(before.rsplit_once(" worth ").expect("an amount").1);
    let [saved, ..] = totals(&text);
    // Purchases are promises, whoever they are for.
    let bought: i64 = fleet.run("audit", &["--format", "json"]).json()["purchases"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|bought| (bought["monthly_savings"].as_f64().expect("money") * 100.0).round() as i64)
        .sum();
    assert_eq!(rows.iter().sum::<i64>() + bought + outside[0], saved);
}

#[test]
fn what_saves_most_comes_first_in_the_plan_also_where_it_does_not_run() {
    let world = World::new();
    let shown = |format: &str| {
        let arguments = ["audit", "--demo", "mixed-fleet", "--limit", "1"];
        let outcome = world.run(&[&arguments[..], &["--format", format]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stdout
    };
    let text = shown("table");
    let first = section(&text, "DO FIRST").join("\n");
    // $40,179.20 of the $50,469.68 that the plan saves.
    assert!(first.contains("$40,179.20") && first.contains("release"), "{first}");
    let page = shown("markdown");
    let (_, first) = page.split_once("**DO FIRST").expect("a list");
    assert!(first.contains("40,179.20 | "), "{first}");
}

#[test]
fn findings_without_an_estimate_are_no_part_of_a_span_of_savings() {
    let world = World::new();
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let instances = (0..6).map(|number| {
        let mut instance = template.clone();
        instance["id"] = json!(format!("i-{number:017}"));
        instance["tags"] = json!({"Name": format!("box-{number}")});
        instance["state"] = json!("stopped");
        // 0.08 per GiB of gp3, and 0.015 of sc1; 0.05 in a snapshot.
        let volume_type = if number < 3 { "gp3" } else { "sc1" };
        instance["volumes"] = json!([
            {"id": "vol", "volume_type": volume_type, "size_gib": 100 * (number + 1)}
        ]);
        instance
    });
    estate["instances"] = json!(instances.collect::<Vec<_>>());
    estate["metrics"] = json!([]);
    let path = world.estate("stopped.json", &estate);
    let outcome = world.run(&["audit", "--from", &path, "--format", "markdown"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let (_, findings) = outcome.stdout.split_once("**FINDINGS").expect("findings");
    let mut groups = findings.lines().filter(|line| line.contains("| stopped-with-storage |"));
    // 100, 200 and 300 GiB at 0.03.
    let group = groups.next().expect("a group of three");
    assert!(
        group.contains("box-2, box-1, box-0")
            && group.contains("3 workloads, from \\$3.00 to \\$9.00 each"),
        "{group}"
    );
    let others = groups.next().expect("a group of three");
    assert!(others.contains("3 workloads; the first: "), "{others}");
    assert!(
        others.contains("saves only where less is kept") && !others.contains("net of"),
        "{others}"
    );
}

#[test]
fn what_costs_another_currency_is_not_silently_in_a_sum() {
    let world = World::new();
    let mut estate = one();
    let mut instance = estate["instances"][0].clone();
    instance["id"] = json!("i-two");
    instance["region"] = json!("cn-north-1");
    instance["zone"] = json!("cn-north-1a");
    instance["tags"] = json!({"Name": "two"});
    let list = estate["instances"].as_array_mut().expect("a list");
    list.push(instance);
    let path = world.estate("two.json", &estate);
    for (format, said) in [
        ("table", "in another currency"),
        ("markdown", ", 1 in another currency"),
        ("html", ", 1 in another currency"),
    ] {
        let outcome = world.run(&["audit", "--from", &path, "--format", format]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.contains(said), "{}", outcome.stdout);
    }
}
