//! Settings of an Auto Scaling group, made in moto.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::account::Account;
use super::command::{Gpucost, Run};
use super::days::Days;
use crate::wire::fleet::{Launch, launch};
use crate::wire::loopback::{Fault, Price, Target, Times};

const REGION: &str = "us-east-1";
const CALL: (&str, &str) = ("autoscaling", "DescribeAutoScalingGroups");

/// Has moto carry out an operation of Auto Scaling.
fn make(account: &Account, operation: &str, fields: &str) {
    let url = account.loopback.url();
    let address = url.trim_start_matches("http://");
    let body = format!("Action={operation}&Version=2011-01-01&{fields}");
    let request = format!(
        "POST / HTTP/1.1\r\n\
         Host: {address}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/autoscaling/aws4_request, \
         SignedHeaders=host, Signature=0\r\n\
         Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("the loopback listens");
    stream.write_all(request.as_bytes()).expect("the request is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is text");
    assert!(answer.starts_with("HTTP/1.1 200"), "{operation}: {answer}");
}

/// Two g5.xlarge in a group, and one in none.
fn fleet(account: &Account) {
    let tags = [("aws:autoscaling:groupName", "trainers")];
    let member = Launch { tags: &tags, ..Launch::on_demand("us-east-1a", "g5.xlarge") };
    let alone = Launch::on_demand("us-east-1a", "g5.xlarge");
    launch(&account.loopback, &[member.clone(), member, alone]);
    account.loopback.put_price(Price::linux("g5.xlarge", REGION, "1.00"));
}

/// A group with its settings. Its own instances have no GPU.
pub fn group(account: &Account, name: &str) {
    let template = "LaunchConfigurationName=small&ImageId=ami-1e749f67&InstanceType=t2.micro";
    make(account, "CreateLaunchConfiguration", template);
    let sizes = format!(
        "AutoScalingGroupName={name}&LaunchConfigurationName=small\
         &MinSize=1&MaxSize=5&DesiredCapacity=3\
         &AvailabilityZones.member.1=us-east-1a"
    );
    make(account, "CreateAutoScalingGroup", &sizes);
}

/// An audit, with the estate that it saved.
fn audit(account: &Account) -> (Run, Value) {
    let mut command = Gpucost::audit(Days::ahead())
        .of(account)
        .args(&["--region", REGION, "--save", "estate.json"]);
    let run = command.run();
    let estate = std::fs::read(command.folder().join("estate.json")).expect("it was saved");
    let estate = serde_json::from_slice(&estate).expect("JSON");
    (run, estate)
}

#[test]
fn groups_of_instances_are_read_with_their_settings() {
    let Some(account) = Account::open() else { return };
    fleet(&account);
    group(&account, "trainers");
    account.loopback.reset_calls();
    let (run, mut estate) = audit(&account);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // Its own instances, which moto starts for its desired capacity of 3.
    let in_service = estate["scaling_groups"][0]["in_service"].take();
    let ids = in_service.as_array().expect("a list").iter();
    let ids: Vec<&str> = ids.filter_map(Value::as_str).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(ids.iter().all(|id| id.starts_with("i-")) && ids.is_sorted(), "{ids:?}");
    let expected = json!([{
        "name": "trainers", "account": account.number, "region": REGION,
        "desired": 3, "min": 1, "max": 5, "weighted": false, "in_service": null,
    }]);
    assert_eq!(estate["scaling_groups"], expected);
    assert_eq!(account.loopback.calls(CALL.0, CALL.1), 1);
}

#[test]
fn a_denied_call_is_a_gap_and_nothing_else_changes() {
    let Some(account) = Account::open() else { return };
    fleet(&account);
    group(&account, "trainers");
    let target = Target::operation(CALL.0, CALL.1);
    let loopback = &account.loopback;
    loopback.inject(target, Fault::AccessDenied, Times::Always);
    let (run, estate) = audit(&account);
    let document = run.json(0);
    // 3 × 1.00 × 730
    assert_eq!(document["summary"]["monthly_cost"], 2190.0);
    let gaps = document["gaps"].as_array().expect("a list").iter();
    let own: Vec<&Value> = gaps.filter(|gap| gap["what"] == "Auto Scaling groups").collect();
    let [gap] = own.as_slice() else {
        panic!("{own:?}");
    };
    assert_eq!(gap["where"], REGION);
    let hint = gap["hint"].as_str().expect("text");
    assert!(hint.starts_with("allow autoscaling:DescribeAutoScalingGroups"), "{hint}");
    assert_eq!(estate.get("scaling_groups"), None);
}

#[test]
fn without_a_group_nothing_is_asked() {
    let Some(account) = Account::open() else { return };
    let loopback = &account.loopback;
    launch(loopback, &[Launch::on_demand("us-east-1a", "g5.xlarge")]);
    loopback.put_price(Price::linux("g5.xlarge", REGION, "1.00"));
    let (run, _) = audit(&account);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(loopback.calls(CALL.0, CALL.1), 0);
}
