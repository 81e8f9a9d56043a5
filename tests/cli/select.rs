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
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command.strip_prefix("$ gpucost select ").expect("a command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let printed = select(&arguments).stdout;
        assert_shows("docs/planners/select.md", shown, &printed);
    }
}

#[test]
fn every_key_of_the_json_is_in_the_page() {
    assert_explains("planners/select.md", &found(&["--vram", "40GiB"]));
    assert_explains("planners/select.md", &found(&["--params", "7b"]));
}

#[test]
fn the_worked_example_of_the_page() {
    let json = found(&[
        "--kind", "training", "--restartable", "--vram", "40GiB", "--budget-monthly", "1000",
    ]);
    let types = json["types"].as_array().expect("a list");
    let fits: Vec<(&str, &str, f64)> = types
        .iter()
        .map(|offer| {
            let text = |key: &str| offer[key].as_str().expect("text");
            let month = offer["monthly_cost"].as_f64().expect("an amount");
            (text("instance_type"), text("paying"), month)
        })
        .collect();
    // 1.1301 × 730 and 1.27475 × 730.
    assert_eq!(fits, [("g6e.xlarge", "spot", 824.97), ("g6e.2xlarge", "spot", 930.57)]);
    assert_eq!(types[0]["on_demand_hourly"], 1.861);
    assert_eq!(types[0]["interruption_band"], "5-10%");
    assert_eq!(types[0]["reserved_1yr_hourly"], 1.17243);
    // 1.46885 × 730 - 1,000.
    assert_eq!(json["reasons"][0]["reason"], "budget-monthly");
    assert_eq!(json["reasons"][0]["nearest"], "g6e.4xlarge in us-east-1");
    assert_eq!(json["reasons"][0]["nearest_misses"], "$72.26 per month over the budget");
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
        assert!(types.iter().all(|offer| offer["paying"] == "on-demand"));
        assert_eq!(types[0]["instance_type"], "g6e.xlarge");
    }
}

#[test]
fn nothing_that_fits_names_the_nearest() {
    let outcome = select(&["--vram", "40GiB", "--budget-hourly", "1.55"]);
    assert_eq!(outcome.code, 4);
    // 1.861 - 1.55.
    assert!(
        outcome.stderr.contains("the nearest is g6e.xlarge: $0.311 per hour over the budget"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stdout.starts_with("no instance type fits; nearest"));
    let huge = select(&["--vram", "4TiB"]);
    assert_eq!(huge.code, 4);
    // The largest card is a B300 of 275,040 MiB.
    assert!(huge.stderr.contains("4194304 MiB needed, 275040 MiB usable"), "{}", huge.stderr);
}

#[test]
fn cpu_types_compete_only_where_the_work_is_stated_or_measured() {
    let small = found(&["--rate", "2/s", "--cpu-seconds", "0.1"]);
    let types = small["types"].as_array().expect("a list");
    assert_eq!(types[0]["gpu"], Value::Null);
    // c7a.medium is the cheapest that is not burstable: 0.05132 / 7,200 × 1,000.
    assert_eq!(types[0]["instance_type"], "c7a.medium");
    assert_eq!(types[0]["per_thousand_requests"], 0.007128);
    assert!(types.iter().any(|offer| offer["gpu"] == "1 × T4"));
    // 200 vCPUs at 80% are 250; what is known to serve them has more.
    let busy = found(&["--rate", "2000/s", "--cpu-seconds", "0.1"]);
    let types = busy["types"].as_array().expect("a list");
    for offer in types {
        let serves = offer["serves_rate"] == true;
        assert_eq!(serves, offer["vcpu"].as_u64() >= Some(250), "{offer}");
        assert_eq!(serves, offer["per_thousand_requests"].is_number(), "{offer}");
        assert!(serves || offer["gpu"] != Value::Null, "{offer}");
    }
}

/// A million vCPU seconds a second are 1.25 million vCPUs: no type is said to fit.
#[test]
fn a_rate_that_nothing_is_known_to_serve() {
    let busy = ["--rate", "100000/s", "--cpu-seconds", "10"];
    let outcome = select(&busy);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let headline = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        headline.starts_with("no offer is known to serve 100000 requests per second; of "),
        "{headline}"
    );
    assert!(headline.contains("g4dn.xlarge in us-east-1 is the cheapest: $0.526"), "{headline}");
    assert!(outcome.stderr.contains("0 offers fit, "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("not checked for the rate"), "{}", outcome.stderr);
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
    let gpus = given.find(|figure| figure["key"] == "gpus").expect("given");
    assert_eq!(gpus["value"], 0.125);
}

#[test]
fn prices_in_yuan_are_nearer_than_other_architectures() {
    let outcome = select(&["--region", "cn-north-1", "--budget-monthly", "1000"]);
    assert_eq!(outcome.code, 4, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("its price and the budget are in two currencies"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("hint: budgets are in dollars"), "{}", outcome.stderr);
}

/// 3.00424 - 3: not zero.
#[test]
fn a_small_excess_is_not_shown_as_zero() {
    let json = found(&["--vram", "40GiB", "--budget-hourly", "3"]);
    let refused = json["refused"].as_array().expect("a list");
    let of = |name: &str| {
        let one = refused.iter().find(|refusal| refusal["instance_type"] == name);
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
    let vram = given.iter().find(|figure| figure["key"] == "vram_mib");
    // 21,000 × 1.2 does not fit an A10G of 23,028 MiB.
    assert_eq!(vram.expect("given")["value"], 25_200.0);
    assert_eq!(json["types"][0]["instance_type"], "g6e.xlarge");
}

#[test]
fn bad_input_is_refused_with_the_nearest() {
    for (arguments, said) in [
        (&["--vram", "0GiB"][..], "expected a size above zero"),
        (&["--vram", "40"], "expected a size such as 18GiB"),
        (&["--gpus", "0"], "expected a number of GPUs from 1 to 256, or a part"),
        (&["--gpu", "H10"], "did you mean H100"),
        (&["--region", "us-east1"], "did you mean us-east-1"),
        (&["--os", "beos"], "valid values: linux"),
        (&["--budget-hourly", "0"], "expected a price per hour above zero"),
        (&["--budget-monthly", "-5"], "expected a number above zero"),
        (&["--rate", "0/s", "--cpu-seconds", "1"], "expected a rate above zero"),
        (&["--rate", "2/s"], "--cpu-seconds"),
        (&["--hours-per-month", "800"], "at most 744"),
        (&["--nvlink"], "pass `--gpus 2` or more"),
        (&["--kind", "toaster"], "valid values: training"),
        (&["--context", "32k"], "`--context` is about a model"),
        (&["--dtype", "fp8"], "hint: pass `--params`, such as"),
        (&["--dtype", "fp12", "--params", "7b"], "valid values: fp32"),
        (&["--model", "lama-3.1-70b"], "did you mean llama-3.1-70b"),
        (&["--params", "7b", "--rate", "2/s", "--cpu-seconds", "1"], "cannot be used with"),
        (&["--workload", "experiments"], "`--workload` is one of an estate"),
        (&["--demo"], "`gpucost audit --demo starter` lists the workloads"),
        (&["--demo", "--workload", "experiment"], "did you mean experiments"),
    ] {
        let outcome = select(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
    }
}

/// The page works it out: (67.147 + 2.5 + 2) × 1.2 = 85.98 GiB on one GPU. An RTX PRO 6000 has
/// 95.6, and the cheapest is in a g7e.2xlarge at 3.36312 × 730.
#[test]
fn a_model_is_held_as_the_page_works_out() {
    let json = found(&["--params", "70b", "--dtype", "fp8"]);
    let first = &json["types"][0];
    assert_eq!(first["instance_type"], "g7e.2xlarge");
    assert_eq!(first["monthly_cost"], 2_455.08);
    assert_eq!((&first["copies"], &first["gpus_of_a_copy"]), (&1.into(), &1.into()));
    let needed = first["gpu_memory_needed_gib"].as_f64().expect("a number");
    assert!((needed - 85.98).abs() < 0.01, "{needed}");
    let types = json["types"].as_array().expect("a list");
    let p4d = types.iter().find(|offer| offer["instance_type"] == "p4d.24xlarge");
    let p4d = p4d.expect("eight linked GPUs");
    // (67.147 + 2.5) / 8 + 2, × 1.2.
    assert_eq!(p4d["gpus_of_a_copy"], 8);
    let needed = p4d["gpu_memory_needed_gib"].as_f64().expect("a number");
    assert!((needed - 12.847).abs() < 0.01, "{needed}");
    let refused = json["refused"].as_array().expect("a list");
    let why = |name: &str| {
        let one = refused.iter().find(|refusal| refusal["instance_type"] == name);
        one.expect("refused")["why"].as_str().expect("text").to_owned()
    };
    assert_eq!(why("g6e.xlarge"), "70b in fp8: needs 86.0 GiB on the GPU, has 45.0 GiB");
    assert_eq!(why("g5.12xlarge"), "70b in fp8: needs 86.0 GiB on one of its 4 GPUs, has 22.5 GiB");
    assert_eq!(why("g6e.12xlarge"), "70b in fp8: 2 GPUs would hold it, but L40S has no NVLink");
}

/// Both constraints hold: an RTX PRO 6000 has 97,887 MiB, which are 95.6 GiB.
#[test]
fn memory_that_is_stated_holds_beside_a_model() {
    let model = ["--params", "70b", "--dtype", "fp8"];
    let first = |more: &[&str]| {
        let json = found(&[&model[..], more].concat());
        json["types"][0]["instance_type"].clone()
    };
    assert_eq!(first(&["--vram", "95GiB"]), "g7e.2xlarge");
    // An H200 has 141 GB.
    assert_eq!(first(&["--vram", "120GiB"]), "p5en.48xlarge");
    assert_eq!(first(&["--gpus", "2"]), "g7e.12xlarge");
}

#[test]
fn a_model_that_nothing_holds_has_the_nearest() {
    let shape = ["--layers", "200", "--heads", "128", "--kv-heads", "8", "--head-dim", "128"];
    let huge = ["--params", "100t", "--dtype", "int4"];
    let outcome = select(&[&huge[..], &shape].concat());
    assert_eq!(outcome.code, 4, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("100t in int4: needs"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("hint: pass a smaller model"), "{}", outcome.stderr);
    // 2.1 TB of weights in fp32 on the 2.1 TB of eight B300; in 16 bits they fit.
    let wide = select(&["--params", "530b", "--dtype", "fp32"]);
    assert_eq!(wide.code, 4, "{}", wide.stderr);
    assert!(wide.stderr.contains("pass `--dtype fp16`"), "{}", wide.stderr);
}

/// `experiments` has 8 p3.8xlarge, each for 97.92 / 8 = 12.24 an hour and with one of four GPUs
/// in use: 13,312 MiB × 1.2 = 15,974.4. A month of one is 12.24 × 730 = 8,935.20.
#[test]
fn a_workload_states_its_needs_and_what_to_beat() {
    let json = found(&["--demo", "--workload", "experiments"]);
    let given = json["given"].as_array().expect("a list");
    let of = |key: &str| {
        let line = given.iter().find(|line| line["key"] == key);
        line.expect("given")["value"].clone()
    };
    assert_eq!(of("gpus"), 1);
    let vram = of("vram_mib").as_f64().expect("a number");
    assert!((vram - 15_974.4).abs() < 0.5, "{vram}");
    assert_eq!(of("current_type"), "p3.8xlarge");
    assert_eq!(of("current_instances"), 8);
    assert_eq!(of("current_hourly"), 12.24);
    let types = json["types"].as_array().expect("a list");
    assert!(!types.is_empty());
    for offer in types {
        let number = |key: &str| offer[key].as_f64().expect("a number");
        let beaten = number("monthly_cost") + number("saved_monthly");
        assert!((beaten - 8_935.2).abs() < 0.006, "{offer}");
    }
    let caveats = json["caveats"].to_string();
    assert!(caveats.contains("experiments has 8 instances"), "{caveats}");
}

/// One GPU holds a model of 7 billion numbers; `chat-serving` keeps eight A100 busy, and what one of
/// its instances costs is not saved by that.
#[test]
fn a_model_promises_no_savings_against_measured_work() {
    let asked = ["--demo", "--workload", "chat-serving", "--params", "7b"];
    let json = found(&asked);
    let types = json["types"].as_array().expect("a list");
    assert!(!types.is_empty());
    assert!(types.iter().all(|offer| offer["saved_monthly"].is_null()));
    let steps = json["steps"].to_string();
    assert!(!steps.contains("month less than"), "{steps}");
    let caveats = json["caveats"].to_string();
    assert!(caveats.contains("not what was measured of chat-serving"));
    let screen = select(&asked).stdout;
    assert!(!screen.contains("SAVES"), "{screen}");
}

/// Reserved until February: a p4d that is given back costs 13.921094 an hour all the same.
#[test]
fn what_commitments_pay_is_not_saved() {
    let world = world();
    let path = world.path("estate.json");
    assert_eq!(world.run(&["audit", "--demo", "--save", &path, "-q"]).code, 0);
    let text = std::fs::read_to_string(&path).expect("an estate");
    let mut estate: Value = serde_json::from_str(&text).expect("JSON");
    estate["commitments"] = serde_json::json!([{
        "kind": "reserved-instances", "id": "r1", "account": "111122223333",
        "region": "us-east-1", "instance_type": "p4d.24xlarge", "count": 6,
        "payment": "no-upfront", "start": "2026-02-01T00:00:00Z",
        "end": "2027-02-01T00:00:00Z", "recurring_hourly": "13.921094",
    }]);
    let estate = world.estate("reserved.json", &estate);
    let workload = "111122223333/us-east-1/p4d.24xlarge/on-demand/tag:chat-serving";
    let asked = ["select", "--from", estate.as_str(), "--workload", workload];
    let outcome = world.run(&[&asked[..], &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let json = outcome.json();
    let types = json["types"].as_array().expect("a list");
    assert!(!types.is_empty());
    assert!(types.iter().all(|offer| offer["saved_monthly"].is_null()));
    let caveats = json["caveats"].to_string();
    assert!(caveats.contains("commitments pay of chat-serving"), "{caveats}");
    assert!(!world.run(&asked).stdout.contains("SAVES"));
}

#[test]
fn types_are_named_whole_beside_a_model_or_a_workload() {
    for asked in [&["--params", "70b"][..], &["--demo", "--workload", "chat-serving"]] {
        let screen = select(asked).stdout;
        let (_, table) = screen.split_once("\nTYPES THAT FIT\n").expect("a table");
        let (table, _) = table.split_once("\n\n").expect("it ends");
        let document = found(asked);
        let types = document["types"].as_array().expect("a list");
        // What a cell goes on with, and what is left out, begin with a blank.
        let rows = table.lines().skip(1).filter(|line| !line.starts_with(' '));
        let shown: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
        assert!(!shown.is_empty());
        for (name, offer) in shown.iter().zip(types) {
            assert_eq!(*name, offer["instance_type"].as_str().expect("a name"), "{table}");
        }
    }
}

#[test]
fn types_of_two_regions_are_named_whole_and_with_their_region() {
    let two = ["--region", "us-east-1,eu-west-1", "--gpus", "8"];
    let screen = select(&two).stdout;
    let document = found(&two);
    for (title, key) in [("\nTYPES THAT FIT\n", "types"), ("\nTYPES THAT ARE OUT\n", "refused")] {
        let (_, table) = screen.split_once(title).expect("a table");
        let (table, _) = table.split_once("\n\n").expect("it ends");
        let mut lines = table.lines();
        let header: Vec<&str> = lines.next().expect("a header").split_whitespace().collect();
        assert_eq!(header[..3], ["TYPE", "REGION", "GPU"], "{table}");
        // A row for each offer, in the order of the document, as far as rows are shown.
        let expected = document[key].as_array().expect("a list").iter();
        let mut expected = expected.map(|offer| {
            let name = offer["instance_type"].as_str().expect("a name");
            (name, offer["region"].as_str().unwrap_or("—"))
        });
        // What a cell goes on with, and what is left out, begin with a blank.
        for line in lines.filter(|line| !line.starts_with(' ')) {
            assert!(line.chars().count() <= 100, "{line}");
            let cells: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(Some((cells[0], cells[1])), expected.next(), "{line}");
        }
    }
    assert!(screen.contains(" more offers: see "), "{screen}");
    // In one region a type is a name.
    let one = select(&["--gpus", "8"]).stdout;
    assert!(!one.contains("REGION"), "{one}");
}
