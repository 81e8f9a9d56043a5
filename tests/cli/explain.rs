//! `explain`: what the audit says can be worked out again from what is shown.

use crate::cli::contract::DEMO;
use crate::cli::estates::{one, series, situations};
use crate::cli::hostile::{fleet, is_harmless};
use crate::cli::json_schemas::assert_described;
use crate::cli::markup;
use crate::cli::world::World;
use gpucost::domain::ActionKind;
use gpucost::rules::CLUSTER_RULES;
use gpucost::sources::files::demo_estate;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

/// An amount such as `−$1,234.50` or `12.24/h`.
fn amount(text: &str) -> Decimal {
    let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The amount of a JSON document.
fn of_json(value: &Value) -> Decimal {
    value.to_string().parse().expect("a number")
}

/// What `explain` says of an ID, as JSON; the table of the same can be read.
fn document(world: &World, source: &[&str], id: &str) -> Value {
    let run = |format: &str| {
        let outcome = world.run(&[&["explain", "--format", format, id], source].concat());
        assert_eq!(outcome.code, 0, "{source:?} {id}: {}", outcome.stderr);
        outcome
    };
    assert_readable(&run("table").stdout);
    run("json").json()
}

/// The lines of a section with this name.
fn derivations<'a>(document: &'a Value, section: &str, name: &str) -> Vec<&'a str> {
    let sections = document["sections"].as_array().expect("a list").iter();
    let lines = sections.filter(|part| part["section"] == section);
    let lines = lines.flat_map(|part| part["lines"].as_array().expect("a list"));
    let named = lines.filter(|line| line["name"] == name);
    named.map(|line| line["derivation"].as_str().expect("text")).collect()
}

/// The amount of a line `n × rate/h × hours h = amount per month`, which it
/// multiplies out to, with each of the `n` rounded to cents.
fn multiplied(line: &str) -> Option<Decimal> {
    let (factors, product) = line.trim().split_once(" h = ")?;
    let product = amount(product.strip_suffix(" per month")?);
    let factors: Vec<&str> = factors.split(" × ").collect();
    let [count, rate, hours] = factors[..] else { return None };
    let rate = rate.strip_suffix("/h")?;
    let each = amount(rate) * amount(hours);
    let exact = amount(count) * each;
    assert!((exact - product).abs() < Decimal::new(1, 5), "{line}: it is {exact}");
    let half_up = RoundingStrategy::MidpointAwayFromZero;
    Some(amount(count) * each.round_dp_with_strategy(2, half_up))
}

/// Checks the cost and the plan of a workload against its row in the audit.
fn assert_adds_up(document: &Value, workload: &Value) {
    let id = &workload["id"];
    let rows = derivations(document, "cost", "compute");
    let rows: Vec<Decimal> = rows.into_iter().filter_map(multiplied).collect();
    let today = &workload["monthly_cost"];
    if !rows.is_empty() {
        let sum: Decimal = rows.iter().sum();
        assert_eq!(sum, of_json(today).round_dp(2), "{id}");
    }
    assert_eq!(&document["monthly_cost"], today, "{id}");
    let plan = document["plan"].as_array().expect("a list");
    let actions = workload["plan"]["actions"].as_array();
    assert_eq!(Some(plan.len()), actions.map(Vec::len), "{id}");
    if today.is_null() {
        return;
    }
    let mut left = of_json(today);
    for action in plan {
        left -= of_json(&action["monthly_savings"]);
        assert_eq!(of_json(&action["planned_monthly_cost"]), left, "{id}");
        for step in action["steps"].as_array().expect("a list") {
            multiplied(step["derivation"].as_str().expect("text"));
        }
    }
    let planned = of_json(&workload["plan"]["planned_monthly_cost"]);
    assert_eq!(left, planned, "{id}");
    assert_eq!(of_json(&document["planned_monthly_cost"]), planned, "{id}");
}

/// Checks that each evidence of a finding is reported with its threshold and its samples.
fn assert_evidence(document: &Value, finding: &Value) {
    let id = &finding["id"];
    let reported = derivations(document, "finding", "because");
    let evidence = finding["evidence"].as_array().expect("a list");
    assert_eq!(reported.len(), evidence.len(), "{id}");
    let reported = reported.join(" ").replace(',', "");
    for fact in evidence {
        if let Some(samples) = fact["n_samples"].as_u64() {
            assert!(
                reported.contains(&format!("; {samples} samples coverage ")),
                "{id}: {reported}"
            );
        }
        let threshold = fact["threshold"].as_f64().expect("a threshold");
        let shown = [format!("{threshold}"), format!("{threshold:.1}")];
        let is_shown = shown.iter().any(|shown| {
            [" < ", " ≥ ", " > ", " ≤ ", " = "]
                .iter()
                .any(|comparator| reported.contains(&format!("{comparator}{shown}")))
        });
        assert!(is_shown, "{id}: {threshold} in {reported}");
    }
}

/// Checks that each lever has a row, and that the planned ones are those of the plan.
fn assert_levers(document: &Value, workload: &Value) {
    let id = &workload["id"];
    let actions = workload["plan"]["actions"].as_array().expect("a list");
    let levers = document["levers"].as_array().expect("a list");
    let kinds: Vec<&str> =
        levers.iter().map(|row| row["lever"].as_str().expect("a lever")).collect();
    let every_lever = ActionKind::ALL.iter().map(|kind| kind.name());
    assert_eq!(kinds, every_lever.collect::<Vec<_>>(), "{id}");
    let results = ["planned", "offered, not planned", "refused", "not evaluated"];
    for row in levers {
        let is_done = actions.iter().any(|action| action["action"] == row["lever"]);
        assert_eq!(row["result"] == "planned", is_done, "{id}: {row}");
        assert!(results.iter().any(|result| row["result"] == *result), "{row}");
    }
}

fn assert_readable(text: &str) {
    for line in text.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
    }
    assert_eq!(text.chars().find(|c| !is_harmless(*c)), None);
}

/// Explains everything that an audit names.
fn assert_explained(world: &World, source: &[&str], audit: &Value) {
    let list = |key: &str| audit[key].as_array().expect("a list");
    for finding in list("findings") {
        let explanation = document(world, source, finding["id"].as_str().expect("an id"));
        assert_evidence(&explanation, finding);
        let of = |workload: &&Value| workload["id"] == finding["workload"];
        match list("workloads").iter().find(of) {
            Some(workload) => assert_adds_up(&explanation, workload),
            // Pods, pools and clusters are not workloads.
            None => {
                let rule = finding["rule"].as_str().expect("a rule");
                assert!(CLUSTER_RULES.contains(&rule), "{finding}");
            }
        }
    }
    for workload in list("workloads") {
        let id = workload["id"].as_str().expect("an id");
        let explanation = document(world, source, id);
        assert_adds_up(&explanation, workload);
        assert_levers(&explanation, workload);
    }
}

#[test]
fn every_finding_and_workload_of_the_demo() {
    assert_explained(&World::new(), &["--demo"], &DEMO.json());
}

#[test]
fn every_finding_and_workload_of_the_situations() {
    let world = World::new();
    for path in situations() {
        let path = path.to_str().expect("UTF-8");
        let audit = world.run(&["audit", "--from", path, "--format", "json"]);
        assert_explained(&world, &["--from", path], &audit.json());
    }
}

/// Explains a part of the demo, each line as one.
fn demo(id: &str) -> String {
    let outcome = World::new().run(&["explain", "--demo", id]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    words.join(" ")
}

fn assert_tells(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}

#[test]
fn right_sizing_and_spot_by_hand() {
    // 900/864; the square root of 2 · 60 · 3600 · 24; 60/3220 + 1910/86400.
    assert_tells(
        &demo("plan:experiments"),
        &[
            "GPUs 1 in use (all except those known to be always inactive) and 1 held on the fullest \
             instance, of 4; 1 needed, 1 available",
            "peak 13,312 MiB × 1.2 = 15,974 MiB needed; L40S reports 46,068 MiB",
            "p95 14.0% of 32 × 1.2 = 5.38 needed; 8 available",
            "V100 900 GB/s / L40S 864 GB/s = 1.0417",
            "p95 88.0% × 1.0417 = 91.7% of each L40S projected",
            "limit slowdown 1.000, at most 1.25 accepted",
            // 36,000 MiB and a thirty-second part more: 37,125 × 8 × 2^20 / 3,600 s.
            "network busiest hour 0.087 Gbit/s × 1.2 = 0.104 Gbit/s; new link: 5 Gbit/s",
            "caveat peaks shorter than 5 minutes are averaged away: ",
            "8 × 2.24208/h × 730 h = 13093.7472 per month",
            "rejected 8 × g6.4xlarge: ",
            "1 × 0.041667 by prudence: λ = 0.041667 per hour",
            "= 3220 s, at most 3600 s",
            "o = 60 / 3220 + λ × (3220 / 2 + 300) / 3600 = 0.04074 ",
            "1.27475 / (1 − 0.04074) = 1.328889/h",
        ],
    );
}

#[test]
fn sharing_and_commitments_by_hand() {
    // 16320 · 1.2; the peak of 32.25 · 7/3 = 75.25; 4 · 13.921094 · 730; 3/4 of it.
    assert_tells(
        &demo("plan:chat-serving"),
        &[
            "40 × 3g.20gb: at most 19,584 MiB needed",
            "peak at most 32.2% × 7 / 3 slices = 75.2% ≤ 80%",
            "20 cards / 8 per instance: 3 instances",
            "break-even 13.921094 / 21.957642 = 63.3998%",
            "unit 4 is used in 336 of 336 hours, 100%: pays",
            "unit 5 is used in 0 of 336 hours, 0%: does not pay",
            "planned fees 4 × 13.921094 × 730 h = 40649.59448, plus 0 uncovered hours",
            "64116.31464 − 40649.59448 − 0 = 23466.72016 per month",
            "$23,466.72 × 48087.2333 of the 64116.31196 cost of its 2 workloads = $17,600.04",
        ],
    );
}

/// Both run in all hours, and the second works in 8 of 14 days, 57%: below the break-even of 63%.
#[test]
fn a_unit_whose_gpus_rest_too_much_does_not_pay() {
    let mut estate = crate::cli::check::two();
    let metrics = estate["metrics"].as_array_mut().expect("a list");
    metrics.retain(|series| series["metric"] != "gpu_power_draw");
    for series in metrics {
        if series["metric"] == "gpu_utilization" {
            series["values"] = match series["instance"] == "i-two" {
                true => json!([[90.0, 2_304], [0.0, 1_728]]),
                false => json!([[90.0, 4_032]]),
            };
        }
    }
    let world = World::new();
    let path = world.estate("rests.json", &estate);
    let shown = world.run(&["explain", "i-one", "--from", &path]).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "unit 1 is used in 336 of 336 hours, 100%: pays",
        "unit 2 is used in 336 of 336 hours, 100%: does not pay: the GPUs rest in too many of them",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
}

#[test]
fn a_schedule_by_hand() {
    // 160/168 of 20702.80 is 19716.95.
    assert_tells(
        &demo("plan:nightly-eval"),
        &[
            "time zone UTC, because neither a tag nor the policy sets a time zone",
            "20702.8 × (1 − 0.9523809524) = 985.847619 per month",
            "counter-evidence a schedule based on the other weeks would have cut 0 active hours",
        ],
    );
}

/// The levers of an explained part of the demo, each with its result and the reason.
fn demo_levers(id: &str, risk: &str) -> Vec<String> {
    let explanation = document(&World::new(), &["--demo", "--risk", risk], id);
    let levers = explanation["levers"].as_array().expect("a list").iter();
    let words = levers.map(|row| {
        let words = ["lever", "result", "reason"].map(|key| row[key].as_str());
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    words.collect()
}

#[test]
fn levers_that_are_planned_and_refused() {
    let levers = demo_levers("chat-serving", "medium");
    for lever in [
        "stop refused its GPUs are in use",
        "release not evaluated running",
        "share planned 3 × p4d.24xlarge",
        "spot refused serving: requests fail when an instance is interrupted",
        "commit planned",
    ] {
        assert!(levers.iter().any(|line| line == lever), "{lever}: {levers:?}");
    }
    let levers = demo_levers("experiments", "medium");
    assert!(levers.contains(&"rightsize planned 8 × g6e.2xlarge".to_owned()));
    assert!(levers.contains(&"spot planned".to_owned()), "{levers:?}");
    let levers = demo_levers("foundation-pretraining", "low");
    let commit = levers.last().expect("the last lever");
    assert_eq!(commit, "commit offered, not planned it needs `--risk medium`");
}

#[test]
fn a_lever_names_the_data_that_it_lacks() {
    let mut estate = one();
    let series = estate["metrics"].as_array_mut().expect("a list");
    series.retain(|row| {
        let metric = row["metric"].as_str().expect("a metric");
        !metric.starts_with("gpu_memory")
    });
    assert_tells(
        &words_of(&estate, "i-one"),
        &[
            "stop refused its GPUs are in use",
            "rightsize refused VRAM usage is not reported for long enough for every GPU",
            "spot refused workload kind not declared",
            "commit refused VRAM usage is not reported for long enough for every GPU",
        ],
    );
    estate["metrics"] = json!([]);
    assert_tells(
        &words_of(&estate, "i-one"),
        &[
            "stop refused the data is not sufficient for a verdict",
            "rightsize refused the data is not sufficient for a verdict",
        ],
    );
}

#[test]
fn levers_of_what_is_stopped_or_idle_or_excluded() {
    assert_eq!(
        demo_levers("speech-prototype", "medium"),
        [
            "stop not evaluated stopped", "release planned", "schedule not evaluated stopped",
            "rightsize not evaluated stopped", "share not evaluated stopped",
            "spot not evaluated stopped", "commit not evaluated stopped",
        ]
    );
    let levers = demo_levers("llm-poc-old", "medium");
    assert_eq!(levers[0], "stop planned");
    assert_eq!(levers[1], "release not evaluated running");
    let rest = levers[2..].iter();
    for lever in rest {
        assert!(lever.ends_with(" not evaluated idle"), "{lever}");
    }
    let mut estate = one();
    estate["instances"][0]["tags"]["gpucost:ignore"] = json!("kept for a customer");
    let words = words_of(&estate, "i-one");
    assert_tells(&words, &["spot not evaluated excluded by tag"]);
}

#[test]
fn an_instance_names_its_workload() {
    let estate = demo_estate().expect("the demo");
    let instance = estate.instances[0].id.as_str();
    let text = demo(instance);
    assert!(text.starts_with("workload ") && text.contains(instance), "{text}");
}

#[test]
fn a_name_of_two_workloads_lists_them() {
    let world = World::new();
    let mut estate = one();
    let mut twin = estate["instances"][0].clone();
    twin["id"] = json!("i-twin");
    estate["instances"].as_array_mut().expect("a list").push(twin);
    let path = world.estate("twins.json", &estate);
    let outcome = world.run(&["explain", "one", "--from", &path]);
    assert_eq!(
        outcome.all(),
        "exit code 2\n--- stdout\n--- stderr\n\
         error: 2 workloads are named `one`\n\
         hint: use an id instead: i-one, i-twin\n"
    );
    assert_eq!(world.run(&["explain", "i-twin", "--from", &path]).code, 0);
}

#[test]
fn a_finding_goes_by_the_name_of_its_workload_where_one_has_it() {
    let audit = crate::cli::contract::DEMO.json();
    let workloads = audit["workloads"].as_array().expect("a list");
    let name = |id: &Value| {
        let mut rows = workloads.iter();
        rows.find(|workload| workload["id"] == *id)
            .map(|workload| workload["name"].as_str().expect("a name"))
    };
    let mut tried = 0;
    for finding in audit["findings"].as_array().expect("a list") {
        let (rule, id) = (finding["rule"].as_str(), finding["id"].as_str());
        if let Some(name) = name(&finding["workload"]) {
            let by_name = format!("{}:{name}", rule.expect("a rule"));
            assert_eq!(demo(&by_name), demo(id.expect("an id")), "{by_name}");
            tried += 1;
        }
    }
    assert!(tried > 5, "{tried}");
    // Two of one name are listed.
    let world = World::new();
    let mut estate = one();
    let mut twin = estate["instances"][0].clone();
    twin["id"] = json!("i-twin");
    let series = estate["metrics"].as_array().expect("a list").clone();
    let twins = series.into_iter().map(|mut metric| {
        metric["instance"] = json!("i-twin");
        metric
    });
    let twins: Vec<Value> = twins.collect();
    estate["metrics"].as_array_mut().expect("a list").extend(twins);
    estate["instances"].as_array_mut().expect("a list").push(twin);
    let path = world.estate("twins.json", &estate);
    let report = world.audit(&estate);
    let rule = report["findings"][0]["rule"].as_str().expect("a finding");
    let outcome = world.run(&["explain", &format!("{rule}:one"), "--from", &path]);
    assert_eq!(outcome.code, 2, "{}", outcome.all());
    let hint = format!("hint: use an id instead: {rule}:i-one, {rule}:i-twin");
    assert!(outcome.stderr.contains(&hint), "{}", outcome.stderr);
    assert_eq!(world.run(&["explain", "no-such-rule:one", "--from", &path]).code, 2);
}

#[test]
fn an_unknown_id_names_the_nearest() {
    let outcome = World::new().run(&["explain", "--demo", "chat-servin"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(
        outcome
            .stderr
            .starts_with("error: id `chat-servin` not found\nhint: closest matches: chat-serving"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn an_id_that_is_like_no_other_names_none() {
    let outcome = World::new().run(&["explain", "--demo", "zzz"]);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (
            2,
            "error: id `zzz` not found\nhint: `gpucost audit --format json` lists every ID and name\n"
        )
    );
}

#[test]
fn a_commitment_of_the_estate() {
    let mut estate = one();
    estate["commitments"] = json!([{
        "kind": "reserved-instances", "id": "ri-1", "region": "us-east-1",
        "instance_type": "g5.xlarge", "operating_system": "linux", "tenancy": "shared",
        "count": 2, "class": "standard", "payment": "partial-upfront",
        "start": "2026-02-01T00:00:00Z", "end": "2027-02-01T00:00:00Z",
        "currency": "USD", "upfront": "876", "recurring_hourly": "0.5",
    }]);
    let world = World::new();
    let path = world.estate("owned.json", &estate);
    let outcome = world.run(&["explain", "ri-1", "--from", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    // 876/8760 + 0.5, twice, 730 hours a month. One of the two ran all the time.
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    assert_tells(
        &words.join(" "),
        &["876 / 8760 + 0.5 = 0.6/h", "2 × 0.6/h × 730 h = 876 per month", "used 50%"],
    );
}

/// The words of an explanation of an estate.
fn words_of(estate: &Value, id: &str) -> String {
    let world = World::new();
    let path = world.estate("estate.json", estate);
    let outcome = world.run(&["explain", id, "--from", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn idle_members_of_a_group_by_hand() {
    let outcome = World::new().run(&["explain", "--demo", "mixed-fleet", "plan:captioning"]);
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    // 4.6016 × 730 = 3,359.168; 4 × 3,359.17 = 13,436.68; of three that are left
    // 3 × (4.6016 − 2.99564) × 730 = 3,517.0524.
    assert_tells(
        &words.join(" "),
        &[
            "costs $13,436.68 per month, $6,560.46 after the plan",
            "stop, $3,359.17 saved per month, risk low, $10,077.51 left",
            "$3,359.17: i-018b32339618bec27",
            "stop 1 of 4, which have no GPU activity: i-018b32339618bec27;",
            "commit, $3,517.05 saved per month",
            "10077.504 − 6560.4516 − 0 = 3517.0524 per month",
            "$6,560.46 left",
        ],
    );
}

#[test]
fn a_young_member_of_a_pool_by_hand() {
    let mut estate = one();
    // Busy by its power too.
    for (place, level) in [(1, 70.0), (2, 80.0), (6, 200.0)] {
        estate["metrics"][place]["values"] = json!([[level, 4_032]]);
    }
    let mut young = estate["instances"][0].clone();
    young["id"] = json!("i-young");
    young["launch_time"] = json!("2026-10-24T00:00:00Z");
    young["tags"] = json!({"Name": "young"});
    let metrics = estate["metrics"].as_array().expect("a list").clone();
    for mut series in metrics {
        series["instance"] = json!("i-young");
        series["values"] = json!([[null, 6 * 288], [series["values"][0][0], 8 * 288]]);
        estate["metrics"].as_array_mut().expect("a list").push(series);
    }
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(young);
    // Eight days, all of them running: so in the 144 hours before. 672 × 1.006 × 730 / 336
    // = 1,468.76; 2 × 0.63378 × 730 = 925.3188; half of the rest each.
    assert_tells(
        &words_of(&estate, "plan:young"),
        &[
            "costs $734.38 per month, $462.66 after the plan",
            "commit, $271.72 saved per month",
            "first seen within the window: 1 of its instances;",
            "unit 1 is used in 336 of 336 hours, 100%: pays",
            "unit 2 is used in 336 of 336 hours, 100%: pays",
            "unit 3 is used in 0 of 336 hours, 0%: does not pay",
            "today 672 instance-hours × 1.006 × 730 / 336 = 1468.76 per month",
            "planned fees 2 × 0.63378 × 730 h = 925.3188, plus 0 uncovered hours",
            "1468.76 − 925.3188 − 0 = 543.4412 per month",
            "$462.66 left",
        ],
    );
}

#[test]
fn a_box_in_a_capacity_reservation_by_hand() {
    let mut estate = one();
    for place in 1..4 {
        estate["metrics"][place]["values"] = json!([[0.0, 4_032]]);
    }
    estate["metrics"][4]["values"] = json!([[0.0, 4_032]]);
    // A CPU and a network that are idle too.
    estate["metrics"][0]["values"] = json!([[3.0, 4_032]]);
    let traffic = ["network_in", "network_out"].map(|name| series("i-one", None, name, "sum", 1e3));
    let mut maxima = estate["metrics"][0].clone();
    maxima["statistic"] = json!("maximum");
    estate["metrics"].as_array_mut().expect("a list").extend(traffic.into_iter().chain([maxima]));
    estate["instances"][0]["capacity_reservation_id"] = json!("cr-1");
    estate["commitments"] = json!([{
        "kind": "capacity-reservation", "id": "cr-1", "region": "us-east-1",
        "zone": "us-east-1a", "instance_type": "g5.xlarge", "total": 1, "available": 0,
    }]);
    // 1.006 × 730, and nothing of it goes on where the reservation is lowered.
    assert_tells(
        &words_of(&estate, "plan:one"),
        &[
            "stop, $734.38 saved per month, risk low, $0.00 left",
            "stop: no GPU activity;",
            "lower the capacity reservation cr-1 by 1 of 1 in the same step",
            "caveat: the cost continues as unused capacity unless the capacity reservation is \
             lowered in the same step",
            "saved $734.38, of which $734.38 is certain",
        ],
    );
}

#[test]
fn unused_room_of_a_capacity_reservation() {
    let id = "cr-0d3a91c47be58f260";
    let outcome = World::new().run(&["explain", "--demo", "mixed-fleet", id]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    // One of three places of 55.04 an hour: 55.04 × 730 = 40,179.20.
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    assert_tells(
        &words.join(" "),
        &[
            "1 unused instance on average over 336 h × $55.04/h × 730 h total $40,179.20 per month",
            "costs $40,179.20 per month, $0.00 after the plan",
            "release, $40,179.20 saved per month, risk low, $0.00 left",
            "caveat: capacity of this type may not be available again",
        ],
    );
}

#[test]
fn the_release_of_storage_is_net_of_snapshots() {
    let outcome = World::new().run(&["explain", "--demo", "speech-prototype"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    // 4,296 × 0.08 = 343.68, 4,296 × 0.05 = 214.80.
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    assert_tells(
        &words.join(" "),
        &[
            "costs $343.68 per month, $214.80 after the plan",
            "release, $128.88 saved per month, risk low, $214.80 left",
            "less snapshots of all data: 4,296 GiB × $0.05 = $214.80/month (list price of us-east-1)",
            "$343.68 − $214.80 for snapshots = $128.88, of which $128.88 is certain",
        ],
    );
}

#[test]
fn hostile_ids_are_harmless() {
    let world = World::new();
    let path = world.estate("hostile.json", &fleet());
    for id in ["\u{1b}[2J\u{202e}", &"x".repeat(100_000), ""] {
        let outcome = world.run(&["explain", "--from", &path, "--", id]);
        assert_eq!(outcome.stderr.chars().find(|c| !is_harmless(*c)), None);
        assert!(outcome.stderr.len() < 1_000, "{}", outcome.stderr.len());
    }
}

#[test]
fn names_are_masked() {
    let world = World::new();
    let mut estate = one();
    estate["instances"][0]["tags"] =
        json!({"Name": "falcon-7", "gpucost:workload": "falcon", "owner": "mallory"});
    let path = world.estate("named.json", &estate);
    // An id that AWS did not give may say whose it is, and is masked as well.
    let outcome = world.run(&["explain", "instance-000001", "--from", &path, "--redact"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for secret in ["falcon", "mallory", "111122223333"] {
        assert!(!outcome.stdout.contains(secret), "{}", outcome.stdout);
    }
}

/// A world in which an audit left this behind.
fn after_an_audit(content: &[u8]) -> World {
    let mut world = World::new();
    world.file("last-estate.json.gz", content);
    let folder = world.path("");
    world.set("GPUCOST_CACHE_DIR", &folder);
    world
}

#[test]
fn the_last_estate_is_the_default() {
    let estate = one();
    let world = after_an_audit(estate.to_string().as_bytes());
    let kept = world.run(&["explain", "one"]);
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    let path = world.estate("same.json", &estate);
    assert_eq!(kept.stdout, world.run(&["explain", "one", "--from", &path]).stdout);
}

#[test]
fn a_last_estate_that_is_not_there_or_cannot_be_read_is_said() {
    let mut newer = one();
    newer["estate_version"] = json!("99");
    let hint =
        "\nhint: run `gpucost audit` first, or pass an estate with `--from FILE` or `--demo`\n";
    let mut empty = World::new();
    let folder = empty.path("");
    empty.set("GPUCOST_CACHE_DIR", &folder);
    for (world, said) in [
        (empty, "error: no saved estate from a previous audit"),
        (after_an_audit(b"{\"estate_version\": "), "last-estate.json.gz"),
        (after_an_audit(newer.to_string().as_bytes()), "99"),
    ] {
        let outcome = world.run(&["explain", "one"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(outcome.stderr.ends_with(hint), "{}", outcome.stderr);
    }
}

#[test]
fn the_examples_of_the_page_are_what_is_printed() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/explain.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let mut examples = 0;
    for block in page.split("```console\n").skip(1) {
        let (example, _) = block.split_once("```").expect("its end");
        let (command, expected) = example.split_once('\n').expect("a command line");
        let arguments = command.strip_prefix("$ gpucost ").expect("a command of gpucost");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let printed = World::new().run(&arguments).stdout;
        crate::cli::pages::assert_shows("docs/explain.md", expected, &printed);
        examples += 1;
    }
    assert_eq!(examples, 1);
}

#[test]
fn what_aws_advises_is_a_line_with_the_reason_of_the_difference() {
    let mut estate = one();
    estate["opinions"] = json!([
        {"instance": "i-one", "action": "Stop", "monthly_savings": "734.38"},
    ]);
    let world = World::new();
    let path = world.file("advised.json", estate.to_string());
    let explanation = document(&world, &["--from", &path], "i-one");
    let lines = derivations(&explanation, "AWS", "AWS");
    let line = "Stop, $734.38 per month: AWS uses CPU, memory and network where no GPU metric is \
                enabled";
    assert_eq!(lines, [line]);
    let wide = world.run(&["audit", "--from", &path, "--format", "wide"]);
    assert!(wide.stdout.contains("AWS SAYS"), "{}", wide.stdout);
    // Without an opinion there is neither.
    let path = world.file("plain.json", one().to_string());
    let explanation = document(&world, &["--from", &path], "i-one");
    assert!(derivations(&explanation, "AWS", "AWS").is_empty());
    let wide = world.run(&["audit", "--from", &path, "--format", "wide"]);
    assert!(!wide.stdout.contains("AWS SAYS"), "{}", wide.stdout);
}

#[test]
fn estimates_of_aws_for_one_instance_do_not_add_up() {
    let world = World::new();
    let audited = |opinions: Value| {
        let mut estate = one();
        estate["opinions"] = opinions;
        let path = world.file("advised.json", estate.to_string());
        let outcome = world.run(&["audit", "--from", &path, "--format", "json"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let report: Value = serde_json::from_str(&outcome.stdout).expect("a document");
        let workload = &report["workloads"][0];
        let keys = ["aws_opinion", "aws_opinion_monthly_savings"];
        keys.map(|key| workload[key].clone())
    };
    let stop = json!({"instance": "i-one", "action": "Stop", "monthly_savings": "734.38"});
    let smaller = json!({
        "instance": "i-one", "action": "Rightsize", "to": "g4dn.xlarge",
        "monthly_savings": "411.99",
    });
    let advice = audited(json!([smaller, stop]));
    assert_eq!(advice, [json!("Stop"), json!(734.38)]);
    let mut yuan = stop.clone();
    yuan["currency"] = json!("CNY");
    let advice = audited(json!([yuan]));
    assert_eq!(advice, [json!("Stop"), json!(null)]);
}

#[test]
fn what_aws_says_is_text_in_every_page() {
    let mut estate = one();
    let hostile = "<img src=x>|`\u{202e}\u{1b}[31m";
    estate["opinions"] = json!([
        {"instance": "i-one", "action": hostile, "to": "a|b", "monthly_savings": "7.00"},
    ]);
    let world = World::new();
    let path = world.file("advised.json", estate.to_string());
    let audit = |format: &str| world.run(&["audit", "--from", &path, "--format", format]).stdout;
    let page = audit("html");
    markup::parse(&page);
    let rows = markup::rows(markup::section(&page, "workloads"));
    let mut cells = rows[0].iter();
    assert!(cells.any(|cell| cell.starts_with("<img src=x>|`")), "{rows:?}");
    let page = audit("markdown");
    let line = |words: &str| {
        let line = page.lines().find(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("{words}: {page}"))
    };
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let row = line("img src=x");
    assert_eq!(cells(row), cells(line("AWS says")), "{row}");
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
    // Without an opinion, neither has the column.
    let path = world.file("plain.json", one().to_string());
    for format in ["html", "markdown"] {
        let plain = world.run(&["audit", "--from", &path, "--format", format]);
        assert!(!plain.stdout.contains("AWS says"), "{}", plain.stdout);
    }
}

#[test]
fn every_format_has_the_figures() {
    let world = World::new();
    let explanation = document(&world, &["--demo"], "experiments");
    assert_described("explain", &explanation);
    for format in ["table", "wide", "csv", "markdown", "html"] {
        let arguments = ["explain", "--demo", "experiments", "--format", format];
        let text = world.run(&arguments).stdout;
        // 12.24 × 730 × 8.
        let product = "8 × 12.24/h × 730 h = 71481.6 per month";
        assert!(text.contains(product), "{format}: {text}");
    }
}
