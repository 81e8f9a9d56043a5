//! `gpucost kpi`, and key figures of audits and comparisons, worked out by hand.

use crate::cli::contract::DEMO;
use crate::cli::estates::{PERIODS, one, series};
use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::World;
use crate::support::data::shared;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The two workloads of the page: `captions`, and `lab` with one of four GPUs in use.
fn two() -> Value {
    let mut estate = one();
    let mut lab = estate["instances"][0].clone();
    estate["instances"][0]["tags"] = json!({"Name": "captions"});
    lab["id"] = json!("i-two");
    lab["instance_type"] = json!("g4dn.12xlarge");
    lab["tags"] = json!({"Name": "lab"});
    estate["instances"].as_array_mut().expect("a list").push(lab);
    let mut metrics = vec![
        series("i-one", None, "cpu_utilization", "average", 30.0),
        series("i-two", None, "cpu_utilization", "average", 30.0),
        series("i-one", Some(0), "gpu_utilization", "average", 50.0),
        series("i-one", Some(0), "gpu_utilization", "maximum", 60.0),
        series("i-two", Some(0), "gpu_utilization", "average", 80.0),
        series("i-two", Some(0), "gpu_utilization", "maximum", 90.0),
    ];
    for gpu in 1..4 {
        for statistic in ["average", "maximum"] {
            metrics.push(series("i-two", Some(gpu), "gpu_utilization", statistic, 0.0));
        }
    }
    estate["metrics"] = json!(metrics);
    estate
}

fn job(name: &str, status: &str, instance_type: &str, billable_seconds: u32) -> Value {
    json!({
        "name": name, "account": "111122223333", "region": "us-east-1",
        "instances": [{"instance_type": instance_type, "count": 2}],
        "status": status, "billable_seconds": billable_seconds,
    })
}

/// Jobs of two instances at $1.41 per hour, and one without a price.
fn jobs(estate: &mut Value) {
    let known = "ml.g5.xlarge-training";
    let mut warm = job("warm", "completed", known, 900);
    warm["warm_pool_seconds"] = json!(3_600);
    estate["jobs"] = json!([
        job("fit", "completed", known, 3_600),
        job("broken", "failed", known, 1_800),
        warm,
        job("running", "in-progress", known, 600),
        job("unpriced", "completed", "ml.g6.xlarge-training", 3_600),
    ]);
    estate["prices"] = json!([{
        "provider": "sagemaker", "region": "us-east-1", "instance_type": known,
        "operating_system": "linux", "tenancy": "shared", "option": "on-demand",
        "currency": "USD", "hourly": "1.41", "origin": "api",
        "effective_date": "2026-10-30", "source": "pricing:GetProducts",
    }]);
}

fn kpis(estate: &Value) -> Value {
    World::new().audit(estate)["kpis"].clone()
}

#[test]
fn two_workloads_have_the_figures_of_the_page() {
    let figures = kpis(&two());
    let expected = json!({
        "gpu_hours_monthly": 3_650.0,
        "useful_gpu_hours_monthly": 949.0,
        "idle_gpu_hours_monthly": 2_190.0,
        "unmeasured_gpu_hours_monthly": 0.0,
        "utilization_percent": 26.0,
        "utilization_by_cost_percent": 26.1366,
        "cost_per_useful_gpu_hour": 3.783077,
        "training_jobs": null,
        "cost_per_training_job": null,
        "cost_per_completed_training_job": null,
        "time_to_first_work_hours": null,
    });
    assert_eq!(figures, expected);
}

#[test]
fn what_was_not_measured_is_absent_and_not_zero() {
    let mut silent = two();
    let metrics = silent["metrics"].as_array_mut().expect("a list");
    // The maxima of one of four GPUs are missing: it is unknown when that one rested.
    metrics.retain(|series| {
        !(series["instance"] == "i-two" && series["gpu"] == 3 && series["statistic"] == "maximum")
    });
    let figures = kpis(&silent);
    assert_eq!(figures["gpu_hours_monthly"], 3_650.0);
    assert_eq!(figures["unmeasured_gpu_hours_monthly"], 2_920.0);
    assert_eq!(figures["useful_gpu_hours_monthly"], 365.0);
    assert_eq!(figures["idle_gpu_hours_monthly"], 0.0);
    // 734.38 ÷ 365
    assert_eq!(figures["cost_per_useful_gpu_hour"], 2.012);
    silent["metrics"] = json!([]);
    let figures = kpis(&silent);
    assert_eq!(figures["unmeasured_gpu_hours_monthly"], 3_650.0);
    for key in [
        "useful_gpu_hours_monthly", "idle_gpu_hours_monthly", "utilization_percent",
        "utilization_by_cost_percent", "cost_per_useful_gpu_hour",
    ] {
        assert_eq!(figures[key], Value::Null, "{key}");
    }
}

#[test]
fn jobs_cost_what_was_billed_and_failed_ones_count() {
    let mut estate = two();
    jobs(&mut estate);
    let figures = kpis(&estate);
    // fit 2 × 1.41 = 2.82; broken 2 × 0.5 h × 1.41 = 1.41; warm 2 × 0.25 h × 1.41 = 0.71, and
    // 2.82 in the warm pool. Together 7.76: ÷ 3 = 2.5867, and ÷ 2 completed = 3.88.
    assert_eq!(figures["training_jobs"], 3.0);
    assert_eq!(figures["cost_per_training_job"], 2.59);
    assert_eq!(figures["cost_per_completed_training_job"], 3.88);
    let world = World::new();
    let path = world.estate("estate.json", &estate);
    let document = world.run(&["kpi", "--from", &path, "--format", "json"]).json();
    let listed: Vec<Value> = document["training_jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|job| json!([job["training_job"], job["status"], job["cost"]]))
        .collect();
    let expected = [
        json!(["warm", "completed", 3.53]),
        json!(["fit", "completed", 2.82]),
        json!(["broken", "failed", 1.41]),
        json!(["unpriced", "completed", null]),
    ];
    assert_eq!(listed, expected);
}

#[test]
fn time_to_value_ends_with_the_first_work_of_a_gpu() {
    let launched = |hour: &str, silent: u64, working: f64| {
        let mut estate = one();
        let start = format!("2026-10-31T{hour}:00Z");
        estate["instances"][0]["launch_time"] = json!(start);
        let rest = 288 - silent - 2;
        let metrics = estate["metrics"].as_array_mut().expect("a list");
        for metric in metrics {
            metric["start"] = json!("2026-10-31T00:10:00Z");
            let is_use = metric["metric"] == "gpu_utilization";
            let before = if is_use { 0.5 } else { 10.0 };
            let after = if is_use { working } else { 10.0 };
            metric["values"] = json!([[before, silent], [after, rest]]);
        }
        kpis(&estate)["time_to_first_work_hours"].clone()
    };
    // 24 periods of five minutes after 00:10, the launch.
    assert_eq!(launched("00:10", 24, 60.0), 2.0);
    // Launched at 00:40.
    assert_eq!(launched("00:40", 24, 60.0), 1.5);
    // Launched while it worked.
    assert_eq!(launched("05:00", 24, 60.0), 0.0);
    // It has not worked yet.
    assert_eq!(launched("00:10", 24, 0.5), Value::Null);
    // Older than the window.
    assert_eq!(kpis(&one())["time_to_first_work_hours"], Value::Null);
    assert_eq!(PERIODS, 14 * 288);
}

#[test]
fn units_of_workloads_and_jobs_have_a_price() {
    let mut estate = two();
    jobs(&mut estate);
    let world = World::new();
    let path = world.estate("estate.json", &estate);
    let units = world.file(
        "units.csv",
        "name,unit,count,window\n\
         captions,requests,48000,24h\n\
         i-two,tokens,4.2e9,\n\
         warm,epochs,90,\n\
         unpriced,epochs,5,\n\
         lab,runs,0,30d\n",
    );
    let arguments = ["audit", "--from", &path, "--units", &units, "--format", "json"];
    let audit = world.run(&arguments).json();
    let costs: Vec<Value> = audit["unit_costs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|cost| json!([cost["name"], cost["cost"], cost["per"], cost["cost_per_units"]]))
        .collect();
    let expected = [
        // 734.38 × 24 ÷ 730 = 24.1440; × 1,000 ÷ 48,000.
        json!(["captions", 24.14, 1_000, 0.502917]),
        // 2,855.76 × 336 ÷ 730 = 1,314.4320; × 10^6 ÷ 4.2 × 10^9.
        json!(["i-two", 1_314.43, 1_000_000, 0.31296]),
        json!(["warm", 3.53, 1, 0.039222]),
        json!(["unpriced", null, 1, null]),
        // 2,855.76 × 720 ÷ 730 = 2,816.6400.
        json!(["lab", 2_816.64, 1, null]),
    ];
    assert_eq!(costs, expected);
    assert_explains("kpis.md", &audit["unit_costs"]);
    let arguments = ["kpi", "--from", &path, "--units", &units, "--format", "csv"];
    let csv = world.run(&arguments).stdout;
    for line in [
        "cost per useful GPU hour,fleet,3.783077,USD per GPU hour",
        "cost per unit,captions,0.502917,\"USD per 1,000 requests\"",
        "cost per unit,unpriced,,per epochs",
    ] {
        let line = line.trim_matches('"');
        assert!(csv.contains(line), "{line}: {csv}");
    }
}

#[test]
fn what_cannot_be_counted_is_refused_with_a_hint() {
    let mut estate = two();
    jobs(&mut estate);
    let world = World::new();
    let path = world.estate("estate.json", &estate);
    let cases = [
        ("captoins,epochs,5,", "did you mean captions?"),
        ("qqqq,epochs,5,", "the audit's JSON report"),
        ("warm,epochs,5,24h", "leave its window empty"),
        ("captions,epochs,-5,", "units.csv:2: the count `-5`"),
        ("captions,epochs,NaN,", "see docs/kpis.md for the columns"),
    ];
    for (row, says) in cases {
        let text = format!("name,unit,count,window\n{row}\n");
        let units = world.file("units.csv", text);
        for command in ["kpi", "audit"] {
            let outcome = world.run(&[command, "--from", &path, "--units", &units]);
            assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{row}");
            assert!(outcome.stderr.contains(says), "{row}: {}", outcome.stderr);
        }
    }
    for (arguments, says) in [
        (&["--unit", "a=1", "--demo"][..], "`--units FILE`"),
        (&["--type", "g5.xlarge"], "pass `--hours`"),
        (&["--type", "g5.xlrage", "--hours", "1"], "did you mean"),
        (&["--type", "g5.xlarge", "--hours", "0"], "expected hours above 0"),
        (&["--type", "g5.xlarge", "--hours", "-1"], "expected hours above 0"),
        (&["--type", "g5.xlarge", "--hours", "1", "--region", "all"], "a single region"),
        (&["--type", "g5.xlarge", "--demo"], "cannot be used with"),
        (&["--run", "missing.jsonl"], "missing.jsonl"),
        (
            &["--type", "g5.xlarge", "--hours", "1", "--log", "missing", "--log-unit", "a=b"],
            "cannot read the log missing",
        ),
    ] {
        let outcome = world.run(&[&["kpi"], arguments].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(outcome.stderr.contains(says), "{arguments:?}: {}", outcome.stderr);
    }
    let units = world.file("units.csv", "name,unit,count\n");
    let arguments = ["kpi", "--from", &path, "--units", &units, "--output", &units];
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("use the same file"), "{}", outcome.stderr);
}

#[test]
fn a_run_costs_its_hours_and_its_log_counts_epochs() {
    let world = World::new();
    let log = world.file(
        "train.log",
        "start\nepoch 1 val_loss 0.9\nstep\nepoch 2 val_loss 0.7 val_loss\nend\n",
    );
    let arguments = [
        "kpi", "--type", "g5.xlarge", "--hours", "2.5", "--count", "4", "--unit",
        "inferences=20000", "--log", &log, "--log-unit", "epochs=val_loss", "--offline",
        "--format", "json",
    ];
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows: Vec<Value> = outcome.json()["kpis"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| json!([row["kpi"], row["value"], row["unit"]]))
        .collect();
    let expected = [
        // 4 × 2.5 h × 1.006
        json!(["cost of the run", 10.06, "USD"]),
        // 10.06 × 1,000 ÷ 20,000
        json!(["cost per unit", 0.503, "USD per 1,000 inferences"]),
        // Two lines: 10.06 ÷ 2
        json!(["cost per unit", 5.03, "USD per epochs"]),
    ];
    assert_eq!(rows, expected);
    assert_explains("kpis.md", &outcome.json());
}

/// The samples of a run of 2.5 h on a g5.xlarge with 12,600 steps and 9 epochs.
fn counted() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/logs/counted.jsonl");
    fs::read_to_string(path).expect("samples")
}

#[test]
fn samples_with_units_price_each_and_flags_come_first() {
    let world = World::new();
    let samples = world.file("run.jsonl", counted());
    let rows = |more: &[&str]| -> Vec<Value> {
        let arguments = [&["kpi", "--run", &samples, "--offline", "--format", "json"], more];
        let outcome = world.run(&arguments.concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let document = outcome.json();
        let rows = document["kpis"].as_array().expect("a list").iter();
        rows.map(|row| json!([row["value"], row["unit"]])).collect()
    };
    // 2.5 × 1.006 = 2.515, rounded to 2.52; ÷ 12,600 and ÷ 9.
    let run = json!([2.52, "USD"]);
    let (steps, epochs) = (json!([0.0002, "USD per steps"]), json!([0.28, "USD per epochs"]));
    assert_eq!(rows(&[]), [run.clone(), steps.clone(), epochs]);
    // 2.52 ÷ 6.
    let given = json!([0.42, "USD per epochs"]);
    assert_eq!(rows(&["--unit", "epochs=6"]), [run, given, steps]);
    for (from, to, says) in [
        ("12600", "-1", "counted.jsonl:5"),
        ("12600", "1e30", "counted.jsonl:5"),
        ("12600", "1000000000000000001", "`count` is above 1000000000000000000"),
        ("\"steps\"", "\" \"", "a unit has an empty name"),
    ] {
        let bad = world.file("counted.jsonl", counted().replace(from, to));
        let outcome = world.run(&["kpi", "--run", &bad, "--offline"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{to}");
        assert!(outcome.stderr.contains(says), "{to}: {}", outcome.stderr);
    }
}

#[test]
fn two_audits_are_compared_by_key_figures() {
    let world = World::new();
    let audit = |name: &str, estate: &Value, count: &str| {
        let path = world.estate("estate.json", estate);
        let units = format!("name,unit,count\ncaptions,requests,{count}\n");
        let units = world.file("units.csv", units);
        let arguments = ["audit", "--from", &path, "--units", &units, "--format", "json"];
        world.file(name, world.run(&arguments).stdout)
    };
    let old = audit("old.json", &two(), "1000");
    let mut busier = two();
    // `captions` at 75%: 547.5 useful hours instead of 365.
    busier["metrics"][2]["values"] = json!([[75.0, PERIODS]]);
    busier["metrics"][3]["values"] = json!([[90.0, PERIODS]]);
    let new = audit("new.json", &busier, "2000");
    let diff = world.run(&["diff", &old, &new, "--format", "json"]).json();
    let useful = json!({"old": 949.0, "new": 1_131.5, "change": 182.5});
    assert_eq!(diff["kpis"]["useful_gpu_hours_monthly"], useful);
    // 3,590.14 ÷ 1,131.5 = 3.172903
    let cost = json!({"old": 3.783077, "new": 3.172903, "change": -0.610174});
    assert_eq!(diff["kpis"]["cost_per_useful_gpu_hour"], cost);
    let same = json!({"old": 3_650.0, "new": 3_650.0, "change": 0.0});
    assert_eq!(diff["kpis"]["gpu_hours_monthly"], same);
    let unknown = json!({"old": null, "new": null, "change": null});
    assert_eq!(diff["kpis"]["training_jobs"], unknown);
    // 734.38 × 336 ÷ 730 = 338.02: per 1,000 of 1,000 and of 2,000.
    let unit = json!({"old": 338.02, "new": 169.01, "change": -169.01});
    assert_eq!(diff["unit_costs"][0]["cost_per_units"], unit);
    let table = world.run(&["diff", &old, &new]).stdout;
    for cells in [
        &["useful GPU hours per month", "949.0", "1,131.5", "+182.5"][..],
        &["cost per useful GPU hour", "$3.783077", "$3.172903", "-$0.610174"],
        &["captions, per 1,000 requests", "$338.02", "$169.01", "-$169.01"],
    ] {
        let has_all = |line: &str| cells.iter().all(|cell| line.contains(cell));
        assert!(table.lines().any(has_all), "{cells:?}: {table}");
    }
    assert!(!table.contains("training jobs") && !table.contains("idle GPU"), "{table}");
    let markdown = world.run(&["diff", &old, &new, "--format", "markdown"]).stdout;
    assert!(markdown.contains("| +182.5 |"), "{markdown}");
    // A report before the key has no key figures.
    let mut before = DEMO.json();
    before.as_object_mut().expect("an object").remove("kpis");
    let before = world.file("before.json", before.to_string());
    let now = world.file("now.json", &DEMO.stdout);
    let diff = world.run(&["diff", &before, &now, "--format", "json"]).json();
    let hours = &diff["kpis"]["gpu_hours_monthly"];
    assert_eq!((&hours["old"], &hours["change"]), (&Value::Null, &Value::Null));
    assert!(hours["new"].is_f64());
}

/// Requests of a service for code at Azure (Azure/AzurePublicDataset, 2023), on what the page
/// says of them: 3 × 0.95443 × 1.861 = 5.3286, $5.33.
#[test]
fn real_requests_and_tokens_have_the_prices_of_the_page() {
    let name = "samples/requests/AzureLLMInferenceTrace_code.csv";
    let Some(path) = shared("requests", name) else { return };
    let path = path.to_str().expect("UTF-8");
    let mut reader = csv::Reader::from_path(path).expect("the requests are there");
    let rows = reader.deserialize::<(String, u64, u64)>();
    let rows = rows.map(|row| row.expect("a whole row"));
    let (prompts, answers) = rows
        .fold((0_u64, 0_u64), |(prompts, answers), (_, prompt, answer)| {
            (prompts + prompt, answers + answer)
        });
    assert_eq!((prompts, answers), (18_059_974, 245_896));
    let world = World::new();
    let both = prompts + answers;
    for (tokens, price) in [(answers, 21.675_83), (both, 0.291_163)] {
        let tokens = format!("tokens={tokens}");
        let of_run = ["kpi", "--type", "g6e.xlarge", "--count", "3", "--hours", "0.95443"];
        // Each request is a line of the file.
        let counted = ["--unit", &tokens, "--log", path, "--log-unit", "requests=2023-11-16"];
        let more = ["--offline", "--format", "json"];
        let answer = world.run(&[&of_run[..], &counted, &more].concat()).json();
        let values: Vec<&Value> =
            answer["kpis"].as_array().expect("a list").iter().map(|row| &row["value"]).collect();
        assert_eq!(values, [&json!(5.33), &json!(price), &json!(0.604_377)]);
    }
}

/// NEXT gives the same figures: `--units` is part of it.
#[test]
fn units_are_in_the_commands_that_go_on() {
    let world = World::new();
    let path = world.estate("two.json", &two());
    let units = world.file("my units.csv", "name,unit,count\ncaptions,requests,48000\n");
    let arguments = ["kpi", "--from", &path, "--units", &units, "--format", "json"];
    let json = world.run(&arguments).json();
    for command in json["next"].as_array().expect("a list") {
        let command = command.as_str().expect("text");
        let words = shlex::split(command).expect("words");
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        assert!(words.contains(&units.as_str()), "{command}");
        let again = world.run(&words);
        assert_eq!(again.code, 0, "{command}: {}", again.stderr);
        assert!(again.stdout.contains("48000") || again.stdout.contains("captions"));
    }
    let missing = json["missing"].to_string();
    assert!(missing.contains("hours from launch to first GPU work"), "{missing}");
    assert!(!missing.contains("units of work"), "{missing}");
}

#[test]
fn the_examples_of_the_page_print_what_it_shows() {
    let world = World::new();
    let path = world.estate("two.json", &two());
    let samples = world.file("run.jsonl", counted());
    let examples = blocks(&page("kpis.md"), "text");
    assert_eq!(examples.len(), 2);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let words = command.strip_prefix("$ gpucost ").expect("a command");
        let named = words.split(' ').map(|word| match word {
            "two.json" => path.as_str(),
            "run.jsonl" => samples.as_str(),
            other => other,
        });
        let arguments: Vec<&str> = named.collect();
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let printed = outcome.stdout.replace(&path, "two.json");
        let printed = printed.replace(&samples, "run.jsonl");
        assert_shows("docs/kpis.md", shown, &printed);
    }
    let whole = world.run(&["kpi", "--from", &path, "--format", "json"]);
    assert_explains("kpis.md", &whole.json());
}

#[test]
fn the_units_of_the_page_cost_what_it_says() {
    let world = World::new();
    let units = blocks(&page("kpis.md"), "csv").remove(0);
    let units = world.file("units.csv", units);
    let arguments = ["kpi", "--demo", "--units", &units, "--format", "json"];
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let text = outcome.stdout;
    assert!(text.contains("18.820838"), "{text}");
}
