//! `gpucost capacity` for requests in batches: what they save, and what is refused.

use crate::cli::pages::assert_explains;
use crate::cli::world::{Outcome, World};
use serde_json::Value;

const CURVE: [&str; 4] = ["--rate", "300", "--curve", "1:35,8:210,32:520"];

fn batching(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["capacity"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    let outcome = batching(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

/// The page works it out by hand.
#[test]
fn a_batch_saves_ten_gpus_of_eleven() {
    let more = ["--max-wait", "100ms", "--objective", "200ms", "--type", "g5.xlarge"];
    let answer = json(&[&CURVE[..], &more].concat());
    let choices = answer["choices"].as_array().expect("a list");
    let of = |limit: u64| {
        let one = choices.iter().find(|choice| choice["batch_limit"] == limit);
        one.expect("a limit").clone()
    };
    assert_eq!(of(1)["servers"], 11);
    let best = of(32);
    assert_eq!((&best["servers"], &best["instances"]), (&1.into(), &1.into()));
    assert_eq!(best["mean_batch"], 30.0);
    assert_eq!(best["service_ms"], 59.5849);
    assert_eq!(best["longest_ms"], 159.5849);
    assert_eq!(best["mean_ms"], 109.5849);
    assert_eq!(best["load_percent"], 57.6923);
    assert_eq!(best["cost_monthly"], 734.38);
    assert_eq!(best["cost_per_million_requests"], 0.9315);
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.contains("batches of up to 32 need 1 GPU,"), "{headline}");
}

/// 0.01 × 3,600 are 36 requests per hour: $1.006 / 36 × 10⁶ a million.
#[test]
fn small_rates_are_not_shown_as_zero() {
    let arguments = ["--rate", "0.01", "--curve", "1:35,8:210", "--type", "g5.xlarge"];
    let shown = batching(&arguments).stdout;
    assert!(shown.starts_with("0.010 requests per second in batches"), "{shown}");
    assert!(shown.contains("1 × $1.006 / (0.010 × 3,600) × 10⁶"), "{shown}");
    assert!(!shown.contains("(0.0 "), "{shown}");
    let answer = json(&arguments);
    assert_eq!(answer["choices"][0]["cost_per_million_requests"], 27_944.444_4);
}

/// 300 / (0.8 × 35) = 10.7 GPUs one by one, on two p4d.24xlarge with eight each.
#[test]
fn gpus_that_are_rented_and_not_needed_are_named() {
    let curve = ["--rate", "300", "--curve", "1:35,2:35"];
    let answer = json(&[&curve[..], &["--type", "p4d.24xlarge"]].concat());
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.contains("need 11 GPUs,"), "{headline}");
    assert!(headline.contains("2 × p4d.24xlarge with 16 GPUs for $32,058.16"), "{headline}");
}

#[test]
fn a_type_that_is_not_launched_is_named() {
    let retired = json(&[&CURVE[..], &["--type", "p3.8xlarge"]].concat());
    let caveat = "AWS launches no new p3.8xlarge";
    assert!(retired["caveats"].to_string().contains(caveat));
    let usual = json(&[&CURVE[..], &["--type", "g5.xlarge"]].concat());
    assert!(!usual["caveats"].to_string().contains("launches no new"));
}

/// Four GPUs of a g5.12xlarge are four servers.
#[test]
fn servers_fill_instances() {
    let more = ["--max-wait", "0ms", "--type", "g5.12xlarge"];
    let answer = json(&[&CURVE[..], &more].concat());
    let one = &answer["choices"][0];
    assert_eq!((&one["servers"], &one["instances"]), (&11.into(), &3.into()));
    let without = json(&CURVE);
    assert_eq!(without["choices"][0]["cost_monthly"], Value::Null);
    assert_eq!(without["missing"][0]["what"], "cost of a server");
}

/// Of Llama 3.1 8B on an L40S with prompts of 1,024 and answers of 128 tokens. By hand, one
/// sequence: (2 × 8.0303e9 × 1,024 + 2 × 32 × 4,096 × 1,024²) / (362e12 × 0.65) = 71.1 ms
/// against 16.06 GB of weights at 561.6 GB/s = 28.6 ms, then
/// 128 × (16.0605e9 + 1,088 × 131,072) / 561.6e9 = 3.693 s: 0.26567 a second, shown as 0.2657.
#[test]
fn a_model_has_the_throughput_that_select_computes() {
    let answer = json(&["--rate", "2", "--model", "llama-3.1-8b", "--type", "g6e.xlarge"]);
    let curve = answer["curve"].as_array().expect("a list");
    assert!(curve.len() > 4, "{curve:?}");
    let first = curve[0]["items_per_second"].as_f64().expect("a number");
    assert!((first - 0.2657).abs() < 1e-9, "{first}");
    let arguments = [
        "select", "--model", "llama-3.1-8b", "--type", "g6e.xlarge", "--context", "1152",
        "--output-tokens", "128", "--concurrency", "16", "--format", "json",
    ];
    let selected = World::new().run(&arguments).json();
    let tokens = selected["types"][0]["output_tokens_per_second"].as_f64();
    let at_16 = curve.iter().find(|point| point["batch"] == 16);
    let items = at_16.expect("a point")["items_per_second"].as_f64();
    let ratio = tokens.expect("a number") / (items.expect("a number") * 128.0);
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
}

#[test]
fn bad_input_ends_with_the_nearest_possibility() {
    for (arguments, error, hint) in [
        (&["--rate", "9"][..], "the throughput of a GPU is not known", "a `--curve` of batches"),
        (
            &["--rate", "300", "--curve", "1:35,8:210", "--objective", "20ms"],
            "the shortest is 28.6 ms, at batch 1",
            "`--objective 29ms`",
        ),
        (&["--rate", "1000000000", "--curve", "1:35,8:210"], "more than 100,000 servers", "--rate"),
        (
            &["--rate", "1", "--model", "llama-3.1-70b", "--type", "g6e.xlarge"],
            "g6e.xlarge does not hold the model in fp16: needs",
            "pass another `--type`; `gpucost select --model llama-3.1-70b` lists the types",
        ),
        (
            &["--rate", "1", "--params", "70b", "--type", "g6e.xlarge"],
            "holds 0 sequences",
            "`gpucost select --params 70000000000` lists the types that hold the model",
        ),
        (
            &["--rate", "1", "--params", "8b", "--type", "g6e.xlarge", "--input-tokens", "1m"],
            "holds 0 sequences",
            "pass fewer `--input-tokens` or `--output-tokens`, or a smaller model",
        ),
        (
            &["--rate", "1", "--params", "8b"],
            "how fast a model is served depends on the instance type",
            "--type g6e.xlarge",
        ),
        (
            &["--rate", "9", "--per-gpu", "5", "--max-wait", "1s"],
            "`--max-wait` is about batches",
            "--curve 1:35,8:210,32:520",
        ),
        (
            &["--rate", "9", "--curve", "1:35,8:210", "--demo"],
            "an estate needs `--workload`",
            "`gpucost audit --demo` lists the workloads",
        ),
        (
            &["--rate", "9", "--curve", "1:35,8:210", "--type", "g5.xlrage"],
            "`g5.xlrage`",
            "did you mean g5.xlarge",
        ),
    ] {
        let outcome = batching(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        let stderr = &outcome.stderr;
        assert!(stderr.contains(error), "{arguments:?}: {stderr}");
        let (_, said) = stderr.split_once("hint: ").expect("a hint");
        assert!(said.contains(hint), "{arguments:?}: {stderr}");
    }
    for bad in [["--zones", "3"], ["--latency", "1s"]] {
        let outcome = batching(&[&["--rate", "9", "--curve", "1:35,8:210"], &bad[..]].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{bad:?}");
    }
}

#[test]
fn every_key_is_in_the_page() {
    assert_explains("planners/capacity.md", &json(&CURVE));
}

/// `nightly-eval` has 5 g5.12xlarge for 28.36 / 5 = 5.672 an hour each: 20,702.80 a month. One by
/// one, 300 / (0.8 × 35) are 11 GPUs on 3 of them, 3 × 5.672 × 730.
#[test]
fn a_workload_states_its_type_and_what_it_pays() {
    let workload = ["--demo", "--workload", "nightly-eval"];
    let answer = json(&[&CURVE[..], &workload].concat());
    let one = &answer["choices"][0];
    assert_eq!((&one["servers"], &one["instances"]), (&11.into(), &3.into()));
    assert_eq!(one["cost_monthly"], 12_421.68);
    let steps = answer["steps"].as_array().expect("a list");
    let today = steps.iter().find(|step| step["name"] == "a month of today's instances");
    assert_eq!(today.expect("a step")["result"], 20_702.8);
    assert_explains("planners/capacity.md", &answer);
}

/// The five of `nightly-eval` are reserved until February: three of them instead save nothing then.
#[test]
fn what_commitments_pay_is_said_beside_fewer_instances() {
    let world = World::new();
    let path = world.path("estate.json");
    assert_eq!(world.run(&["audit", "--demo", "--save", &path, "-q"]).code, 0);
    let text = std::fs::read_to_string(&path).expect("an estate");
    let mut estate: Value = serde_json::from_str(&text).expect("JSON");
    estate["commitments"] = serde_json::json!([{
        "kind": "reserved-instances", "id": "r1", "account": "111122223333",
        "region": "us-east-1", "instance_type": "g5.12xlarge", "count": 5,
        "payment": "no-upfront", "start": "2026-02-01T00:00:00Z",
        "end": "2027-02-01T00:00:00Z", "recurring_hourly": "3.5",
    }]);
    let reserved = world.estate("reserved.json", &estate);
    for (estate, is_said) in [(reserved.as_str(), true), (path.as_str(), false)] {
        let asked = ["capacity", "--from", estate, "--workload", "nightly-eval"];
        let outcome = world.run(&[&asked[..], &CURVE[..], &["--format", "json"]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let caveats = outcome.json()["caveats"].to_string();
        assert_eq!(caveats.contains("Commitments pay of nightly-eval"), is_said, "{caveats}");
    }
}

/// A run of 9,000 s on one A10G: 12,600 steps are 1.4 a second, 6,300 are 0.7. One by one,
/// 1 / (0.8 × 0.7) are 2 GPUs; in batches, 1 / (0.8 × 1.4) is one g5.xlarge, 1.006 × 730.
#[test]
fn runs_at_several_batches_are_a_curve() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/logs/counted.jsonl");
    let large = std::fs::read_to_string(path).expect("samples");
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let one = world.file("one.jsonl", large.replace("12600", "6300"));
    let eight = world.file("eight.jsonl", large);
    let (one, eight) = (format!("1:{one}"), format!("8:{eight}"));
    let runs = [
        "capacity", "--rate", "1", "--max-wait", "1m", "--curve-data", &eight, "--curve-data", &one,
    ];
    let outcome = world.run(&[&runs[..], &["--unit", "steps", "--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    let curve = answer["curve"].as_array().expect("a list");
    let points: Vec<(u64, f64)> = curve
        .iter()
        .map(|point| {
            let items = point["items_per_second"].as_f64().expect("a number");
            (point["batch"].as_u64().expect("a number"), items)
        })
        .collect();
    assert_eq!(points, [(1, 0.7), (8, 1.4)]);
    let choices = answer["choices"].as_array().expect("a list");
    let of = |limit: u64| {
        let mut choices = choices.iter();
        let choice = choices.find(|choice| choice["batch_limit"] == limit);
        choice.expect("a limit")["cost_monthly"].clone()
    };
    assert_eq!((of(1), of(8)), (Value::from(1_468.76), Value::from(734.38)));
    let several = world.run(&runs);
    assert_eq!(several.code, 2);
    assert!(several.stderr.contains("counted 2 units"), "{}", several.stderr);
    let none = world.run(&[&runs[..], &["--unit", "tokens"]].concat());
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("does not say how many requests"), "{}", none.stderr);
}
