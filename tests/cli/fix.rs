//! `gpucost fix`: every action has a check, steps, a way back and something to watch; scripts
//! run nothing without `--yes`, and then run what they print, in order, until something fails.

use crate::cli::hostile::{hostile, is_harmless};
use crate::cli::installed::installed;
use crate::cli::pages::{assert_shows, blocks, page};
use crate::cli::world::World;
use crate::support::data::shared;
use crate::support::skip::skip;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub const DEMOS: [&str; 3] = ["starter", "quarter-used", "mixed-fleet"];

/// A situation of the rules, to be changed.
pub fn situation(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let text = fs::read_to_string(folder.join(name)).expect("a situation");
    serde_json::from_str(&text).expect("JSON")
}

/// The idle machine of a situation under several ids, each with what it measured.
pub fn idle(ids: &[&str]) -> Value {
    let mut estate = situation("idle-gpu/fires.json");
    let machine = estate["instances"][0].clone();
    let metrics = estate["metrics"].as_array().expect("a list").clone();
    let (mut machines, mut measured) = (Vec::new(), Vec::new());
    for id in ids {
        let mut one = machine.clone();
        one["id"] = json!(id);
        machines.push(one);
        for series in &metrics {
            let mut series = series.clone();
            series["instance"] = json!(id);
            measured.push(series);
        }
    }
    estate["instances"] = json!(machines);
    estate["metrics"] = json!(measured);
    estate
}

/// The fixes of an estate in a format.
pub fn printed(estate: &Value, more: &[&str], format: &str) -> String {
    let world = World::new();
    let path = world.estate("estate.json", estate);
    let arguments = [&["fix", "--from", &path, "--format", format], more].concat();
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.stdout
}

fn script(estate: &Value) -> String {
    printed(estate, &[], "script")
}

pub fn of_demo(demo: &str, format: &str) -> String {
    let outcome = World::new().run(&["fix", "--demo", demo, "--format", format]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.stdout
}

/// A line of a script that reads or runs something.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    /// What it must print; absent where that does not matter.
    answer: Option<String>,
    is_read: bool,
    words: Vec<String>,
}

const YES: [&str; 3] = ["--yes", "--erase-instance-stores", "--interrupt-work"];

/// What a fake prints where a script keeps one word.
const KEPT: &str = "kept-1";

/// The words of a line as bash reads them: the tests' own scripts need no `$'…'` here.
fn words(line: &str) -> Vec<String> {
    let words = shlex::split(line).unwrap_or_else(|| panic!("not for a shell: {line}"));
    let variable = |word: String| {
        let mut parts = word.split('$');
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let name = |c: char| c.is_ascii_uppercase() || c == '_';
            whole.push_str(KEPT);
            whole.push_str(part.trim_start_matches(name));
        }
        whole
    };
    words.into_iter().map(variable).collect()
}

fn calls(script: &str) -> Vec<Call> {
    let (_, actions) = script.split_once("\ntitle ").unwrap_or(("", ""));
    let lines = actions.lines().filter_map(|line| {
        let (what, rest) = line.split_once(' ')?;
        let mut words = match what {
            "run" | "expect" | "keep" => words(rest),
            _ => return None,
        };
        let answer = match what {
            "expect" => Some(words.remove(0)),
            "keep" => {
                words.remove(0);
                Some(KEPT.to_owned())
            }
            _ => None,
        };
        let reads = ["describe-", "get-", "list-"];
        let is_read = words
            .get(2)
            .is_some_and(|operation| reads.iter().any(|prefix| operation.starts_with(prefix)));
        Some(Call { answer, is_read, words })
    });
    lines.collect()
}

/// A folder with programs that record their calls instead of doing anything.
struct Fakes(tempfile::TempDir);

const FAKE: &str = r#"#!/usr/bin/env bash
printf '%s' "${0##*/}" >>"$FAKES/log"
printf '\037%s' "$@" >>"$FAKES/log"
printf '\036' >>"$FAKES/log"
count=$(tr -cd '\036' <"$FAKES/log" | wc -c)
if [ "${FAIL_AT:-0}" -eq "$count" ]; then exit 7; fi
sed -n "${count}p" "$FAKES/answers"
"#;

impl Fakes {
    /// Those that answer calls in this order.
    fn of(script: &str, calls: &[Call]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a scratch folder");
        for name in ["aws", "kubectl", "sleep"] {
            let path = folder.path().join(name);
            fs::write(&path, FAKE).expect("writable");
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).expect("permissions");
        }
        let answers = calls.iter().map(|call| call.answer.clone());
        let answers: Vec<String> = answers.map(Option::unwrap_or_default).collect();
        fs::write(folder.path().join("answers"), answers.join("\n") + "\n").expect("writable");
        fs::write(folder.path().join("fix.sh"), script).expect("writable");
        let fakes = Self(folder);
        // A second before the script is too old.
        let (_, rest) = script.split_once("\nvalid_until ").expect("a time");
        let until = rest.lines().next().and_then(|until| until.parse().ok());
        fakes.at(until.map(|until: i64| until - 1).expect("seconds"));
        fakes
    }

    /// Sets the clock of the script.
    fn at(&self, second: i64) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.0.path().join("date");
        fs::write(&path, format!("#!/usr/bin/env bash\necho {second}\n")).expect("writable");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("permissions");
    }

    fn run(&self, arguments: &[&str], fail_at: usize) -> Output {
        let usual = std::env::var("PATH").unwrap_or_default();
        let folder = self.0.path().to_str().expect("UTF-8");
        let _ = fs::remove_file(self.0.path().join("log"));
        Command::new("bash")
            .arg("fix.sh")
            .args(arguments)
            .current_dir(folder)
            .env("PATH", format!("{folder}:{usual}"))
            .env("FAKES", folder)
            .env("FAIL_AT", fail_at.to_string())
            .stdin(Stdio::null())
            .output()
            .expect("bash starts")
    }

    /// The calls of the last run, each as its words.
    fn log(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.0.path().join("log")).unwrap_or_default();
        let calls = text.split('\u{1e}').filter(|call| !call.is_empty());
        let of_words = calls.map(|call| call.split('\u{1f}').map(str::to_owned).collect());
        of_words.collect()
    }
}

fn commands(calls: &[Call]) -> Vec<Vec<String>> {
    calls.iter().map(|call| call.words.clone()).collect()
}

/// Six machines of the Auto Scaling group of docs/scaling-groups.md, of which three are idle.
pub fn trainers() -> Value {
    let ids = ["i-1", "i-2", "i-3", "i-4", "i-5", "i-6"];
    let mut estate = idle(&ids);
    for machine in estate["instances"].as_array_mut().expect("a list") {
        machine["auto_scaling_group"] = json!("trainers");
    }
    let works = |series: &Value| {
        ["i-4", "i-5", "i-6"].contains(&series["instance"].as_str().expect("an id"))
    };
    let metrics = estate["metrics"].as_array_mut().expect("a list");
    metrics.retain(|series| !works(series) || series["statistic"] != "sum");
    for series in metrics {
        let works = works(series);
        if works && series["metric"] == "gpu_utilization" {
            series["values"] = json!([[70, 4032]]);
        }
        if works && series["metric"] == "gpu_memory_used" {
            series["values"] = json!([[40000, 4032]]);
        }
    }
    estate["scaling_groups"] = json!([{
        "name": "trainers", "account": "111122223333", "region": "us-east-1",
        "desired": 6, "min": 4, "max": 8, "in_service": ids,
    }]);
    estate
}

#[test]
fn every_action_has_a_check_steps_a_way_back_and_something_to_watch() {
    let mut kinds = BTreeSet::new();
    for demo in DEMOS {
        let text = of_demo(demo, "markdown");
        for section in text.split("\n## ").skip(1) {
            let (heading, _) = section.split_once('\n').expect("a heading");
            let kind = heading.split(' ').nth(1).expect("a kind");
            kinds.insert(kind.to_owned());
            for (title, item) in [
                ("Check before", "\n1. "),
                ("Steps", "\n1. "),
                ("Way back", "\n1. "),
                ("Watch", "\n- "),
            ] {
                let title = format!("\n### {title}\n");
                let (_, rest) = section.split_once(&title).expect("a list");
                let list = rest.split("\n### ").next().expect("a list");
                assert!(list.contains(item), "{demo}: {heading}: {title}{list}");
            }
        }
    }
    let expected = ["commit", "release", "rightsize", "schedule", "share", "spot", "stop"];
    assert_eq!(kinds, BTreeSet::from(expected.map(str::to_owned)));
}

#[test]
fn actions_are_in_the_order_of_certainty_and_a_purchase_comes_once_and_last() {
    let table = of_demo("starter", "table");
    let rows = table.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let is_numbered = cells.first().is_some_and(|cell| cell.parse::<u32>().is_ok());
        let is_row = is_numbered && cells[1].starts_with('$');
        is_row.then(|| (cells[2].to_owned(), cells[3].to_owned()))
    });
    let actions: Vec<(String, String)> = rows.collect();
    // What is certain first, promises last; four p4d.24xlarge are bought for two workloads.
    let expected = [
        ("stop", "llm-poc-old"),
        ("stop", "notebook-pavel"),
        ("release", "speech-prototype"),
        ("schedule", "nightly-eval"),
        ("rightsize", "experiments"),
        ("share", "chat-serving"),
        ("spot", "experiments"),
        ("commit", "p4d.24xlarge"),
    ];
    let expected = expected.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
    assert_eq!(actions, expected, "{table}");
}

#[test]
fn no_cell_of_the_table_is_cut() {
    for demo in DEMOS {
        let table = of_demo(demo, "table");
        assert!(!table.contains('…'), "{demo}: {table}");
        for line in table.lines() {
            assert!(line.chars().count() <= 100, "{demo}: {line}");
        }
    }
}

#[test]
fn without_yes_nothing_is_run() {
    for demo in DEMOS {
        let script = of_demo(demo, "script");
        let calls = calls(&script);
        let fakes = Fakes::of(&script, &calls);
        let output = fakes.run(&[], 0);
        assert!(output.status.success(), "{demo}");
        assert_eq!(fakes.log(), Vec::<Vec<String>>::new(), "{demo}");
        let shown = String::from_utf8(output.stdout).expect("UTF-8");
        let commands = shown.lines().filter(|line| {
            ["aws ", "kubectl ", "sleep "].iter().any(|name| line.starts_with(name))
        });
        assert_eq!(commands.count(), calls.len(), "{demo}");
        for arguments in [
            &["--no"][..],
            &["--yes", "--yes"],
            &["yes"],
            &["--interrupt-work"],
            &["--interrupt-work", "--yes"],
        ] {
            assert_eq!(fakes.run(arguments, 0).status.code(), Some(2), "{arguments:?}");
            assert_eq!(fakes.log(), Vec::<Vec<String>>::new());
        }
    }
}

#[test]
fn with_yes_every_command_runs_in_order() {
    for demo in DEMOS {
        let script = of_demo(demo, "script");
        let calls = calls(&script);
        let fakes = Fakes::of(&script, &calls);
        let output = fakes.run(&YES, 0);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{demo}: {stderr}");
        assert_eq!(fakes.log(), commands(&calls), "{demo}");
    }
}

#[test]
fn a_command_that_fails_is_the_last_one() {
    let script = of_demo("starter", "script");
    let calls = calls(&script);
    assert!(calls.len() > 20, "{}", calls.len());
    let fakes = Fakes::of(&script, &calls);
    for last in [1, 2, 7, calls.len() / 2, calls.len()] {
        let output = fakes.run(&YES, last);
        assert_eq!(output.status.code(), Some(7), "{last}");
        assert_eq!(fakes.log(), commands(&calls[..last]));
    }
}

#[test]
fn an_answer_that_is_not_expected_is_the_last_one() {
    let script = script(&idle(&["i-idle"]));
    let calls = calls(&script);
    let checks = calls.iter().filter(|call| call.is_read || call.answer.is_some());
    // Account, state, GPU activity since the audit, GPUs that still report, and CPU and network
    // since the audit.
    assert_eq!(checks.count(), 5);
    assert_eq!(calls[5].words[2], "stop-instances");
    for wrong in 0..5 {
        let mut answers = calls.clone();
        answers[wrong].answer = Some("9".to_owned());
        let fakes = Fakes::of(&script, &answers);
        let output = fakes.run(&YES, 0);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(fakes.log(), commands(&calls[..=wrong]));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr, "error: it printed: 9\n");
    }
}

#[test]
fn an_agent_that_died_after_the_audit_does_not_make_a_gpu_idle() {
    let script = script(&idle(&["i-idle"]));
    let calls = calls(&script);
    let asked = calls.iter().position(|call| call.words[2] == "list-metrics");
    let asked = asked.expect("a check");
    assert_eq!(
        calls[asked].words.join(" "),
        "aws cloudwatch list-metrics --region us-east-1 --metric-name nvidia_smi_utilization_gpu \
         --dimensions Name=InstanceId,Value=i-idle --recently-active PT3H --query \
         length(Metrics) --output text"
    );
    // The agent reported no activity of four GPUs, and then none at all, or only one of them.
    for answer in ["0", "1", "None", ""] {
        let mut answers = calls.clone();
        answers[asked].answer = Some(answer.to_owned());
        let fakes = Fakes::of(&script, &answers);
        let output = fakes.run(&YES, 0);
        assert_eq!(output.status.code(), Some(1), "{answer:?}");
        assert_eq!(fakes.log(), commands(&calls[..=asked]), "{answer:?}");
    }
    let first = calls.iter().position(|call| !call.is_read);
    assert!(first.is_some_and(|first| first > asked), "{calls:?}");
}

#[test]
fn a_script_that_is_too_old_runs_nothing() {
    let text = script(&idle(&["i-idle"]));
    let calls = calls(&text);
    let fakes = Fakes::of(&text, &calls);
    // 14 days after 2026-11-01 is 2026-11-15T00:00:00Z.
    for (second, code) in [(1_794_700_799, 0), (1_794_700_800, 1)] {
        fakes.at(second);
        assert_eq!(fakes.run(&YES, 0).status.code(), Some(code));
    }
    assert_eq!(fakes.log(), Vec::<Vec<String>>::new());
}

#[test]
fn an_instance_store_is_not_erased_unasked() {
    let text = script(&idle(&["i-idle"]));
    let calls = calls(&text);
    let fakes = Fakes::of(&text, &calls);
    assert_eq!(fakes.run(&["--yes"], 0).status.code(), Some(1));
    // The account, the state, the GPUs and other use were asked for; nothing was stopped.
    assert_eq!(fakes.log(), commands(&calls[..5]));
}

/// A machine at work that no tag says what it does: it is not stopped unless it may be.
#[test]
fn work_is_not_interrupted_unasked() {
    let estate = situation("overprovisioned-gpu/fires.json");
    let text = printed(&estate, &["--action", "rightsize"], "script");
    let calls = calls(&text);
    let changes = calls.iter().position(|call| call.words[2] == "stop-instances");
    let changes = changes.expect("a stop");
    assert!(calls[..changes].iter().all(|call| call.is_read || call.words[1] == "sts"));
    let fakes = Fakes::of(&text, &calls);
    for flags in [&["--yes"][..], &["--yes", "--erase-instance-stores"]] {
        let output = fakes.run(flags, 0);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(fakes.log(), commands(&calls[..changes]));
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = "error: pass --interrupt-work once all of this is checked\n";
        assert_eq!(stderr, said);
    }
    let output = fakes.run(&YES, 0);
    assert!(output.status.success());
    assert_eq!(fakes.log(), commands(&calls));
    let text = printed(&estate, &["--action", "rightsize"], "markdown");
    let said = "manual; the script goes on with `--interrupt-work` only: end the jobs on ";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("has the driver of the new GPU"), "{text}");
}

/// Machines that train, at 17.1% and with a job on them: the script has no command for them,
/// and the runbook has all steps and says why.
#[test]
fn machines_that_train_are_resized_by_whoever_owns_the_run() {
    let why = "its machines train: whoever owns the run changes them between two runs";
    let run = |format: &str| {
        let one = ["fix", "--demo", "starter", "--workload", "experiments"];
        let more = ["--action", "rightsize", "--format", format];
        World::new().run(&[&one[..], &more].concat()).stdout
    };
    let script = run("script");
    assert!(calls(&script).is_empty(), "{script}");
    let fakes = Fakes::of(&script, &[]);
    assert!(fakes.run(&YES, 0).status.success());
    assert_eq!(fakes.log(), Vec::<Vec<String>>::new());
    let runbook = run("markdown");
    assert!(runbook.contains(&format!("\n- manual: {why}\n")), "{runbook}");
    assert!(runbook.contains("manual: end the jobs on "), "{runbook}");
    assert!(runbook.contains("aws ec2 modify-instance-attribute "), "{runbook}");
    assert!(!runbook.contains("--interrupt-work"), "{runbook}");
    let document: Value = serde_json::from_str(&run("json")).expect("JSON");
    assert_eq!(document["actions"][0]["why_by_hand"], why);
}

/// AWS launches no new p3: what is stopped may not come back.
#[test]
fn a_way_back_to_a_retired_type_says_so() {
    let back = |demo: &str, workload: &str| {
        let arguments = ["fix", "--demo", demo, "--workload", workload];
        let more = ["--action", "rightsize", "--format", "markdown"];
        let text = World::new().run(&[&arguments[..], &more].concat()).stdout;
        let (_, back) = text.split_once("\n### Way back\n").expect("a way back");
        back.to_owned()
    };
    let retired = back("starter", "experiments");
    let said = "start: AWS launches no new p3.8xlarge, and may not start one that is stopped";
    assert!(retired.contains(said), "{retired}");
    let launched = back("quarter-used", "sweeps");
    assert!(!launched.contains("launches no new"), "{launched}");
}

/// A spot instance has a quota of its own, and the data, the role and the key of what it
/// replaces; and it replaces what the rightsizing left.
#[test]
fn a_spot_instance_takes_the_place_of_one_with_its_data() {
    let arguments = ["fix", "--demo", "--action", "spot", "--format", "markdown"];
    let text = World::new().run(&arguments).stdout;
    for said in [
        "carry out rightsize of this workload first", "Name=instance-type,Values=g6e.2xlarge",
        "Spot Instance Requests", "aws ec2 create-image ", "--image-id \"$IMAGE_ID\"",
        "--key-name \"$KEY_NAME\"", "--iam-instance-profile Arn=\"$PROFILE_ARN\"",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("On-Demand"), "{text}");
    let image = text.find("aws ec2 create-image ").expect("an image");
    assert!(image < text.find("aws ec2 run-instances ").expect("a launch"));
    // The rightsizing is on demand, and comes first.
    let arguments = ["fix", "--demo", "--action", "rightsize", "--format", "markdown"];
    let text = World::new().run(&arguments).stdout;
    assert!(text.contains("On-Demand") && !text.contains("Spot Instance Requests"));
    assert!(!text.contains("of this workload first"), "{text}");
}

#[test]
fn what_cannot_be_undone_or_checked_is_done_by_hand() {
    // A purchase, and the storage of a stopped machine.
    for action in ["commit", "release"] {
        let arguments = ["fix", "--demo", "starter", "--format", "script", "--action", action];
        let text = World::new().run(&arguments).stdout;
        assert!(calls(&text).is_empty(), "{text}");
        assert!(text.contains("note 'manual, as the runbook says"), "{text}");
    }
    // Metrics that CloudWatch does not have.
    let mut estate = idle(&["i-idle"]);
    for series in estate["metrics"].as_array_mut().expect("a list") {
        if series["source"] == "cloudwatch-agent" {
            series["source"] = json!("prometheus");
        }
    }
    let text = printed(&estate, &["--action", "stop"], "script");
    assert!(calls(&text).is_empty(), "{text}");
    assert!(text.contains("note 'manual, as the runbook says"), "{text}");
}

#[test]
fn a_group_is_lowered_to_what_its_advice_says() {
    // 6 − 3 = 3 remain, below the minimum of 4: as in docs/scaling-groups.md.
    let text = script(&trainers());
    let calls = calls(&text);
    let of_group = |operation: &str| -> Vec<&Call> {
        let calls = calls.iter().filter(|call| call.words[1] == "autoscaling");
        calls.filter(|call| call.words[2] == operation).collect()
    };
    let sizes = of_group("describe-auto-scaling-groups");
    let sizes: Vec<Option<&str>> = sizes.iter().map(|call| call.answer.as_deref()).collect();
    assert_eq!(sizes, [Some("6 4"), Some("3 3")]);
    let update = of_group("update-auto-scaling-group");
    assert_eq!(update.len(), 1);
    let expected = "aws autoscaling update-auto-scaling-group --region us-east-1 \
                    --auto-scaling-group-name trainers --min-size 3";
    assert_eq!(update[0].words.join(" "), expected);
    let ended = of_group("terminate-instance-in-auto-scaling-group");
    let ended: Vec<&str> = ended.iter().map(|call| call.words[6].as_str()).collect();
    assert_eq!(ended, ["i-1", "i-2", "i-3"]);
    // The way back is printed and not run.
    let back = "\n#   aws autoscaling update-auto-scaling-group --region us-east-1 \
                --auto-scaling-group-name trainers --min-size 4 --desired-capacity 6\n";
    assert!(text.contains(back), "{text}");
}

#[test]
fn zones_of_a_group_are_not_rebalanced_once_its_instances_end() {
    let mut estate = trainers();
    let rebalancing = "--scaling-processes AZRebalance";
    // All six are in us-east-1a.
    assert!(!script(&estate).contains(rebalancing));
    for place in 0..3_usize {
        estate["instances"][place]["zone"] = json!("us-east-1b");
    }
    let text = script(&estate);
    let calls = calls(&text);
    let changes: Vec<&Call> =
        calls.iter().filter(|call| !call.is_read && call.words[1] == "autoscaling").collect();
    let expected = format!(
        "aws autoscaling suspend-processes --region us-east-1 --auto-scaling-group-name trainers \
         {rebalancing}"
    );
    assert_eq!(changes[0].words.join(" "), expected);
    // Then the minimum, and three instances.
    assert_eq!(changes.len(), 5);
    let resumed = expected.replace("suspend-processes", "resume-processes");
    let back = format!("the group ends other instances, busy ones too\n#   {resumed}\n");
    assert!(text.contains(&back), "{text}");
    // Where it is suspended today, it stays so.
    estate["scaling_groups"][0]["suspended"] = json!(["AZRebalance"]);
    let text = script(&estate);
    assert!(!text.contains(rebalancing), "{text}");
    assert!(text.contains("\nrun aws autoscaling terminate-instance"));
}

#[test]
fn a_group_in_which_more_is_to_be_done_is_changed_by_hand() {
    let batch = |estate: &mut Value| {
        for machine in estate["instances"].as_array_mut().expect("a list") {
            machine["tags"]["aws:batch:compute-environment"] = json!("training");
        }
    };
    let suspended = |estate: &mut Value| {
        estate["scaling_groups"][0]["suspended"] = json!(["Terminate"]);
    };
    let warm_pool = |estate: &mut Value| {
        estate["scaling_groups"][0]["warm_pool"] = json!({"min_size": 1});
    };
    type Change<'a> = &'a dyn Fn(&mut Value);
    let changes: [(Change<'_>, &str); 3] = [
        (&batch, "Batch compute environment training"),
        (&suspended, "processes of the group are suspended (Terminate)"),
        (&warm_pool, "the warm pool of the Auto Scaling group trainers"),
    ];
    for (change, step) in changes {
        let mut estate = trainers();
        change(&mut estate);
        let text = printed(&estate, &["--action", "stop"], "script");
        assert!(calls(&text).is_empty(), "{text}");
        let mut steps = text.lines().filter(|line| line.starts_with("note "));
        assert!(steps.any(|line| line.contains(step)), "{text}");
    }
}

#[test]
fn a_group_without_values_is_changed_by_hand() {
    let mut estate = trainers();
    estate["scaling_groups"][0].as_object_mut().expect("an object").remove("in_service");
    let text = script(&estate);
    assert!(calls(&text).is_empty(), "{text}");
    assert!(text.contains("note 'manual, as the runbook says: its steps are not run'"));
    assert!(
        text.contains("note 'check that each is in service in the Auto Scaling group trainers")
    );
    // A tag group does not hide the group that would start others in their place.
    let mut estate = idle(&["i-1"]);
    estate["instances"][0]["auto_scaling_group"] = json!("unread");
    assert!(calls(&script(&estate)).is_empty());
}

#[test]
fn two_actions_in_one_reservation_do_not_undo_each_other() {
    let mut estate = idle(&["i-1", "i-2"]);
    for (place, name) in ["first", "second"].into_iter().enumerate() {
        estate["instances"][place]["tags"] = json!({"Name": name});
        estate["instances"][place]["capacity_reservation_id"] = json!("cr-1");
    }
    estate["commitments"] = json!([{
        "kind": "capacity-reservation", "id": "cr-1", "region": "us-east-1",
        "zone": "us-east-1a", "instance_type": "g6e.12xlarge", "total": 3, "available": 1,
    }]);
    let text = script(&estate);
    let calls = calls(&text);
    let lowered = calls.iter().filter(|call| call.words[2] == "modify-capacity-reservation");
    let sizes: Vec<&str> = lowered.map(|call| call.words[8].as_str()).collect();
    // 3 − 1 = 2, and 2 − 1 = 1.
    assert_eq!(sizes, ["2", "1"], "{text}");
    // Each asks first for the size from which it lowers.
    let asked = calls.iter().filter(|call| call.words[2] == "describe-capacity-reservations");
    let asked: Vec<Option<&str>> = asked.map(|call| call.answer.as_deref()).collect();
    assert_eq!(asked, [Some("3"), Some("2")], "{text}");
}

#[test]
fn only_what_is_asked_for_is_printed() {
    let world = World::new();
    let run = |more: &[&str]| world.run(&[&["fix", "--demo"], more].concat());
    let one = run(&["--action", "stop", "--workload", "llm-poc-old"]);
    assert!(one.stdout.starts_with("1 action of the plan of"), "{}", one.stdout);
    let next = "\n  gpucost fix --demo --action=stop --workload=llm-poc-old --format script\n";
    assert!(one.stdout.contains(next), "{}", one.stdout);
    let by_id = run(&["--workload", "i-0710738f7e219399e"]);
    assert!(by_id.stdout.starts_with("1 action of the plan of"));
    let two = run(&["--action", "stop", "--action", "release"]);
    assert!(two.stdout.starts_with("3 actions of the plan of"));
    // Nothing of high risk is in the plan, and little of low risk.
    let low = run(&["--risk", "low"]);
    assert!(!low.stdout.contains("medium"), "{}", low.stdout);
    // One action by the name and by the ID of what it is about; a purchase by its type.
    let stop = "stop:i-0710738f7e219399e";
    let named = run(&["--action", "stop:llm-poc-old"]);
    let by_id = run(&["--action", stop]);
    assert!(named.stdout.starts_with("1 action of the plan of"));
    let next = "\n  gpucost fix --demo --action=stop:i-0710738f7e219399e --format script\n";
    assert!(by_id.stdout.contains(next), "{}", by_id.stdout);
    let by_name = "--action=stop:llm-poc-old";
    assert_eq!(by_id.stdout, named.stdout.replace(by_name, &format!("--action={stop}")));
    let several = run(&["--action", "stop:llm-poc-old,schedule,commit:p4d.24xlarge"]);
    // A stop, a schedule, and a purchase for two workloads.
    let heading = "4 actions in 3 steps of the plan of";
    assert!(several.stdout.starts_with(heading), "{}", several.stdout);
    let none = run(&["--action", "share", "--workload", "llm-poc-old"]);
    assert!(none.stdout.starts_with("0 actions of the plan of"), "{}", none.stdout);
}

/// Steps depend on what else is selected: two actions by their names are the same as by their
/// kinds.
#[test]
fn an_action_has_the_same_steps_by_its_kind_and_by_its_name() {
    let of = |more: &[&str]| {
        let demo = ["fix", "--demo", "--format", "json"];
        World::new().run(&[&demo[..], more].concat()).json()
    };
    let kinds = of(&["--workload", "experiments", "--action", "rightsize,spot"]);
    let names = of(&["--action", "rightsize:experiments,spot:experiments"]);
    assert_eq!(kinds["actions"], names["actions"]);
    assert_eq!(names["actions"].as_array().map(Vec::len), Some(2));
}

/// The page of a selection has every command of the JSON on a line of its own, and the files;
/// without a selection there is neither.
#[test]
fn a_page_has_steps_only_where_they_are_selected() {
    for demo in DEMOS {
        let page = of_demo(demo, "table");
        assert!(!page.contains("\naws "), "{page}");
        assert!(page.lines().count() <= 45, "{page}");
        let whole = World::new().run(&["fix", "--demo", demo, "--all"]).stdout;
        let lines: BTreeSet<&str> = whole.lines().collect();
        let document: Value = serde_json::from_str(&of_demo(demo, "json")).expect("JSON");
        for action in document["actions"].as_array().expect("a list") {
            for step in action["steps"].as_array().expect("a list") {
                let Some(command) = step["command"].as_str() else { continue };
                let line = match step["keeps"].as_str() {
                    Some(name) => format!("{name}=$({command})"),
                    None => command.to_owned(),
                };
                assert!(lines.contains(line.as_str()), "{demo}: {line}");
            }
            for file in action["files"].as_array().expect("a list") {
                let text = file["text"].as_str().expect("a text");
                assert!(whole.contains(text), "{demo}: {text}");
            }
        }
    }
}

/// Each promise with the total of all, as the purchases of the audit have them.
#[test]
fn promises_are_those_of_the_audit() {
    for demo in DEMOS {
        let document: Value = serde_json::from_str(&of_demo(demo, "json")).expect("JSON");
        let audit = World::new().run(&["audit", "--demo", demo, "--format", "json"]);
        let audit = audit.json();
        let cents = |row: &Value, key: &str| (row[key].as_f64().expect(key) * 100.0).round() as i64;
        let facts = |row: &Value| {
            let amounts = ["term_total", "upfront", "monthly"].map(|key| cents(row, key));
            (row["instance_type"].clone(), row["count"].clone(), amounts)
        };
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let promises = list(&document["promises"]);
        let purchases = list(&audit["purchases"]);
        let promised: Vec<_> = promises.iter().map(facts).collect();
        assert_eq!(promised, purchases.iter().map(facts).collect::<Vec<_>>());
        let total: i64 = purchases.iter().map(|row| cents(row, "term_total")).sum();
        let (whole, rest) = (total / 100, total % 100);
        let mut whole = whole.to_string();
        let mut at = whole.len();
        while at > 3 {
            at -= 3;
            whole.insert(at, ',');
        }
        let said = format!("\nPROMISES  ${whole}.{rest:02} until the terms end, ");
        let page = of_demo(demo, "table");
        assert_eq!(page.contains(&said), !purchases.is_empty(), "{said}: {page}");
    }
}

#[test]
fn what_cannot_be_asked_is_an_error_with_the_nearest() {
    let world = World::new();
    let unknown = world.run(&["fix", "--demo", "--workload", "llm-poc-odl"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (2, ""));
    let expected = "error: workload `llm-poc-odl` not found\nhint: closest matches: llm-poc-old";
    assert!(unknown.stderr.starts_with(expected), "{}", unknown.stderr);
    let masked = world.run(&["fix", "--demo", "--redact", "--format", "script"]);
    assert_eq!((masked.code, masked.stdout.as_str()), (2, ""));
    for kind in ["sell", "stop,sell", ":llm-poc-old"] {
        let kind = world.run(&["fix", "--demo", "--action", kind]);
        assert_eq!((kind.code, kind.stdout.as_str()), (2, ""));
    }
    let unknown = world.run(&["fix", "--demo", "--action", "stop:llm-poc-odl"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (2, ""));
    let expected = "error: the plan has no action `stop:llm-poc-odl`\nhint: closest matches: \
                    stop:llm-poc-old";
    assert!(unknown.stderr.starts_with(expected), "{}", unknown.stderr);
    let plan = world.run(&["fix", "--demo", "--terraform", "missing.json"]);
    assert_eq!(plan.code, 2);
    assert!(plan.stderr.contains("check the path passed to `--terraform`"));
    let output = world.path("same.json");
    world.file("same.json", "{}");
    let same = world.run(&["fix", "--demo", "--terraform", &output, "--output", &output]);
    assert_eq!(same.code, 2);
}

/// A Terraform plan of one machine, whose type is written as an expression.
fn terraform(id: &str, expression: Value) -> Value {
    let machine = json!({
        "id": id, "instance_type": "g5.16xlarge", "availability_zone": "us-east-1a",
    });
    json!({
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "resource_changes": [{
            "address": "aws_instance.oversized", "mode": "managed", "type": "aws_instance",
            "name": "oversized", "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": {
                "actions": ["no-op"],
                "before": machine,
                "after": machine,
                "after_unknown": {},
            },
        }],
        "configuration": {"root_module": {"resources": [{
            "address": "aws_instance.oversized", "mode": "managed", "type": "aws_instance",
            "name": "oversized", "provider_config_key": "aws",
            "expressions": {"instance_type": expression},
        }]}},
    })
}

#[test]
fn what_terraform_manages_is_changed_in_its_configuration() {
    let estate = situation("overprovisioned-gpu/fires.json");
    let world = World::new();
    let estate_path = world.estate("estate.json", &estate);
    let run = |plan: &Value, format: &str| {
        let plan = world.file("plan.json", plan.to_string());
        let more = ["--terraform", &plan, "--action", "rightsize", "--format", format];
        let outcome = world.run(&[&["fix", "--from", &estate_path][..], &more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.stdout
    };
    let constant = terraform("i-over", json!({"constant_value": "g5.16xlarge"}));
    let text = run(&constant, "markdown");
    let patch = "--- a configuration\n+++ b configuration\n@@ aws_instance.oversized @@\n\
                 -  instance_type = \"g5.16xlarge\"\n+  instance_type = \"g6.2xlarge\"\n";
    assert!(text.contains(patch), "{text}");
    assert!(calls(&run(&constant, "script")).is_empty());
    let variable = terraform("i-over", json!({"references": ["var.gpu_type"]}));
    let patch = "@@ var.gpu_type, the instance_type of aws_instance.oversized @@\n\
                 -  \"g5.16xlarge\"\n+  \"g6.2xlarge\"\n";
    assert!(run(&variable, "markdown").contains(patch));
    // Another machine is none of its business.
    let other = terraform("i-other", json!({"constant_value": "g5.16xlarge"}));
    let steps = calls(&run(&other, "script"));
    let changed = steps.iter().find(|call| call.words[2] == "modify-instance-attribute");
    assert!(changed.is_some_and(|call| call.words.contains(&"Value=g6.2xlarge".to_owned())));
}

/// Plans of infracost, recorded with Terraform 1.0 and 0.14: one has a single machine that is
/// not there yet, the other six that are, three of them in a module.
#[test]
fn recorded_plans_name_the_machines_that_they_manage() {
    let world = World::new();
    let folder = "samples/terraform";
    let Some(folder) = shared("recorded plans", folder) else { return };
    let of = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let (small, large) =
        (of("infracost_example_plan.json"), of("infracost_terraform_v0.14_plan.json.gz"));
    let warning = "warning: the Terraform plan has none of the instances and groups of these";
    let plain = of_demo("starter", "script");
    for plan in [&small, &large] {
        let arguments = ["fix", "--demo", "--terraform", plan, "--format", "script"];
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert_eq!(outcome.stdout, plain, "{plan}");
        assert!(outcome.stderr.contains(warning), "{}", outcome.stderr);
    }
    let estate = situation("overprovisioned-gpu/fires.json").to_string();
    for (id, address) in [
        ("i-0ec3a64e9a6965cfc", "aws_instance.instance_1"),
        ("i-0aeeec88544779865", "module.instances.aws_instance.module_instance_named[\"test.1\"]"),
    ] {
        let path = world.file("estate.json", estate.replace("i-over", id));
        let arguments = ["fix", "--from", &path, "--terraform", &large];
        let more = ["--action", "rightsize", "--format", "markdown"];
        let outcome = world.run(&[&arguments[..], &more].concat());
        let patch = format!(
            "@@ {address} @@\n-  instance_type = \"g5.16xlarge\"\n+  instance_type = \"g6.2xlarge\"\n"
        );
        assert!(outcome.stdout.contains(&patch), "{}", outcome.stdout);
        assert!(!outcome.stderr.contains(warning), "{}", outcome.stderr);
    }
}

#[test]
fn hostile_names_are_data() {
    for name in hostile() {
        let mut estate = idle(&["i-idle"]);
        estate["instances"][0]["tags"] = json!({"Name": name, "owner": name});
        let text = script(&estate);
        let stray = text.chars().find(|c| !is_harmless(*c));
        assert_eq!(stray, None, "{name:?}");
        let runbook = printed(&estate, &[], "markdown");
        assert_eq!(runbook.chars().find(|c| !is_harmless(*c)), None, "{name:?}");
        for more in [&[][..], &["--all"]] {
            let table = printed(&estate, more, "table");
            assert_eq!(table.chars().find(|c| !is_harmless(*c)), None, "{name:?}");
            // This action has no file: every line that is not a comment is a command of ours.
            let (_, typed) = table.split_once("\n## Check before\n").unwrap_or_default();
            let lines = typed.lines().take_while(|line| *line != "NEXT");
            let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            assert!(lines.all(|line| line.starts_with("aws ")), "{table}");
        }
        let fakes = Fakes::of(&text, &[]);
        let checked =
            Command::new("bash").args(["-n", "fix.sh"]).current_dir(fakes.0.path()).status();
        assert!(checked.expect("bash starts").success(), "{name:?}");
        let output = fakes.run(&[], 0);
        assert!(output.status.success(), "{name:?}");
        assert_eq!(fakes.log(), Vec::<Vec<String>>::new());
        let shown = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(shown.chars().find(|c| !is_harmless(*c)), None, "{name:?}");
    }
}

#[test]
fn hostile_ids_and_groups_are_one_word_each() {
    let names = ["x; touch owned", "$(touch owned)", "`touch owned`", "a'b\"c", "a\u{1b}[2Jb", "*"];
    for name in names {
        let mut group = trainers();
        for machine in group["instances"].as_array_mut().expect("a list") {
            machine["auto_scaling_group"] = json!(name);
        }
        group["scaling_groups"][0]["name"] = json!(name);
        // No expression of CloudWatch can hold such an id: its idleness cannot be checked.
        let text = printed(&idle(&[name]), &["--action", "stop"], "script");
        assert!(calls(&text).is_empty(), "{text}");
        let mut resized = situation("overprovisioned-gpu/fires.json");
        resized["instances"][0]["id"] = json!(name);
        for series in resized["metrics"].as_array_mut().expect("a list") {
            series["instance"] = json!(name);
        }
        for (estate, action, flag, value) in [
            (resized, "rightsize", "--instance-ids", name),
            (group, "stop", "--auto-scaling-group-name", name),
        ] {
            let text = printed(&estate, &["--action", action], "script");
            let fakes = Fakes::of(&text, &[]);
            let output = fakes.run(&[], 0);
            assert!(output.status.success(), "{name:?}");
            assert_eq!(fakes.log(), Vec::<Vec<String>>::new());
            assert!(!fakes.0.path().join("owned").exists(), "{name:?}");
            // With everything answered as it is expected, the name arrives as it is.
            let relaxed = text.replace("if [ \"$found\" != \"$expected\" ]", "if false");
            let relaxed = relaxed.replace("refuse 'it is not one word' \"$found\"", "found=kept");
            let fakes = Fakes::of(&relaxed, &[]);
            let output = fakes.run(&YES, 0);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name:?}: {stderr}");
            assert!(!fakes.0.path().join("owned").exists(), "{name:?}");
            let behind_flag = fakes.log().into_iter().find_map(|words| {
                let at = words.iter().position(|word| word == flag)?;
                words.get(at + 1).cloned()
            });
            assert_eq!(behind_flag.as_deref(), Some(value));
        }
    }
}

#[test]
fn a_name_that_would_be_a_flag_or_a_file_is_in_no_command() {
    for name in ["--endpoint-url=http://evil.example", "-x", "file:///etc/passwd"] {
        let text = script(&idle(&[name]));
        assert!(calls(&text).is_empty(), "{name}: {text}");
        assert!(text.contains("\nnote 'manual, as the runbook says"), "{text}");
    }
}

/// The commands of scripts and runbooks: those that are run, and those that are only shown.
fn all_commands() -> Vec<Vec<String>> {
    let mut estates: Vec<(String, String)> =
        DEMOS.iter().map(|demo| (of_demo(demo, "script"), of_demo(demo, "markdown"))).collect();
    let grouped = trainers();
    estates.push((script(&grouped), printed(&grouped, &[], "markdown")));
    let mut every_command = Vec::new();
    for (script, runbook) in estates {
        every_command.extend(commands(&calls(&script)));
        let blocks = runbook.split("```sh\n").skip(1);
        let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or("").lines());
        let is_command = |line: &&str| !line.is_empty() && !line.starts_with('#');
        for line in lines.map(str::trim).filter(is_command) {
            let command = match line.split_once("=$(") {
                Some((name, rest)) if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') => {
                    rest.strip_suffix(')').expect("it ends")
                }
                _ => line,
            };
            every_command.push(words(command));
        }
    }
    every_command
}

#[test]
fn commands_of_aws_have_the_shapes_of_its_api() {
    let Some(python) = installed("python") else {
        return skip("target/test-venv with botocore is missing");
    };
    let commands = all_commands();
    assert!(commands.iter().filter(|words| words[0] == "aws").count() > 100);
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/aws_commands.py");
    let mut child = Command::new(python)
        .arg(helper)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let lines: String = commands.iter().map(|words| json!(words).to_string() + "\n").collect();
    let written = stdin.write_all(lines.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    if !output.status.success() {
        return skip("target/test-venv has no botocore");
    }
    written.expect("it reads");
    let problems = String::from_utf8_lossy(&output.stdout);
    assert_eq!(problems, "");
}

#[test]
fn checks_only_read() {
    for words in all_commands() {
        let operation = words.get(2).map_or("", String::as_str);
        let asks = words.iter().any(|word| word == "--query");
        // What keeps an id of something new is the one kind of change that prints.
        let creates = operation.starts_with("create-");
        let reads = ["describe-", "get-", "list-"];
        let is_read = reads.iter().any(|prefix| operation.starts_with(prefix));
        assert!(!asks || creates || is_read, "{words:?}");
    }
}

/// The program of a package that `tests/run` unpacks, or an installed one.
fn shellcheck() -> Option<PathBuf> {
    let unpacked =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/shellcheck/usr/bin/shellcheck");
    let named = PathBuf::from("shellcheck");
    let runs = |path: &PathBuf| {
        let version = Command::new(path).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    [unpacked, named].into_iter().find(runs)
}

#[test]
fn shellcheck_finds_nothing_in_scripts() {
    let Some(program) = shellcheck() else { return skip("shellcheck is missing") };
    let mut scripts: Vec<String> = DEMOS.iter().map(|demo| of_demo(demo, "script")).collect();
    scripts.push(script(&trainers()));
    for text in scripts {
        let world = World::new();
        let path = world.file("fix.sh", text);
        let output = Command::new(&program).arg(&path).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "");
    }
}

#[test]
fn slices_of_the_demo_are_those_that_its_plan_explains() {
    let text = of_demo("starter", "markdown");
    let configuration = blocks(&text, "yaml").remove(0);
    // 40 × 3g.20gb, two on each of 20 cards, on three instances of eight.
    let of_instance = |number: u32, devices: &str| {
        format!(
            "  gpucost-{number}:\n    - devices: [{devices}]\n      mig-devices:\n        \
             \"3g.20gb\": 2\n      mig-enabled: true\n"
        )
    };
    let expected = format!(
        "mig-configs:\n{}{}{}version: \"v1\"\n",
        of_instance(1, "0, 1, 2, 3, 4, 5, 6, 7"),
        of_instance(2, "0, 1, 2, 3, 4, 5, 6, 7"),
        of_instance(3, "0, 1, 2, 3")
    );
    assert_eq!(configuration, expected);
    // Each card has its two slices at the starts that NVIDIA allows: 0 and 4.
    let made = text.matches(" -cgi 3g.20gb:0,3g.20gb:4 -C\n").count();
    assert_eq!(made, 20);
}

#[test]
fn storage_is_released_net_of_its_snapshots_which_are_read_first() {
    let estate = situation("stopped-with-storage/fires.json");
    let text = printed(&estate, &[], "markdown");
    // 500 × 0.08 + 100 × 0.10 + 730 × 0.005, less at most 600 × 0.05 for snapshots.
    assert!(text.contains("`parked`: \\$23.65 per month\n"), "{text}");
    assert!(text.contains("net of \\$30.00 per month"), "{text}");
    let line = text.lines().find(|line| line.contains("describe-snapshots"));
    let line = line.expect("a command");
    let typed = words(line.trim());
    assert_eq!(
        typed[..9],
        [
            "aws", "ec2", "describe-snapshots", "--region", "us-east-1", "--owner-ids", "self",
            "--filters", "Name=volume-id,Values=vol-data,vol-root"
        ]
    );
    let at = |what: &str| text.find(what).expect("a step");
    assert!(at("create-image") < at("describe-snapshots"));
    assert!(at("describe-snapshots") < at("delete-volume"));
    assert!(!printed(&estate, &[], "table").contains("at most this"));
    // Where their price is not known, the saving is an upper bound: in Ireland gp3 is 0.088 and
    // gp2 0.11, and 500 × 0.088 + 100 × 0.11 + 730 × 0.005 = 58.65.
    let mut elsewhere = estate.clone();
    elsewhere["instances"][0]["region"] = json!("eu-west-1");
    elsewhere["instances"][0]["zone"] = json!("eu-west-1a");
    let text = printed(&elsewhere, &[], "markdown");
    assert!(text.contains("`parked`: up to \\$58.65 per month\n"), "{text}");
    let table = printed(&elsewhere, &[], "table");
    assert!(table.contains("\n  1 saves at most this: "), "{table}");
    // An address alone leaves no snapshots.
    let mut address = estate;
    address["instances"][0]["volumes"] = json!([]);
    let text = printed(&address, &[], "markdown");
    assert!(text.contains("`parked`: \\$3.65 per month\n"), "{text}");
    assert!(!printed(&address, &[], "table").contains("at most this"));
}

/// An estate whose machine is a node of Kubernetes that Karpenter made, with a pod.
fn by_karpenter(mut estate: Value) -> Value {
    let machine = estate["instances"][0]["id"].clone();
    let amount = json!({"capacity": 64000, "allocatable": 64000});
    estate["nodes"] = json!([{
        "name": "node-1", "machine": machine, "cluster": "ml", "pool": "gpu",
        "pool_maker": "karpenter", "cpu_millicores": amount, "memory_mib": amount,
    }]);
    estate["claims"] = json!([{
        "namespace": "search", "pod": "ranker-0", "state": "running", "machine": machine,
        "owner": {"kind": "Deployment", "name": "ranker"},
        "resource": "nvidia.com/gpu", "unit": {}, "count": 1,
    }]);
    estate
}

#[test]
fn nodes_of_karpenter_end_by_their_cluster() {
    let mut estate = by_karpenter(idle(&["i-idle"]));
    estate["claims"] = json!([]);
    let text = script(&estate);
    let calls = calls(&text);
    // The account, the state of the instance, the node, GPU activity since the audit, GPUs that
    // still report, and CPU and network since the audit.
    let checks: Vec<(&str, &str)> = calls
        .iter()
        .filter_map(|call| Some((call.words[2].as_str(), call.answer.as_deref()?)))
        .collect();
    let expected = [
        ("get-caller-identity", "111122223333"),
        ("describe-instances", "1"),
        ("node", "aws:///us-east-1a/i-idle"),
        ("get-metric-data", "0 4"),
        ("list-metrics", "4"),
        ("get-metric-data", "0 0"),
    ];
    assert_eq!(checks, expected);
    let of_cluster = calls[6..].iter().map(|call| call.words.join(" "));
    let expected = [
        "kubectl get pods --all-namespaces --field-selector spec.nodeName=node-1",
        "kubectl cordon node-1",
        "kubectl drain --ignore-daemonsets --timeout=15m node-1",
        "kubectl delete node node-1",
    ];
    assert_eq!(of_cluster.collect::<Vec<_>>(), expected);
}

#[test]
fn machines_whose_gpus_are_held_end_by_hand() {
    // A month before the audit of 2026-11-01: the pod was idle with its GPU for 14 days.
    for estate in [idle(&["i-idle"]), trainers()] {
        let mut estate = by_karpenter(estate);
        estate["claims"][0]["since"] = json!("2026-10-01T00:00:00Z");
        let text = printed(&estate, &["--action", "stop"], "script");
        assert!(calls(&text).is_empty(), "{text}");
        let step = "note 'cordon and drain node-1 first: ";
        assert!(text.contains(step), "{text}");
    }
}

#[test]
fn nodes_of_karpenter_get_another_type_by_their_pool() {
    let estate = by_karpenter(situation("overprovisioned-gpu/fires.json"));
    let text = printed(&estate, &["--action", "rightsize"], "markdown");
    let expected = "\
apiVersion: \"karpenter.sh/v1\"
kind: \"NodePool\"
metadata:
  name: \"gpu\"
spec:
  template:
    spec:
      requirements:
        - key: \"node.kubernetes.io/instance-type\"
          operator: \"In\"
          values: [\"g6.2xlarge\"]
";
    assert_eq!(blocks(&text, "yaml"), [expected]);
    let patch = "kubectl patch deployment ranker --namespace search --patch \
                 '{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":\
                 {\"node.kubernetes.io/instance-type\":\"g6.2xlarge\"}}}}}'\n";
    assert!(text.contains(patch), "{text}");
}

/// What a NodePool says of a requirement, from `karpenter.sh_nodepools.yaml` of Karpenter v1,
/// and what nvidia-mig-parted reads, from its `api/spec/v1`. Excerpts by hand, 2026-11.
fn schema(kind: &str) -> Value {
    let requirement = json!({
        "type": "object",
        "required": ["key", "operator"],
        "additionalProperties": false,
        "properties": {
            "key": {"type": "string", "maxLength": 316},
            "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]},
            "minValues": {"type": "integer", "minimum": 1, "maximum": 50},
            "values": {"type": "array", "items": {"type": "string"}},
        },
    });
    let requirements = json!({"type": "array", "maxItems": 100, "items": requirement});
    let in_spec =
        |what: Value| json!({"type": "object", "required": ["spec"], "properties": {"spec": what}});
    let of_nodes = json!({"type": "object", "required": ["requirements"],
        "properties": {"requirements": requirements}});
    let template = json!({"type": "object", "required": ["template"],
        "properties": {"template": in_spec(of_nodes)}});
    let card = json!({
        "type": "object",
        "required": ["devices", "mig-enabled"],
        "additionalProperties": false,
        "properties": {
            "device-filter": {},
            "devices": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "mig-enabled": {"type": "boolean"},
            "mig-devices": {
                "type": "object",
                "propertyNames": {"pattern": r"^[1-9]g\.[0-9]+gb(\+[a-z.]+)?$"},
                "additionalProperties": {"type": "integer", "minimum": 1},
            },
        },
    });
    match kind {
        "NodePool" => in_spec(template),
        _ => json!({
            "type": "object",
            "required": ["version", "mig-configs"],
            "additionalProperties": false,
            "properties": {
                "version": {"const": "v1"},
                "mig-configs": {"additionalProperties": {"type": "array", "items": card}},
            },
        }),
    }
}

/// Reads a document of YAML and writes it as JSON.
const TO_JSON: &str = "import json, sys, ruamel.yaml\n\
    json.dump(ruamel.yaml.YAML(typ='safe').load(sys.stdin), sys.stdout)";

#[test]
fn manifests_have_the_shapes_of_their_schemas() {
    let Some(python) = installed("python") else {
        return skip("target/test-venv with ruamel.yaml is missing");
    };
    let estate = by_karpenter(situation("overprovisioned-gpu/fires.json"));
    let moved = printed(&estate, &["--action", "rightsize"], "markdown");
    for (kind, runbook) in [("NodePool", moved), ("mig-parted", of_demo("starter", "markdown"))] {
        let manifest = blocks(&runbook, "yaml").remove(0);
        let mut child = Command::new(&python)
            .args(["-c", TO_JSON])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let written = stdin.write_all(manifest.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("ModuleNotFoundError") {
            return skip("target/test-venv has no ruamel.yaml");
        }
        written.expect("it reads");
        assert!(output.status.success(), "{kind}: {stderr}");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let schema = jsonschema::validator_for(&schema(kind)).expect("a schema");
        let problems: Vec<String> =
            schema.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn the_page_shows_what_is_printed() {
    let text = page("fix.md");
    let example = blocks(&text, "text").remove(0);
    let (command, shown) = example.split_once('\n').expect("a command");
    assert_eq!(command, "$ gpucost fix --demo");
    let table = World::new().run(&["fix", "--demo"]).stdout;
    assert_shows("docs/fix.md", shown, &table);
    let asked: Vec<&str> =
        ["fix", "--demo", "--workload", "llm-poc-old", "--format", "script"].into();
    let script = World::new().run(&asked).stdout;
    let output = Fakes::of(&script, &[]).run(&[], 0);
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let end = "\n\n# nothing was run: type --yes to run it\n";
    assert!(printed.ends_with(end), "{printed}");
}
