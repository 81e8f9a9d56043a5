//! Tasks of ECS and compute environments of Batch, with figures worked out by hand.

use serde_json::{Value, json};

use super::account::Account;
use super::command::{Gpucost, Run};
use super::days::Days;
use crate::wire::fleet::{Launch, Launched, launch};
use crate::wire::loopback::{Fault, Loopback, Price, Target, Times};

const REGION: &str = "us-east-1";

fn audit(account: &Account, services: &str) -> Run {
    Gpucost::audit(Days::ahead())
        .of(account)
        .args(&["--region", REGION, "--services", services])
        .run()
}

/// A container instance whose GPUs have ids of one letter.
fn container_instance(name: &str, machine: &str, registered: &str, remaining: &str) -> Value {
    let gpus = |letters: &str| {
        let ids: Vec<String> = letters.chars().map(|id| format!("GPU-{id}")).collect();
        json!({ "name": "GPU", "type": "STRINGSET", "stringSetValue": ids })
    };
    json!({
        "containerInstanceArn": container_arn(name), "ec2InstanceId": machine,
        "status": "ACTIVE", "agentConnected": true,
        "registeredResources": [
            { "name": "CPU", "type": "INTEGER", "integerValue": 4_096 },
            { "name": "MEMORY", "type": "INTEGER", "integerValue": 15_000 },
            gpus(registered),
        ],
        "remainingResources": [gpus(remaining)],
    })
}

fn container_arn(name: &str) -> String {
    format!("arn:aws:ecs:{REGION}:111122223333:container-instance/serving/{name}")
}

fn task(id: &str, on: &str, group: &str, gpus: &[&str]) -> Value {
    json!({
        "taskArn": format!("arn:aws:ecs:{REGION}:111122223333:task/serving/{id}"),
        "taskDefinitionArn": format!("arn:aws:ecs:{REGION}:111122223333:task-definition/rank:3"),
        "containerInstanceArn": container_arn(on), "group": group,
        "desiredStatus": "RUNNING", "lastStatus": "RUNNING", "createdAt": 1_790_000_000.5,
        "containers": [{ "name": "main", "gpuIds": gpus }, { "name": "logs" }],
    })
}

/// A box of four GPUs at 4.00 and one of one at 1.00 in the cluster `serving`, and one without
/// a cluster. A service holds one GPU of the first; another instance of the cluster is none of
/// the account's boxes with GPUs.
fn serving(account: &Account) -> Vec<Launched> {
    let loopback = &account.loopback;
    let types = ["g5.12xlarge", "g5.xlarge", "g5.xlarge"];
    let launched: Vec<Launched> = types
        .iter()
        .flat_map(|name| launch(loopback, &[Launch::on_demand("us-east-1a", name)]))
        .collect();
    for (name, hourly) in [("g5.12xlarge", "4.00"), ("g5.xlarge", "1.00")] {
        loopback.put_price(Price::linux(name, REGION, hourly));
    }
    let put = |instance| loopback.put_container_instance(REGION, "serving", instance);
    put(container_instance("a", &launched[0].instance_id, "abcd", "bcd"));
    put(container_instance("b", &launched[1].instance_id, "e", "e"));
    put(container_instance("c", "i-0cccccccccccccccc", "f", ""));
    loopback.put_task(REGION, "serving", task("0a1b2c", "a", "service:ranker", &["GPU-a"]));
    loopback.reset_calls();
    launched
}

/// Instance, title and savings of the findings of a rule, by title.
fn rows(document: &Value, rule: &str) -> Vec<(String, String, Value)> {
    let findings = document["findings"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let own = findings.filter(|finding| finding["rule"] == rule);
    let mut rows: Vec<(String, String, Value)> = own
        .map(|finding| {
            let savings = finding["monthly_savings"].clone();
            (text(&finding["workload"]), text(&finding["title"]), savings)
        })
        .collect();
    rows.sort_by(|left, right| left.1.cmp(&right.1));
    rows
}

fn gaps<'a>(document: &'a Value, what: &str) -> Vec<&'a Value> {
    let listed = document["gaps"].as_array().expect("a list").iter();
    listed.filter(|gap| gap["what"] == what).collect()
}

/// Calls to a service, by operation.
fn calls(loopback: &Loopback, service: &str) -> Vec<(String, usize)> {
    let counts = loopback.call_counts();
    let own = counts.iter().filter(|(seen, _)| seen.service == service);
    own.map(|(seen, count)| (seen.operation.clone(), *count)).collect()
}

#[test]
fn gpus_that_no_task_requests_are_found_where_ecs_is_read() {
    let Some(account) = Account::open() else { return };
    let launched = serving(&account);
    let plain = audit(&account, "ec2").json(0);
    assert_eq!(rows(&plain, "unallocated-gpus"), []);
    assert_eq!(calls(&account.loopback, "ecs"), []);
    let run = audit(&account, "ec2,ecs");
    let document = run.json(0);
    let ids: Vec<&str> = launched.iter().map(|instance| instance.instance_id.as_str()).collect();
    // 1 × 1.00 × 730, and 3 of 4 of 4.00 × 730 = 2,920.
    let expected = [
        (
            ids[1].to_owned(),
            format!(
                "no task requests 1 of the 1 GPU of container instance {}: USD 730.00 per month",
                ids[1]
            ),
            json!(730.0),
        ),
        (
            ids[0].to_owned(),
            format!(
                "no task requests 3 of the 4 GPUs of container instance {}: USD 2190.00 per month",
                ids[0]
            ),
            Value::Null,
        ),
    ];
    assert_eq!(rows(&document, "unallocated-gpus"), expected);
    assert_eq!(document["summary"], plain["summary"]);
    // How the task uses its GPU is not measured; nothing else is missing.
    let own = gaps(&document, "ECS tasks");
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(own[0]["cause"], "task-use-unknown");
    // A cluster, its three instances, and the tasks of two of them.
    let count = |operation: &str, count| (operation.to_owned(), count);
    let expected = [
        count("DescribeContainerInstances", 1),
        count("DescribeTasks", 1),
        count("ListClusters", 1),
        count("ListContainerInstances", 1),
        count("ListTasks", 2),
    ];
    assert_eq!(calls(&account.loopback, "ecs"), expected);
    // One result on a page gives the same.
    account.loopback.limit_pages(1);
    let paged = audit(&account, "ec2,ecs").json(0);
    assert_eq!(paged["findings"], document["findings"]);
}

#[test]
fn what_ecs_denies_is_a_gap_and_never_unallocated() {
    let Some(account) = Account::open() else { return };
    serving(&account);
    for (operation, causes) in [
        ("ListClusters", vec!["call-failed"]),
        ("DescribeContainerInstances", vec!["call-failed"]),
        ("ListTasks", vec!["call-failed", "tasks-unknown"]),
        ("DescribeTasks", vec!["call-failed", "tasks-unknown"]),
    ] {
        let target = Target::operation("ecs", operation);
        let loopback = &account.loopback;
        loopback.clear_faults();
        loopback.inject(target, Fault::AccessDenied, Times::Always);
        let document = audit(&account, "ec2,ecs").json(0);
        let own = gaps(&document, "ECS tasks");
        let mut reasons: Vec<&str> = own.iter().filter_map(|gap| gap["cause"].as_str()).collect();
        reasons.sort_unstable();
        assert_eq!(reasons, causes, "{operation}: {own:?}");
        let failed = own.iter().find(|gap| gap["cause"] == "call-failed");
        let hint = failed.and_then(|gap| gap["hint"].as_str()).expect("text");
        assert!(hint.starts_with(&format!("allow ecs:{operation}")), "{hint}");
        let findings = rows(&document, "unallocated-gpus");
        // The instance without a task needs no description of one.
        let expected = usize::from(operation == "DescribeTasks");
        assert_eq!(findings.len(), expected, "{operation}: {findings:?}");
    }
}

#[test]
fn what_ecs_answers_in_part_is_a_gap_and_no_check_passes() {
    let Some(account) = Account::open() else { return };
    serving(&account);
    let loopback = &account.loopback;
    for (operation, body, causes, why) in [
        ("ListClusters", "{}", vec!["call-failed"], "clusterArns is not a list"),
        (
            "DescribeContainerInstances",
            r#"{"containerInstances":[],"failures":[]}"#,
            vec!["call-failed"],
            "container-instance/serving/a is not described",
        ),
        (
            "ListTasks",
            r#"{"taskArns":[null]}"#,
            vec!["call-failed", "tasks-unknown"],
            "taskArns: invalid type: null, expected a string",
        ),
        (
            "DescribeTasks",
            "{}",
            vec!["call-failed", "tasks-unknown"],
            "task/serving/0a1b2c is not described",
        ),
    ] {
        loopback.clear_faults();
        let target = Target::operation("ecs", operation);
        loopback.inject(target, Fault::Answer(body), Times::Always);
        let document = audit(&account, "ec2,ecs").json(0);
        let own = gaps(&document, "ECS tasks");
        let mut reasons: Vec<&str> = own.iter().filter_map(|gap| gap["cause"].as_str()).collect();
        reasons.sort_unstable();
        assert_eq!(reasons, causes, "{operation}: {own:?}");
        let reason = own.iter().find(|gap| gap["cause"] == "call-failed");
        let reason = reason.and_then(|gap| gap["reason"].as_str()).expect("text");
        assert!(reason.contains(why), "{reason}");
        // As above: one instance needs no description of a task, and its GPU is a violation.
        let is_found = operation == "DescribeTasks";
        assert_eq!(rows(&document, "unallocated-gpus").len(), usize::from(is_found));
        let as_of = Days::ahead().as_of();
        let mut check = Gpucost::new(&["check", "--lookback", "14d", "--as-of", &as_of])
            .of(&account)
            .args(&["--region", REGION, "--services", "ec2,ecs"])
            .args(&["--policy", "gate.toml"]);
        let gate = "[[forbid]]\nrule = \"unallocated-gpus\"\n";
        std::fs::write(check.folder().join("gate.toml"), gate).expect("a scratch folder");
        let run = check.run();
        let expected = if is_found { 100 } else { 3 };
        assert_eq!(run.code, expected, "{operation}: {}", run.stderr);
    }
}

#[test]
fn a_service_without_the_one_that_it_is_about_is_an_input_error() {
    for service in ["ecs", "batch"] {
        let run = Gpucost::new(&["inventory", "--services", service]).run();
        assert_eq!(run.code, 2, "{}", run.stderr);
        let hint = format!("hint: use `--services ec2,{service}`");
        assert!(run.stderr.contains(&hint), "{}", run.stderr);
    }
}

/// Two g5.xlarge of the group that Batch made for the environment `train`, of which moto knows
/// the sizes alone.
fn training(account: &Account) {
    let group = "AWSBatch-train-asg-640012bd";
    let tags = [("aws:autoscaling:groupName", group)];
    let member = Launch { tags: &tags, ..Launch::on_demand("us-east-1a", "g5.xlarge") };
    let loopback = &account.loopback;
    launch(loopback, &[member.clone(), member]);
    loopback.put_price(Price::linux("g5.xlarge", REGION, "1.00"));
    super::scaling::group(account, group);
    let arn = format!("arn:aws:batch:{REGION}:111122223333:compute-environment/train");
    loopback.put_compute_environment(
        REGION,
        json!({
            "computeEnvironmentName": "train", "computeEnvironmentArn": arn, "type": "MANAGED",
            "state": "ENABLED", "status": "VALID",
            "computeResources": {
                "type": "EC2", "minvCpus": 8, "desiredvCpus": 8, "maxvCpus": 64,
                "instanceTypes": ["g5.xlarge"], "subnets": ["subnet-1"],
            },
        }),
    );
    let unrelated = json!({
        "computeEnvironmentName": "web", "computeEnvironmentArn": "arn:web", "type": "MANAGED",
        "computeResources": { "type": "FARGATE", "maxvCpus": 4, "subnets": ["subnet-1"] },
    });
    loopback.put_compute_environment(REGION, unrelated);
    loopback.put_job_queue(
        REGION,
        json!({
            "jobQueueName": "nightly", "state": "ENABLED", "priority": 1,
            "computeEnvironmentOrder": [{ "order": 1, "computeEnvironment": arn }],
        }),
    );
    loopback.reset_calls();
}

/// The estate that an audit saves.
fn estate(account: &Account, services: &str) -> Value {
    let mut command = Gpucost::audit(Days::ahead())
        .of(account)
        .args(&["--region", REGION, "--services", services, "--save", "estate.json"]);
    let run = command.run();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let estate = std::fs::read(command.folder().join("estate.json")).expect("it was saved");
    serde_json::from_slice(&estate).expect("JSON")
}

#[test]
fn groups_of_batch_have_the_settings_of_their_environment() {
    let Some(account) = Account::open() else { return };
    training(&account);
    let plain = estate(&account, "ec2");
    assert_eq!(plain["scaling_groups"][0].get("batch"), None);
    assert_eq!(calls(&account.loopback, "batch"), []);
    account.loopback.limit_pages(1);
    let read = estate(&account, "ec2,batch");
    let expected = json!({
        "name": "train", "min_vcpus": 8, "desired_vcpus": 8, "instance_types": ["g5.xlarge"],
        "spot": false, "queues": ["nightly"],
    });
    assert_eq!(read["scaling_groups"][0]["batch"], expected);
    // Two environments and one queue, one on a page.
    let count = |operation: &str, count| (operation.to_owned(), count);
    let expected = [count("DescribeComputeEnvironments", 2), count("DescribeJobQueues", 1)];
    assert_eq!(calls(&account.loopback, "batch"), expected);
}

#[test]
fn what_batch_denies_is_a_gap() {
    let Some(account) = Account::open() else { return };
    training(&account);
    for (operation, is_known) in
        [("DescribeJobQueues", true), ("DescribeComputeEnvironments", false)]
    {
        let target = Target::operation("batch", operation);
        let loopback = &account.loopback;
        loopback.inject(target, Fault::AccessDenied, Times::Always);
        let document = audit(&account, "ec2,batch").json(0);
        let own = gaps(&document, "Batch compute environments");
        assert_eq!(own.len(), 1, "{own:?}");
        let hint = own[0]["hint"].as_str().expect("text");
        assert!(hint.starts_with(&format!("allow batch:{operation}")), "{hint}");
        let group = &estate(&account, "ec2,batch")["scaling_groups"][0];
        assert_eq!(group["batch"]["name"] == "train", is_known, "{group}");
        assert_eq!(group["batch"].get("queues"), None);
    }
}
