//! The pages in `docs/` say what the program does: their tables name every key
//! and no other, and their examples run.

use crate::cli::estates::one;
use crate::cli::pages::{assert_shows, blocks, page, quoted};
use crate::cli::process::run_in;
use crate::cli::world::World;
use gpucost::cli::ExitCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Cells of the rows of every table, without its header.
fn rows(page: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        if line.starts_with("|---") {
            rows.pop();
            continue;
        }
        let cells = line.trim_matches('|').split(" | ");
        rows.push(cells.map(|cell| cell.trim_matches([' ', '|']).to_owned()).collect());
    }
    rows
}

#[test]
fn exit_codes_are_those_of_the_program() {
    // A new code does not compile until it is listed here.
    let codes = |code: ExitCode| match code {
        ExitCode::Done => ExitCode::Unexpected,
        ExitCode::Unexpected => ExitCode::Input,
        ExitCode::Input => ExitCode::Incomplete,
        ExitCode::Incomplete => ExitCode::Nothing,
        ExitCode::Nothing => ExitCode::Violated,
        ExitCode::Violated => ExitCode::Interrupted,
        // What a command of `profile` ends with is any number, and its own.
        ExitCode::Interrupted | ExitCode::Command(_) => ExitCode::Done,
    };
    let mut numbers = vec![ExitCode::Done.number()];
    let mut next = codes(ExitCode::Done);
    while next != ExitCode::Done {
        numbers.push(next.number());
        next = codes(next);
    }
    let documented: Vec<u8> =
        rows(&page("exit-codes.md")).iter().map(|row| row[0].parse().expect("a number")).collect();
    assert_eq!(documented, numbers);
}

#[test]
fn examples_of_exit_codes_print_what_the_page_shows() {
    let examples = blocks(&page("exit-codes.md"), "console");
    assert_eq!(examples.len(), 5);
    for example in examples {
        let (command, rest) = example.split_once('\n').expect("a command line");
        let (expected, code) = rest.split_once("$ echo $?\n").expect("its exit code");
        let arguments: Vec<&str> =
            command.strip_prefix("$ gpucost ").expect("a command of gpucost").split(' ').collect();
        let folder = tempfile::tempdir().expect("a scratch folder");
        let output = run_in(folder.path(), &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_shows("docs/exit-codes.md", expected, &stderr);
        assert!(output.stdout.is_empty(), "{command}");
        assert_eq!(output.status.code(), code.trim().parse().ok(), "{command}");
    }
}

#[test]
fn the_report_in_the_readme_is_the_one_that_is_printed() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let examples = blocks(&readme, "text");
    let commands: Vec<&str> = examples.iter().filter_map(|text| text.lines().next()).collect();
    assert_eq!(commands, ["$ gpucost audit --demo"]);
    for example in examples {
        let (arguments, shown) = arguments_and_output(&example);
        assert_shows("README.md", shown, &World::new().run(&arguments).stdout);
    }
}

/// The arguments of an example on a page, and what it shows below.
fn arguments_and_output(example: &str) -> (Vec<&str>, &str) {
    let (command, shown) = example.split_once('\n').expect("a command line");
    let arguments = command
        .strip_prefix("$ gpucost ")
        .expect("a command of gpucost")
        .split(' ')
        .map(|argument| argument.trim_matches('\''))
        .collect();
    (arguments, shown)
}

#[test]
fn the_plan_in_its_page_is_the_one_that_is_printed() {
    let examples = blocks(&page("levers/plan.md"), "text");
    assert_eq!(examples.len(), 1);
    let (arguments, shown) = arguments_and_output(&examples[0]);
    let printed = World::new().run(&arguments).stdout;
    assert_shows("docs/levers/plan.md", shown, &printed);
}

#[test]
fn examples_of_prices_print_what_the_page_shows() {
    let examples = blocks(&page("pricing.md"), "text");
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (arguments, shown) = arguments_and_output(&example);
        let world = World::new();
        world.file("negotiated.csv", own_prices());
        let settings = world.file("own.toml", blocks(&page("pricing.md"), "toml").remove(0));
        let arguments: Vec<&str> = arguments
            .into_iter()
            .map(|argument| match argument {
                "gpucost.toml" => settings.as_str(),
                other => other,
            })
            .collect();
        assert_shows("docs/pricing.md", shown, &world.run(&arguments).stdout);
    }
}

/// The negotiated prices of the page.
fn own_prices() -> String {
    blocks(&page("pricing.md"), "csv").remove(0)
}

#[test]
fn the_settings_file_in_the_page_is_valid_whole_and_the_default() {
    let text = page("configuration.md");
    let example = blocks(&text, "toml").remove(0);
    let world = World::new();
    world.file("gpucost.toml", &example);
    world.file("negotiated.csv", own_prices());
    let estate = one();
    let with_file = world.audit(&estate);
    assert_eq!(with_file, World::new().audit(&estate));
    // The program itself lists what it knows.
    for table in ["", "[prices]\n", "[policy]\n"] {
        let world = World::new();
        world.file("gpucost.toml", format!("{table}unknown = 1\n"));
        let stderr = world.run(&["audit", "--demo"]).stderr;
        let (_, known) = stderr.split_once("valid keys: ").expect("a list");
        let known = known.lines().next().expect("a line").split(", ");
        for key in known.filter(|key| !["prometheus", "prices", "policy"].contains(key)) {
            let line = format!("\n{key} = ");
            assert!(format!("\n{example}").contains(&line), "{key} is not in the example");
            assert!(text.contains(&format!("| `{key}` |")), "{key} is in no table");
        }
    }
}

#[test]
fn every_variable_is_in_the_page() {
    let text = page("configuration.md");
    let sources = [
        "estate.rs", "aws_args.rs", "audit.rs", "check.rs", "history/trend.rs", "cache.rs",
        "pricing.rs", "prometheus.rs",
    ];
    let known: BTreeSet<String> = sources
        .iter()
        .map(|name| Path::new("src/cli").join(name))
        .map(|path| fs::read_to_string(root().join(path)).expect("a source"))
        .flat_map(|source| variables(&source))
        .collect();
    assert!(known.len() >= 8, "{known:?}");
    assert_eq!(variables(&text), known);
}

/// The names of this program's environment variables in a text.
fn variables(text: &str) -> BTreeSet<String> {
    text.match_indices("GPUCOST_")
        .map(|(at, _)| {
            text[at..].chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect()
        })
        .collect()
}

#[test]
fn every_word_for_a_kind_does_what_the_page_says() {
    let text = page("tags.md");
    let world = World::new();
    let kind_of = |tags: Value| {
        let mut estate = one();
        estate["instances"][0]["tags"] = tags;
        let workload = world.audit(&estate)["workloads"][0].clone();
        (workload["kind"].clone(), workload["kind_basis"].clone())
    };
    let mut words = 0;
    for row in rows(&text) {
        let kind = json!(row[0].trim_matches('`'));
        for word in quoted(&row[1]) {
            let declared = kind_of(json!({"gpucost:kind": word}));
            assert_eq!(declared, (kind.clone(), json!("declared")), "{word}");
            let guessed = kind_of(json!({"Name": format!("team-{word}-7")}));
            assert_eq!(guessed, (kind.clone(), json!("guessed")), "{word}");
            words += 1;
        }
    }
    assert!(words >= 25, "{words} words");
    assert_eq!(kind_of(json!({"workload-type": "Fine-Tuning"})).0, "training");
}

#[test]
fn every_tag_that_is_read_is_in_the_page() {
    let text = page("tags.md");
    let quoted = quoted(&text);
    let sources =
        ["crates/model/src/domain/tags.rs", "crates/judge/src/analysis/workloads/kinds.rs"]
            .map(|path| fs::read_to_string(root().join(path)).expect("a source"));
    let literals: Vec<&str> = sources
        .iter()
        .flat_map(|source| {
            let (source, _) = source.split_once("#[cfg(test)]").expect("its tests");
            source.split('"').skip(1).step_by(2)
        })
        .collect();
    assert!(literals.len() > 35, "{literals:?}");
    for literal in literals {
        assert!(quoted.contains(literal), "{literal} is not in the page");
    }
    let world = World::new();
    let mut estate = one();
    let ignored = |estate: &Value| world.audit(estate)["workloads"][0]["ignored"].clone();
    assert_eq!(ignored(&estate), Value::Null);
    estate["instances"][0]["tags"]["gpucost:ignore"] = json!("standby");
    assert_eq!(ignored(&estate), "standby");
}

#[test]
fn the_estate_in_the_page_is_valid_and_says_what_the_page_says() {
    let text = page("estate.md");
    let example: Value = serde_json::from_str(&blocks(&text, "json")[0]).expect("JSON");
    let audit = World::new().audit(&example);
    let workload = &audit["workloads"][0];
    assert_eq!(workload["name"], "captions");
    assert_eq!(workload["gpu"]["model"], "L4");
    assert_eq!(workload["kind"], "batch");
    assert_eq!(workload["classification"], "overprovisioned");
    assert_eq!(workload["utilization"]["mean"], 12.0);
    assert_eq!(workload["utilization"]["n_samples"], 4020);
    assert_eq!(workload["utilization"]["expected_samples"], 4032);
    assert!(workload["monthly_cost"].is_f64(), "the book knows the price");
}

/// The headings of a page as links name them.
fn headings(path: &Path) -> BTreeSet<String> {
    fs::read_to_string(path)
        .expect("a page")
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            words.replace(' ', "-").replace(['`', ','], "")
        })
        .collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let folder = root().join("docs");
    for entry in fs::read_dir(&folder).expect("pages") {
        let path = entry.expect("a readable entry").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a page");
        for link in text.split("](").skip(1) {
            let (target, _) = link.split_once(')').expect("a link ends");
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let linked = match file {
                "" => path.clone(),
                _ => folder.join(file),
            };
            assert!(linked.exists(), "{}: {target}", path.display());
            if !heading.is_empty() {
                let headings = headings(&linked);
                assert!(headings.contains(heading), "{}: {target}", path.display());
            }
        }
    }
}
