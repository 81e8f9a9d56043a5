//! `gpucost autoscale`: what is replayed, printed and refused.

use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use serde_json::Value;

/// A day with three levels, by the hour.
fn day() -> String {
    let mut text = "time,gpus\n".to_owned();
    for hour in 0..24 {
        let gpus = [2, 6, 3][hour / 8];
        text.push_str(&format!("2026-11-02T{hour:02}:00:00Z,{gpus}\n"));
    }
    text
}

fn run(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let day = world.file("day.csv", day());
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| if *argument == "day.csv" { day.as_str() } else { *argument })
        .collect();
    world.run(&[&["autoscale"], arguments.as_slice()].concat())
}

const OF_THE_DAY: [&str; 8] =
    ["--demand", "day.csv", "--type", "g6.xlarge", "--today", "10", "--start-up", "10m"];

fn json(arguments: &[&str]) -> Value {
    let outcome = run(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn of<'a>(answer: &'a Value, policy: &str) -> &'a Value {
    let mut rows = answer["policies"].as_array().expect("a list").iter();
    let row = rows.find(|row| row["policy"] == policy);
    row.unwrap_or_else(|| panic!("{policy}: {answer}"))
}

fn file(answer: &Value, name: &str) -> String {
    let mut files = answer["files"].as_array().expect("a list").iter();
    let file = files.find(|file| file["name"] == name).expect("the file");
    file["text"].as_str().expect("text").to_owned()
}

/// The page works it out by hand.
#[test]
fn a_day_costs_what_the_page_works_out() {
    let answer = json(&OF_THE_DAY);
    let policy = of(&answer, "asked: 60% utilization");
    assert_eq!(policy["cost"], 122.33);
    assert_eq!(policy["gpu_hours"], 152.0);
    assert_eq!(policy["unserved_percent"], 0.5682);
    assert_eq!(policy["is_accepted"], false);
    assert_eq!(of(&answer, "today")["cost"], 193.15);
    assert_eq!(of(&answer, "best in hindsight")["cost"], 70.82);
    assert_eq!(of(&answer, "cheapest: 30% utilization")["unserved_percent"], 0.0);
    assert_eq!((&answer["planner"], &answer["currency"]), (&"autoscale".into(), &"USD".into()));

    let early = ["--schedule", "mon-sun@07:45-16:00=10"];
    let answer = json(&[&OF_THE_DAY[..], &early].concat());
    let policy = of(&answer, "asked: 60% utilization");
    // 154.75 × 0.8048 = 124.5428
    assert_eq!(policy["cost"], 124.54);
    assert_eq!(policy["unserved_percent"], 0.0);
    let actions: Value =
        serde_json::from_str(&file(&answer, "scheduled-actions.json")).expect("JSON");
    let actions = &actions["ScheduledUpdateGroupActions"];
    assert_eq!(actions[0]["Recurrence"], "45 7 * * 0,1,2,3,4,5,6");
    assert_eq!((&actions[0]["MinSize"], &actions[1]["MinSize"]), (&10.into(), &1.into()));
}

/// 104 h on demand at $0.8048 and 48 h of spot at $0.37198: 83.6992 + 17.85504 = $101.55.
#[test]
fn a_mixed_fleet_has_two_prices_and_its_risk() {
    let mixed = ["--spot-share", "50%", "--on-demand-base", "2"];
    let answer = json(&[&OF_THE_DAY[..], &mixed].concat());
    assert_eq!(of(&answer, "asked: 60% utilization")["cost"], 101.55);
    let caveats = answer["caveats"].to_string();
    // One interruption a day and instance: 48 / 24, each for ten minutes: 0.33 of 88 h.
    assert!(caveats.contains("about 2.0 interruptions"), "{caveats}");
    assert!(caveats.contains("at most 0.4% more"), "{caveats}");
    // 1 of 88 GPU hours.
    assert!(caveats.contains("1.1% of the demand is above"), "{caveats}");
    let group: Value =
        serde_json::from_str(&file(&answer, "auto-scaling-group.json")).expect("JSON");
    let shares = &group["MixedInstancesPolicy"]["InstancesDistribution"];
    assert_eq!(shares["OnDemandBaseCapacity"], 2);
    assert_eq!(shares["OnDemandPercentageAboveBaseCapacity"], 50);
    let pools = file(&answer, "nodepool.yaml");
    assert_eq!(pools.matches("kind: NodePool").count(), 2);
    assert!(pools.contains("values: [\"g6.xlarge\"]"), "{pools}");
}

/// A second program replayed the six instances of the demo minute by minute.
#[test]
fn a_workload_of_an_estate_is_replayed() {
    let arguments = ["--demo", "mixed-fleet", "--workload", "speech-online"];
    let answer = json(&arguments);
    let given = answer["given"].as_array().expect("a list");
    let demand = given.iter().find(|line| line["key"] == "demand_gpu_hours");
    assert_eq!(demand.expect("given")["value"], 903.0796);
    let today = of(&answer, "today");
    assert_eq!((&today["gpu_hours"], &today["cost"]), (&2016.0.into(), &1622.48.into()));
    let policy = of(&answer, "asked: 60% utilization");
    assert_eq!((&policy["gpu_hours"], &policy["cost"]), (&1673.5.into(), &1346.83.into()));
    assert_eq!(policy["unserved_percent"], 0.0);
    assert_eq!(of(&answer, "best in hindsight")["gpu_hours"], 1068.4167);
    assert_eq!(of(&answer, "cheapest: 90% utilization")["cost"], 958.99);
    let policy: Value = serde_json::from_str(&file(&answer, "scaling-policy.json")).expect("JSON");
    assert_eq!(policy["AutoScalingGroupName"], "speech-online");
    let tracking = &policy["TargetTrackingConfiguration"];
    assert_eq!(tracking["TargetValue"], 60.0);
    let metric = &tracking["CustomizedMetricSpecification"];
    assert_eq!(metric["MetricName"], "nvidia_smi_utilization_gpu");
    let scaled = file(&answer, "scaledobject.yaml");
    assert!(scaled.contains("\n        threshold: \"60\"\n"), "{scaled}");
    assert!(scaled.contains("exported_pod=~\"speech-online-.*\""), "{scaled}");
}

#[test]
fn a_queue_is_scaled_by_its_requests() {
    let queue = ["--queue-length", "4", "--request-seconds", "30"];
    let answer = json(&[&OF_THE_DAY[..], &queue, &["--scale-to-zero"]].concat());
    assert!(of(&answer, "asked: 4 requests per instance")["gpu_hours"].is_number());
    let policy = file(&answer, "scaling-policy.json");
    assert!(policy.contains("(waiting + inflight) / instances"), "{policy}");
    assert!(file(&answer, "scaledobject.yaml").contains("queueLength: \"4\""));
    assert!(answer["caveats"].to_string().contains("At zero"));
}

#[test]
fn an_unknown_price_is_not_zero() {
    let answer = json(&[&OF_THE_DAY[..], &["--region", "eu-west-3"]].concat());
    let policy = of(&answer, "asked: 60% utilization");
    if policy["cost"].is_null() {
        assert!(answer["missing"].to_string().contains("on-demand price of g6.xlarge"));
    }
    assert_ne!(policy["cost"], 0.0);
    assert_eq!(policy["gpu_hours"], 152.0);
}

#[test]
fn bad_input_ends_with_the_nearest_possibility() {
    let demo = ["--demo", "mixed-fleet"];
    for (arguments, error, hint) in [
        (
            [&demo[..], &["--workload", "speech-onlin"]].concat(),
            "no workload `speech-onlin`",
            "speech-online",
        ),
        (demo.to_vec(), "running workloads", "--workload "),
        (
            [&OF_THE_DAY[..], &["--min", "5", "--max", "3"]].concat(),
            "a minimum of 5 instances is above the maximum of 3",
            "--max 5",
        ),
        (
            vec!["--demand", "day.csv", "--type", "g6.xlrage"],
            "`g6.xlrage`",
            "did you mean g6.xlarge",
        ),
        (
            vec!["--demand", "day.csv", "--type", "c6i.xlarge"],
            "the GPUs of `c6i.xlarge` are unknown",
            "gpucost pricing",
        ),
        (
            vec!["--demand", "nothing.csv", "--type", "g6.xlarge"],
            "cannot read",
            "docs/planners/autoscale.md",
        ),
    ] {
        let outcome = run(&arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        let stderr = &outcome.stderr;
        assert!(stderr.contains(error), "{arguments:?}: {stderr}");
        let (_, said) = stderr.split_once("hint: ").expect("a hint");
        assert!(said.contains(hint), "{arguments:?}: {stderr}");
    }
    for bad in [
        ["--target", "0"],
        ["--target", "NaN"],
        ["--target", "101%"],
        ["--spot-share", "-1"],
        ["--start-up", "25h"],
        ["--cool-down", "soon"],
        ["--queue-length", "0"],
        ["--schedule", "mon@20:00-08:00=1"],
        ["--max", "0"],
        ["--max-unserved", "200"],
    ] {
        let outcome = run(&[&OF_THE_DAY[..], &bad].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{bad:?}");
    }
}

/// The 40 GPUs of chat-serving need 640,281.6 MiB with headroom; a second program packed them,
/// the largest first, onto 18 GPUs of 40,960 MiB, so that 3 instances of 8 stay up, as many as
/// `share` needs: 3 × 336 h × $21.957642 = $22,133.30, instead of 5 × 336 h.
#[test]
fn models_that_are_held_bound_the_least_instances() {
    let given = |answer: &Value, key: &str| -> (Value, Value) {
        let mut lines = answer["given"].as_array().expect("a list").iter();
        let line = lines.find(|line| line["key"] == key).expect("given");
        (line["value"].clone(), line["source"].clone())
    };
    let asked = ["--demo", "--workload", "chat-serving"];
    let answer = json(&asked);
    assert_eq!(given(&answer, "held_vram_mib").0, 640_281.6);
    assert_eq!(given(&answer, "min_instances"), (3.into(), "VRAM held: 18 / 8, rounded up".into()));
    assert_eq!(of(&answer, "asked: 60% utilization")["cost"], 22_133.3);
    assert_eq!(of(&answer, "today")["cost"], 36_888.84);
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("pass `--min 1`"), "{caveats}");
    // Who knows that they hold copies of one model asks for less.
    let answer = json(&[&asked[..], &["--min", "1"]].concat());
    assert_eq!(given(&answer, "min_instances"), (1.into(), "--min".into()));
    assert_eq!(of(&answer, "asked: 60% utilization")["cost"], 16_927.51);
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("may find no GPU"), "{caveats}");
    // An Auto Scaling group has copies.
    let answer = json(&["--demo", "mixed-fleet", "--workload", "speech-online"]);
    assert_eq!(given(&answer, "min_instances"), (1.into(), "--min".into()));
    assert!(!answer["caveats"].to_string().contains("hold"), "{answer}");
}

/// What `share` leaves out for the same reason ends as that does.
#[test]
fn training_is_not_scaled_by_its_utilization() {
    for workload in ["experiments", "foundation-pretraining"] {
        let outcome = run(&["--demo", "--workload", workload]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (4, ""));
        assert_eq!(
            outcome.stderr,
            format!(
                "error: {workload} is training: no request starts it, and it may use several \
                 GPUs together\nhint: pass a service, such as `--workload chat-serving`\n"
            )
        );
    }
    // The only service of the demo needs no name.
    let answer = json(&["--demo"]);
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.contains("chat-serving takes"), "{headline}");
    // Jobs that no tag calls training are replayed, with what that assumes.
    let answer = json(&["--demo", "--workload", "nightly-eval"]);
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("nightly-eval is evaluation"), "{caveats}");
}

/// Four V100 with 16 GiB each: of the types with four GPUs and no less memory, a g4dn.12xlarge
/// has the least.
#[test]
fn a_type_that_is_not_launched_is_refused_with_the_nearest() {
    let outcome = run(&["--demand", "day.csv", "--type", "p3.8xlarge"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert_eq!(
        outcome.stderr,
        "error: AWS launches no new instances of p3.8xlarge, so that nothing can start one\n\
         hint: the nearest type that it launches is g4dn.12xlarge: measure the demand there, and \
         pass it with `--demand FILE --type g4dn.12xlarge`\n"
    );
}

/// A g6f.large has an eighth of an L4, which serves an eighth of what a GPU does.
#[test]
fn a_part_of_a_gpu_serves_no_demand_in_gpus() {
    let outcome = run(&["--demand", "day.csv", "--type", "g6f.large"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert_eq!(
        outcome.stderr,
        "error: the demand is in GPUs, and g6f.large has 0.125 of one\n\
         hint: pass a type with whole GPUs: `gpucost select --gpu L4` lists them\n"
    );
}

/// With 3 at most, 64 h × $0.8048 = $51.51, and 24 of 88 GPU hours find none.
#[test]
fn hindsight_is_compared_within_the_same_limits() {
    let answer = json(&[&OF_THE_DAY[..], &["--max", "3"]].concat());
    let best = of(&answer, "best in hindsight");
    assert_eq!((&best["cost"], &best["most_instances"]), (&51.51.into(), &3.into()));
    assert_eq!(best["unserved_percent"], 27.2727);
    assert_eq!(best["is_accepted"], false);
    let policy = of(&answer, "asked: 60% utilization");
    assert!(policy["cost"].as_f64() >= best["cost"].as_f64(), "{answer}");
    // A day is not a month; two weeks of the demo are at least every day of the week.
    let repeats = |answer: &Value| answer["caveats"].to_string().contains("30.4 times");
    assert!(repeats(&answer), "{answer}");
    assert!(!repeats(&json(&["--demo"])));
}

#[test]
fn commands_to_go_on_with_work() {
    for arguments in [
        &OF_THE_DAY[..],
        &["--demo", "--workload", "chat-serving"],
        &["--demand", "day.csv", "--type", "g5.xlarge", "--region", "cn-north-1"],
    ] {
        let answer = json(arguments);
        let next = answer["next"].as_array().expect("a list");
        assert!(!next.is_empty(), "{arguments:?}");
        for command in next {
            let command = command.as_str().expect("text");
            let words = shlex::split(command).expect("words");
            let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
            let mut world = World::new();
            world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
            let outcome = world.run(&words);
            assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
        }
    }
}

#[test]
fn the_example_of_the_page_prints_what_it_shows() {
    let examples = blocks(&page("planners/autoscale.md"), "text");
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command.strip_prefix("$ gpucost autoscale ").expect("a command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let outcome = run(&arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_shows("docs/planners/autoscale.md", shown, &outcome.stdout);
    }
}

#[test]
fn every_key_is_in_the_page() {
    let mixed = ["--spot-share", "50%", "--schedule", "mon@08:00-24:00=3"];
    assert_explains("planners/autoscale.md", &json(&[&OF_THE_DAY[..], &mixed].concat()));
}

#[test]
fn a_spreadsheet_has_the_policies() {
    let csv = run(&[&OF_THE_DAY[..], &["--format", "csv"]].concat()).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().expect("a header").get(0), Some("policy"));
    // Today, the policy, hindsight and eight targets.
    assert_eq!(reader.records().count(), 11);
}

/// An hour of minutes at 50% of one A10G: 0.5 GPU hours in one hour of a g5.xlarge at 1.006.
#[test]
fn a_run_that_was_sampled_is_a_demand() {
    let mut log = "timestamp,index,name,utilization.gpu [%],memory.used [MiB],memory.total [MiB]\n"
        .to_owned();
    for minute in 0..60 {
        log.push_str(&format!(
            "2026/01/03 12:{minute:02}:00.000,0,NVIDIA A10G,50 %,20000 MiB,23028 MiB\n"
        ));
    }
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let path = world.file("run.csv", log);
    let run = ["autoscale", "--profile-data", &path];
    let outcome = world.run(&[&run[..], &["--type", "g5.xlarge", "--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    let given = answer["given"].as_array().expect("a list");
    let value = |key: &str| {
        let line = given.iter().find(|line| line["key"] == key);
        line.expect("given")["value"].clone()
    };
    assert_eq!(value("demand_gpu_hours"), 0.5);
    assert_eq!(value("peak_gpus"), 0.5);
    assert_eq!(value("hours"), 1.0);
    let steps = answer["steps"].as_array().expect("a list");
    let today = steps.iter().find(|step| step["name"] == "today");
    assert_eq!(today.expect("a step")["arithmetic"], "1 h × 1.006");
    let unnamed = world.run(&run);
    assert_eq!(unnamed.code, 2);
    assert!(unnamed.stderr.contains("does not name its instance type"), "{}", unnamed.stderr);
    let of_estate = world.run(&["autoscale", "--demo", "--type", "g5.xlarge"]);
    assert_eq!(of_estate.code, 2);
    assert!(of_estate.stderr.contains("`--type` is about the demand"), "{}", of_estate.stderr);
}
