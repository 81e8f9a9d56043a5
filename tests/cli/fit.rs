//! `gpucost fit`: what is computed, what is refused, and what the page shows.

use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use crate::support::data::shared;
use serde_json::Value;
use std::collections::HashMap;

fn fit(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["fit"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    let outcome = fit(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn near(value: &Value, expected: f64) {
    let found = number(value);
    assert!(
        (found / expected - 1.0).abs() < 0.001,
        "{found}, expected {expected}"
    );
}

/// The page works it out by hand.
#[test]
fn one_card_costs_what_the_page_works_out() {
    let found = json(&[
        "--model",
        "llama-3.1-8b",
        "--concurrency",
        "4",
        "--type",
        "g6e.xlarge",
    ]);
    let one = &found["types"][0];
    near(&one["gpu_memory_needed_gib"], 25.149);
    near(&one["first_tokens_seconds"], 1.1931);
    near(&one["token_ms"], 34.334);
    near(&one["output_tokens_per_second"], 115.524);
    assert_eq!(one["most_sequences"], 20);
    assert_eq!(one["cost_monthly"], 1358.53);
    assert_eq!(one["cost_hourly"], 1.861);
    assert_eq!(one["cost_per_million_output_tokens"], 4.4748);
    assert_eq!(
        (&found["currency"], &found["planner"]),
        (&"USD".into(), &"fit".into())
    );
}

/// The page works it out: 1,820 and 4,430 TFLOP at 65% of 989 TFLOPS are 9.7227 s. A token
/// reads 14 GB of weights and 130,050 × 131,072 bytes of cache at 65% of 3,350 GB/s, 14.2576 ms:
/// 100 of them after 11.1485 s are 8.9699 per second, at $6.88 per hour $213.06 a million.
#[test]
fn a_long_prompt_is_mostly_attention() {
    let long = [
        "--params",
        "7b",
        "--context",
        "128k",
        "--input-tokens",
        "130000",
        "--output-tokens",
        "100",
        "--type",
        "p5.4xlarge",
    ];
    let found = json(&long);
    near(&found["types"][0]["first_tokens_seconds"], 9.7227);
    near(&found["types"][0]["cost_per_million_output_tokens"], 213.06);
    let compared = "The longest prompt of these measurements has 5,000 tokens";
    assert!(found["caveats"].to_string().contains(compared));
    let own = json(&[&long[..], &["--heads", "64"]].concat());
    // Twice the attention: 10,680.5 / 642.85.
    near(&own["types"][0]["first_tokens_seconds"], 16.614);
    let short = json(&["--params", "7b", "--type", "p5.4xlarge"]);
    assert!(!short["caveats"].to_string().contains(compared));
}

/// A second program, in another language, found the same types and figures.
#[test]
fn a_large_model_in_fp8_fits_on_linked_gpus() {
    let found = json(&[
        "--params",
        "70b",
        "--dtype",
        "fp8",
        "--context",
        "32k",
        "--concurrency",
        "16",
    ]);
    let types = found["types"].as_array().expect("a list");
    let names: Vec<&str> = types
        .iter()
        .map(|one| one["instance_type"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "p4d.24xlarge",
            "p4de.24xlarge",
            "p5.48xlarge",
            "p5en.48xlarge",
            "p6-b200.48xlarge",
            "p6-b300.48xlarge"
        ]
    );
    let first = &types[0];
    assert_eq!(first["layout"], "1 × 8");
    assert_eq!(first["computes_in"], "16 bits", "an A100 has no FP8");
    assert_eq!(types[2]["computes_in"], "fp8");
    near(&first["gpu_memory_needed_gib"], 36.472);
    near(&first["output_tokens_per_second"], 465.42);
    assert_eq!(first["cost_monthly"], 16_029.08);
    let given = found["given"].as_array().expect("a list");
    let source = |key: &str| {
        let line = given.iter().find(|line| line["key"] == key);
        line.expect("given")["source"].clone()
    };
    assert_eq!(source("params_billion"), "--params");
    assert_eq!(source("layers"), "config.json of llama-3.1-70b");
    assert_eq!(source("headroom"), "vram_headroom of the policy");
    let refused = found["refused"].as_array().expect("a list");
    let reason = |name: &str| {
        let line = refused.iter().find(|line| line["instance_type"] == name);
        line.expect("refused")["reason"].clone()
    };
    assert_eq!(
        reason("g6e.48xlarge"),
        "8 GPUs would hold it, but L40S has no NVLink"
    );
    assert_eq!(
        reason("p3.16xlarge"),
        "AWS launches no new instances of the type"
    );
    assert_eq!(
        reason("g6e.xlarge"),
        "needs 275.0 GiB on each GPU, has 45.0; holds 0 sequences"
    );
}

#[test]
fn smaller_numbers_need_less_and_fit_on_more() {
    let found = json(&["--model", "llama-3.1-8b", "--dtype", "fp16,int4,fp16"]);
    let dtypes = found["dtypes"].as_array().expect("a list");
    assert_eq!(dtypes.len(), 2, "each once");
    let of = |key: &str| [number(&dtypes[0][key]), number(&dtypes[1][key])];
    // 16.06 GB, and 6.98 × 0.5195 + 1.05 × 2 GB.
    near(&dtypes[0]["weights_gib"], 14.957);
    near(&dtypes[1]["weights_gib"], 5.334);
    let [more, less] = of("cheapest_cost_monthly");
    assert!(more >= less);
    let [fewer, many] = of("types");
    assert!(fewer < many, "{fewer} {many}");
    let caveats = found["caveats"].to_string();
    assert!(caveats.contains("quality is yours to judge"), "{caveats}");
    assert!(caveats.contains("int4 on T4"), "{caveats}");
}

#[test]
fn the_efficiency_headroom_and_use_are_the_users() {
    let of = |more: &[&str]| {
        let arguments = ["--model", "llama-3.1-8b", "--type", "g6e.xlarge"];
        json(&[&arguments, more].concat())["types"][0].clone()
    };
    let usual = of(&[]);
    let slower = of(&["--efficiency", "32.5"]);
    let speed = number(&usual["output_tokens_per_second"]);
    near(&slower["output_tokens_per_second"], speed / 2.0);
    let seldom = of(&["--utilization", "25"]);
    let cost = number(&usual["cost_per_million_output_tokens"]);
    near(&seldom["cost_per_million_output_tokens"], cost * 4.0);
    // $1.861 is paid for each hour; one of four is used.
    assert_eq!(usual["cost_per_hour_of_use"], 1.861);
    assert_eq!(seldom["cost_hourly"], 1.861);
    assert_eq!(seldom["cost_per_hour_of_use"], 7.444);
    let arguments = ["--model", "llama-3.1-8b", "--type", "g6e.xlarge"];
    let shown = fit(&[&arguments[..], &["--utilization", "25"]].concat()).stdout;
    assert!(shown.contains("$1.861 / 25.0%"), "{shown}");
    assert!(shown.contains("HOUR OF USE"), "{shown}");
    let bare = of(&["--headroom", "1", "--runtime-gib", "0"]);
    // 14.957 GiB of weights and 1 GiB of cache.
    near(&bare["gpu_memory_needed_gib"], 15.957);
    let eight = of(&["--kv-dtype", "fp8", "--headroom", "1", "--runtime-gib", "0"]);
    near(&eight["gpu_memory_needed_gib"], 15.457);
}

#[test]
fn bad_input_ends_with_the_nearest_possibility() {
    for (arguments, error, hint) in [
        (
            &[][..],
            "no model and no number of parameters",
            "`--params 70b`",
        ),
        (
            &["--params", "1.5t"],
            "no published model is near",
            "llama-3.1-405b has 126, 128, 8 and 128",
        ),
        (
            &["--model", "lama-3.1-70b"],
            "`lama-3.1-70b`",
            "did you mean llama-3.1-70b",
        ),
        (
            &["--params", "7b", "--kv-heads", "1024"],
            "keys and values of 32 layers",
            "num_key_value_heads",
        ),
        (
            &["--params", "47b", "--active-params", "50b"],
            "more than all",
            "--active-params 47000000000",
        ),
        (
            &[
                "--params",
                "7b",
                "--input-tokens",
                "8k",
                "--output-tokens",
                "8k",
            ],
            "do not fit into a context of 8192",
            "--context 16384",
        ),
        (
            &[
                "--model",
                "llama-3.1-405b",
                "--dtype",
                "fp32",
                "--concurrency",
                "1000",
            ],
            "no instance type in us-east-1 holds the model",
            "p6-b300.48xlarge holds",
        ),
        (
            &["--model", "llama-3.1-70b", "--type", "g7e.2xlarge"],
            "  caused by: needs",
            "`--dtype fp8`",
        ),
        (
            &["--params", "7b", "--type", "p3.2xlarge"],
            "AWS launches no new instances of the type",
            "pass another `--type`; without `--type`, the types that hold the model are listed",
        ),
        // 140 GB of weights, and 36 in 4 bits, on 24 GiB.
        (
            &["--params", "70b", "--type", "g5.xlarge"],
            "holds 0 sequences",
            "pass another `--type`",
        ),
        // 16 GB of weights fit on 48 GiB; a million tokens are 128 GiB of cache.
        (
            &["--params", "8b", "--type", "g6e.xlarge", "--context", "1m"],
            "holds 0 sequences",
            "pass a smaller `--context` or `--concurrency`",
        ),
        (
            &["--params", "7b", "--type", "g6e.xlrage"],
            "`g6e.xlrage`",
            "did you mean g6e.xlarge",
        ),
        (
            &["--params", "7b", "--region", "us-east1"],
            "`us-east1`",
            "us-east-1",
        ),
        (
            &["--params", "7b", "--region", "all"],
            "more than one region",
            "gpucost pricing",
        ),
    ] {
        let outcome = fit(arguments);
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (2, ""),
            "{arguments:?}"
        );
        let stderr = &outcome.stderr;
        assert!(stderr.contains(error), "{arguments:?}: {stderr}");
        let (_, said) = stderr.split_once("hint: ").expect("a hint");
        assert!(said.contains(hint), "{arguments:?}: {stderr}");
    }
    for bad in [
        ["--params", "-7b"],
        ["--params", "nan"],
        ["--concurrency", "0"],
        ["--context", "0"],
        ["--efficiency", "0"],
        ["--efficiency", "NaN"],
        ["--utilization", "-1"],
        ["--headroom", "0.5"],
        ["--runtime-gib", "inf"],
        ["--dtype", "fp12"],
    ] {
        let outcome = fit(&[&["--model", "llama-2-7b"], &bad[..]].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{bad:?}");
    }
}

#[test]
fn an_unknown_price_is_not_zero() {
    let world = World::new();
    let arguments = [
        "fit",
        "--model",
        "llama-3.1-8b",
        "--region",
        "eu-west-3",
        "--offline",
    ];
    let outcome = world.run(&[&arguments[..], &["--format", "json"]].concat());
    let found = outcome.json();
    for one in found["types"].as_array().expect("a list") {
        assert_ne!(one["cost_hourly"], 0.0, "{one}");
        let million = &one["cost_per_million_output_tokens"];
        assert_eq!(one["cost_hourly"].is_null(), million.is_null(), "{one}");
    }
    let refused = found["refused"].as_array().expect("a list");
    assert!(
        refused
            .iter()
            .any(|one| one["reason"].as_str().expect("text").contains("not sold"))
    );
}

/// Requests of a service for code at Azure (Azure/AzurePublicDataset, 2023): 8,819 requests
/// with 2,047.85 tokens of prompt and 27.88 of answer on average, 7,841 at most. Such long
/// prompts make an answer mostly arithmetic: 16 sequences take 3.3 s for 28 tokens each.
#[test]
fn real_requests_have_long_prompts_and_short_answers() {
    let name = "samples/requests/AzureLLMInferenceTrace_code.csv";
    let Some(path) = shared("requests", name) else {
        return;
    };
    let mut reader = csv::Reader::from_path(path).expect("the requests are there");
    let rows: Vec<HashMap<String, String>> = reader
        .deserialize()
        .map(|row| row.expect("a whole row"))
        .collect();
    let mean = |column: &str| {
        let tokens = rows
            .iter()
            .map(|row| row[column].parse::<f64>().expect("a number"));
        (tokens.sum::<f64>() / rows.len() as f64)
            .round()
            .to_string()
    };
    let (input, output) = (mean("ContextTokens"), mean("GeneratedTokens"));
    assert_eq!(
        (rows.len(), input.as_str(), output.as_str()),
        (8_819, "2048", "28")
    );
    let load = [
        "--input-tokens",
        &input,
        "--output-tokens",
        &output,
        "--concurrency",
        "16",
    ];
    let found = json(&[&["--model", "llama-3.1-8b"], &load[..]].concat());
    let first = &found["types"][0];
    assert_eq!(first["instance_type"], "g6e.xlarge");
    near(&first["output_tokens_per_second"], 134.63);
    near(&first["cost_per_million_output_tokens"], 3.84);
    let least = &found["dtypes"][0]["least_per_million_type"];
    println!(
        "cheapest month: {}; cheapest tokens: {least}",
        first["instance_type"]
    );
}

/// The page works it out by hand: 14.957 GiB of weights, 1 of cache and 2 of runtime, beside
/// 16,320 MiB.
#[test]
fn the_memory_of_a_workload_is_beside_the_formula() {
    let model = ["--model", "llama-3.1-8b", "--type", "p4d.24xlarge"];
    let demo = ["--demo", "--workload", "chat-serving"];
    let found = json(&[&demo[..], &model].concat());
    let rows = found["measured_memory"].as_array().expect("a list");
    let expected = [(1, 17.9575), (2, 9.9787), (4, 5.9894), (8, 3.9947)];
    assert_eq!(rows.len(), expected.len());
    for (row, (gpus, computed)) in rows.iter().zip(expected) {
        assert_eq!(row["gpus_of_a_copy"], gpus);
        assert_eq!(row["measured_gib"], 15.9375);
        near(&row["computed_gib"], computed);
        near(
            &row["difference_percent"],
            (computed / 15.9375 - 1.0) * 100.0,
        );
    }
    assert_explains("planners/fit.md", &found);
    // Headroom is for what is to come, and not in a measurement.
    let more = json(&[&demo[..], &model, &["--headroom", "2"]].concat());
    assert_eq!(more["measured_memory"], found["measured_memory"]);
    let usual = json(&model);
    assert!(usual["measured_memory"].is_null(), "without a measurement");
    assert_eq!(
        usual["types"][0]["cost_monthly"],
        found["types"][0]["cost_monthly"]
    );
}

/// 12.551 GiB of weights, 8,192 tokens of 512 KiB and 2 GiB of runtime, beside 15,360 MiB of the
/// samples.
#[test]
fn the_memory_of_a_run_is_beside_the_formula() {
    let samples = format!("{}/fixtures/logs/counted.jsonl", env!("CARGO_MANIFEST_DIR"));
    let found = json(&["--profile-data", &samples, "--model", "llama-2-7b"]);
    let rows = found["measured_memory"].as_array().expect("a list");
    assert_eq!(rows.len(), 1, "a g5.xlarge has one GPU");
    assert_eq!(rows[0]["instance_type"], "g5.xlarge");
    assert_eq!(rows[0]["measured_gib"], 15.0);
    near(&rows[0]["computed_gib"], 18.5513);
    near(&rows[0]["difference_percent"], 23.675);
    // Three groups of numbers, each in its row: int4 is (6.476 × 0.5195 + 0.262 × 2) × 10⁹ bytes.
    let three = ["--dtype", "fp16,fp8,int4"];
    let found = json(
        &[
            &["--profile-data", &samples, "--model", "llama-2-7b"][..],
            &three,
        ]
        .concat(),
    );
    let rows = found["measured_memory"].as_array().expect("a list");
    assert_eq!(rows.len(), 3);
    near(&rows[2]["computed_gib"], 3.6218 + 4.0 + 2.0);
}

#[test]
fn what_was_not_measured_is_refused_with_what_to_do() {
    let samples = format!(
        "{}/fixtures/logs/one-of-four.csv",
        env!("CARGO_MANIFEST_DIR")
    );
    for (arguments, error, hint) in [
        (
            &["--demo"][..],
            "an estate needs `--workload`",
            "`gpucost audit --demo starter` lists the workloads",
        ),
        (
            &["--workload", "chat-serving"],
            "`--workload` is one of an estate",
            "pass `--from FILE` or `--demo` with it",
        ),
        (
            &["--demo", "--workload", "chat-servin"],
            "no workload `chat-servin` in scope",
            "did you mean chat-serving?",
        ),
        (
            &["--demo", "--workload", "video-captioning-2"],
            "the memory of every GPU of `video-captioning-2` was not measured",
            "lists workloads and what is missing",
        ),
        (
            &["--profile-data", &samples],
            "does not name its instance type",
            "with `--type`",
        ),
    ] {
        let outcome = fit(&[arguments, &["--params", "8b"]].concat());
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (2, ""),
            "{arguments:?}"
        );
        let stderr = &outcome.stderr;
        assert!(stderr.contains(error), "{arguments:?}: {stderr}");
        let (_, said) = stderr.split_once("hint: ").expect("a hint");
        assert!(said.contains(hint), "{arguments:?}: {stderr}");
    }
    // A log of nvidia-smi with the type that it is of: 13,510 MiB on the only GPU in use.
    let arguments = [
        "--profile-data",
        &samples,
        "--type",
        "g5.12xlarge",
        "--params",
        "8b",
    ];
    let found = json(&arguments);
    let row = &found["measured_memory"][0];
    near(&row["measured_gib"], 13.1934);
    assert_eq!(row["gpus_of_a_copy"], 1, "without NVLink");
    assert_eq!(found["measured_memory"].as_array().map(Vec::len), Some(1));
}

/// A g5g.xlarge has a T4G and a Graviton CPU.
#[test]
fn types_with_arm_cpus_are_named() {
    let said = |arguments: &[&str]| json(arguments)["caveats"].to_string();
    let caveat = "CPUs of g5g are arm64: images and libraries for x86_64 do not run there.";
    let all = said(&["--params", "3b"]);
    assert!(all.contains(caveat), "{all}");
    let one = said(&["--params", "3b", "--type", "g5.xlarge"]);
    assert!(!one.contains("arm64"), "{one}");
}

#[test]
fn examples_of_the_page_print_what_it_shows() {
    let examples = blocks(&page("planners/fit.md"), "text");
    assert_eq!(examples.len(), 3);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command.strip_prefix("$ gpucost fit ").expect("a command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let outcome = fit(&arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_shows("docs/planners/fit.md", shown, &outcome.stdout);
    }
}

#[test]
fn every_key_is_in_the_page() {
    let found = json(&["--params", "70b", "--dtype", "fp8,int4", "--context", "32k"]);
    assert_explains("planners/fit.md", &found);
}

#[test]
fn a_spreadsheet_has_the_types() {
    let csv = fit(&["--params", "8b", "--format", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().expect("a header").clone();
    assert_eq!(header.get(0), Some("instance_type"));
    assert!(reader.records().count() > 20);
}
