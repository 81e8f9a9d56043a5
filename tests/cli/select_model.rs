//! `gpucost select` for a language model: what is computed, and what is refused.

use crate::cli::pages::assert_explains;
use crate::cli::world::{Outcome, World};
use crate::support::data::shared;
use serde_json::Value;
use std::collections::HashMap;

fn select(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["select"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    let outcome = select(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn near(value: &Value, expected: f64) {
    let actual = number(value);
    assert!((actual / expected - 1.0).abs() < 0.001, "{actual}, expected {expected}");
}

/// The page works it out by hand.
#[test]
fn one_card_costs_what_the_page_works_out() {
    let answer = json(&["--model", "llama-3.1-8b", "--concurrency", "4", "--type", "g6e.xlarge"]);
    let one = &answer["types"][0];
    near(&one["gpu_memory_needed_gib"], 25.149);
    near(&one["first_tokens_seconds"], 1.1931);
    near(&one["token_ms"], 34.334);
    near(&one["output_tokens_per_second"], 115.524);
    assert_eq!(one["most_sequences"], 20);
    assert_eq!(one["monthly_cost"], 1358.53);
    assert_eq!(one["hourly"], 1.861);
    assert_eq!(one["cost_per_million_output_tokens"], 4.4748);
    assert_eq!((&answer["currency"], &answer["planner"]), (&"USD".into(), &"select".into()));
}

/// The page works it out: 1,820 and 4,430 TFLOP at 65% of 989 TFLOPS are 9.7227 s. A token
/// reads 14 GB of weights and 130,050 × 131,072 bytes of cache at 65% of 3,350 GB/s, 14.2576 ms:
/// 100 of them after 11.1485 s are 8.9699 per second, at $6.88 per hour $213.06 a million.
#[test]
fn a_long_prompt_is_mostly_attention() {
    let long = [
        "--params", "7b", "--context", "128k", "--input-tokens", "130000", "--output-tokens",
        "100", "--type", "p5.4xlarge",
    ];
    let answer = json(&long);
    near(&answer["types"][0]["first_tokens_seconds"], 9.7227);
    near(&answer["types"][0]["cost_per_million_output_tokens"], 213.06);
    let compared = "the longest prompt of these measurements has 5,000 tokens";
    assert!(answer["caveats"].to_string().contains(compared));
    let own = json(&[&long[..], &["--heads", "64"]].concat());
    // Twice the attention: 10,680.5 / 642.85.
    near(&own["types"][0]["first_tokens_seconds"], 16.614);
    let short = json(&["--params", "7b", "--type", "p5.4xlarge"]);
    assert!(!short["caveats"].to_string().contains(compared));
}

#[test]
fn smaller_numbers_need_less_and_fit_on_more() {
    let answer = json(&["--model", "llama-3.1-8b", "--dtype", "fp16,int4,fp16"]);
    let dtypes = answer["dtypes"].as_array().expect("a list");
    assert_eq!(dtypes.len(), 2, "each once");
    let of = |key: &str| [number(&dtypes[0][key]), number(&dtypes[1][key])];
    // 16.06 GB, and 6.98 × 0.5195 + 1.05 × 2 GB.
    near(&dtypes[0]["weights_gib"], 14.957);
    near(&dtypes[1]["weights_gib"], 5.334);
    let [more, less] = of("cheapest_monthly_cost");
    assert!(more >= less);
    let [fewer, many] = of("types");
    assert!(fewer < many, "{fewer} {many}");
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("evaluate its quality on your own data"), "{caveats}");
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
    assert_eq!(seldom["hourly"], 1.861);
    assert_eq!(seldom["cost_per_hour_of_use"], 7.444);
    let arguments = ["--model", "llama-3.1-8b", "--type", "g6e.xlarge"];
    let shown = select(&[&arguments[..], &["--utilization", "25"]].concat()).stdout;
    assert!(shown.contains("$1.861 / 25.0%"), "{shown}");
    assert!(shown.contains("HOUR OF USE"), "{shown}");
    let bare = of(&["--headroom", "1", "--runtime-gib", "0"]);
    // 14.957 GiB of weights and 1 GiB of cache.
    near(&bare["gpu_memory_needed_gib"], 15.957);
    let eight = of(&["--kv-dtype", "fp8", "--headroom", "1", "--runtime-gib", "0"]);
    near(&eight["gpu_memory_needed_gib"], 15.457);
}

/// Requests of a service for code at Azure (Azure/AzurePublicDataset, 2023): 8,819 requests
/// with 2,047.85 tokens of prompt and 27.88 of answer on average, 7,841 at most. Such long
/// prompts make an answer mostly arithmetic: 16 sequences take 3.3 s for 28 tokens each.
#[test]
fn real_requests_have_long_prompts_and_short_answers() {
    let name = "samples/requests/AzureLLMInferenceTrace_code.csv";
    let Some(path) = shared("requests", name) else { return };
    let mut reader = csv::Reader::from_path(path).expect("the requests are there");
    let rows: Vec<HashMap<String, String>> =
        reader.deserialize().map(|row| row.expect("a whole row")).collect();
    let mean = |column: &str| {
        let tokens = rows.iter().map(|row| row[column].parse::<f64>().expect("a number"));
        (tokens.sum::<f64>() / rows.len() as f64).round().to_string()
    };
    let (input, output) = (mean("ContextTokens"), mean("GeneratedTokens"));
    assert_eq!((rows.len(), input.as_str(), output.as_str()), (8_819, "2048", "28"));
    let load = ["--input-tokens", &input, "--output-tokens", &output, "--concurrency", "16"];
    let answer = json(&[&["--model", "llama-3.1-8b"], &load[..]].concat());
    let first = &answer["types"][0];
    assert_eq!(first["instance_type"], "g6e.xlarge");
    near(&first["output_tokens_per_second"], 134.63);
    near(&first["cost_per_million_output_tokens"], 3.84);
    let least = &answer["dtypes"][0]["least_per_million_type"];
    println!("cheapest month: {}; cheapest tokens: {least}", first["instance_type"]);
}

/// The page works it out by hand: 14.957 GiB of weights, 1 of cache and 2 of runtime, beside
/// 16,320 MiB.
#[test]
fn the_memory_of_a_workload_is_beside_the_formula() {
    let model = ["--model", "llama-3.1-8b", "--type", "p4d.24xlarge"];
    let demo = ["--demo", "--workload", "chat-serving"];
    let answer = json(&[&demo[..], &model].concat());
    let rows = answer["measured_memory"].as_array().expect("a list");
    let expected = [(1, 17.9575), (2, 9.9787), (4, 5.9894), (8, 3.9947)];
    assert_eq!(rows.len(), expected.len());
    for (row, (gpus, computed)) in rows.iter().zip(expected) {
        assert_eq!(row["gpus_of_a_copy"], gpus);
        assert_eq!(row["measured_gib"], 15.9375);
        near(&row["computed_gib"], computed);
        near(&row["difference_percent"], (computed / 15.9375 - 1.0) * 100.0);
    }
    assert_explains("planners/select.md", &answer);
    // Headroom is for what is to come, and not in a measurement.
    let more = json(&[&demo[..], &model, &["--headroom", "2"]].concat());
    assert_eq!(more["measured_memory"], answer["measured_memory"]);
    let usual = json(&model);
    assert!(usual["measured_memory"].is_null(), "without a measurement");
    assert_eq!(usual["types"][0]["monthly_cost"], answer["types"][0]["monthly_cost"]);
}

/// 12.551 GiB of weights, 8,192 tokens of 512 KiB and 2 GiB of runtime, beside 15,360 MiB of the
/// samples.
#[test]
fn the_memory_of_a_run_is_beside_the_formula() {
    let samples = format!("{}/fixtures/logs/counted.jsonl", env!("CARGO_MANIFEST_DIR"));
    let answer = json(&["--profile-data", &samples, "--model", "llama-2-7b"]);
    let rows = answer["measured_memory"].as_array().expect("a list");
    assert_eq!(rows.len(), 1, "a g5.xlarge has one GPU");
    assert_eq!(rows[0]["instance_type"], "g5.xlarge");
    assert_eq!(rows[0]["measured_gib"], 15.0);
    near(&rows[0]["computed_gib"], 18.5513);
    near(&rows[0]["difference_percent"], 23.675);
    // Three groups of numbers, each in its row: int4 is (6.476 × 0.5195 + 0.262 × 2) × 10⁹ bytes.
    let three = ["--dtype", "fp16,fp8,int4"];
    let answer =
        json(&[&["--profile-data", &samples, "--model", "llama-2-7b"][..], &three].concat());
    let rows = answer["measured_memory"].as_array().expect("a list");
    assert_eq!(rows.len(), 3);
    near(&rows[2]["computed_gib"], 3.6218 + 4.0 + 2.0);
}

/// A second program, in another language, found the same types and figures.
#[test]
fn a_large_model_in_fp8_fits_on_linked_gpus() {
    let answer =
        json(&["--params", "70b", "--dtype", "fp8", "--context", "32k", "--concurrency", "16"]);
    let types = answer["types"].as_array().expect("a list");
    let names: Vec<&str> =
        types.iter().map(|offer| offer["instance_type"].as_str().expect("a name")).collect();
    assert_eq!(
        names,
        [
            "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge",
            "p6-b300.48xlarge"
        ]
    );
    let first = &types[0];
    assert_eq!((&first["copies"], &first["gpus_of_a_copy"]), (&1.into(), &8.into()));
    assert_eq!(first["computes_in"], "16 bits", "an A100 has no FP8");
    assert_eq!(types[2]["computes_in"], "fp8");
    near(&first["gpu_memory_needed_gib"], 36.472);
    near(&first["output_tokens_per_second"], 465.42);
    assert_eq!(first["monthly_cost"], 16_029.08);
    let given = answer["given"].as_array().expect("a list");
    let source = |key: &str| {
        let line = given.iter().find(|line| line["key"] == key);
        line.expect("given")["source"].clone()
    };
    assert_eq!(source("params_billion"), "--params");
    assert_eq!(source("layers"), "config.json of llama-3.1-70b");
    assert_eq!(source("headroom"), "vram_headroom of the policy");
    let refused = answer["refused"].as_array().expect("a list");
    let reason = |name: &str| {
        let line = refused.iter().find(|line| line["instance_type"] == name);
        line.expect("refused")["why"].clone()
    };
    assert_eq!(reason("g6e.48xlarge"), "70b in fp8: 8 GPUs would hold it, but L40S has no NVLink");
    assert_eq!(reason("g6e.xlarge"), "70b in fp8: needs 275.0 GiB on the GPU, has 45.0 GiB");
}

/// A type is out only where it holds the model in none of the types of numbers, for the reason of
/// the one that comes nearest: 36.8 GiB in 4 bits are closer to 15 GiB than 130.4 in 16.
#[test]
fn a_type_is_out_where_no_numbers_fit() {
    let answer = json(&["--params", "70b", "--dtype", "fp16,int4"]);
    let names = |list: &str| -> Vec<String> {
        let list = answer[list].as_array().expect("a list").iter();
        list.map(|offer| offer["instance_type"].as_str().expect("text").to_owned()).collect()
    };
    let (fits, out) = (names("types"), names("refused"));
    assert!(fits.iter().all(|name| !out.contains(name)));
    let refused = answer["refused"].as_array().expect("a list");
    let small = refused.iter().find(|refusal| refusal["instance_type"] == "g4dn.xlarge");
    let why = small.expect("too small")["why"].as_str().expect("text");
    assert!(why.starts_with("70b in int4: needs "), "{why}");
    // The preferred type of numbers comes first, each of them cheapest first.
    let types = answer["types"].as_array().expect("a list");
    let places: Vec<(bool, f64)> =
        types.iter().map(|offer| (offer["dtype"] == "int4", number(&offer["hourly"]))).collect();
    assert!(places.is_sorted() && places.iter().any(|(is_int4, _)| *is_int4));
    for (row, dtype) in [(0, "fp16"), (1, "int4")] {
        let of_dtype = types.iter().filter(|offer| offer["dtype"] == dtype);
        let million = |offer: &Value| number(&offer["cost_per_million_output_tokens"]);
        let least = of_dtype.clone().map(million).fold(f64::INFINITY, f64::min);
        let row = &answer["dtypes"][row];
        assert_eq!(number(&row["least_cost_per_million_output_tokens"]), least);
        assert_eq!(number(&row["types"]), of_dtype.count() as f64);
    }
}

#[test]
fn bad_input_ends_with_the_nearest_possibility() {
    for (arguments, code, error, hint) in [
        (
            &["--params", "7b", "--input-tokens", "8k", "--output-tokens", "8k"][..],
            2,
            "do not fit into a context of 8192",
            "--context 16384",
        ),
        (&["--input-tokens", "8k"], 2, "`--input-tokens` is about a model", "pass `--params`"),
        (
            &["--model", "llama-3.1-405b", "--dtype", "fp32", "--concurrency", "1000"],
            4,
            "no instance type fits; the nearest is",
            "p6-b300.48xlarge holds",
        ),
        (
            &["--model", "llama-3.1-70b", "--type", "g7e.2xlarge"],
            4,
            "the nearest is g7e.2xlarge: 70.55b in fp16: needs",
            "`--dtype fp8`",
        ),
        // 16 GB of weights fit on 48 GiB; a million tokens are 128 GiB of cache.
        (
            &["--params", "8b", "--type", "g6e.xlarge", "--context", "1m"],
            4,
            "needs",
            "pass a smaller model or `--context`",
        ),
        (
            &["--params", "3b", "--type", "p3.2xlarge"],
            4,
            "no longer available for launch",
            "or search other regions",
        ),
        (
            &["--type", "m7i.large"],
            4,
            "a CPU type, and the work may need a GPU",
            "or search other regions",
        ),
    ] {
        let outcome = select(arguments);
        assert_eq!(outcome.code, code, "{arguments:?}: {}", outcome.stderr);
        let stderr = &outcome.stderr;
        assert!(stderr.contains(error), "{arguments:?}: {stderr}");
        let (_, said) = stderr.split_once("hint: ").expect("a hint");
        assert!(said.contains(hint), "{arguments:?}: {stderr}");
    }
}

/// `video-captioning-2` did not report the memory of every GPU, and a log of nvidia-smi does not
/// name its type. With its type, 13,510 MiB were held by the only GPU in use.
#[test]
fn memory_that_was_not_measured_is_beside_nothing() {
    let samples = format!("{}/fixtures/logs/one-of-four.csv", env!("CARGO_MANIFEST_DIR"));
    let model = ["--params", "8b"];
    for of in [&["--demo", "--workload", "video-captioning-2"][..], &["--profile-data", &samples]] {
        let answer = json(&[of, &model].concat());
        assert!(answer["measured_memory"].is_null(), "{of:?}");
    }
    let on = ["--profile-data", &samples, "--type", "g5.12xlarge"];
    let answer = json(&[&on[..], &model].concat());
    let row = &answer["measured_memory"][0];
    near(&row["measured_gib"], 13.1934);
    assert_eq!(row["gpus_of_a_copy"], 1, "without NVLink");
    assert_eq!(answer["measured_memory"].as_array().map(Vec::len), Some(1));
}

/// A g5g.xlarge has a T4G and a Graviton CPU.
#[test]
fn types_with_arm_cpus_are_named() {
    let said = |arch: &str| json(&["--params", "3b", "--arch", arch])["caveats"].to_string();
    let caveat = "CPUs of g5g are arm64: images and libraries for x86_64 do not run there.";
    assert!(said("any").contains(caveat));
    assert!(!said("x86_64").contains("arm64"));
}

#[test]
fn every_key_is_in_the_page() {
    let answer = json(&["--params", "70b", "--dtype", "fp8,int4", "--context", "32k"]);
    assert_explains("planners/select.md", &answer);
}
