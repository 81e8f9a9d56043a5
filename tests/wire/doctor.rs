//! `gpucost doctor` against an account of which every answer is written here: what is asked,
//! what is said of each refusal, and how it ends.

use super::audit::command::{Gpucost, Run};
use super::loopback::{Fault, Loopback, Target, Times};
use crate::cli::json_schemas::{assert_described, closed, schema, validator};
use crate::cli::pages::{blocks, page};
use crate::support::skip::skip;
use gpucost::report::{CheckArea, CheckStatus};
use gpucost::sources::aws::ACTIONS;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const ACCOUNT: &str = "111122223333";
const WHO: &str = "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
                   <GetCallerIdentityResult><Arn>arn:aws:iam::111122223333:user/me</Arn>\
                   <UserId>AIDA</UserId><Account>111122223333</Account>\
                   </GetCallerIdentityResult></GetCallerIdentityResponse>";
const REGIONS: &str = "<DescribeRegionsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
                       <regionInfo>\
                       <item><regionName>us-east-1</regionName></item>\
                       <item><regionName>eu-west-1</regionName></item>\
                       <item><regionName>af-south-1</regionName>\
                       <optInStatus>not-opted-in</optInStatus></item>\
                       </regionInfo></DescribeRegionsResponse>";
const HOSTILE_REGIONS: &str = "<DescribeRegionsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
     <regionInfo>\
     <item><regionName>us-east-1</regionName></item>\
     <item><regionName>=cmd|' /C calc'!A0</regionName></item>\
     <item><regionName>&lt;script&gt;::error::x</regionName></item>\
     </regionInfo></DescribeRegionsResponse>";

/// What services answer to questions that they have nothing to say to.
const EMPTY: &[(&str, &str, &str)] = &[
    ("sts", "GetCallerIdentity", WHO),
    ("ec2", "DescribeAddresses", "<DescribeAddressesResponse/>"),
    ("ec2", "DescribeCapacityReservations", "<DescribeCapacityReservationsResponse/>"),
    ("ec2", "DescribeInstanceTypes", "<DescribeInstanceTypesResponse/>"),
    ("ec2", "DescribeInstances", "<DescribeInstancesResponse/>"),
    ("ec2", "DescribeReservedInstances", "<DescribeReservedInstancesResponse/>"),
    ("ec2", "DescribeSpotPriceHistory", "<DescribeSpotPriceHistoryResponse/>"),
    ("ec2", "DescribeVolumes", "<DescribeVolumesResponse/>"),
    ("autoscaling", "DescribeAutoScalingGroups", "<DescribeAutoScalingGroupsResponse/>"),
    ("sagemaker", "DescribeCluster", "{}"),
    ("sagemaker", "DescribeEndpoint", "{}"),
    ("sagemaker", "DescribeEndpointConfig", "{}"),
    ("sagemaker", "ListApps", "{}"),
    ("sagemaker", "ListClusterNodes", "{}"),
    ("sagemaker", "ListClusters", "{}"),
    ("sagemaker", "ListEndpoints", "{}"),
    ("sagemaker", "ListNotebookInstances", "{}"),
];

/// An account that refuses some calls, and answers all others that an audit of EC2 makes.
fn account(refused: &[(Target, Fault)], regions: &'static str) -> Loopback {
    let loopback = Loopback::start(None);
    // The first rule that fits wins.
    for (target, fault) in refused {
        loopback.inject(target.clone(), *fault, Times::Always);
    }
    for (service, operation, body) in EMPTY {
        let target = Target::operation(service, operation);
        loopback.inject(target, Fault::Answer(body), Times::Always);
    }
    let target = Target::operation("ec2", "DescribeRegions");
    loopback.inject(target, Fault::Answer(regions), Times::Always);
    let at = jiff::Timestamp::now().as_second() - 600;
    let dimensions = [("InstanceId", "i-1"), ("index", "0")];
    let name = "nvidia_smi_utilization_gpu";
    loopback.put_metric("us-east-1", "CWAgent", name, &dimensions, [(at, 7.0)]);
    loopback
}

fn doctor(loopback: &Loopback, arguments: &[&str]) -> Run {
    let run =
        Gpucost::new(&["doctor"]).args(arguments).at(&loopback.url()).with_credentials().run();
    if let Ok(document) = serde_json::from_str(&run.stdout) {
        assert_described("doctor", &document);
        for check in document["checks"].as_array().expect("a list") {
            let is_fine = [json!("ok"), json!("skipped")].contains(&check["status"]);
            assert!(is_fine || check["fix"].is_string(), "{check}");
        }
    }
    run
}

/// The check of a name.
fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().expect("a list");
    let mut matches = checks.iter().filter(|row| row["name"] == name);
    let row = matches.next();
    row.unwrap_or_else(|| panic!("{name} is not among {checks:#?}"))
}

#[test]
fn everything_that_an_audit_needs_is_asked_for_once_and_fine() {
    let loopback = account(&[], REGIONS);
    let run = doctor(&loopback, &["--format", "json"]);
    let report = run.json(0);
    assert_eq!(run.stderr, "");
    assert_eq!(report["ok"], true);
    for name in [
        "us-east-1", "eu-west-1", "ec2:DescribeVolumes", "cloudwatch:GetMetricData",
        "pricing:GetProducts", "savingsplans:DescribeSavingsPlansOfferingRates",
    ] {
        let row = check(&report, name);
        assert_eq!((&row["status"], &row["fix"]), (&"ok".into(), &Value::Null));
    }
    let names = report["checks"].as_array().expect("a list");
    assert!(names.iter().all(|row| row["name"] != "af-south-1"));
    let metrics = check(&report, "CloudWatch namespace CWAgent");
    assert_eq!(metrics["detail"], "series of GPU utilization: us-east-1 1");
    // The server counted the actions, and the policy lists them.
    let asked: BTreeSet<String> = loopback.actions().into_iter().collect();
    let policy: BTreeSet<String> = ACTIONS.iter().map(|action| (*action).to_owned()).collect();
    assert_eq!(asked, policy);
    assert_eq!(loopback.calls("cloudwatch", "GetMetricData"), 1);
    let calls: usize = loopback.call_counts().values().sum();
    assert!(calls < 3 * ACTIONS.len(), "{calls} calls");
}

#[test]
fn a_denied_action_is_named_with_its_fix() {
    let denied = |service, operation| (Target::operation(service, operation), Fault::AccessDenied);
    let refused = [denied("cloudwatch", "GetMetricData"), denied("sagemaker", "ListTrainingJobs")];
    let loopback = account(&refused, REGIONS);
    let run = doctor(&loopback, &["--format", "json"]);
    let report = run.json(3);
    assert_eq!(
        run.stderr,
        "error: an audit would be incomplete\nhint: each check that is not ok has its fix\n"
    );
    assert_eq!(report["ok"], false);
    let row = check(&report, "cloudwatch:GetMetricData");
    assert_eq!((&row["status"], &row["needed"]), (&"denied".into(), &true.into()));
    assert_eq!(
        row["fix"],
        "allow cloudwatch:GetMetricData; `gpucost setup iam` prints the full policy"
    );
    let training = check(&report, "sagemaker:ListTrainingJobs");
    assert_eq!((&training["status"], &training["needed"]), (&"denied".into(), &false.into()));
    let report = doctor(&loopback, &["--format", "json", "--services", "ec2,sagemaker"]).json(3);
    assert_eq!(check(&report, "sagemaker:ListTrainingJobs")["needed"], true);
    // For people, the same.
    let table = doctor(&loopback, &[]).stdout;
    let fix = "fix: allow cloudwatch:GetMetricData; `gpucost setup iam` prints the full policy";
    assert!(table.contains("permissions  denied   cloudwatch:GetMetricData\n"), "{table}");
    assert!(table.contains(fix), "{table}");
}

#[test]
fn a_denied_region_is_one_and_all_of_them_are_an_error() {
    let instances = || Target::operation("ec2", "DescribeInstances");
    let faults = [(instances().in_region("eu-west-1"), Fault::AccessDenied)];
    let loopback = account(&faults, REGIONS);
    let report = doctor(&loopback, &["--format", "json"]).json(3);
    assert_eq!(check(&report, "us-east-1")["status"], "ok");
    assert_eq!(check(&report, "eu-west-1")["status"], "denied");
    assert_eq!(check(&report, "ec2:DescribeInstances")["status"], "ok");
    let loopback = account(&[(instances(), Fault::AccessDenied)], REGIONS);
    let run = doctor(&loopback, &["--format", "json"]);
    run.json(1);
    assert!(run.stderr.starts_with("error: no region can be read\n"), "{}", run.stderr);
    // One that the account does not have is not asked.
    let loopback = account(&[], REGIONS);
    let named = ["--format", "json", "--region", "us-east-1,af-south-1"];
    let report = doctor(&loopback, &named).json(3);
    assert_eq!(check(&report, "af-south-1")["status"], "missing");
    let asked = loopback.call_counts();
    assert!(asked.keys().all(|call| call.region != "af-south-1"));
}

#[test]
fn without_credentials_nothing_is_asked() {
    let loopback = account(&[], REGIONS);
    let run = Gpucost::new(&["doctor", "--format", "json"]).at(&loopback.url()).run();
    let report = run.json(1);
    assert_eq!(check(&report, "AWS")["status"], "missing");
    let fix = check(&report, "AWS")["fix"].as_str().expect("words");
    assert!(fix.starts_with("set AWS_PROFILE or pass `--profile NAME`"), "{fix}");
    assert!(run.stderr.starts_with("error: the AWS account cannot be read\n"));
    assert_eq!(loopback.call_counts().len(), 0);
}

#[test]
fn refused_credentials_end_the_checks_of_the_account() {
    let loopback = account(&[(Target::service("sts"), Fault::ExpiredToken)], REGIONS);
    let run = doctor(&loopback, &["--format", "json"]);
    let report = run.json(1);
    let row = check(&report, "AWS");
    assert_eq!(row["status"], "denied");
    assert_eq!(row["fix"], "sign in again (`aws sso login`, or refresh the session token)");
    assert_eq!(loopback.call_counts().len(), 1);
}

#[test]
fn hostile_names_and_words_are_harmless() {
    let loopback = account(&[], HOSTILE_REGIONS);
    for format in ["table", "json"] {
        let run = doctor(&loopback, &["--format", format]);
        assert!([0, 3].contains(&run.code), "{}", run.stderr);
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!run.stdout.contains(is_control), "{}", run.stdout);
    }
    let run = doctor(&loopback, &["--region", "us-east-1;ls"]);
    assert!(run.error(2).contains("`us-east-1;ls` is not a region name"));
    // What a service says may name people.
    let words = "User: arn:aws:iam::111122223333:user/me\u{1b}[2J may not";
    let fault = Fault::AccessDeniedSaying(words);
    let refused = [(Target::operation("pricing", "GetProducts"), fault)];
    let loopback = account(&refused, REGIONS);
    let open = doctor(&loopback, &[]).stdout;
    assert!(open.contains("user/me") && open.contains(ACCOUNT), "{open}");
    assert!(!open.contains('\u{1b}'), "{open}");
    let masked = doctor(&loopback, &["--redact", "--format", "wide"]).stdout;
    assert!(!masked.contains("user/me") && !masked.contains(ACCOUNT), "{masked}");
}

#[test]
fn what_is_recorded_is_not_checked() {
    for flags in [&["--demo"][..], &["--from", "x.json"], &["--save", "x.json"]] {
        let run = Gpucost::new(&["doctor"]).args(flags).run();
        let error = run.error(2);
        assert!(error.contains(&format!("`{}` cannot be used with it", flags[0])), "{error}");
    }
}

#[test]
fn a_wrong_document_does_not_hold_to_the_schema() {
    let described = schema("doctor.schema.json");
    let holds = validator(&closed(described.clone()));
    let loopback = account(&[], REGIONS);
    let good = doctor(&loopback, &["--format", "json"]).json(0);
    assert!(holds.is_valid(&good));
    for (place, value) in [
        ("/ok", json!("yes")),
        ("/more", json!(1)),
        ("/checks/0/area", json!("weather")),
        ("/checks/0/status", json!("broken")),
        ("/checks/0/needed", json!(null)),
        ("/checks/0/detail", json!(null)),
    ] {
        let mut wrong = good.clone();
        let (parent, key) = place.rsplit_once('/').expect("a place");
        wrong.pointer_mut(parent).expect("it is there")[key] = value;
        assert!(!holds.is_valid(&wrong), "{place}");
    }
    let check = &described["properties"]["checks"]["items"]["properties"];
    let names = |listed: Vec<&'static str>| json!(listed);
    let areas = CheckArea::ALL.iter().map(|area| area.name());
    assert_eq!(check["area"]["enum"], names(areas.collect()));
    let statuses = CheckStatus::ALL.iter().map(|status| status.name());
    assert_eq!(check["status"]["enum"], names(statuses.collect()));
}

/// Lines without what differs from day to day, and without the actions that `…` stands for.
fn lasting(text: &str) -> Vec<String> {
    let is_listed = |line: &&str| !line.starts_with("permissions  ok ");
    let lines = text.trim_end().lines().filter(is_listed);
    let lines = lines.map(|line| match line.split_once(", ") {
        Some((begin, rest)) if rest.ends_with(" days old") => format!("{begin}, N days old"),
        _ => line.to_owned(),
    });
    lines.collect()
}

#[test]
fn the_page_shows_what_is_printed() {
    let metrics = Target::operation("cloudwatch", "GetMetricData");
    let words = "User is not authorized to perform: cloudwatch:GetMetricData";
    let loopback = account(&[(metrics, Fault::AccessDeniedSaying(words))], REGIONS);
    let at = jiff::Timestamp::now().as_second() - 600;
    for index in 1..12 {
        let index = index.to_string();
        let dimensions = [("InstanceId", "i-1"), ("index", index.as_str())];
        let name = "nvidia_smi_utilization_gpu";
        loopback.put_metric("us-east-1", "CWAgent", name, &dimensions, [(at, 7.0)]);
    }
    let example = blocks(&page("doctor.md"), "console").remove(0);
    let (command, shown) = example.split_once('\n').expect("a command line");
    assert_eq!(command, "$ gpucost doctor --region us-east-1,eu-west-1");
    let run = doctor(&loopback, &["--region", "us-east-1,eu-west-1"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    if run.stdout.contains("NVML: driver") {
        skip("this host has GPUs, unlike that of the page");
        return;
    }
    assert_eq!(lasting(&run.stdout), lasting(shown));
}
