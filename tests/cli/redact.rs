//! `--redact`: nothing that names an account, a person, a project or a host
//! leaves, and no figure changes.

use crate::cli::contract::DEMO;
use crate::cli::estates::{one, owned};
use crate::cli::world::World;
use gpucost::sources::files::{demo_estate, write_estate};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// Account, names, tag values, workloads and hosts of an estate, as the
/// inventory and the estate file show them.
fn secrets_of_the_demo() -> BTreeSet<String> {
    let demo = demo_estate().expect("the demo");
    let mut secrets: BTreeSet<String> = demo.accounts.iter().cloned().collect();
    for instance in &demo.instances {
        secrets.insert(instance.account.clone());
        secrets.extend(instance.private_dns_name.clone());
        secrets.extend(instance.auto_scaling_group.clone());
        secrets.extend(instance.addresses.iter().map(|address| address.id.clone()));
        let is_vocabulary = |key: &str| ["gpucost:kind", "gpucost:restartable"].contains(&key);
        let named = instance.tags.iter().filter(|(key, _)| !is_vocabulary(key));
        secrets.extend(named.map(|(_, value)| value.clone()));
    }
    assert!(secrets.contains("111122223333") && secrets.contains("pavel.novak"));
    // Words that the documents use for something else.
    for word in ["research", "quality", "dev", "production", "staging", "poc"] {
        secrets.remove(word);
    }
    secrets
}

fn assert_silent(text: &str, secrets: &BTreeSet<String>, name: &str) {
    for secret in secrets {
        assert!(!text.contains(secret), "{name} tells `{secret}`");
    }
}

#[test]
fn no_identity_of_the_demo_leaves_in_any_format() {
    let secrets = secrets_of_the_demo();
    let world = World::new();
    // Without its series, which name nobody, the demo is read much faster.
    let mut light = demo_estate().expect("the demo");
    light.metrics.clear();
    let mut text = Vec::new();
    write_estate(&light, &mut text).expect("memory takes everything");
    let light = world.file("light.json", text);
    for format in ["table", "wide", "json", "csv"] {
        for arguments in [
            &["audit", "--demo"][..],
            &["inventory", "--from", &light],
            &["metrics", "--from", &light],
        ] {
            let outcome = world.run(&[arguments, &["--redact", "--format", format]].concat());
            let name = format!("{arguments:?} {format}");
            assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
            assert_silent(&outcome.stdout, &secrets, &name);
            assert_silent(&outcome.stderr, &secrets, &name);
        }
    }
    let setup = world.run(&["setup", "metrics", "--from", &light, "--redact"]);
    assert_silent(&setup.stdout, &secrets, "setup");
    assert_silent(&setup.stderr, &secrets, "setup");
}

#[test]
fn a_saved_estate_is_as_silent_and_gives_the_same_answer() {
    let secrets = secrets_of_the_demo();
    let world = World::new();
    let path = world.path("masked.json");
    let saving = world.run(&["audit", "--demo", "--redact", "--save", &path, "--format", "json"]);
    let saved = fs::read_to_string(&path).expect("it was saved");
    assert_silent(&saved, &secrets, "the saved estate");
    let again = world.run(&["audit", "--from", &path, "--format", "json"]);
    assert_eq!(saving.json()["workloads"], again.json()["workloads"]);
    assert_eq!(saving.json()["findings"], again.json()["findings"]);
}

#[test]
fn figures_and_declared_kinds_stay() {
    let masked = World::new().run(&["audit", "--demo", "--redact", "--format", "json"]).json();
    let demo = DEMO.json();
    assert_eq!(masked["summary"], demo["summary"]);
    assert_eq!(masked["prices"], demo["prices"]);
    let rows = |audit: &Value| -> Vec<Value> {
        let mut rows: Vec<Value> = audit["workloads"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|workload| {
                json!([
                    workload["kind"], workload["kind_basis"], workload["classification"],
                    workload["state"], workload["monthly_cost"], workload["plan"],
                    workload["utilization"],
                ])
            })
            .collect();
        rows.sort_by_key(Value::to_string);
        rows
    };
    assert_eq!(rows(&masked), rows(&demo));
}

#[test]
fn what_belonged_together_still_does_and_masks_are_the_same_every_time() {
    let run = || World::new().run(&["inventory", "--demo", "--redact", "--format", "json"]);
    let masked = run();
    assert_eq!(masked.stdout, run().stdout);
    let groups = |inventory: &Value, key: &str| {
        let mut sizes: std::collections::BTreeMap<String, usize> = Default::default();
        for instance in inventory["instances"].as_array().expect("a list") {
            *sizes.entry(instance["tags"][key].to_string()).or_default() += 1;
        }
        let mut sizes: Vec<usize> = sizes.into_values().collect();
        sizes.sort_unstable();
        sizes
    };
    let open = World::new().run(&["inventory", "--demo", "--format", "json"]).json();
    for key in ["Name", "team", "owner", "gpucost:workload"] {
        assert_eq!(groups(&masked.json(), key), groups(&open, key), "{key}");
    }
}

/// Ids, names and parts of both as they are typed, each with what a redacted audit calls it.
#[test]
fn explain_takes_real_ids_and_shows_masks() {
    let world = World::new();
    let mut grouped = one();
    grouped["instances"][0]["auto_scaling_group"] = json!("ledger");
    let mut bought = owned();
    bought["instances"][0]["tags"] = json!({"Name": "ledger"});
    for (file, estate) in [("grouped.json", grouped), ("bought.json", bought)] {
        let path = world.estate(file, &estate);
        let audit = |more: &[&str]| {
            let arguments = ["audit", "--from", &path, "--format", "json"];
            world.run(&[&arguments[..], more].concat()).json()
        };
        let (open, masked) = (audit(&[]), audit(&["--redact"]));
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let mut ids = Vec::new();
        for key in ["id", "name"] {
            let [real, mask] = [&open, &masked].map(|report| text(&report["workloads"][0][key]));
            ids.push((format!("plan:{real}"), format!("plan:{mask}")));
            ids.push((real, mask));
        }
        ids.push(("i-one".to_owned(), text(&masked["workloads"][0]["instances"][0])));
        let of_rules = |audit: &Value| -> std::collections::BTreeMap<String, String> {
            let findings = audit["findings"].as_array().expect("a list").iter();
            findings.map(|finding| (text(&finding["rule"]), text(&finding["id"]))).collect()
        };
        let (open, masked) = (of_rules(&open), of_rules(&masked));
        assert!(!open.is_empty() && open.keys().eq(masked.keys()), "{open:?}");
        ids.extend(open.into_values().zip(masked.into_values()));
        if file == "bought.json" {
            for (place, id) in ["cr-1", "ri-1"].into_iter().enumerate() {
                ids.push((id.to_owned(), format!("commitment-{:06}", place + 1)));
            }
        }
        for (real, mask) in ids {
            let explained = [&real, &mask].map(|id| {
                let outcome = world.run(&["explain", id, "--from", &path, "--redact"]);
                assert_eq!(outcome.code, 0, "{id}: {}", outcome.stderr);
                outcome.stdout
            });
            assert_eq!(explained[0], explained[1], "{real} and {mask}");
            for secret in ["ledger", "111122223333", "i-one", "ri-1", "cr-1"] {
                assert!(!explained[0].contains(secret), "{real}: {}", explained[0]);
            }
        }
    }
}

#[test]
fn addresses_groups_and_messages_are_masked_too() {
    let mut estate = one();
    let instance = &mut estate["instances"][0];
    instance["account"] = json!("444455556666");
    instance["state"] = json!("stopped");
    instance["private_dns_name"] = json!("ip-10-1-2-3.ec2.internal");
    instance["auto_scaling_group"] = json!("falcon-trainers");
    instance["addresses"] = json!([{"id": "203.0.113.7"}]);
    instance["tags"] = json!({"Name": "falcon-7", "owner": "mallory@example.com", "gpucost:ignore": "falcon launch"});
    estate["gaps"] = json!([{
        "what": "region", "where": "eu-west-1",
        "reason": "User: arn:aws:iam::444455556666:user/mallory is not authorized; host ip-10-1-2-3.ec2.internal",
        "hint": "ask the owner of 444455556666",
    }, {
        "what": "metrics", "where": "falcon-trainers",
        "reason": "falcon-7 on ip-10-1-2-3 and hobbes (198.51.100.4, 2001:db8::4) publishes no gpu_utilization for g5.xlarge in us-east-1",
        "hint": "ask mallory@example.com",
    }]);
    estate["instances"][0]["state_transition_reason"] = json!("User initiated by mallory");
    let mut twin = estate["instances"][0].clone();
    twin["id"] = json!("i-twin");
    twin["private_dns_name"] = json!("hobbes.ec2.internal");
    estate["instances"].as_array_mut().expect("a list").push(twin);
    let secrets: BTreeSet<String> = [
        "444455556666", "hobbes", "ip-10-1-2-3", "falcon", "203.0.113.7", "mallory", "example.com",
        "arn:aws", "198.51.100.4", "2001:db8",
    ]
    .map(str::to_owned)
    .into();
    let world = World::new();
    let path = world.estate("named.json", &estate);
    let masked = world.path("masked.json");
    for command in ["audit", "inventory", "metrics"] {
        for format in ["table", "wide", "json", "csv"] {
            let arguments =
                [command, "--from", &path, "--redact", "--save", &masked, "--format", format];
            let outcome = world.run(&arguments);
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            assert_silent(&outcome.stdout, &secrets, &format!("{command} {format}"));
            let saved = fs::read_to_string(&masked).expect("it was saved");
            assert_silent(&saved, &secrets, "the saved estate");
        }
    }
    let saved: Value =
        serde_json::from_str(&fs::read_to_string(&masked).expect("saved")).expect("JSON");
    let reason = &saved["instances"][0]["state_transition_reason"];
    assert_eq!(reason, "User initiated");
}
