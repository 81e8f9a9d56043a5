//! `gpucost select`: the page, the screen, and what is refused.

use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use serde_json::Value;

fn world() -> World {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world
}

fn select(arguments: &[&str]) -> Outcome {
    world().run(&[&["select"], arguments].concat())
}

fn found(arguments: &[&str]) -> Value {
    let outcome = select(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

#[test]
fn the_examples_of_the_page_print_what_it_shows() {
    let examples = blocks(&page("planners/select.md"), "text");
    assert_eq!(examples.len(), 2);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command
            .strip_prefix("$ gpucost select ")
            .expect("a command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let printed = select(&arguments).stdout;
        assert_shows("docs/planners/select.md", shown, &printed);
    }
}

#[test]
fn every_key_of_the_json_is_in_the_page() {
    assert_explains("planners/select.md", &found(&["--vram", "40GiB"]));
}

#[test]
fn the_worked_example_of_the_page() {
    let json = found(&[
        "--kind",
        "training",
        "--restartable",
        "--vram",
        "40GiB",
        "--budget-monthly",
        "1000",
    ]);
    let types = json["types"].as_array().expect("a list");
    let fits: Vec<(&str, &str, f64)> = types
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().expect("text");
            let month = one["monthly_cost"].as_f64().expect("an amount");
            (text("instance_type"), text("paying"), month)
        })
        .collect();
    // 1.1301 × 730 and 1.27475 × 730.
    assert_eq!(
        fits,
        [
            ("g6e.xlarge", "spot", 824.97),
            ("g6e.2xlarge", "spot", 930.57)
        ]
    );
    assert_eq!(types[0]["on_demand_hourly"], 1.861);
    assert_eq!(types[0]["interruption_band"], "5-10%");
    assert_eq!(types[0]["reserved_1yr_hourly"], 1.17243);
    // 1.46885 × 730 - 1,000.
    assert_eq!(json["reasons"][0]["reason"], "budget-monthly");
    assert_eq!(json["reasons"][0]["nearest"], "g6e.4xlarge in us-east-1");
    assert_eq!(
        json["reasons"][0]["nearest_misses"],
        "$72.26 per month over the budget"
    );
}

#[test]
fn without_a_declaration_nothing_is_ranked_by_spot() {
    for arguments in [
        &["--vram", "40GiB"][..],
        &["--vram", "40GiB", "--kind", "serving", "--restartable"],
        &["--vram", "40GiB", "--restartable"],
    ] {
        let json = found(arguments);
        let types = json["types"].as_array().expect("a list");
        // Counted in the files of the catalog: 21 types with 40 GiB in us-east-1.
        assert_eq!(types.len(), 21, "{arguments:?}");
        assert!(types.iter().all(|one| one["paying"] == "on-demand"));
        assert_eq!(types[0]["instance_type"], "g6e.xlarge");
    }
}

#[test]
fn nothing_that_fits_names_the_nearest() {
    let outcome = select(&["--vram", "40GiB", "--budget-hourly", "1.55"]);
    assert_eq!(outcome.code, 4);
    // 1.861 - 1.55.
    assert!(
        outcome
            .stderr
            .contains("the nearest is g6e.xlarge: $0.311 per hour over the budget"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stdout.starts_with("no instance type fits; nearest"));
    let huge = select(&["--vram", "4TiB"]);
    assert_eq!(huge.code, 4);
    // The largest card is a B300 of 275,040 MiB.
    assert!(
        huge.stderr
            .contains("4194304 MiB needed, 275040 MiB usable"),
        "{}",
        huge.stderr
    );
}

#[test]
fn cpu_types_compete_only_where_the_work_is_stated_or_measured() {
    let small = found(&["--rate", "2/s", "--cpu-seconds", "0.1"]);
    let types = small["types"].as_array().expect("a list");
    assert_eq!(types[0]["gpu"], Value::Null);
    // c7a.medium is the cheapest that is not burstable: 0.05132 / 7,200 × 1,000.
    assert_eq!(types[0]["instance_type"], "c7a.medium");
    assert_eq!(types[0]["per_thousand_requests"], 0.007128);
    assert!(types.iter().any(|one| one["gpu"] == "1 × T4"));
    // 200 vCPUs at 80% are 250; what is known to serve them has more.
    let busy = found(&["--rate", "2000/s", "--cpu-seconds", "0.1"]);
    let types = busy["types"].as_array().expect("a list");
    for one in types {
        let serves = one["serves_rate"] == true;
        assert_eq!(serves, one["vcpu"].as_u64() >= Some(250), "{one}");
        assert_eq!(serves, one["per_thousand_requests"].is_number(), "{one}");
        assert!(serves || one["gpu"] != Value::Null, "{one}");
    }
}

/// A million vCPU seconds a second are 1.25 million vCPUs: no type is said to fit.
#[test]
fn a_rate_that_nothing_is_known_to_serve() {
    let busy = ["--rate", "100000/s", "--cpu-seconds", "10"];
    let outcome = select(&busy);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let headline = outcome
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        headline.starts_with("no offer is known to serve 100000 requests per second; of "),
        "{headline}"
    );
    assert!(
        headline.contains("g4dn.xlarge in us-east-1 is the cheapest: $0.526"),
        "{headline}"
    );
    assert!(
        outcome.stderr.contains("0 offers fit, "),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("not checked for the rate"),
        "{}",
        outcome.stderr
    );
}

/// The cheapest whole GPU is the T4 of a g4dn.xlarge; an eighth of an L4 costs less.
#[test]
fn parts_of_gpus_are_out_unless_they_are_asked_for() {
    let first = |arguments: &[&str]| found(arguments)["types"][0]["instance_type"].clone();
    assert_eq!(first(&[]), "g4dn.xlarge");
    assert_eq!(first(&["--gpus", "1"]), "g4dn.xlarge");
    assert_eq!(first(&["--gpus", "0.125"]), "g6f.large");
    let json = found(&["--gpus", "0.125"]);
    let mut given = json["given"].as_array().expect("a list").iter();
    let gpus = given.find(|one| one["key"] == "gpus").expect("given");
    assert_eq!(gpus["value"], 0.125);
}

#[test]
fn prices_in_yuan_are_nearer_than_other_architectures() {
    let outcome = select(&["--region", "cn-north-1", "--budget-monthly", "1000"]);
    assert_eq!(outcome.code, 4, "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("its price and the budget are in two currencies"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("hint: budgets are in dollars"),
        "{}",
        outcome.stderr
    );
}

/// 3.00424 - 3: not zero.
#[test]
fn a_small_excess_is_not_shown_as_zero() {
    let json = found(&["--vram", "40GiB", "--budget-hourly", "3"]);
    let refused = json["refused"].as_array().expect("a list");
    let of = |name: &str| {
        let one = refused.iter().find(|one| one["instance_type"] == name);
        one.expect("refused")["why"].clone()
    };
    assert_eq!(of("g6e.4xlarge"), "$0.00424 per hour over the budget");
}

#[test]
fn a_run_that_was_sampled_states_the_needs() {
    let world = world();
    let log = "timestamp,index,name,utilization.gpu [%],memory.used [MiB],memory.total [MiB]\n\
               2026/01/03 12:00:00.000,0,NVIDIA A10G,50 %,20000 MiB,23028 MiB\n\
               2026/01/03 12:00:01.000,0,NVIDIA A10G,60 %,21000 MiB,23028 MiB\n\
               2026/01/03 12:00:02.000,0,NVIDIA A10G,50 %,20000 MiB,23028 MiB\n";
    let path = world.file("run.csv", log);
    let outcome = world.run(&["select", "--profile-data", &path, "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let json = outcome.json();
    let given = json["given"].as_array().expect("a list");
    let vram = given.iter().find(|one| one["key"] == "vram_mib");
    // 21,000 × 1.2 does not fit an A10G of 23,028 MiB.
    assert_eq!(vram.expect("given")["value"], 25_200.0);
    assert_eq!(json["types"][0]["instance_type"], "g6e.xlarge");
}

#[test]
fn bad_input_is_refused_with_the_nearest() {
    for (arguments, said) in [
        (&["--vram", "0GiB"][..], "expected a size above zero"),
        (&["--vram", "40"], "expected a size such as 18GiB"),
        (
            &["--gpus", "0"],
            "expected a number of GPUs from 1 to 256, or a part",
        ),
        (&["--gpu", "H10"], "did you mean H100"),
        (&["--region", "us-east1"], "did you mean us-east-1"),
        (&["--os", "beos"], "valid values: linux"),
        (
            &["--budget-hourly", "0"],
            "expected a price per hour above zero",
        ),
        (&["--budget-monthly", "-5"], "expected a number above zero"),
        (
            &["--rate", "0/s", "--cpu-seconds", "1"],
            "expected a rate above zero",
        ),
        (&["--rate", "2/s"], "--cpu-seconds"),
        (&["--hours-per-month", "800"], "at most 744"),
        (&["--nvlink"], "pass `--gpus 2` or more"),
        (&["--kind", "toaster"], "valid values: training"),
    ] {
        let outcome = select(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(said),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
}
