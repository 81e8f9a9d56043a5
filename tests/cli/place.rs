//! `gpucost place`: what is placed, printed and refused.

use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json as value};

/// The jobs of the page.
fn jobs() -> String {
    blocks(&page("planners/place.md"), "csv").remove(0)
}

fn run_with(jobs: &str, arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let path = world.file("jobs.csv", jobs);
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| if *argument == "jobs.csv" { path.as_str() } else { *argument })
        .collect();
    world.run(&[&["place"], arguments.as_slice()].concat())
}

const PLAN: [&str; 4] = ["--jobs", "jobs.csv", "--start", "2026-11-02T00:00:00Z"];

fn json(jobs: &str, further: &[&str]) -> Value {
    let outcome = run_with(jobs, &[&PLAN[..], further, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

/// A T4G is sold with Graviton CPUs alone.
#[test]
fn a_job_on_arm_cpus_says_so() {
    let jobs = "name,gpu,gpus,hours\none,T4G,1,10\n";
    let answer = json(jobs, &[]);
    assert_eq!(answer["jobs"][0]["place"], "1 × g5g.xlarge");
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("CPUs of g5g are arm64"), "{caveats}");
    let answer = json("name,gpu,gpus,hours\none,A10G,1,10\n", &[]);
    assert!(!answer["caveats"].to_string().contains("arm64"), "{answer}");
}

/// The page works it out by hand.
#[test]
fn three_jobs_cost_what_the_page_works_out() {
    let answer = json(&jobs(), &[]);
    let rows = answer["jobs"].as_array().expect("a list");
    let of = |key: &str| -> Vec<&Value> { rows.iter().map(|row| &row[key]).collect() };
    assert_eq!(of("job"), ["sweep", "fit", "test"]);
    assert_eq!(of("place"), ["1 × g5.2xlarge", "1 × g5.12xlarge", "1 × g5.xlarge"]);
    assert_eq!(of("purchase_option"), ["spot", "on-demand", "on-demand"]);
    assert_eq!(of("region"), ["us-east-1", "us-east-1", "us-west-2"]);
    assert_eq!(of("cost"), [5.13, 34.03, 2.01]);
    assert_eq!(of("first_come_cost"), [10.06, 34.03, 2.01]);
    assert_eq!(of("end")[0], "2026-11-02T10:25:29Z");
    let plans = &answer["plans"];
    assert_eq!((&plans[0]["cost"], &plans[1]["cost"]), (&41.18.into(), &46.1.into()));
    assert_eq!(plans[2]["plan"], "best of every order");
    assert_eq!(plans[2]["cost"], 41.18);
    assert_eq!(plans[0]["missed_deadlines"], 0);
}

/// It is expected to end by 10:25:29. By 10:26 it misses its deadline in 30% of all cases and by
/// 11 h in 11%, as docs/planners/place.md works out, so that it is on demand. By 12 h it
/// does so in 0.64%.
#[test]
fn a_deadline_on_spot_leaves_room_for_interruptions() {
    let of = |deadline: &str| {
        let job = format!("sweep,A10G,1,10,{deadline},yes\n");
        json(&format!("name,gpu,gpus,hours,deadline,restartable\n{job}"), &[])
    };
    for deadline in ["2026-11-02T10:26:00Z", "11h"] {
        let answer = of(deadline);
        let row = &answer["jobs"][0];
        assert_eq!(row["purchase_option"], "on-demand", "{deadline}");
        assert_eq!((&row["cost"], &row["miss_percent"]), (&10.06.into(), &Value::Null));
        let headline = answer["headline"].as_str().expect("text");
        assert!(headline.ends_with("; no deadline is missed"), "{headline}");
    }
    let answer = of("12h");
    let row = &answer["jobs"][0];
    assert_eq!((&row["purchase_option"], &row["cost"]), (&"spot".into(), &5.13.into()));
    let miss = row["miss_percent"].as_f64().expect("a share");
    assert!((miss - 0.6365).abs() < 1e-3, "{miss}");
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.contains("up to 0.6% probability"), "{headline}");
}

#[test]
fn spot_and_the_price_of_data_are_the_users() {
    let answer = json(&jobs(), &["--no-spot"]);
    assert_eq!(answer["plans"][0]["cost"], 46.1);
    let dear = "name,gpu,gpus,hours,data_region,data_gb\nfit,A10G,1,1,us-west-2,10\n";
    // $1.006 in either region; it is moved for nothing, and for any price it stays.
    let answer = json(dear, &["--transfer-price", "0", "--region", "us-east-1"]);
    assert_eq!(answer["plans"][0]["cost"], 1.01);
    let answer = json(dear, &["--transfer-price", "0.1", "--region", "us-east-1"]);
    assert_eq!(answer["jobs"][0]["transfer_cost"], 1.0);
    assert_eq!(answer["plans"][0]["cost"], 2.01);
    let answer = json(dear, &["--transfer-price", "0.1"]);
    assert_eq!(answer["jobs"][0]["region"], "us-west-2");
}

#[test]
fn idle_hours_of_an_estate_cost_nothing_more() {
    let jobs = "name,gpu,gpus,hours\nnight,L4,1,2\n";
    let answer = json(jobs, &["--demo", "mixed-fleet"]);
    let row = &answer["jobs"][0];
    assert_eq!((&row["purchase_option"], &row["cost"]), (&"idle hours".into(), &0.0.into()));
    assert!(row["first_come_cost"].as_f64().expect("a price") > 0.0);
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("saves the same hours"), "{caveats}");
}

/// The job runs on an L4 for 2 h: nothing more in idle hours, 2 × $0.8048 at once. All jobs
/// are in one region and in time, which needs no columns.
#[test]
fn a_table_shows_whole_costs_and_only_what_differs() {
    let jobs = "name,gpu,gpus,hours\nnight,L4,1,2\n";
    let outcome = run_with(jobs, &[&PLAN[..], &["--demo", "mixed-fleet"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let table = &outcome.stdout;
    assert!(table.contains("\nJOBS  in us-east-1, times in UTC\n"), "{table}");
    let header = table.lines().find(|line| line.starts_with("JOB "));
    let header = header.expect("a header");
    assert!(header.ends_with("COST  AT ONCE"), "{table}");
    assert!(!header.contains("REGION"), "{table}");
    let row = table.lines().find(|line| line.starts_with("night"));
    let row = row.expect("the job");
    assert!(row.ends_with("$0.00    $1.61"), "{table}");
    assert!(!table.contains('…'), "{table}");
}

/// A training job of SageMaker that began at midnight.
fn trained(name: &str, instances: &Value) -> Value {
    value!({
        "name": name, "account": "111122223333", "region": "us-east-1", "instances": instances,
        "status": "completed", "started": "2026-10-30T00:00:00Z",
    })
}

fn of_type(name: &str, count: u32) -> Value {
    value!([{ "instance_type": format!("{name}-training"), "count": count }])
}

/// An estate without machines: two jobs that can be placed, and one for each reason why others
/// cannot.
fn trainings() -> Value {
    let mut sweep = trained("sweep", &of_type("ml.g5.xlarge", 1));
    sweep["training_seconds"] = value!(36_000);
    sweep["checkpoints"] = value!(true);
    // What it trained for is unknown, and not when it began and ended.
    let mut wide = trained("wide", &of_type("ml.g5.xlarge", 2));
    wide["ended"] = value!("2026-10-30T01:00:00Z");
    let mut failed = trained("failed", &of_type("ml.g5.xlarge", 1));
    failed["status"] = value!("failed");
    let both = [of_type("ml.g5.xlarge", 1), of_type("ml.m5.xlarge", 1)];
    let both: Vec<Value> = both.iter().map(|resources| resources[0].clone()).collect();
    let mut others = vec![
        failed,
        trained("several", &value!(both)),
        trained("cpu", &of_type("ml.m5.xlarge", 1)),
    ];
    others[2]["training_seconds"] = value!(60);
    // With managed spot training, what is billed is not how long it took.
    let mut untimed = trained("untimed", &of_type("ml.g5.xlarge", 1));
    untimed["spot"] = value!(true);
    untimed["billable_seconds"] = value!(900);
    let jobs = [vec![sweep, wide], others, vec![untimed]].concat();
    value!({
        "estate_version": "1", "as_of": "2026-11-01T00:00:00Z", "jobs": jobs,
        "gaps": [{"what": "region", "where": "us-west-2", "reason": "denied", "hint": "allow it"}],
    })
}

/// The estate as a file, scheduled.
fn of_trainings(estate: &Value, further: &[&str]) -> Outcome {
    let world = World::new();
    let path = world.estate("trainings.json", estate);
    world.run(&[&["place", "--from", &path], further].concat())
}

/// `sweep` is the first job of the page: 10 h that take 37,529 s on a g5.2xlarge as spot,
/// $5.1346, and $10.06 at once. `wide` had two machines of one A10G, and takes one of four for
/// an hour: $5.672. Together $10.81 and $15.73.
#[test]
fn training_jobs_of_an_estate_are_placed_when_they_ran() {
    let outcome = of_trainings(&trainings(), &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("read 0 instances; 1 gap\n"), "{}", outcome.stderr);
    let answer = outcome.json();
    let rows = answer["jobs"].as_array().expect("a list");
    let of = |key: &str| -> Vec<&Value> { rows.iter().map(|row| &row[key]).collect() };
    assert_eq!(of("job"), ["sweep", "wide"]);
    assert_eq!(of("place"), ["1 × g5.2xlarge", "1 × g5.12xlarge"]);
    assert_eq!(of("purchase_option"), ["spot", "on-demand"]);
    assert_eq!(of("start"), ["2026-10-30T00:00:00Z"; 2]);
    let ends = ["2026-10-30T10:25:29Z", "2026-10-30T01:00:00Z"];
    assert_eq!(of("end"), ends);
    assert_eq!(of("cost"), [5.13, 5.67]);
    assert_eq!(of("first_come_cost"), [10.06, 5.67]);
    let plans = &answer["plans"];
    assert_eq!((&plans[0]["cost"], &plans[1]["cost"]), (&10.81.into(), &15.73.into()));
    let missing = answer["missing"].as_array().expect("a list");
    let missing: Vec<&str> =
        missing.iter().map(|gap| gap["what"].as_str().expect("text")).collect();
    let expected = [
        "1 training job: not completed", "1 training job: several instance types in one job",
        "1 training job: GPUs unknown", "1 training job: duration unknown",
    ];
    assert_eq!(missing, expected);
    let strict = of_trainings(&trainings(), &["--strict"]);
    assert_eq!(strict.code, 3, "{}", strict.stderr);
}

#[test]
fn training_jobs_that_cannot_be_placed_say_why() {
    let mut estate = trainings();
    let jobs = estate["jobs"].as_array_mut().expect("a list");
    jobs.drain(..2);
    let outcome = of_trainings(&estate, &[]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (4, ""));
    assert_eq!(
        outcome.stderr,
        "error: none of the training jobs can be placed: 1 not completed, 1 several instance \
         types in one job, 1 GPUs unknown, 1 duration unknown\n\
         hint: pass a list of jobs with `--jobs FILE`\n"
    );
    estate["jobs"] = value!([]);
    let outcome = of_trainings(&estate, &[]);
    assert_eq!(outcome.code, 4);
    let expected = "error: no training jobs were seen\nhint: pass a list";
    assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
}

/// The catalog has six types with a T4 in Beijing, in yuan.
#[test]
fn machines_in_another_currency_are_named() {
    let jobs = "name,gpu,gpus,hours\nfit,T4,1,1\n";
    let answer = json(jobs, &["--region", "us-east-1,cn-north-1"]);
    assert_eq!(answer["jobs"][0]["region"], "us-east-1");
    let missing = answer["missing"].to_string();
    let expected = "6 offers with T4, priced in CNY and not in USD: skipped";
    assert!(missing.contains(expected), "{missing}");
    let asked = [&PLAN[..], &["--region", "cn-north-1"]].concat();
    let outcome = run_with(jobs, &asked);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    let expected = "no priced machine has the GPUs of the job `fit`: 1 × T4; 6 offers in other \
                    currencies are left out\nhint: ";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

#[test]
fn bad_input_ends_with_the_nearest_possibility() {
    let row = |row: &str| format!("name,gpu,gpus,hours,deadline,data_region\n{row}\n");
    for (jobs, further, error, hint) in [
        (
            row("fit,A10G,1,10,8h,"),
            &[][..],
            "the job `fit` takes 10.00 h and misses its deadline",
            "2026-11-02T10:00:00Z",
        ),
        (row("fit,H10,1,1,,"), &[], "`H10`", "did you mean H100"),
        (row("fit,A100:big,1,1,,"), &[], "jobs.csv:2", "use a model"),
        (row("fit,A10G,1,1,,us-east1"), &[], "`us-east1`", "us-east-1"),
        (
            row("fit,A10G,8,1,,"),
            &["--max-gpus", "4"],
            "takes 8 GPUs of rented machines, above the limit of 4",
            "--max-gpus 8",
        ),
        (row("fit,A10G,0,1,,"), &[], "jobs.csv:2", "docs/planners/place.md"),
        ("name,gpu\n".to_owned(), &[], "missing column `gpus`", "docs/planners/place.md"),
    ] {
        let outcome = run_with(&jobs, &[&PLAN[..], further].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{jobs}");
        let stderr = &outcome.stderr;
        assert!(stderr.contains(error), "{jobs}: {stderr}");
        let (_, said) = stderr.split_once("hint: ").expect("a hint");
        assert!(said.contains(hint), "{jobs}: {stderr}");
    }
}

#[test]
fn commands_to_go_on_with_end_with_an_answer() {
    let on_demand = "name,gpu,gpus,hours\nfit,A10G,1,1\n".to_owned();
    let nodes = "name,gpu,gpus,hours,restartable\nfit,A10G,16,10,yes\n".to_owned();
    for (jobs, expected) in [(jobs(), "spot"), (on_demand, "pricing"), (nodes, "spot")] {
        let answer = json(&jobs, &[]);
        let next = answer["next"].as_array().expect("a list");
        assert_eq!(next.len(), 1, "{answer}");
        let command = next[0].as_str().expect("text");
        let words = shlex::split(command).expect("words");
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        assert_eq!(words[0], expected, "{command}");
        let mut world = World::new();
        world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
        let outcome = world.run(&words);
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
        let is_refused = outcome.stdout.contains("\nnot eligible");
        assert!(!is_refused, "{command}: {}", outcome.stdout);
    }
}

#[test]
fn names_of_jobs_are_harmless() {
    let jobs = "name,gpu,gpus,hours\n\"=HYPERLINK(\"\"x\"\")\u{1b}[2J\",A10G,1,1\n";
    for format in ["table", "json", "csv"] {
        let outcome = run_with(jobs, &[&PLAN[..], &["--format", format]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(!outcome.stdout.contains('\u{1b}'), "{}", outcome.stdout);
    }
    let csv = run_with(jobs, &[&PLAN[..], &["--format", "csv"]].concat()).stdout;
    assert!(csv.contains("'=HYPERLINK"), "{csv}");
}

#[test]
fn the_example_of_the_page_prints_what_it_shows() {
    let examples = blocks(&page("planners/place.md"), "text");
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command.strip_prefix("$ gpucost place ").expect("a command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let outcome = run_with(&jobs(), &arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_shows("docs/planners/place.md", shown, &outcome.stdout);
    }
}

#[test]
fn every_key_is_in_the_page() {
    assert_explains("planners/place.md", &json(&jobs(), &[]));
}

/// 9,000 s on one A10G with 15 GiB in use: 2.5 h × 1.006 on a g5.xlarge in the region of the run.
#[test]
fn a_run_that_was_sampled_is_a_job() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/logs/counted.jsonl");
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let samples = std::fs::read_to_string(path).expect("samples");
    let run = world.file("run.jsonl", samples.as_str());
    let arguments = ["place", "--profile-data", &run, "--format", "json"];
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    let jobs = answer["jobs"].as_array().expect("a list");
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0]["place"], "1 × g5.xlarge");
    assert_eq!(jobs[0]["region"], "us-east-1");
    assert_eq!(jobs[0]["purchase_option"], "on-demand");
    let cost = jobs[0]["cost"].as_f64().expect("an amount");
    assert!((cost - 2.515).abs() < 0.006, "{cost}");
    let gpu_hours = answer["given"].as_array().expect("a list");
    let gpu_hours = gpu_hours.iter().find(|line| line["key"] == "gpu_hours");
    assert_eq!(gpu_hours.expect("given")["value"], 2.5);
    // A run in which no GPU worked says nothing of how many it needs.
    let idle = samples.replace("\"utilization_percent\":84.0", "\"utilization_percent\":0.0");
    let idle = world.file("idle.jsonl", idle);
    let refused = world.run(&["place", "--profile-data", &idle]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("does not show how many GPUs it used"), "{}", refused.stderr);
}

/// A list may be older than its plan: nothing begins in the past.
#[test]
fn a_job_of_the_past_begins_with_the_plan() {
    let jobs = "name,gpu,gpus,hours,release,data_region,data_gb\n\
                one,A10G,1,10,2026-11-01T00:00:00Z,eu-west-1,100\n";
    let regions = ["--region", "us-east-1,eu-west-1", "--no-spot"];
    let answer = json(jobs, &regions);
    let row = &answer["jobs"][0];
    assert_eq!(row["start"], "2026-11-02T00:00:00Z");
    assert_eq!(row["end"], "2026-11-02T10:00:00Z");
    // 10 × 1.123 there, or 10 × 1.006 + 100 × 0.02 here.
    assert_eq!((&row["region"], &row["cost"]), (&value!("eu-west-1"), &value!(11.23)));
    // Its deadline may be over.
    let late = "name,gpu,gpus,hours,release,deadline\n\
                one,A10G,1,10,2026-11-01T00:00:00Z,2026-11-01T12:00:00Z\n";
    let outcome = run_with(late, &PLAN);
    assert_eq!(outcome.code, 2, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("misses its deadline"), "{}", outcome.stderr);
}
