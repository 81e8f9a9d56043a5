//! Schemas of files that are read and of documents beside audit and check: what the program
//! writes holds to them, wrong values do not, and schema and reader refuse the same files.

use crate::cli::estates::{empty, every_key, in_two_regions, one, owned, situations};
use crate::cli::json_schemas::{assert_holds, closed, schema, validator};
use crate::cli::pages::{blocks, page};
use crate::cli::world::World;
use crate::support::source::files_under;
use flate2::read::GzDecoder;
use gpucost::sources::files::{parse_estate, read_commitments};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What holds documents to a schema that knows no more keys than it names.
fn of(name: &str) -> Validator {
    validator(&closed(schema(&format!("{name}.schema.json"))))
}

fn fixture(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    fixtures.join(name)
}

/// A document with another value at a place, such as `/instances/0/state`.
fn with(document: &Value, place: &str, value: &Value) -> Value {
    let mut changed = document.clone();
    let (parent, key) = place.rsplit_once('/').expect("a place");
    let parent = changed.pointer_mut(parent).expect("something is there");
    match key.parse::<usize>() {
        Ok(index) if parent.is_array() => parent[index] = value.clone(),
        _ => parent[key] = value.clone(),
    }
    changed
}

/// The demos, with a few series of each: one is like the other.
fn demos() -> Vec<Value> {
    let names = ["estate", "quarter-used", "mixed-fleet"];
    let read = |name: &str| {
        let packed = fs::File::open(fixture(&format!("demo/{name}.json.gz"))).expect("a demo");
        let mut demo: Value = serde_json::from_reader(GzDecoder::new(packed)).expect("JSON");
        let series = demo["metrics"].as_array_mut().expect("a list");
        series.truncate(8);
        demo
    };
    names.map(read).to_vec()
}

#[test]
fn the_schema_and_the_reader_of_estates_agree() {
    let estates = of("estate");
    let holds = |estate: &Value, name: &str| {
        assert_holds(&estates, estate, name);
        parse_estate(estate.to_string().as_bytes())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    };
    let examples = blocks(&page("estate.md"), "json");
    let example: Value = serde_json::from_str(&examples[0]).expect("JSON");
    for (name, estate) in
        [("the example of the page", &example), ("one", &one()), ("nothing", &empty())]
    {
        holds(estate, name);
    }
    for demo in demos() {
        holds(&demo, "a demo");
    }
    for path in situations() {
        let text = fs::read_to_string(&path).expect("a readable file");
        let estate = serde_json::from_str(&text).expect("JSON");
        assert_holds(&estates, &estate, &path.to_string_lossy());
    }

    let mut good = every_key();
    good["prices"] = json!([{
        "region": "us-east-1", "zone": "us-east-1a", "instance_type": "g5.xlarge",
        "operating_system": "linux", "tenancy": "shared", "option": "spot", "currency": "USD",
        "hourly": "0.5", "origin": "api", "effective_date": "2026-10-30", "source": "s",
        "spot_history": {
            "now": "0.5", "min": "0.4", "max": "0.6", "p95": "0.6", "volatility_percent": "3.5",
        },
    }]);
    good["gaps"] = json!([{
        "what": "tags", "where": "us-east-1", "reason": "", "hint": "",
        "cause": {"kind": "tags-not-recorded", "details": []},
    }]);
    holds(&good, "every key");
    for (place, value) in [
        // What earlier recordings say.
        ("/profiles/0/looks", json!({"told": 1, "taken": 2, "missed": 0})),
        // Absent and null are the same.
        ("/instances/0/zone", json!(null)),
        ("/claims/0/owner", json!(null)),
        ("/metrics/0/values", json!([1, 0.5, null, "NaN", [null, 3], [2, 3]])),
    ] {
        holds(&with(&good, place, &value), place);
    }
    for (place, value) in [
        ("/extra", json!(1)),
        ("/estate_version", json!("2")),
        ("/as_of", json!("yesterday")),
        ("/window_start", json!("2026-10-18")),
        ("/period_seconds", json!(0)),
        ("/source", json!("cloud")),
        ("/commitment_sharing", json!("no")),
        ("/instances/0/state", json!("asleep")),
        ("/instances/0/lifecycle", json!(null)),
        ("/instances/0/extra", json!("us-east-1")),
        ("/instances/0/volumes/0/size_gib", json!(-1)),
        ("/metrics/0/metric", json!("speed")),
        ("/metrics/0/timestamps", json!([1_792_281_600])),
        ("/metrics/0/start", json!(null)),
        ("/metrics/0/values/0", json!([1, 0])),
        ("/metrics/0/values/0", json!("much")),
        ("/metrics/1/gpu", json!(256)),
        ("/profiles/0/gpu_mean_percent", json!(100.5)),
        ("/profiles/0/samples", json!({"taken": 2, "missed": 0})),
        ("/nodes/0/devices/resource/unit", json!({"slices": 1, "of": 7})),
        ("/nodes/0/physical", json!("-1")),
        ("/claims/0/machine", json!(null)),
        ("/claims/0/state", json!("pending")),
        ("/uses/0/sample_seconds", json!(0)),
        ("/opinions/0/instances", json!(["i-one"])),
        ("/scaling_groups/0/in_service", json!(null)),
        ("/training_plans/0/upfront_fee", json!(100)),
        ("/jobs/0/status", json!("lost")),
        ("/prices/0/hourly", json!("0.000")),
        ("/prices/0/option", json!("reserved-2yr-no-upfront")),
        ("/prices/0/upfront", json!("1")),
        ("/commitments/0/count", json!(0)),
        ("/api", json!({"calls": 1})),
    ] {
        let wrong = with(&good, place, &value);
        assert!(!estates.is_valid(&wrong), "{place}: {value}");
        let read = parse_estate(wrong.to_string().as_bytes());
        assert!(read.is_err(), "{place}: {value}");
    }
}

#[test]
fn the_schema_and_the_reader_of_commitments_agree() {
    let commitments = of("commitments");
    let world = World::new();
    let is_read = |list: &Value| {
        let path = world.file("commitments.json", list.to_string());
        read_commitments(Path::new(&path)).is_ok()
    };
    let good: Value = serde_json::from_str(&blocks(&page("estate.md"), "json")[1]).expect("JSON");
    for list in [&good, &json!([]), &owned()["commitments"]] {
        assert_holds(&commitments, list, "a list");
        assert!(is_read(list), "{list}");
    }
    for (place, value) in [
        ("/0/kind", json!("gift")),
        ("/0/count", json!(0)),
        ("/0/payment", json!("later")),
        ("/0/upfront", json!(1)),
        ("/0/recurring_hourly", json!("-1")),
        ("/0/end", json!("2027-02-01")),
        ("/1/region", json!(null)),
        ("/1/term", json!("2yr-no-upfront")),
        ("/1/count", json!(1)),
        ("/2/total", json!(-1)),
        ("/2/zone", json!(null)),
    ] {
        let wrong = with(&good, place, &value);
        assert!(!commitments.is_valid(&wrong), "{place}: {value}");
        assert!(!is_read(&wrong), "{place}: {value}");
    }
}

#[test]
fn every_document_holds_to_its_schema_and_a_wrong_one_does_not() {
    let world = World::new();
    let every = world.estate("every.json", &every_key());
    let two = world.estate("two.json", &in_two_regions());
    let bought = world.estate("owned.json", &owned());
    let logs = ["one-of-four.csv", "counted.jsonl", "interrupted.jsonl"];
    let [plain, counted, interrupted] = logs.map(|name| {
        let path = fixture("logs").join(name);
        path.to_str().expect("UTF-8").to_owned()
    });
    let sized = "rightsize --type p3.8xlarge --util-p95 60 --vram-peak 8GiB";
    let mut documents: BTreeMap<&str, Value> = BTreeMap::new();
    for (name, arguments) in [
        ("inventory", vec!["inventory", "--from", &every]),
        ("metrics", vec!["metrics", "--from", &two]),
        ("rightsize", sized.split(' ').collect()),
        ("spot", vec!["spot", "--type", "g5.xlarge"]),
        ("reserved", vec!["reserved", "--type", "g5.xlarge"]),
        ("explain", vec!["explain", "--demo", "experiments"]),
        ("diff", vec!["diff", &two, &bought]),
        ("pricing-status", vec!["pricing", "status"]),
        ("profile", vec!["profile", "--read", &plain]),
        ("profile", vec!["profile", "--read", &interrupted]),
        ("profile", vec!["profile", "--read", &counted]),
    ] {
        let arguments = [&arguments[..], &["--format", "json"]].concat();
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
        let document = outcome.json();
        assert_holds(&of(name), &document, &arguments.join(" "));
        documents.insert(name, document);
    }
    let run = world.file("run.json", documents["profile"].to_string());
    let runs = world.run(&["diff", &run, &run, "--format", "json"]).json();
    assert_holds(&of("diff"), &runs, "two runs");
    assert!(runs["figures"].is_array(), "{runs}");
    for (name, place, value) in [
        ("inventory", "/more", json!(1)),
        ("inventory", "/instances/0/state", json!("asleep")),
        ("inventory", "/instances/0/hourly_cost", json!("1.006")),
        ("inventory", "/nodes/0/cpu_millicores/capacity", json!(null)),
        ("metrics", "/instances/0/mean", json!(100.5)),
        ("metrics", "/instances/0/idle_share", json!(20)),
        ("metrics", "/instances/0/gpus/0/index", json!(-1)),
        ("rightsize", "/workloads/0/kind", json!("play")),
        ("rightsize", "/workloads/0/candidates/0/risk", json!(null)),
        ("rightsize", "/workloads/0/demand/cpu_p95", json!(101)),
        ("spot", "/spot/risk", json!("none")),
        ("spot", "/spot/id", json!("i-1")),
        ("spot", "/spot/spot_hourly", json!(-1)),
        ("explain", "/levers/0/result", json!("maybe")),
        ("explain", "/plan/0/monthly_savings", json!(null)),
        ("reserved", "/currency", json!(null)),
        ("reserved", "/commitments/0/term_years", json!(2)),
        ("reserved", "/as_of", json!("2026-11-01T00:00:00Z")),
        ("diff", "/old/gpus", json!(0.5)),
        ("diff", "/summary/monthly_cost/change", json!("1")),
        ("diff", "/kpis/speed", json!({"old": 1, "new": 1, "change": 0})),
        ("pricing-status", "/lists/0/date", json!("today")),
        ("pricing-status", "/cache", json!({})),
        ("profile", "/energy_kwh", json!(-1)),
        ("profile", "/work/units/0/per", json!(0)),
        ("profile", "/gpus/0/diagnosis/bottleneck", json!("slow")),
        ("profile", "/gpu_utilization_mean_pct", json!(101)),
    ] {
        let wrong = with(&documents[name], place, &value);
        assert!(!of(name).is_valid(&wrong), "{name} {place}: {value}");
    }
}

#[test]
fn every_answer_has_the_one_form() {
    let answers = of("answer");
    let world = World::new();
    let two = world.estate("two.json", &in_two_regions());
    let demand = world.file(
        "day.csv",
        "time,gpus\n2026-11-02T00:00:00Z,2\n2026-11-02T01:00:00Z,4\n2026-11-02T02:00:00Z,1\n",
    );
    let jobs = world.file("jobs.csv", "name,gpu,gpus,hours\nsweep,A10G,1,10\n");
    let bill = fixture("bills/cur2.csv");
    let bill = bill.to_str().expect("UTF-8");
    let lines = [
        "select --model llama-3.1-8b".to_owned(),
        "select --kind training --restartable --vram 40GiB".to_owned(),
        "capacity --rate 500 --per-gpu 200 --type g5.xlarge".to_owned(),
        "capacity --rate 300 --curve 1:35,8:210,32:520 --type g5.xlarge".to_owned(),
        "rent-or-buy --type p5.48xlarge --purchase 270000 --watts 8000 --rack-monthly 1500 \
         --staff-hours 8 --spares-percent 5 --residual-percent 10 --years 4 --utilization 80"
            .to_owned(),
        format!(
            "autoscale --demand {demand} --type g6.xlarge --today 4 --target 60% --start-up 10m"
        ),
        format!("place --jobs {jobs} --start 2026-11-02T00:00:00Z"),
        format!("bill {bill}"),
        format!("kpi --from {two}"),
        format!("reserved --from {two} --growth 3%/month"),
    ];
    let mut last = Value::Null;
    for line in &lines {
        let mut arguments: Vec<&str> = line.split(' ').collect();
        arguments.extend(["--format", "json"]);
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.stderr);
        last = outcome.json();
        assert_holds(&answers, &last, line);
        assert_eq!(last["planner"], arguments[0]);
    }
    for (place, value) in [
        ("/planner", json!("guess")),
        ("/currency", json!("GBP")),
        ("/given/0/value", json!([1])),
        ("/pools/0", json!(1)),
        ("/pools/0/term", json!({})),
        ("/caveats", json!(null)),
        ("/more", json!("text")),
    ] {
        let wrong = with(&last, place, &value);
        assert!(!answers.is_valid(&wrong), "{place}: {value}");
    }
    // Further lists of rows are additions.
    let more = with(&last, "/more", &json!([{"key": 1}]));
    assert!(answers.is_valid(&more), "a list of rows");
}

/// `pub fn share_answer(…) -> Doc` says of which command it is, and the schema lists those.
#[test]
fn every_answer_is_of_a_command_that_the_schema_lists() {
    let schema = schema("answer.schema.json");
    let listed = schema["properties"]["planner"]["enum"].as_array().expect("a list");
    let listed: BTreeSet<&str> = listed.iter().filter_map(Value::as_str).collect();
    let files = files_under("src/report");
    let functions = files.iter().flat_map(|file| file.text.split("\npub fn ").skip(1));
    let answers = functions.filter_map(|text| {
        let name = text.split(['(', '<']).next()?;
        name.ends_with("_answer").then_some((name, text))
    });
    let stated: BTreeSet<&str> = answers
        .map(|(name, text)| {
            let command = text.split("name: \"").nth(1).and_then(|rest| rest.split('"').next());
            command.unwrap_or_else(|| panic!("{name} names no command"))
        })
        .collect();
    let missing: Vec<_> = stated.difference(&listed).collect();
    assert!(missing.is_empty(), "ANSWERS in src/report/doc/json.rs lacks {missing:?}");
    let gone: Vec<_> = listed.difference(&stated).collect();
    assert!(gone.is_empty(), "nothing answers {gone:?}");
}
