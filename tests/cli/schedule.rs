//! `gpucost schedule`: what is placed, printed and refused.

use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use serde_json::Value;

/// The jobs of the page.
fn jobs() -> String {
    blocks(&page("planners/schedule.md"), "csv").remove(0)
}

fn run_with(jobs: &str, arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let path = world.file("jobs.csv", jobs);
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|one| {
            if *one == "jobs.csv" {
                path.as_str()
            } else {
                *one
            }
        })
        .collect();
    world.run(&[&["schedule"], arguments.as_slice()].concat())
}

const PLAN: [&str; 4] = ["--jobs", "jobs.csv", "--start", "2026-11-02T00:00:00Z"];

fn json(jobs: &str, further: &[&str]) -> Value {
    let outcome = run_with(jobs, &[&PLAN[..], further, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

/// The page works it out by hand.
#[test]
fn three_jobs_cost_what_the_page_works_out() {
    let found = json(&jobs(), &[]);
    let rows = found["jobs"].as_array().expect("a list");
    let of = |key: &str| -> Vec<&Value> { rows.iter().map(|row| &row[key]).collect() };
    assert_eq!(of("job"), ["sweep", "fit", "test"]);
    assert_eq!(
        of("place"),
        ["1 × g5.2xlarge", "1 × g5.12xlarge", "1 × g5.xlarge"]
    );
    assert_eq!(of("purchase_option"), ["spot", "on-demand", "on-demand"]);
    assert_eq!(of("region"), ["us-east-1", "us-east-1", "us-west-2"]);
    assert_eq!(of("cost"), [5.13, 34.03, 2.01]);
    assert_eq!(of("first_come_cost"), [10.06, 34.03, 2.01]);
    assert_eq!(of("end")[0], "2026-11-02T10:25:29Z");
    let plans = &found["plans"];
    assert_eq!(
        (&plans[0]["cost"], &plans[1]["cost"]),
        (&41.18.into(), &46.1.into())
    );
    assert_eq!(plans[2]["plan"], "best of every order");
    assert_eq!(plans[2]["cost"], 41.18);
    assert_eq!(plans[0]["missed_deadlines"], 0);
}

#[test]
fn spot_and_the_price_of_data_are_the_users() {
    let found = json(&jobs(), &["--no-spot"]);
    assert_eq!(found["plans"][0]["cost"], 46.1);
    let dear = "name,gpu,gpus,hours,data_region,data_gb\nfit,A10G,1,1,us-west-2,10\n";
    // $1.006 in either region; it is moved for nothing, and for any price it stays.
    let found = json(dear, &["--transfer-price", "0", "--region", "us-east-1"]);
    assert_eq!(found["plans"][0]["cost"], 1.01);
    let found = json(dear, &["--transfer-price", "0.1", "--region", "us-east-1"]);
    assert_eq!(found["jobs"][0]["transfer_cost"], 1.0);
    assert_eq!(found["plans"][0]["cost"], 2.01);
    let found = json(dear, &["--transfer-price", "0.1"]);
    assert_eq!(found["jobs"][0]["region"], "us-west-2");
}

#[test]
fn idle_hours_of_an_estate_cost_nothing_more() {
    let jobs = "name,gpu,gpus,hours\nnight,L4,1,2\n";
    let found = json(jobs, &["--demo", "mixed-fleet"]);
    let row = &found["jobs"][0];
    assert_eq!(
        (&row["purchase_option"], &row["cost"]),
        (&"idle hours".into(), &0.0.into())
    );
    assert!(row["first_come_cost"].as_f64().expect("a price") > 0.0);
    let caveats = found["caveats"].to_string();
    assert!(caveats.contains("saves the same hours"), "{caveats}");
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
        (
            row("fit,A10G,1,1,,us-east1"),
            &[],
            "`us-east1`",
            "us-east-1",
        ),
        (
            row("fit,A10G,8,1,,"),
            &["--max-gpus", "4"],
            "takes 8 GPUs of rented machines, above the limit of 4",
            "--max-gpus 8",
        ),
        (
            row("fit,A10G,0,1,,"),
            &[],
            "jobs.csv:2",
            "docs/planners/schedule.md",
        ),
        (
            "name,gpu\n".to_owned(),
            &[],
            "no column `gpus`",
            "docs/planners/schedule.md",
        ),
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
    let examples = blocks(&page("planners/schedule.md"), "text");
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command
            .strip_prefix("$ gpucost schedule ")
            .expect("a command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let outcome = run_with(&jobs(), &arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_shows("docs/planners/schedule.md", shown, &outcome.stdout);
    }
}

#[test]
fn every_key_is_in_the_page() {
    assert_explains("planners/schedule.md", &json(&jobs(), &[]));
}
