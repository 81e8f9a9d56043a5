//! `gpucost spot`: what is worked out, who may move, and what is refused.

use crate::cli::estates::one;
use crate::cli::json_schemas::assert_described;
use crate::cli::pages::{blocks, page, quoted};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};

fn spot(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["spot"], arguments].concat())
}

/// Spot for one type as JSON, on four nodes of a restartable training job.
fn four_nodes(name: &str, further: &[&str]) -> Value {
    let arguments = ["--type", name, "--kind", "training", "--restartable", "--nodes", "4"];
    let outcome = spot(&[&arguments, further, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()["spot"].clone()
}

/// The workloads of an estate.
fn workloads(world: &World, estate: &Value, further: &[&str]) -> Vec<Value> {
    let path = world.estate("estate.json", estate);
    let arguments = ["spot", "--today", "--from", &path, "--format", "json"];
    let outcome = world.run(&[&arguments[..], further].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()["workloads"].as_array().expect("a list").clone()
}

/// The estate of one g5.xlarge with these tags.
fn tagged(tags: Value) -> Value {
    let mut estate = one();
    estate["instances"][0]["tags"] = tags;
    estate
}

#[test]
fn documents_have_their_stated_keys() {
    let one_type = spot(&["--type", "g5.xlarge", "--format", "json"]).json();
    assert_described("spot", &one_type);
    let fleet = spot(&["--demo", "--format", "json"]).json();
    assert_described("spot", &fleet);
    // The table has a cell for every key but the list of zones.
    for (arguments, document) in
        [(&["--type", "g5.xlarge"][..], &one_type["spot"]), (&["--demo"], &fleet["workloads"][0])]
    {
        let csv = spot(&[arguments, &["--format", "csv"]].concat()).stdout;
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let header = reader.headers().expect("a header").clone();
        let row = reader.records().next().expect("a row").expect("complete");
        for (key, value) in document.as_object().expect("an object") {
            let Some(index) = header.iter().position(|name| name == key) else {
                assert_eq!(key, "zones");
                continue;
            };
            let cell = &row[index];
            match value {
                Value::Null => assert_eq!(cell, "", "{key}"),
                Value::Bool(flag) => assert_eq!(cell, flag.to_string(), "{key}"),
                Value::String(text) => assert_eq!(cell, text, "{key}"),
                Value::Array(items) => {
                    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                    assert_eq!(cell, texts.join("; "), "{key}");
                }
                number => assert_eq!(cell.parse().ok(), number.as_f64(), "{key}"),
            }
        }
    }
}

#[test]
fn four_nodes_of_a_g5_by_hand() {
    // λ = 4 × 1/24 an hour; τ* = sqrt(2 × 60 × 21 600) = 1 610 s; o = 60/1 610 +
    // (805 + 300)/21 600 = 0.088424; 0.6086/(1 - o) = 0.667635; 730 h × 4.
    let estimate = four_nodes("g5.xlarge", &["--region", "us-east-1"]);
    for (key, expected) in [
        ("on_demand_hourly", json!(1.006)),
        ("spot_hourly", json!(0.6086)),
        ("spot_basis", json!("catalog-average")),
        ("interruption_band", json!(">20%")),
        ("band_interruptions_per_node_hour", json!(0.00095)),
        ("interruptions_per_hour", json!(0.166667)),
        ("interruptions_basis", json!("prudence")),
        ("checkpoint_interval_seconds", json!(1610)),
        ("lost_seconds_per_interruption", json!(1105)),
        ("overhead_percent", json!(8.8424)),
        ("effective_hourly", json!(0.667635)),
        ("naive_savings_percent", json!(39.503)),
        ("effective_savings_percent", json!(33.6347)),
        ("naive_monthly_savings", json!(1160.41)),
        ("effective_monthly_savings", json!(988.03)),
        ("eligible", json!(true)),
        ("reason", Value::Null),
        ("risk", json!("medium")),
    ] {
        assert_eq!(estimate[key], expected, "{key}");
    }
}

#[test]
fn a_given_interval_is_kept_and_loses_more_than_the_best() {
    let lost = |interval: &str| {
        let estimate = four_nodes("g5.xlarge", &["--checkpoint-interval", interval]);
        estimate["overhead_percent"].as_f64().expect("a share")
    };
    let best = lost("auto");
    for other in ["5m", "26m", "28m", "55m", "2h"] {
        assert!(best < lost(other), "{other}");
    }
    let estimate = four_nodes("g5.xlarge", &["--checkpoint-interval", "90s"]);
    assert_eq!(estimate["checkpoint_interval_seconds"], 90);
    assert_eq!(estimate["checkpoint_interval_basis"], "given");
}

#[test]
fn at_the_break_even_interruptions_nothing_is_saved() {
    // As many interruptions a day and node as the program says it takes.
    let break_even =
        four_nodes("g5.xlarge", &[])["break_even_interruptions_per_hour"].as_f64().expect("a rate");
    let a_day_and_node = break_even * 24.0 / 4.0;
    let effective = |per_day: f64| {
        let world = World::new();
        let policy = format!("[policy]\nspot_interruptions_per_day = {per_day:.6}\n");
        world.file("gpucost.toml", policy);
        let arguments = [
            "spot", "--type", "g5.xlarge", "--kind", "training", "--restartable", "--nodes", "4",
            "--checkpoint-interval", "1610s", "--offline", "--format", "json",
        ];
        let estimate = world.run(&arguments).json()["spot"].clone();
        (estimate["effective_hourly"].as_f64().expect("a rate"), estimate["eligible"].clone())
    };
    let (rate, _) = effective(a_day_and_node);
    assert!((rate - 1.006).abs() < 1e-4, "{rate}");
    assert_eq!(effective(a_day_and_node * 0.999).1, true);
    assert_eq!(effective(a_day_and_node * 1.001).1, false);
}

#[test]
fn kinds_are_refused_with_reasons() {
    let world = World::new();
    let verdict = |tags: Value| {
        let workload = workloads(&world, &tagged(tags), &[]).remove(0);
        assert_eq!(workload["eligible"], json!(workload["reason"].is_null()));
        assert_eq!(workload["risk"].is_null(), !workload["reason"].is_null());
        workload["reason"].as_str().map(str::to_owned)
    };
    let declared = |kind: &str| json!({"gpucost:kind": kind, "gpucost:restartable": "true"});
    for kind in ["training", "batch", "evaluation", "development"] {
        assert_eq!(verdict(declared(kind)), None, "{kind}");
        let silent = verdict(json!({"gpucost:kind": kind}));
        assert_eq!(silent.as_deref(), Some("not declared restartable"), "{kind}");
    }
    let serving = verdict(declared("serving")).expect("a reason");
    assert!(serving.starts_with("serving: requests fail"), "{serving}");
    let unknown = verdict(json!({"gpucost:restartable": "true"})).expect("a reason");
    assert!(unknown.starts_with("workload kind not declared"), "{unknown}");
    let mut ignored = declared("batch");
    ignored["gpucost:ignore"] = json!("standby");
    assert_eq!(verdict(ignored).as_deref(), Some("ignored by tag: standby"));
}

#[test]
fn what_does_not_run_on_demand_does_not_move() {
    let world = World::new();
    let mut estate = tagged(json!({"gpucost:kind": "batch", "gpucost:restartable": "true"}));
    estate["instances"][0]["lifecycle"] = json!("spot");
    assert_eq!(workloads(&world, &estate, &[])[0]["reason"], "already on spot");
    estate["instances"][0]["lifecycle"] = json!("capacity-block");
    let workload = workloads(&world, &estate, &[]).remove(0);
    assert_eq!(workload["reason"], "billed as capacity-block");
    assert_eq!(workload["effective_monthly_savings"], Value::Null);
    let stopped = &mut estate["instances"][0];
    stopped["lifecycle"] = json!("on-demand");
    stopped["state"] = json!("stopped");
    stopped["state_transition_reason"] = json!("User initiated (2026-09-20 08:00:00 GMT)");
    estate["metrics"] = json!([]);
    let workload = workloads(&world, &estate, &[]).remove(0);
    assert_eq!(workload["reason"], "stopped");
    assert_eq!(workload["naive_monthly_savings"], Value::Null);
    assert_eq!(workload["naive_savings_percent"], 39.503, "the prices are known");
}

/// Prices of one's own in a world, which outrank all others.
fn with_own_spot_price(price: &str) -> World {
    let world = World::new();
    world.file(
        "own.csv",
        format!("region,instance_type,option,hourly,effective_date\nus-east-1,g5.xlarge,spot,{price},2026-10-01\n"),
    );
    world.file("gpucost.toml", "[prices]\nfile = \"own.csv\"\n");
    world
}

#[test]
fn spot_that_is_not_cheaper_is_no_offer() {
    let estate = tagged(json!({"gpucost:kind": "batch", "gpucost:restartable": "true"}));
    for (price, reason) in [
        ("1.006", "spot at 1.006 per hour is not below on-demand at 1.006"),
        ("1.5", "spot at 1.5 per hour is not below on-demand at 1.006"),
        ("1", "checkpoints and lost work take 4.1% of the time, more than spot saves"),
    ] {
        let workload = workloads(&with_own_spot_price(price), &estate, &[]).remove(0);
        assert_eq!(workload["spot_basis"], "own-price");
        assert_eq!(workload["reason"], reason);
    }
    let workload = workloads(&with_own_spot_price("0.9"), &estate, &[]).remove(0);
    assert_eq!(workload["eligible"], true);
}

#[test]
fn the_median_over_zones_outranks_the_book() {
    let world = World::new();
    let mut estate = tagged(json!({"gpucost:kind": "batch", "gpucost:restartable": "true"}));
    let quote = |zone: &str, rate: &str| {
        json!({
            "region": "us-east-1", "instance_type": "g5.xlarge", "operating_system": "linux",
            "tenancy": "shared", "option": "spot", "zone": zone, "hourly": rate,
            "currency": "USD", "origin": "api", "effective_date": "2026-10-31",
            "seen_on": "2026-10-31", "source": "ec2:DescribeSpotPriceHistory",
        })
    };
    estate["prices"] = json!([
        quote("us-east-1a", "0.50"),
        quote("us-east-1b", "0.30"),
        quote("us-east-1c", "0.40"),
        quote("us-east-1d", "0.35"),
    ]);
    let workload = workloads(&world, &estate, &[]).remove(0);
    assert_eq!(workload["spot_basis"], "zones-median");
    assert_eq!(workload["spot_hourly"], 0.375);
    assert_eq!(workload["zones"].as_array().map(Vec::len), Some(4));
    assert_eq!(workload["zones"][1]["mean"], 0.3);
    assert_eq!(workload["zones"][1]["now"], Value::Null, "no history was recorded");
    estate["prices"][1]["spot_history"] = json!({
        "now": "0.31", "min": "0.25", "max": "0.62", "p95": "0.44", "volatility_percent": "12.3456",
    });
    let workload = workloads(&world, &estate, &[]).remove(0);
    let zone = &workload["zones"][1];
    let figures = ["mean", "now", "min", "max", "p95", "volatility_percent"];
    let expected = [0.3, 0.31, 0.25, 0.62, 0.44, 12.3456];
    assert_eq!(figures.map(|key| zone[key].as_f64().expect("a figure")), expected);
    // A recording keeps them.
    let path = world.estate("estate.json", &estate);
    let saved = world.path("saved.json");
    let first = world.run(&["spot", "--today", "--from", &path, "--save", &saved]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(world.run(&["spot", "--today", "--from", &saved]).stdout, first.stdout);
    assert!(
        first.stdout.contains("  $0.30  $0.31  $0.25  $0.62  $0.44       12.3%"),
        "{}",
        first.stdout
    );
    estate["prices"][1]["spot_history"]["max"] = json!("much");
    let path = world.estate("bad.json", &estate);
    let refused = world.run(&["spot", "--today", "--from", &path]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("spot_history.max`\n  caused by: `much` is not a decimal number"),
        "{}",
        refused.stderr
    );
    estate["prices"][1]["spot_history"]["max"] = json!("0.62");
    let path = world.estate("estate.json", &estate);
    let table = world.run(&["spot", "--today", "--from", &path]).stdout;
    assert!(table.contains("\nSPOT PRICES BY ZONE\n"), "{table}");
    assert!(!table.contains("catalog average"), "{table}");
}

#[test]
fn risk_decides_with_and_without_a_band() {
    // The catalog has no band of a c6i, and of the g5.
    let verdict = |name: &str, risk: &str| {
        let estimate = four_nodes(name, &["--risk", risk]);
        (estimate["risk"].clone(), estimate["reason"].clone())
    };
    let unknown = json!("needs `--risk high`: interruption frequency is unknown");
    assert_eq!(verdict("c6i.12xlarge", "medium"), (Value::Null, unknown));
    assert_eq!(verdict("c6i.12xlarge", "high"), (json!("high"), Value::Null));
    let low = json!("needs `--risk medium`");
    assert_eq!(verdict("g5.xlarge", "low"), (Value::Null, low));
    assert_eq!(verdict("g5.xlarge", "high"), (json!("medium"), Value::Null));
}

#[test]
fn without_a_price_there_is_nothing_to_say() {
    let refused = spot(&["--type", "p5.48xlarge", "--region", "cn-north-1"]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("error: no price for p5.48xlarge cn-north-1"),
        "{}",
        refused.stderr
    );
    assert!(refused.stdout.contains("not eligible"), "{}", refused.stdout);
    let mut estate = tagged(json!({"gpucost:kind": "batch", "gpucost:restartable": "true"}));
    estate["instances"][0]["instance_type"] = json!("z9.large");
    let workload = workloads(&World::new(), &estate, &[]).remove(0);
    let reason = workload["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("no price for z9.large"), "{reason}");
    assert_eq!(workload["eligible"], false);
    assert_eq!(workload["spot_hourly"], Value::Null);
}

#[test]
fn slips_are_refused() {
    for (arguments, error) in [
        (&["--type", "g5.xlrage"][..], "no instance type `g5.xlrage` in the price catalog"),
        (
            &["--type", "g5.xlarge", "--region", "us-east1"],
            "no region `us-east1` in the price catalog",
        ),
        (&["--type", "g5.xlarge", "--region", "all"], "`--type` requires a single region"),
        (&["--type", "g5.xlarge", "--os", "macos"], "`macos` is not an operating system"),
        (&["--type", "g5.xlarge", "--kind", "magic"], "invalid value 'magic' for '--kind"),
        (&["--type", "g5.xlarge", "--nodes", "0"], "invalid value '0' for '--nodes"),
        (&["--type", "g5.xlarge", "--demo"], "the argument '--type <TYPE>' cannot be used"),
        (
            &["--demo", "--kind", "batch"],
            "the argument '--demo [<NAME>]' cannot be used with '--kind <KIND>'",
        ),
        (
            &["--demo", "--nodes", "2"],
            "the argument '--demo [<NAME>]' cannot be used with '--nodes <N>'",
        ),
        (&["--restartable"], "the following required arguments were not provided"),
        (&["--demo", "--checkpoint-cost", "0s"], "invalid value '0s' for '--checkpoint-cost"),
        (&["--demo", "--checkpoint-cost", "60"], "invalid value '60' for '--checkpoint-cost"),
        (&["--demo", "--restart-cost", "soon"], "invalid value 'soon' for '--restart-cost"),
        (&["--demo", "--restart-cost", "auto"], "invalid value 'auto' for '--restart-cost"),
        (
            &["--demo", "--checkpoint-interval", "never"],
            "invalid value 'never' for '--checkpoint-interval",
        ),
        (&["--demo", "--max-price-age", "10d"], "the oldest price is from"),
    ] {
        let outcome = spot(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        let expected = format!("error: {error}");
        assert!(outcome.stderr.starts_with(&expected), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn the_table_fits_and_says_why() {
    let table = spot(&["--demo", "quarter-used", "--risk", "high"]).stdout;
    let longest = table.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(100), "{table}");
    let json = ["--demo", "quarter-used", "--risk", "high", "--format", "json"];
    let document = spot(&json).json();
    let workloads = document["workloads"].as_array().expect("a list");
    let eligible: Vec<&Value> =
        workloads.iter().filter(|workload| workload["eligible"] == true).collect();
    let cents: i64 = eligible
        .iter()
        .map(|workload| {
            (workload["effective_monthly_savings"].as_f64().expect("money") * 100.0).round() as i64
        })
        .sum();
    let digits: String = table
        .lines()
        .next()
        .and_then(|line| line.split_once('$'))
        .map(|(_, rest)| {
            rest.chars().take_while(|c| *c != ' ').filter(char::is_ascii_digit).collect()
        })
        .expect("a sum");
    assert_eq!(digits, cents.to_string());
    let (_, reasons) = table.split_once("\nNOT MOVED\n").expect("reasons");
    for workload in workloads {
        let name = workload["name"].as_str().expect("a name");
        assert_eq!(reasons.contains(name), workload["eligible"] == false, "{name}");
    }
}

#[test]
fn the_report_moves_what_the_audit_moves_and_nothing_else() {
    for (demo, risk) in [("starter", "medium"), ("quarter-used", "high")] {
        let run = |command: &str| {
            let arguments = [command, "--demo", demo, "--risk", risk, "--format", "json"];
            World::new().run(&arguments).json()
        };
        let (audit, report) = (run("audit"), run("spot"));
        assert_eq!(report["sized_on"], "usage-after-plan");
        let audited = audit["workloads"].as_array().expect("a list");
        let rows = report["workloads"].as_array().expect("a list");
        assert_eq!(rows.len(), audited.len());
        let mut moved = 0;
        for workload in audited {
            let mut same = rows.iter().filter(|row| row["id"] == workload["id"]);
            let row = same.next().expect("a row for each");
            let actions = workload["plan"]["actions"].as_array().expect("a list");
            let spot = actions.iter().find(|action| action["action"] == "spot");
            assert_eq!(row["eligible"], spot.is_some(), "{row}");
            let Some(spot) = spot else { continue };
            moved += 1;
            assert_eq!(row["effective_monthly_savings"], spot["monthly_savings"]);
            assert_eq!(row["risk"], spot["risk"]);
            assert_eq!(row["caveats"], spot["caveats"]);
            let mut targets = actions.iter().map(|action| &action["to"]);
            let target = targets.rfind(|to| !to.is_null());
            let today = &workload["instance_type"];
            let name = target.map_or(today, |to| &to["instance_type"]);
            assert_eq!(&row["instance_type"], name);
            let number = target.map_or(&row["instances"], |to| &to["count"]);
            assert_eq!(&row["instances"], number);
            if row["interruption_band"].is_null() {
                let unknown = format!(
                    "the interruption frequency of {} is unknown",
                    name.as_str().expect("a name")
                );
                assert!(
                    row["caveats"][0].as_str().is_some_and(|caveat| caveat.starts_with(&unknown))
                );
            }
        }
        assert!(moved > 0, "{demo} moves nothing");
    }
}

#[test]
fn examples_in_the_page_print_what_it_shows() {
    let text = page("levers/spot.md");
    let examples = blocks(&text, "text");
    assert_eq!(examples.len(), 2);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments: Vec<&str> =
            command.strip_prefix("$ gpucost ").expect("a command of gpucost").split(' ').collect();
        let printed = World::new().run(&arguments).stdout;
        crate::cli::pages::assert_shows("docs/levers/spot.md", shown, &printed);
    }
}

#[test]
fn every_key_is_in_the_page() {
    let text = page("levers/spot.md");
    let quoted = quoted(&text);
    let fleet = spot(&["--demo", "--format", "json"]).json();
    let mut keys: Vec<String> =
        fleet["workloads"][0].as_object().expect("keys").keys().cloned().collect();
    keys.extend(
        ["mean", "now", "min", "max", "p95", "volatility_percent", "spot"].map(str::to_owned),
    );
    for key in keys {
        assert!(quoted.contains(key.as_str()), "{key} is not in the page");
    }
}
