//! `gpucost capacity`: the examples of its page, its formats, its errors, and a real trace.

use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::process::run_in;
use crate::cli::world::{Outcome, World};
use crate::support::data::shared;
use serde_json::Value;

fn run(arguments: &[&str]) -> Outcome {
    let world = World::new();
    world.run(&[&["capacity", "--offline"][..], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    let outcome = run(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

/// The result of a step by its name.
fn step<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let steps = answer["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["name"] == name);
    &step.unwrap_or_else(|| panic!("{name}: {answer}"))["result"]
}

#[test]
fn examples_print_what_the_page_shows() {
    let text = page("planners/capacity.md");
    let examples = blocks(&text, "text");
    assert_eq!(examples.len(), 1);
    let folder = tempfile::tempdir().expect("a scratch folder");
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command.strip_prefix("$ gpucost ").expect("a command of gpucost");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = run_in(folder.path(), &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command}: {stderr}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_shows("docs/planners/capacity.md", shown, &printed);
    }
}

#[test]
fn the_worked_example_is_four_at_the_serving_target() {
    // 500 / (200 × 80%) = 3.125, 600 / 160 = 3.75 and 625 / 160 = 3.90625.
    for headroom in ["0", "20"] {
        let answer = json(&["--rate", "500", "--per-gpu", "200", "--headroom", headroom]);
        assert_eq!(answer["fleets"][0]["gpus_needed"], 4, "{headroom}");
    }
    // 480 / 160 are three exactly.
    let answer = json(&["--rate", "480", "--per-gpu", "200"]);
    assert_eq!(answer["fleets"][0]["gpus_needed"], 3);
    let asked = ["--rate", "500", "--per-gpu", "200", "--headroom", "25"];
    let answer = json(&asked);
    assert_eq!(answer["planner"], "capacity");
    assert_eq!(step(&answer, "planned requests per second"), 625.0);
    assert_eq!(step(&answer, "GPUs for the rate"), 4);
    assert_eq!(answer["fleets"][0]["gpus_needed"], 4);
    assert_eq!(answer["fleets"][0]["monthly_cost"], Value::Null);
    // On the two of three zones that remain: two in each of the three.
    let zones = ["--zones", "3", "--survive-zones", "1"];
    let answer = json(&[&asked[..], &zones].concat());
    assert_eq!(step(&answer, "GPUs in all zones"), 6);
    // Six of 1.006 an hour: × 730, and / 1.8 million requests an hour.
    let types = ["--type", "g5.xlarge", "--tokens-per-request", "400"];
    let answer = json(&[&asked[..], &zones, &types].concat());
    let fleet = &answer["fleets"][0];
    assert_eq!(fleet["instances"], 6);
    assert_eq!(fleet["monthly_cost"], 4_406.28);
    assert_eq!(fleet["cost_per_million_requests"], 3.353_333);
    assert_eq!(fleet["cost_per_million_tokens"], 0.008_383);
    assert_eq!(answer["currency"], "USD");
}

/// Two GPUs in each of three zones are three instances of eight: 3 × $21.957642 × 730. Four
/// GPUs are one of $55.04 × 730.
#[test]
fn what_is_rented_is_whole_instances_with_their_price() {
    let asked = ["--rate", "500", "--per-gpu", "200"];
    let zones = ["--headroom", "25", "--zones", "3", "--survive-zones", "1"];
    let of = |instance_type: &str, further: &[&str]| {
        json(&[&asked[..], further, &["--type", instance_type]].concat())
    };
    let answer = of("p4d.24xlarge", &zones);
    assert_eq!(
        answer["headline"],
        "4 GPUs serve 500 requests per second with 25% headroom; 3 × p4d.24xlarge with 24 GPUs \
         over 3 zones, of which 1 may be lost, $48,087.24 per month"
    );
    assert_eq!(step(&answer, "GPUs in all zones"), 6);
    assert_eq!(step(&answer, "instances of p4d.24xlarge"), 3);
    assert_eq!(step(&answer, "GPUs rented"), 24);
    assert_eq!(step(&answer, "per month"), 48_087.24);
    let answer = of("p5.48xlarge", &[]);
    assert_eq!(
        answer["headline"],
        "4 GPUs serve 500 requests per second; 1 × p5.48xlarge with 8 GPUs, $40,179.20 per month"
    );
    // Seven g6.xlarge for $0.8048 are $4,112.53; four g5.xlarge for $1.006 are $2,937.52.
    let answer = of("g5.xlarge", &["--gpu", "L4"]);
    let headline = answer["headline"].as_str().expect("text");
    let expected = "; cheapest: 4 × g5.xlarge with 4 GPUs, $2,937.52 per month";
    assert!(headline.ends_with(expected), "{headline}");
    // Without a type there is nothing to rent.
    let answer = json(&[&asked[..], &zones].concat());
    let headline = answer["headline"].as_str().expect("text");
    let expected = "; 6 GPUs over 3 zones, of which 1 may be lost";
    assert!(headline.ends_with(expected), "{headline}");
}

#[test]
fn other_types_are_derived_and_refused_with_a_reason() {
    let asked = ["--rate", "500", "--per-gpu", "200", "--type", "g5.xlarge"];
    let answer = json(&[&asked[..], &["--gpu", "L4"]].concat());
    let fleets = answer["fleets"].as_array().expect("fleets");
    let of = |name: &str| {
        let fleet = fleets.iter().find(|fleet| fleet["instance_type"] == name);
        fleet.unwrap_or_else(|| panic!("{name}: {answer}"))
    };
    assert_eq!(of("g5.xlarge")["throughput"], "given");
    // 300 of 600 GB/s: 100 a second each, 500 / 80 = 6.25.
    assert_eq!(of("g6.xlarge")["throughput"], "derived");
    assert_eq!(of("g6.xlarge")["gpus_needed"], 7);
    let answer = json(&[&asked[..], &["--vram-peak", "15000MiB"]].concat());
    let refused = answer["refused"].to_string();
    assert!(
        refused.contains("18,000 MiB of VRAM needed with headroom, 15,360 MiB usable"),
        "{refused}"
    );
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("derived:"), "{caveats}");
    // The image of the measured service does not start on the CPUs of g5g.
    let answer = json(&[&asked[..], &["--vram-peak", "10GiB"]].concat());
    let refused = answer["refused"].as_array().expect("a list");
    let arm = refused.iter().find(|refusal| refusal["instance_type"] == "g5g.xlarge");
    assert_eq!(arm.map(|refusal| &refusal["reason"]), Some(&"different CPU architecture".into()));
}

#[test]
fn every_key_is_in_the_page() {
    let answer = json(&[
        "--rate", "500", "--per-gpu", "200", "--objective", "1s", "--type", "g5.xlarge",
        "--vram-peak", "16GiB",
    ]);
    assert_explains("planners/capacity.md", &answer["fleets"]);
    assert_explains("planners/capacity.md", &answer["refused"]);
    for given in answer["given"].as_array().expect("given") {
        let key = given["key"].as_str().expect("a key");
        let text = page("planners/capacity.md");
        assert!(text.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn a_workload_of_an_estate_shows_its_throughput() {
    // chat-serving of the demo: 40 A100.
    let asked = ["--demo", "--workload", "chat-serving", "--served-rate", "100", "--rate", "300"];
    let answer = json(&asked);
    let metrics = World::new().run(&["audit", "--demo", "--format", "json"]).json();
    let workloads = metrics["workloads"].as_array().expect("workloads");
    let named = workloads
        .iter()
        .find(|workload| workload["name"] == "chat-serving")
        .expect("it is in the demo");
    let mean = named["utilization"]["mean"].as_f64().expect("measured");
    let gpus = 40.0 * named["running_share"].as_f64().expect("known");
    let given = answer["given"].as_array().expect("given");
    let per_gpu = given
        .iter()
        .find(|figure| figure["key"] == "per_gpu_per_second")
        .and_then(|figure| figure["value"].as_f64())
        .expect("a number");
    let expected = 100.0 / (gpus * mean / 100.0);
    assert!((per_gpu / expected - 1.0).abs() < 1e-3, "{per_gpu} {expected}");
    assert_eq!(answer["fleets"][0]["instance_type"], "p4d.24xlarge");
    let missing = answer["missing"].to_string();
    assert!(missing.contains("RequestCount"), "{missing}");
    // What trains serves none, and ends as it does with other planners.
    let trains =
        ["--demo", "--workload", "foundation-pretraining", "--served-rate", "100", "--rate", "300"];
    let refused = run(&trains);
    assert_eq!((refused.code, refused.stdout.as_str()), (4, ""));
    assert_eq!(
        refused.stderr,
        "error: foundation-pretraining is training, which serves no requests\n\
         hint: pass a service: `gpucost audit --demo --offline` lists them\n"
    );
}

#[test]
fn samples_of_a_host_show_its_throughput() {
    // Two GPUs, at 40% and at 20%, served 12 a second: 12 / 0.6 = 20 for a busy one.
    let world = World::new();
    let mut log = String::from(
        "timestamp,index,name,utilization.gpu [%],memory.used [MiB],memory.total [MiB]\n",
    );
    for second in 0..30 {
        for (index, percent) in [(0, 40), (1, 20)] {
            log.push_str(&format!(
                "2026/01/03 12:00:{second:02}.000,{index},NVIDIA A10G,{percent} %,100 MiB,\
                 23028 MiB\n"
            ));
        }
    }
    let path = world.file("load.csv", log);
    let asked = ["capacity", "--offline", "--rate", "50", "--profile-data", &path];
    let served = ["--served-rate", "12", "--format", "json"];
    let outcome = world.run(&[&asked[..], &served].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let fleet = &outcome.json()["fleets"][0];
    let per_gpu = fleet["per_gpu_per_second"].as_f64().expect("a number");
    assert!((per_gpu - 20.0).abs() < 0.01, "{per_gpu}");
    // 50 / (20 × 80%) = 3.125.
    assert_eq!(fleet["gpus_needed"], 4);
    let refused = world.run(&asked);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("`--profile-data` needs `--served-rate`"),
        "{}",
        refused.stderr
    );
}

#[test]
fn errors_say_what_is_possible() {
    for (arguments, says) in [
        (&["--per-gpu", "200"][..], "--rate"),
        (&["--rate", "0", "--per-gpu", "200"], "above zero"),
        (&["--rate", "NaN", "--per-gpu", "200"], "above zero"),
        (&["--rate", "5"], "error: the throughput of a GPU is not known"),
        (
            &["--rate", "5", "--per-gpu", "2", "--latency", "1s"],
            "error: `--per-gpu` and `--latency` both state",
        ),
        (
            &["--rate", "5", "--latency", "100ms", "--objective", "250ms"],
            "takes 0.299573 s at p95 without any wait\nhint: pass `--objective` above \
             0.299573s",
        ),
        (
            &["--rate", "1000000000", "--latency", "1h"],
            "requests in flight at the same time: at most 1000000 are evaluated",
        ),
        (
            &["--rate", "5", "--per-gpu", "2", "--survive-zones", "1"],
            "error: 1 of 1 zones lost leaves no zone",
        ),
        (&["--rate", "5", "--per-gpu", "2", "--type", "g5.xlrage"], "did you mean g5.xlarge"),
        (
            &["--rate", "5", "--per-gpu", "2", "--vram-peak", "18GiB"],
            "`--vram-peak` needs `--type` or `--gpu`",
        ),
        (
            &["--rate", "5", "--per-gpu", "2", "--gpu", "24GB.."],
            "kinds of GPUs, and a GPU of one serves what was stated",
        ),
        (&["--rate", "5", "--per-gpu", "2", "--gpu", "L44"], "did you mean L4"),
        (
            &["--rate", "5", "--per-gpu", "2", "--demo"],
            "`gpucost audit --demo --offline` lists the workloads",
        ),
        (
            &["--rate", "5", "--demo", "--workload", "chat-servin", "--served-rate", "3"],
            "did you mean chat-serving",
        ),
        (&["--rate", "5", "--tokens-per-second", "50"], "needs the tokens of a request"),
    ] {
        let outcome = run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        assert!(outcome.stderr.contains(says), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn recordings_that_are_no_recordings_are_refused() {
    let world = World::new();
    for (text, says) in [
        ("timestamp\n", ":1: it has no requests below its header"),
        ("timestamp\n5\n4\n", ":3: the time `4` is before"),
        ("timestamp\n5\n", "at one instant"),
        ("when\n5\n", ":1: no column `timestamp`"),
    ] {
        let path = world.file("requests.csv", text);
        let asked = ["capacity", "--offline", "--arrivals", &path, "--latency", "1s"];
        let outcome = world.run(&asked);
        assert_eq!(outcome.code, 2, "{text}");
        assert!(outcome.stderr.contains(says), "{text}: {}", outcome.stderr);
    }
}

#[test]
fn names_from_outside_are_harmless() {
    let world = World::new();
    let text = "timestamp,service_seconds\n0,1\n1,1\n2,1\n";
    let path = world.file("a\u{1b}[31m`id`.csv", text);
    for format in ["table", "wide", "json", "csv"] {
        let asked = ["capacity", "--offline", "--arrivals", &path, "--format", format];
        let outcome = world.run(&asked);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(!outcome.all().contains('\u{1b}'), "{}", outcome.all());
    }
}

/// 8,819 requests of a code assistant in 57 minutes, in bursts. The expected figures are
/// those of a separate program in Python: a list of events with an explicit line, the
/// fewest GPUs by trying one after the other.
#[test]
fn a_real_trace_needs_more_than_its_mean_rate() {
    let name = "samples/requests/AzureLLMInferenceTrace_code.csv";
    let Some(path) = shared("capacity", name) else { return };
    let path = path.to_str().expect("UTF-8");
    let fleet = |arguments: &[&str]| {
        let answer = json(&[&["--arrivals", path][..], arguments].concat());
        let fleet = &answer["fleets"][0];
        (
            step(&answer, "GPUs for the rate").as_u64(),
            fleet["gpus_needed"].as_u64(),
            fleet["latency_seconds"].as_f64(),
        )
    };
    let one = ["--tokens-per-second", "50", "--prompt-tokens-per-second", "8000"];
    let with = |rest: &[&str]| fleet(&[&one[..], rest].concat());
    let expect = |rate: u64, gpus: u64, seconds: f64| (Some(rate), Some(gpus), Some(seconds));
    assert_eq!(with(&["--objective", "5s"]), expect(3, 15, 4.6305));
    assert_eq!(with(&["--objective", "3s"]), expect(3, 21, 2.9162));
    let at_p99 = ["--objective", "10s", "--percentile", "p99"];
    assert_eq!(with(&at_p99), expect(3, 16, 9.1173));
    let headroom = ["--objective", "5s", "--headroom", "25"];
    // 2.566395 × 1.25 × 0.8136 / 80% = 3.26, and 10 × 0.8136 / 80% = 10.17.
    assert_eq!(with(&headroom), expect(4, 17, 4.6977));
    let rate = ["--objective", "5s", "--rate", "10"];
    assert_eq!(with(&rate), expect(11, 31, 4.9211));
    let batch = ["--tokens-per-second", "4000", "--batch", "4", "--objective", "8s"];
    assert_eq!(fleet(&batch), expect(2, 9, 7.496));
    // At random, the same rate and mean time take three.
    let random = json(&["--rate", "2.566395", "--latency", "813.631563ms", "--objective", "5s"]);
    assert_eq!(random["fleets"][0]["gpus_needed"], 3);
    let tight = ["--objective", "5s", "--percentile", "p99"];
    let arguments = [&["--arrivals", path][..], &one, &tight].concat();
    let refused = run(&arguments);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("takes 5.281500 s at p99 without any wait"),
        "{}",
        refused.stderr
    );
}

/// 500 / 160 are 4 GPUs, and an L4 is cheapest in a g6.xlarge: 4 × 0.8048 × 730.
#[test]
fn a_gpu_alone_is_the_one_that_was_measured() {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let outcome = world
        .run(&["capacity", "--rate", "500", "--per-gpu", "200", "--gpu", "L4", "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.contains("4 × g6.xlarge with 4 GPUs, $2,350.02 per month"), "{headline}");
}
