//! `gpucost share`: who shares which cards, what that costs, and files that carry it out.

use crate::cli::estates::{PERIODS, START, one, series};
use crate::cli::hostile::is_harmless;
use crate::cli::pages::{assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};

fn share(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["share"], arguments].concat())
}

fn as_json(arguments: &[&str]) -> Value {
    let outcome = share(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn file<'a>(answer: &'a Value, name: &str) -> &'a str {
    let mut files = answer["files"].as_array().expect("a list").iter();
    let file = files.find(|file| file["name"] == name);
    file.expect("the file")["text"].as_str().expect("text")
}

fn way<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let mut ways = answer["methods"].as_array().expect("a list").iter();
    ways.find(|way| way["method"] == name).expect("every way")
}

fn step(answer: &Value, name: &str) -> Value {
    let mut steps = answer["steps"].as_array().expect("a list").iter();
    let step = steps.find(|step| step["name"] == name);
    step.expect("the step")["result"].clone()
}

const TWO_MODELS: [&str; 6] =
    ["--type", "p4d.24xlarge", "--tenant", "chat:10GiB:33%", "--tenant", "search:10GiB:33%"];

#[test]
fn two_models_of_ten_gib_share_an_a100() {
    // 10 GiB × 1.2 = 12 288 MiB, more than the 9 856 of a 2g.10gb, less than the 19 968 of a
    // 3g.20gb; 33 × 7 / 3 = 77 ≤ 80.
    let answer = as_json(&TWO_MODELS);
    assert_eq!(answer["planner"], "share");
    assert_eq!(step(&answer, "cards"), 1);
    assert_eq!(step(&answer, "its slice"), "3g.20gb");
    assert_eq!(step(&answer, "its peak on the slice"), 77.0);
    for (place, start) in [(0, 0), (1, 4)] {
        let tenant = &answer["placements"][place];
        assert_eq!(tenant["slice"], "3g.20gb");
        assert_eq!(tenant["slice_start"], start);
        assert_eq!(tenant["resource"], "nvidia.com/mig-3g.20gb");
        assert_eq!(tenant["vram_needed_mib"], 12_288.0);
        // 7 / 3, to four decimals.
        assert_eq!(tenant["slowdown_bound"], 2.3333);
    }
    assert_eq!(answer["cards"][0]["compute_slices_free"], 1);
    assert_eq!(answer["cards"][0]["memory_slices_stranded"], 0);
    let script = file(&answer, "mig.sh");
    assert!(script.contains("nvidia-smi mig -i 0 -cgi 3g.20gb:0,3g.20gb:4 -C\n"), "{script}");
    let parted = "version: v1\nmig-configs:\n  share-1:\n    - devices: [1, 2, 3, 4, 5, 6, 7]\n      \
                  mig-enabled: false\n    - devices: [0]\n      mig-enabled: true\n      \
                  mig-devices:\n        \"3g.20gb\": 2\n";
    assert_eq!(file(&answer, "mig-parted.yaml"), parted);
    let operator = file(&answer, "gpu-operator-mig.yaml");
    for line in parted.lines() {
        assert!(operator.contains(&format!("\n    {line}\n")), "{operator}");
    }
    assert!(operator.contains("nvidia.com/mig.config=share-1"), "{operator}");
    // 7 / 3 is below 2.5, and a seventh of a card is 7 times as slow.
    let small = ["--type", "p4d.24xlarge", "--tenant", "small:2GiB:5%"];
    for (tenants, is_said) in [(&TWO_MODELS[..], false), (&small, true)] {
        let shown = share(tenants).stdout;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = "more than 2.5 times as long at `--risk high` alone";
        assert_eq!(shown.contains(words), is_said, "{shown}");
    }
}

#[test]
fn the_fleet_of_the_demo_shares_as_its_plan_says() {
    // docs/levers/sharing.md: 40 tenants on 20 cards, three instances in place of five.
    let answer = as_json(&["--demo"]);
    assert_eq!(answer["placements"].as_array().map(Vec::len), Some(40));
    let mig = way(&answer, "MIG");
    assert_eq!((&mig["cards"], &mig["least_cards"]), (&json!(20), &json!(20)));
    assert_eq!((&mig["instances"], &mig["chosen"]), (&json!(3), &json!(true)));
    assert_eq!(mig["cost_monthly"], 48_087.24);
    // Five times 16 029.08 run today.
    assert_eq!(step(&answer, "today, per month"), 80_145.4);
    assert_eq!(step(&answer, "saved per month"), 32_058.16);
    let given = answer["given"].as_array().expect("a list").iter();
    let sources: Vec<&Value> = given.take(2).map(|line| &line["source"]).collect();
    assert_eq!(sources, ["most tenants"; 2]);
    let survives = as_json(&["--demo", "--survive-nodes", "1"]);
    assert_eq!(step(&survives, "with spare instances"), 4);
    assert_eq!(step(&survives, "instances today"), 5);
    assert_eq!(step(&survives, "saved per month"), 16_029.08);
    // Six instead of the five of today: one more.
    let costs_more = as_json(&["--demo", "--survive-nodes", "3"]);
    let headline = costs_more["headline"].as_str().expect("text");
    assert_eq!(
        headline,
        "sharing costs $16,029.08 more per month. 40 tenants on 20 cards with MIG: 6 × \
         p4d.24xlarge, $96,174.48 per month; today: 5 × p4d.24xlarge, $80,145.40 per month"
    );
    assert_eq!(step(&costs_more, "more per month"), 16_029.08);
    assert_eq!(way(&costs_more, "MIG")["saved_monthly"], -16_029.08);
    // Nobody commits to what costs more.
    let reserved = |answer: &Value| answer["next"].to_string().contains("gpucost reserved");
    assert!(reserved(&answer) && !reserved(&costs_more));
}

/// 20 × 7 / 2 = 70 ≤ 80: three a card with MIG, four cards for twelve. p5.4xlarge has one of the
/// same GPUs: 4 × $6.88 × 730 = $20,089.60 instead of 1 × $55.04 × 730.
#[test]
fn empty_cards_lead_to_a_smaller_type() {
    let names: Vec<String> =
        (1..=12).map(|number| format!("t{number}:10GiB:20%:search:trusted")).collect();
    let tenants = names.iter().flat_map(|name| ["--tenant", name.as_str()]);
    let mut arguments = vec!["--type", "p5.48xlarge"];
    arguments.extend(tenants);
    let answer = as_json(&arguments);
    assert_eq!(way(&answer, "MIG")["chosen"], true);
    assert_eq!(way(&answer, "MPS")["cards"], 3);
    let caveats = answer["caveats"].to_string();
    let expected = "4 of 8 GPUs stay empty, and are paid for: 4 × p5.4xlarge with 1 such GPU each \
                    hold the same cards for $20,089.60 per month";
    assert!(caveats.contains(expected), "{caveats}");
    let next = "gpucost pricing p5.4xlarge --region us-east-1";
    assert_eq!(answer["next"], json!([next]));
    // That type says the same.
    arguments[1] = "p5.4xlarge";
    let smaller = as_json(&arguments);
    assert_eq!(way(&smaller, "MIG")["cost_monthly"], 20_089.6);
    // Two models leave seven cards empty, of which no type has fewer, and nothing to commit to.
    let answer = as_json(&TWO_MODELS);
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("7 of 8 GPUs stay empty"), "{caveats}");
    let next = "gpucost pricing p4d.24xlarge --region all";
    assert_eq!(answer["next"], json!([next]));
}

#[test]
fn a_saving_that_rests_on_memory_alone_says_so() {
    // Nine models of 4 GiB, 4,915 MiB with headroom, on slices of 1g.5gb with 4,864 and 1g.10gb
    // with 9,856: four slices of 10 GB on a card, three cards, one machine in place of two.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let with_peak = |number: usize| {
        let mut arguments = vec!["--type".to_owned(), "p4d.24xlarge".to_owned()];
        for (index, name) in names.iter().enumerate() {
            let peak = if index < number { ":5%" } else { "" };
            arguments.extend(["--tenant".to_owned(), format!("{name}:4GiB{peak}")]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let answer = as_json(&arguments);
        assert_eq!(step(&answer, "saved per month"), 16_029.08);
        let headline = answer["headline"].as_str().expect("text").to_owned();
        (headline, answer["steps"].to_string())
    };
    let said = |number: usize| {
        let (headline, steps) = with_peak(number);
        let words = "; this rests on memory alone for ";
        let at = headline.split_once(words).map(|(_, rest)| rest.to_owned());
        assert_eq!(steps.contains(", by memory alone for "), at.is_some());
        at
    };
    assert_eq!(said(0).as_deref(), Some("9 tenants: measure their peaks first"));
    assert_eq!(said(8).as_deref(), Some("1 tenant: measure its peak first"));
    assert_eq!(said(9), None);
}

#[test]
fn a_whole_card_needs_no_peak() {
    // 30 GiB × 1.2 take all of a card of 40 GiB: no other tenant shares its compute.
    let alone = as_json(&["--type", "p4d.24xlarge", "--tenant", "large:30GiB"]);
    let headline = alone["headline"].as_str().expect("text");
    assert!(!headline.contains("memory alone"), "{headline}");
}

#[test]
fn what_is_not_known_or_launched_is_said() {
    let unknown = as_json(&["--type", "p4d.24xlarge", "--tenant", "embed:10GiB"]);
    let card = &unknown["cards"][0];
    assert_eq!(
        (&card["peak_percent"], &card["separate_peaks_percent"]),
        (&Value::Null, &Value::Null)
    );
    let given = unknown["given"].as_array().expect("a list").iter();
    let sources: Vec<&Value> = given.take(2).map(|line| &line["source"]).collect();
    assert_eq!(sources, ["--type", "home region"]);
    let retired = [
        "--type", "p3.8xlarge", "--region", "us-east-1", "--class", "trusted", "--tenant",
        "a:4GiB:20%", "--tenant", "b:4GiB:20%",
    ];
    let retired = as_json(&retired);
    assert_eq!(retired["given"][1]["source"], "--region");
    let caveats = retired["caveats"].as_array().expect("a list");
    let first = caveats[0].as_str().expect("text");
    assert!(first.starts_with("AWS launches no new p3.8xlarge"), "{first}");
    assert!(!retired["next"].to_string().contains("reserved"), "{retired}");
}

/// Two services on a g5.xlarge each: one is busy by day, the other by night.
fn day_and_night() -> Value {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let (mut instances, mut metrics) = (Vec::new(), Vec::new());
    for (name, first, second) in [("day", 10.0, 60.0), ("night", 60.0, 10.0)] {
        let id = format!("i-{name}");
        let mut instance = template.clone();
        instance["id"] = json!(id);
        instance["tags"] = json!({"Name": name, "gpucost:kind": "serving", "team": "search"});
        instances.push(instance);
        metrics.push(series(&id, None, "cpu_utilization", "average", 30.0));
        metrics.push(series(&id, Some(0), "gpu_memory_used", "maximum", 8_192.0));
        let half = PERIODS / 28;
        let days: Vec<Value> =
            (0..14).flat_map(|_| [json!([first, half]), json!([second, half])]).collect();
        for statistic in ["average", "maximum"] {
            let mut one = series(&id, Some(0), "gpu_utilization", statistic, 0.0);
            one["start"] = json!(START);
            one["values"] = json!(days);
            metrics.push(one);
        }
    }
    estate["instances"] = json!(instances);
    estate["metrics"] = json!(metrics);
    estate
}

#[test]
fn peaks_of_an_estate_are_added_up_hour_by_hour() {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let path = world.estate("estate.json", &day_and_night());
    let arguments = ["share", "--from", &path, "--class", "trusted", "--format", "json"];
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    // 60 + 10 in every hour; 60 + 60 if the peaks came together. 2 × 8 192 × 1.2 = 19 661 MiB.
    let card = &answer["cards"][0];
    assert_eq!((&card["mode"], &card["tenants"]), (&json!("mps"), &json!(2)));
    assert_eq!(card["peak_percent"], 70.0);
    assert_eq!(card["separate_peaks_percent"], 120.0);
    assert_eq!(answer["placements"][0]["tenant"], "day/i-day/gpu0");
    assert_eq!(answer["placements"][0]["owner"], "search");
    assert_eq!(way(&answer, "MIG")["reason"], "A10G does not support MIG");
    // Peak 60% at four fifths of 75% of the threads.
    let script = file(&answer, "mps.sh");
    assert!(
        script.contains(
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=75 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=9831M"
        ),
        "{script}"
    );
    // Nothing says that they trust each other: production, and no card has walls.
    let outcome = world.run(&["share", "--from", &path, "--format", "json"]);
    let answer = outcome.json();
    assert_eq!(answer["cards"], json!([]), "{answer}");
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.starts_with("2 tenants cannot share"), "{headline}");
}

#[test]
fn tenants_are_read_from_a_file() {
    let world = World::new();
    let rows = "name,vram,peak_percent,owner,class\n\
                notebook-1,3GiB,5,research,development\n\
                notebook-2,3GiB,5%,research,development\n\
                notebook-3,3GiB,10,research,development\n";
    let path = world.file("tenants.csv", rows);
    let run = |path: &str| {
        world.run(&["share", "--type", "g5.xlarge", "--tenants", path, "--format", "json"])
    };
    let outcome = run(&path);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    assert_eq!(way(&answer, "time-slicing")["chosen"], true);
    let sharing = file(&answer, "gpu-operator-sharing.yaml");
    let document = "  time-slicing-3: |\n    version: v1\n    sharing:\n      timeSlicing:\n        \
                    renameByDefault: true\n        resources:\n          - name: nvidia.com/gpu\n            \
                    replicas: 3\n";
    assert!(sharing.ends_with(document), "{sharing}");
    assert_eq!(answer["placements"][0]["resource"], "nvidia.com/gpu.shared");
    for (rows, said) in [
        ("name,vram\nchat,0GiB\n", "line 2: VRAM: a tenant holds more than nothing"),
        ("name,vram\nchat,10GiB\nchat,1GiB\n", "two tenants are named `chat`"),
        ("name,memory\nchat,10GiB\n", "line 1: unknown column `memory`"),
        ("name\nchat\n", "line 1: the column `vram` is missing"),
        ("name,vram,class\nchat,1GiB,best\n", "line 2: CLASS: valid values"),
        ("name,vram,peak_percent\nchat,1GiB,NaN\n", "line 2: PEAK: expected"),
        ("name,vram\n", "no tenant to place"),
    ] {
        let outcome = run(&world.file("bad.csv", rows));
        assert_eq!(outcome.code, 2, "{rows}: {}", outcome.stdout);
        assert!(outcome.stderr.contains(said), "{rows}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
    }
    let outcome = run("missing.csv");
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("error: cannot read missing.csv\n"), "{}", outcome.stderr);
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_nearest_possibility() {
    let tenant = ["--tenant", "chat:10GiB:33%"];
    for (arguments, said, hint) in [
        (
            &["--type", "p4d.24xlarge", "--tenant", "large:50GiB"][..],
            "tenant `large` holds 51200 MiB, and a GPU of p4d.24xlarge (A100) has",
            "`--type p",
        ),
        (
            &["--type", "p4d.24xlarge", "--tenant", "large:5TiB"],
            "tenant `large` holds",
            "no card holds it",
        ),
        (&["--type", "p4d.24xlarg", tenant[0], tenant[1]], "p4d.24xlarg", "p4d.24xlarge"),
        (&["--type", "trn1.2xlarge", tenant[0], tenant[1]], "Trainium1", "A100"),
        (&["--type", "g6f.large", tenant[0], tenant[1]], "no whole GPU", "A100"),
        (
            &["--type", "p4d.24xlarge", "--region", "mars-1", tenant[0], tenant[1]],
            "no region `mars-1`",
            "",
        ),
    ] {
        let outcome = share(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stdout);
        assert!(outcome.stdout.is_empty());
        let (error, advised) = outcome.stderr.split_once("hint: ").expect("a hint");
        assert!(error.contains(said), "{error}");
        assert!(advised.contains(hint), "{advised}");
    }
    for arguments in [
        &["--tenant", "chat:10GiB"][..],
        &["--type", "p4d.24xlarge", "--tenant", "chat"],
        &["--demo", "--type", "p4d.24xlarge", "--tenant", "chat:10GiB"],
        &["--type", "p4d.24xlarge", "--survive-nodes", "-1", "--tenant", "chat:10GiB"],
    ] {
        assert_eq!(share(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn hostile_names_stand_in_comments_alone() {
    let names = [
        "evil\n$(reboot)", "evil'; reboot #", "evil`reboot`\u{1b}[31m", "evil\": {a: b}\r\n- x",
        "=evil()", "evil\u{202e}",
    ];
    let mut arguments = vec!["--type", "g5.12xlarge"];
    let tenants: Vec<String> = names
        .iter()
        .map(|name| format!("{}:2GiB:5%:search:trusted", name.replace(':', "")))
        .collect();
    for tenant in &tenants {
        arguments.extend(["--tenant", tenant.as_str()]);
    }
    for format in ["table", "wide", "json", "csv"] {
        let outcome = share(&[&arguments[..], &["--format", format]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.contains("evil"), "{format}");
        let stray = outcome.stdout.chars().find(|c| !is_harmless(*c));
        assert_eq!(stray, None, "{format}");
    }
    let answer = as_json(&arguments);
    for file in answer["files"].as_array().expect("a list") {
        let text = file["text"].as_str().expect("text");
        let stray = text.chars().find(|c| !is_harmless(*c));
        assert_eq!(stray, None, "{text}");
        for line in text.lines().filter(|line| line.contains("evil") || line.contains("reboot")) {
            let is_comment = line.trim_start().starts_with('#');
            assert!(is_comment || line.contains("some need a reboot"), "{line}");
        }
    }
}

/// Runs a script with programs that only write down how they were called.
#[cfg(unix)]
fn calls_of(script: &str, setup: &str) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a scratch folder");
    let log = folder.path().join("calls");
    for name in ["nvidia-smi", "nvidia-cuda-mps-control", "mkdir"] {
        let program = folder.path().join(name);
        let text = format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\n", log.display());
        std::fs::write(&program, text).expect("writable");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, executable).expect("its owner");
    }
    let path = folder.path().join("script.sh");
    std::fs::write(&path, script).expect("writable");
    let path_variable = format!("{}:/usr/bin:/bin", folder.path().display());
    let output = std::process::Command::new("sh")
        .arg(&path)
        .arg(setup)
        .env("PATH", path_variable)
        .output()
        .expect("sh starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}\n{script}");
    let calls = std::fs::read_to_string(log).expect("it called something");
    calls.lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn scripts_do_what_they_print() {
    let answer = as_json(&TWO_MODELS);
    assert_eq!(
        calls_of(file(&answer, "mig.sh"), "share-1"),
        ["nvidia-smi -i 0 -mig 1", "nvidia-smi mig -i 0 -cgi 3g.20gb:0,3g.20gb:4 -C",]
    );
    let answer = as_json(&[
        "--type", "g5.xlarge", "--tenant", "a'; reboot:4GiB:20%:search:trusted", "--tenant",
        "b:4GiB:20%:search:trusted",
    ]);
    assert_eq!(
        calls_of(file(&answer, "mps.sh"), "instance-1"),
        [
            "nvidia-smi -i 0 -c EXCLUSIVE_PROCESS",
            "mkdir -p /tmp/gpucost-mps-0 /var/log/gpucost-mps-0", "nvidia-cuda-mps-control -d",
        ]
    );
}

#[test]
fn examples_in_the_page_print_what_it_shows() {
    let examples = blocks(&page("planners/share.md"), "text");
    let examples: Vec<&String> =
        examples.iter().filter(|text| text.starts_with("$ gpucost share ")).collect();
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let words = shlex::split(command.trim_start_matches("$ gpucost ")).expect("words");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = share(&words[1..]).stdout;
        assert_shows("docs/planners/share.md", shown, &printed);
    }
}

#[test]
fn lines_of_files_are_no_longer_than_a_screen_and_still_commands() {
    let answer = as_json(&["--demo"]);
    for file in answer["files"].as_array().expect("a list") {
        let text = file["text"].as_str().expect("text");
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(100), "{text}");
    }
    // Without the signs of a comment, the lines are one command of a shell.
    let operator = file(&answer, "gpu-operator-mig.yaml");
    let command: Vec<&str> =
        operator.lines().take(2).map(|line| line.strip_prefix("# ").expect("a comment")).collect();
    let [first, second] = command[..] else {
        panic!("{operator}");
    };
    let first = first.strip_suffix(" \\").expect("it goes on");
    assert_eq!(
        format!("{first} {}", second.trim_start()),
        "kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge --patch \
         '{\"spec\":{\"mig\":{\"strategy\":\"mixed\"},\"migManager\":{\"config\":{\"name\":\
         \"gpucost-mig\"}}}}'"
    );
}
